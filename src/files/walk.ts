import { type Dirent, readdirSync } from 'node:fs';
import type { WorkspaceRoot } from './workspace-root.ts';

/** A file, a link of any kind, or something else that lies at a path: a FIFO, socket or device, or a name that is not UTF-8 and so can't be opened by its path. */
export type EntryKind = 'file' | 'link' | 'other';

export interface WalkEntry {
  /** Workspace-relative with `/`. */
  readonly path: string;
  readonly kind: EntryKind;
}

/** A folder that could not be searched, so nothing is known about what is below it. */
export interface Unsearched {
  readonly path: string;
  readonly why: string;
}

export interface Walked {
  /** In a fixed order: by folder, depth first, names by code unit, files before folders. */
  readonly entries: readonly WalkEntry[];
  readonly incomplete: readonly Unsearched[];
}

export interface WalkOptions {
  /** The walk stops after so many folders and says so. */
  readonly maxFolders: number;
  /** @returns whether a folder and all below it is left out. Not asked for the root. */
  skip(folder: string): boolean;
  /** @returns whether an entry is wanted, by its bare name and its folder (`''` for the root): no path is built for what isn't. */
  wants(name: string, folder: string, kind: EntryKind): boolean;
  /** Told once per searched folder, before its entries are asked about. `repository`: it holds a `.git` file or folder. */
  onFolder?(folder: string, repository: boolean): void;
}

/**
 * Walks the workspace. Never follows a link to a folder, never enters `.git`; a folder that can't be read is told, not dropped.
 * Reads no file and stats none, so what it yields is a name to open, not a fact about the bytes.
 */
export function walk(root: WorkspaceRoot, options: WalkOptions): Walked {
  const entries: WalkEntry[] = [];
  const incomplete: Unsearched[] = [];
  const pending: string[] = [''];
  let folders = 0;
  for (let folder = pending.pop(); folder !== undefined; folder = pending.pop()) {
    if (folders === options.maxFolders) {
      incomplete.push({ path: folder, why: `more than ${options.maxFolders} folders` });
      break;
    }
    folders += 1;
    const names = root.kept?.names(folder, () => namesIn(root, folder)) ?? namesIn(root, folder);
    if (typeof names === 'string') {
      incomplete.push({ path: folder, why: names });
      continue;
    }
    options.onFolder?.(
      folder,
      names.some((entry) => entry.name === '.git'),
    );
    const below: string[] = [];
    const wanted: WalkEntry[] = [];
    for (const entry of names) {
      const { name } = entry;
      if (name === '.git') continue;
      const garbled = name.includes('\ufffd') && !isSpelt(root, folder, name);
      if (entry.isDirectory()) {
        const path = folder === '' ? name : `${folder}/${name}`;
        if (options.skip(path)) continue;
        if (garbled) incomplete.push({ path, why: 'its name is not UTF-8' });
        else below.push(path);
        continue;
      }
      const kind = garbled ? 'other' : kindOf(entry);
      if (options.wants(name, folder, kind)) wanted.push({ path: folder === '' ? name : `${folder}/${name}`, kind });
    }
    if (wanted.length > 1) wanted.sort((a, b) => (a.path < b.path ? -1 : 1));
    for (const entry of wanted) entries.push(entry);
    if (below.length > 1) below.sort((a, b) => (a < b ? 1 : -1));
    for (const path of below) pending.push(path);
  }
  return { entries, incomplete };
}

function kindOf(entry: Dirent): EntryKind {
  if (entry.isFile()) return 'file';
  return entry.isSymbolicLink() ? 'link' : 'other';
}

function namesIn(root: WorkspaceRoot, folder: string): Dirent[] | string {
  try {
    return readdirSync(folder === '' ? root.path : `${root.path}/${folder}`, { withFileTypes: true });
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'EIO';
  }
}

/** A name with the replacement character in it: whether it is really spelt so, and no other name of the folder decodes to it. */
function isSpelt(root: WorkspaceRoot, folder: string, name: string): boolean {
  try {
    const alike = readdirSync(`${root.path}/${folder}`, { encoding: 'buffer' }).filter(
      (raw) => raw.toString() === name,
    );
    return alike.length === 1 && alike[0]?.equals(Buffer.from(name)) === true;
  } catch {
    return false;
  }
}

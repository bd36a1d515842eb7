import { type FSWatcher, lstatSync, readdirSync, type Stats, watch } from 'node:fs';
import { isDependencyFolder } from '../discover/nested.ts';

/** Errors by which the system says that it has no more watches or descriptors to give. */
const SPENT = new Set(['ENOSPC', 'EMFILE', 'ENFILE', 'ENOMEM']);

/** The system gives no more watches, so not every change would be told. */
export class WatchLimit extends Error {
  readonly cure: string;
  constructor(code: string, folders: number) {
    super(`The system gives no more watches (${code}) after ${folders} folders, so a change could go by unseen.`);
    this.cure =
      code === 'ENOSPC'
        ? 'Raise the limit: sysctl fs.inotify.max_user_watches=524288; or run: writ watch --poll'
        : 'Raise the limit of open files (ulimit -n, sysctl fs.inotify.max_user_instances); or run: writ watch --poll';
  }
}

/** What is told of a change: that there was one, whether names came or went, and whether it may lie in a tree of dependencies. */
export interface Noticed {
  readonly names: boolean;
  readonly dependencies: boolean;
}

export interface Following {
  /** Watches every folder that is there and not watched yet, each before its names are listed. Throws WatchLimit. */
  cover(): void;
  /** Whether the last `cover` met a folder it could not watch, so that the next one has to try again. */
  isPartial(): boolean;
  /** Drops every watch; the next `cover` begins anew. */
  renew(): void;
  /** Folders of dependencies found, workspace-relative, sorted: watched themselves, and nothing below them. */
  dependencies(): readonly string[];
  close(): void;
}

interface Watched {
  readonly watcher: FSWatcher;
  readonly identity: string;
}

/** Files whose change says that a tree of dependencies is another. */
const LOCK =
  /^(?:package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|bun\.lockb?|bower\.json|composer\.lock|Gemfile\.lock|go\.(?:mod|sum|work\.sum)|Cargo\.lock|poetry\.lock|uv\.lock|pdm\.lock|Pipfile\.lock|requirements[\w.-]*\.txt|vendor\.conf|modules\.txt)$/;

/**
 * Watches the folders of a workspace, not its files: one watch a folder tells of every write, name and link in it. What is told only
 * wakes the judge, who reads the truth from disk, so an event lost in a full queue costs nothing: it was lost before those told, and they
 * are judged after. (chokidar 5 does neither: it drops a second write within 50 ms, and lists a folder before it watches it, so that
 * what comes in between is never told.) A folder is watched before it is listed; so what appears in it is either listed or told.
 */
export function followFolders(
  root: string,
  onChange: (noticed: Noticed) => void,
  onFault: (error: Error) => void,
): Following {
  const watched = new Map<string, Watched>();
  let dependencies: readonly string[] = [];
  let partial = false;

  const drop = (folder: string): void => {
    // A folder is always watched before what lies in it.
    if (!watched.has(folder)) return;
    for (const [path, one] of watched) {
      if (folder !== '' && path !== folder && !path.startsWith(`${folder}/`)) continue;
      one.watcher.close();
      watched.delete(path);
    }
  };
  const dropAll = (): void => {
    for (const one of watched.values()) one.watcher.close();
    watched.clear();
  };
  const add = (folder: string, found: Stats): void => {
    const identity = identityOf(found);
    if (watched.get(folder)?.identity === identity) return;
    watched.get(folder)?.watcher.close();
    watched.delete(folder);
    const absolute = folder === '' ? root : `${root}/${folder}`;
    const inDependencies = isDependencyFolder(nameOf(folder));
    try {
      const watcher = watch(absolute, { persistent: true }, (kind, name) => {
        if (kind === 'rename') {
          // The name may be a folder that is another one now, at the same place and even with the same inode; or this folder itself, gone.
          if (name === null) drop(folder);
          else {
            drop(folder === '' ? name : `${folder}/${name}`);
            if (name === nameOf(folder === '' ? root : folder)) drop(folder);
          }
        }
        onChange({ names: kind === 'rename', dependencies: inDependencies || (name !== null && LOCK.test(name)) });
      });
      watcher.on('error', (error) => {
        watcher.close();
        if (watched.get(folder)?.watcher === watcher) watched.delete(folder);
        onFault(error);
        onChange({ names: true, dependencies: inDependencies });
      });
      watched.set(folder, { watcher, identity });
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code ?? '';
      if (SPENT.has(code)) throw new WatchLimit(code, watched.size);
      // Gone, or not ours to list: the search says so where it matters, and the next cover tries again.
      partial = true;
    }
  };
  const cover = (): void => {
    const seen = new Set<string>();
    partial = false;
    const found: string[] = [];
    const pending = [''];
    for (let folder = pending.pop(); folder !== undefined; folder = pending.pop()) {
      const absolute = folder === '' ? root : `${root}/${folder}`;
      const facts = lstatSync(absolute, { throwIfNoEntry: false });
      if (facts?.isDirectory() !== true) continue;
      seen.add(folder);
      add(folder, facts);
      if (isDependencyFolder(nameOf(folder))) found.push(folder);
      else
        for (const name of foldersIn(absolute, watched.size))
          if (name !== '.git') pending.push(folder === '' ? name : `${folder}/${name}`);
    }
    for (const folder of [...watched.keys()]) if (!seen.has(folder)) drop(folder);
    dependencies = found.sort();
  };
  return { cover, isPartial: () => partial, renew: dropAll, dependencies: () => dependencies, close: dropAll };
}

function foldersIn(folder: string, watches: number): readonly string[] {
  try {
    return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [entry.name] : []));
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? '';
    if (SPENT.has(code)) throw new WatchLimit(code, watches);
    return [];
  }
}

function identityOf({ dev, ino, birthtimeMs }: Stats): string {
  return `${dev}:${ino}:${birthtimeMs}`;
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

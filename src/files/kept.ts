import { type Dirent, lstatSync } from 'node:fs';
import { dirname, isAbsolute } from 'node:path';

/** A file this young is read again every time: a second write within one tick of a coarse clock leaves every stamp as it was. ms. */
const YOUNG_MS = 2_000;

interface Entry {
  readonly stamp: string;
  readonly value: unknown;
  round: number;
}

interface Memo {
  readonly inputs: readonly unknown[];
  readonly value: unknown;
}

/**
 * What a face that judges again and again keeps between two judgements, so that only what changed is read anew. Nowhere
 * else is there one. A value made from files is given again only while each of them is the file it was, by device, inode,
 * mode, links, size, mtime and ctime together, below the same real folders, and old enough that a clock tick can hide no
 * write. What changes bytes without any of these (a write through a mapping) is met by `forget`, which the caller does on a period.
 */
export class Kept {
  private readonly root: string;
  private readonly still: (folder: string) => boolean;
  private entries = new Map<string, Entry>();
  private listings = new Map<string, Dirent[]>();
  private memos = new WeakMap<object, Memo>();
  private folders = new Map<string, boolean>();
  private round = 0;

  /** @param still whether a workspace-relative folder is listed once and not again before `relist` or `forget`. */
  constructor(root: string, still: (folder: string) => boolean) {
    this.root = root;
    this.still = still;
  }

  /** Begins a judgement. */
  begin(): void {
    this.round += 1;
    this.folders.clear();
  }

  /** Ends it, and drops what it did not ask for: what is kept never outgrows what is there. */
  end(): void {
    for (const [key, entry] of this.entries) if (entry.round !== this.round) this.entries.delete(key);
  }

  /** Everything is read and listed anew from here on. */
  forget(): void {
    this.entries = new Map();
    this.memos = new WeakMap();
    this.relist();
  }

  /** Every folder is listed anew from here on. */
  relist(): void {
    this.listings = new Map();
  }

  /** What tells these files from any others; null where that cannot be told, and then nothing is kept. Paths are workspace-relative or absolute. */
  stampOf(paths: readonly string[]): string | null {
    const parts: string[] = [];
    for (const path of paths) {
      const part = this.partOf(path);
      if (part === null) return null;
      parts.push(part);
    }
    return parts.join(' ');
  }

  /** @returns what was kept under a key and a stamp, or undefined. */
  get<T>(key: string, stamp: string | null): T | undefined {
    const entry = this.entries.get(key);
    if (entry === undefined || stamp === null || entry.stamp !== stamp) return undefined;
    entry.round = this.round;
    return entry.value as T;
  }

  /** Keeps what was made from files whose stamp was taken before they were read; not where they moved since. */
  set(key: string, paths: readonly string[], stamp: string | null, value: unknown): void {
    if (stamp !== null && this.stampOf(paths) === stamp) this.put(key, stamp, value);
    else this.entries.delete(key);
  }

  /** Keeps what depends on nothing but its key and what the caller calls its stamp. */
  put(key: string, stamp: string, value: unknown): void {
    this.entries.set(key, { stamp, value, round: this.round });
  }

  /** The names in a folder: as listed before where it is one that stands still, else by `list`. */
  names<T extends Dirent[] | string>(folder: string, list: () => T): T | Dirent[] {
    if (!this.still(folder)) return list();
    const known = this.listings.get(folder);
    if (known !== undefined) return known;
    const old = isOlder(`${this.root}/${folder}`);
    const names = list();
    if (old && typeof names !== 'string') this.listings.set(folder, names);
    return names;
  }

  /** A value that depends on nothing but `inputs`, made again where one of them is not the very same; kept as long as `holder`. */
  memo<T>(holder: object, inputs: readonly unknown[], make: () => T): T {
    const known = this.memos.get(holder);
    if (known?.inputs.length === inputs.length && known.inputs.every((one, index) => Object.is(one, inputs[index])))
      return known.value as T;
    const value = make();
    this.memos.set(holder, { inputs, value });
    return value;
  }

  private partOf(path: string): string | null {
    const outside = isAbsolute(path);
    const absolute = outside ? path : `${this.root}/${path}`;
    if (!outside && !this.isReal(dirname(absolute))) return null;
    try {
      const found = lstatSync(absolute);
      const { dev, ino, mode, nlink, size, mtimeMs, ctimeMs } = found;
      const youngest = Math.max(ctimeMs, mtimeMs);
      if (!found.isFile() || youngest > Date.now() - YOUNG_MS) return null;
      return `${dev}:${ino}:${mode}:${nlink}:${size}:${mtimeMs}:${ctimeMs}`;
    } catch {
      return null;
    }
  }

  /** Whether a folder and all above it up to the root are folders, not links: else the same file would go by another name. */
  private isReal(folder: string): boolean {
    if (folder === this.root || folder.length < this.root.length) return true;
    const known = this.folders.get(folder);
    if (known !== undefined) return known;
    const real = this.isReal(dirname(folder)) && isFolder(folder);
    this.folders.set(folder, real);
    return real;
  }
}

/** Whether no name came to a folder or left it lately: one that is being filled is listed again. */
function isOlder(folder: string): boolean {
  try {
    const { mtimeMs, ctimeMs } = lstatSync(folder);
    return Math.max(mtimeMs, ctimeMs) < Date.now() - YOUNG_MS;
  } catch {
    return false;
  }
}

function isFolder(path: string): boolean {
  try {
    return lstatSync(path).isDirectory();
  } catch {
    return false;
  }
}

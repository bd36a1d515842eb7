import { listIndex, listTree } from '../git/batch.ts';
import type { Repository } from '../git/repository.ts';
import type { TreeEntry } from '../git/tree.ts';

/** One file of a tree: git's mode (100644, 100755, 120000 link, 160000 submodule) and the id of its bytes. */
export interface TreeFile {
  readonly mode: string;
  readonly blob: string;
}

/** An entry no file can be laid out for, and why. `path` may be for showing only. */
export interface OddEntry extends TreeFile {
  readonly path: string;
  readonly why: string;
}

/** What a commit or the index holds below the workspace. */
export interface Tree {
  /** By workspace-relative path. */
  readonly files: ReadonlyMap<string, TreeFile>;
  readonly odd: readonly OddEntry[];
}

export const EMPTY_TREE: Tree = { files: new Map(), odd: [] };
export const LINK = '120000';
export const SUBMODULE = '160000';
export const NOT_UTF8 = 'its name is not UTF-8';
const KNOWN_MODES = new Set(['100644', '100755', '100664', LINK, SUBMODULE]);
/** Names git refuses to check out, so no path of a tree that holds one can be meant. */
const REFUSED = /(?:^|\/)(?:\.{0,2}|\.git)(?:\/|$)|\0/i;

/** Reads the index. Throws GitFault where git can't. `prefix`: folder of the workspace within the repository, ending in `/`, or empty. */
export async function treeOfIndex(repo: Repository, prefix: string): Promise<Tree> {
  return toTree(await listIndex(repo), prefix);
}

/** Reads the tree of a commit by its full id, hash-checked. Throws GitFault where it or a tree of it is missing or damaged. */
export async function treeOfCommit(repo: Repository, commit: string, prefix: string): Promise<Tree> {
  return toTree(await listTree(repo, commit), prefix);
}

function toTree(entries: readonly (TreeEntry & { readonly stage?: number })[], prefix: string): Tree {
  const files = new Map<string, TreeFile>();
  const odd: OddEntry[] = [];
  for (const entry of entries) {
    if (!entry.path.startsWith(prefix)) continue;
    const path = entry.path.slice(prefix.length);
    const { mode, blob } = entry;
    const why = oddness(entry, path);
    if (why === null) files.set(path, { mode, blob });
    else odd.push({ path, mode, blob, why });
  }
  for (const path of belowFiles(files)) {
    const { mode = '', blob = '' } = files.get(path) ?? {};
    files.delete(path);
    odd.push({ path, mode, blob, why: 'it lies below a file or a link' });
  }
  return { files, odd };
}

/** Paths that would be laid out through another entry: only a forged index, or a file system that ignores case, has them. */
function belowFiles(files: ReadonlyMap<string, TreeFile>): readonly string[] {
  const folds = process.platform === 'darwin' || process.platform === 'win32';
  const folded = (path: string): string => (folds ? path.normalize('NFC').toLowerCase() : path);
  const names = folds ? new Set([...files.keys()].map(folded)) : files;
  return [...files.keys()].filter((path) => {
    const name = folded(path);
    for (let end = name.lastIndexOf('/'); end > 0; end = name.lastIndexOf('/', end - 1))
      if (names.has(name.slice(0, end))) return true;
    return false;
  });
}

function oddness(entry: TreeEntry & { readonly stage?: number }, path: string): string | null {
  if (!entry.exact) return NOT_UTF8;
  if ((entry.stage ?? 0) !== 0) return 'it is not merged yet';
  if (REFUSED.test(path) || (process.platform === 'win32' && /[\\:]/.test(path))) return 'git itself refuses its name';
  return KNOWN_MODES.has(entry.mode) ? null : `git knows no mode ${entry.mode}`;
}

/** @returns every path that is in one tree and not the same in the other: added, taken away, or with other bytes or another mode. */
export function changesOf(base: Tree, next: Tree): ReadonlySet<string> {
  const changed = new Set<string>();
  for (const [path, file] of next.files) {
    const old = base.files.get(path);
    if (old === undefined || old.blob !== file.blob || old.mode !== file.mode) changed.add(path);
  }
  for (const path of base.files.keys()) if (!next.files.has(path)) changed.add(path);
  return changed;
}

/** @returns odd entries that were not there in the same way before. */
export function newOddities(base: Tree, next: Tree): readonly OddEntry[] {
  const known = new Set(base.odd.map((one) => `${one.blob} ${one.path}`));
  return next.odd.filter((one) => !known.has(`${one.blob} ${one.path}`));
}

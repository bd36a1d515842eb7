import { GitFault } from './hardened.ts';
import type { ObjectReader } from './objects.ts';
import type { Repository } from './repository.ts';

/** One name in a tree. */
export interface TreeName {
  /** As git stores it: 100644, 100755, 120000 (link), 40000 (folder), 160000 (submodule). */
  readonly mode: string;
  readonly id: string;
}

/** One file of a commit. */
export interface TreeEntry {
  readonly path: string;
  readonly mode: string;
  readonly blob: string;
  /** False where the name is not UTF-8: `path` is then only for showing, and no file can be opened by it. */
  readonly exact: boolean;
}

/** Reads trees of one repository, each once, all hash-checked. */
export interface Trees {
  /** Makes sure that these trees were asked for. */
  fetch(ids: Iterable<string>): Promise<void>;
  /** @returns the names of a fetched tree by their bytes as latin1, or null where it is missing or damaged. */
  names(id: string): ReadonlyMap<string, TreeName> | null;
}

const FOLDER = '40000';
const TREE_BYTES = 67_108_864;
const MAX_ENTRIES = 1_000_000;
const MAX_DEPTH = 200;

export function openTrees(repo: Repository, reader: ObjectReader): Trees {
  const known = new Map<string, ReadonlyMap<string, TreeName> | null>();
  return {
    async fetch(ids) {
      const wanted = [...new Set(ids)].filter((id) => !known.has(id));
      if (wanted.length === 0) return;
      const { objects } = await reader.read(wanted, 'tree', TREE_BYTES);
      for (const id of wanted) {
        const bytes = objects.get(id);
        known.set(id, bytes === undefined ? null : parseTree(bytes, repo.objectFormat === 'sha256' ? 32 : 20));
      }
    },
    names: (id) => known.get(id) ?? null,
  };
}

/** One path to look up below one root tree. */
export interface Lookup {
  readonly tree: string;
  readonly path: string;
}

/**
 * Looks paths up, level by level, so that one round of reading serves them all. For each lookup, in order: what lies there, null where the tree
 * has no such path, `'unknown'` where a tree on the way is missing or damaged.
 */
export async function findInTrees(
  trees: Trees,
  lookups: readonly Lookup[],
): Promise<readonly (TreeName | null | 'unknown')[]> {
  const found: (TreeName | null | 'unknown')[] = lookups.map(() => null);
  let open = lookups.map(({ tree, path }, index) => ({ index, tree, parts: partsOf(path) }));
  for (let depth = 0; open.length > 0; depth += 1) {
    await trees.fetch(open.map(({ tree }) => tree));
    const below: typeof open = [];
    for (const { index, tree, parts } of open) {
      const names = trees.names(tree);
      const part = parts[depth];
      if (names === null || part === undefined) {
        found[index] = names === null ? 'unknown' : null;
        continue;
      }
      const entry = names.get(part) ?? null;
      if (depth === parts.length - 1) found[index] = entry;
      else if (entry?.mode === FOLDER) below.push({ index, tree: entry.id, parts });
    }
    open = below;
  }
  return found;
}

/** Lists every file below a root tree, sorted by path. Throws GitFault where a tree is missing or damaged, or where there are over a million files or 200 levels. */
export async function listBelow(trees: Trees, root: string): Promise<TreeEntry[]> {
  const entries: TreeEntry[] = [];
  let open = [{ id: root, prefix: '' }];
  for (let depth = 0; open.length > 0; depth += 1) {
    if (depth > MAX_DEPTH) throw new GitFault('the tree of a commit is too deep');
    await trees.fetch(open.map(({ id }) => id));
    const below: typeof open = [];
    for (const { id, prefix } of open) {
      const names = trees.names(id);
      if (names === null) throw new GitFault(`tree ${id} is missing or damaged`);
      for (const [name, entry] of names) {
        if (entry.mode === FOLDER) below.push({ id: entry.id, prefix: `${prefix}${name}/` });
        else entries.push(entryOf(`${prefix}${name}`, entry));
      }
      if (entries.length + below.length > MAX_ENTRIES) throw new GitFault('the tree of a commit holds too many files');
    }
    open = below;
  }
  return entries.sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** @returns a path from its bytes, and whether they were UTF-8. */
export function pathFrom(bytes: Buffer): { readonly path: string; readonly exact: boolean } {
  const path = bytes.toString('utf8');
  return { path, exact: Buffer.from(path, 'utf8').equals(bytes) };
}

function entryOf(latin: string, { mode, id }: TreeName): TreeEntry {
  const { path, exact } = pathFrom(Buffer.from(latin, 'latin1'));
  return { path, mode, blob: id, exact };
}

function partsOf(path: string): string[] {
  return Buffer.from(path, 'utf8').toString('latin1').split('/');
}

function parseTree(bytes: Buffer, idBytes: number): ReadonlyMap<string, TreeName> | null {
  const names = new Map<string, TreeName>();
  for (let at = 0; at < bytes.length; ) {
    const space = bytes.indexOf(32, at);
    const end = bytes.indexOf(0, at);
    if (space === -1 || end < space || end + 1 + idBytes > bytes.length) return null;
    const next = end + 1 + idBytes;
    const name = bytes.toString('latin1', space + 1, end);
    // Two entries of one name would let two readers see two files.
    if (name === '' || name.includes('/') || names.has(name)) return null;
    names.set(name, { mode: bytes.toString('latin1', at, space), id: bytes.toString('hex', end + 1, next) });
    at = next;
  }
  return names;
}

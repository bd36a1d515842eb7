import type { Tree } from './tree.ts';

const MAX_HOPS = 40;

/** Where a path of a tree leads through the links of that tree. */
export interface Resolved {
  /** Null where a link leaves the tree, is absolute, or runs in a circle. */
  readonly path: string | null;
  /** Links on the way, by their real path. */
  readonly met: readonly string[];
}

/** Follows the links of a tree as a reader of the laid-out files will. `targets`: link path to where it points. */
export function resolveLinks(targets: ReadonlyMap<string, string>, path: string): Resolved {
  const todo = path.split('/').reverse();
  const done: string[] = [];
  const met: string[] = [];
  for (let part = todo.pop(); part !== undefined; part = todo.pop()) {
    if (part === '' || part === '.') continue;
    if (part === '..') {
      if (done.pop() === undefined) return { path: null, met };
      continue;
    }
    done.push(part);
    const here = done.join('/');
    const target = targets.get(here);
    if (target === undefined) continue;
    met.push(here);
    if (met.length > MAX_HOPS || target.startsWith('/')) return { path: null, met };
    done.pop();
    todo.push(...target.split('/').reverse());
  }
  return { path: done.join('/'), met };
}

/** @returns every name a path is read through: itself, the links on its way, and where they end. */
export function namesBehind(targets: ReadonlyMap<string, string>, path: string): readonly string[] {
  const { path: end, met } = resolveLinks(targets, path);
  return met.length === 0 ? [path] : [path, ...met, ...(end === null ? [] : [end])];
}

/** The paths of a tree in order, so that what lies below a folder is found without a walk. */
export interface Listing {
  below(folder: string): readonly string[];
  isFolder(path: string): boolean;
}

export function listingOf(tree: Tree): Listing {
  const paths = [...tree.files.keys()].sort();
  const first = (text: string): number => {
    let low = 0;
    let high = paths.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((paths[middle] ?? '') < text) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  return {
    // `0` follows `/`: the range holds exactly the paths that begin with the folder and a slash.
    below: (folder) => (folder === '' ? paths : paths.slice(first(`${folder}/`), first(`${folder}0`))),
    isFolder: (path) => path === '' || (paths[first(`${path}/`)] ?? '').startsWith(`${path}/`),
  };
}

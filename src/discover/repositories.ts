import { type Dirent, lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/** What lies below a folder of checkouts. */
export interface Repositories {
  /** Paths below the folder with `/`, in order; no one lies within another. */
  readonly found: readonly string[];
  /** What could not be searched, so that nothing is known of it. */
  readonly unsearched: readonly { readonly path: string; readonly why: string }[];
  /** Links to folders: never followed, a checkout counts once, where it lies. */
  readonly links: readonly string[];
}

/** `host/owner/repo` below the folder of the first. */
const MAX_DEPTH = 4;
const MAX_FOLDERS = 20_000;

/**
 * Finds the checkouts in a folder: whatever holds a `.git` or a signed policy set, at most four folders down and never one within another. A folder
 * directly below it in which there is none counts as one too, so that a tree without git is judged and not passed over.
 * @param isGoverned whether a folder holds a policy set.
 */
export function findRepositories(dir: string, isGoverned: (folder: string) => boolean): Repositories {
  const unsearched: { path: string; why: string }[] = [];
  const links: string[] = [];
  let folders = 0;
  const below = (path: string, depth: number): readonly string[] => {
    folders += 1;
    if (folders > MAX_FOLDERS) {
      if (folders === MAX_FOLDERS + 1) unsearched.push({ path, why: `more than ${MAX_FOLDERS} folders` });
      return [];
    }
    let entries: Dirent[];
    try {
      entries = readdirSync(join(dir, path), { withFileTypes: true });
    } catch (error) {
      unsearched.push({ path, why: (error as NodeJS.ErrnoException).code ?? 'EIO' });
      return [];
    }
    return entries
      .sort((a, b) => (a.name < b.name ? -1 : 1))
      .flatMap((entry) => {
        const at = path === '' ? entry.name : `${path}/${entry.name}`;
        if (entry.isSymbolicLink() && isGrouping(entry.name)) links.push(at);
        if (!entry.isDirectory()) return [];
        const folder = join(dir, at);
        if (exists(join(folder, '.git')) || isGoverned(folder)) return [at];
        if (!isGrouping(entry.name)) return [];
        const deeper = depth === MAX_DEPTH ? [] : below(at, depth + 1);
        return deeper.length > 0 || depth > 1 ? deeper : [at];
      });
  };
  const found = below('', 1);
  return { found, unsearched, links };
}

/** A hidden folder or a tree of packages holds no checkouts of its own accord; one that is a checkout counts all the same. */
function isGrouping(name: string): boolean {
  return !name.startsWith('.') && name !== 'node_modules';
}

function exists(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    // There and out of reach: judging it says so.
    return true;
  }
}

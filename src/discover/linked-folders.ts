import { lstatSync } from 'node:fs';
import { followLinks } from '../files/follow-links.ts';
import { type WalkEntry, walk } from '../files/walk.ts';
import type { WorkspaceRoot } from '../files/workspace-root.ts';

/** Links within links that are followed; hosts follow links to folders in their own folders (facts 1.1, 1.2). */
const MAX_DEPTH = 4;
/** Folders searched in one go before a walk gives up and says so. */
export const MAX_FOLDERS = 200_000;

/** What following links may still cost in one search: links upon links multiply. */
export interface LinkBudget {
  links: number;
  entries: number;
}

/** A file reached through a link to a folder: the name a host would open it by. */
export interface Reached {
  readonly path: string;
  /** Workspace-relative file or link it leads to. */
  readonly real: string;
  readonly kind: WalkEntry['kind'];
}

export interface Linked {
  readonly reached: readonly Reached[];
  /** Links that lead out of the workspace or nowhere, so that nothing is known of what a host finds there. */
  readonly broken: readonly string[];
  readonly incomplete: readonly string[];
}

/** @returns the folder a link leads to, `file` for a link to anything else, `broken` where it leaves the workspace or leads nowhere. */
export function linkTarget(root: WorkspaceRoot, path: string): { readonly folder: string } | 'file' | 'broken' {
  const target = followLinks(root, path);
  if (!('path' in target)) return 'broken';
  const found = lstatSync(target.path === '' ? root.path : `${root.path}/${target.path}`, { throwIfNoEntry: false });
  if (found === undefined) return 'broken';
  return found.isDirectory() ? { folder: target.path } : 'file';
}

/**
 * Lists what a host finds below a link to a folder, under the names it finds it by. `matters` says whether a path below can be an init path at all;
 * links that don't matter are left alone.
 */
export function underLink(
  root: WorkspaceRoot,
  link: string,
  budget: LinkBudget,
  matters: (path: string) => boolean,
): Linked {
  const reached: Reached[] = [];
  const broken: string[] = [];
  const incomplete: string[] = [];
  const open = (from: string, through: readonly string[]): void => {
    const target = linkTarget(root, from);
    if (target === 'file') return;
    if (target === 'broken') {
      broken.push(from);
      return;
    }
    const { folder } = target;
    if (through.includes(folder)) return;
    if (through.length === MAX_DEPTH || budget.links <= 0 || budget.entries <= 0) {
      incomplete.push(from);
      return;
    }
    budget.links -= 1;
    const rename = (path: string): string => (folder === '' ? `${from}/${path}` : from + path.slice(folder.length));
    const listed = walk(root, {
      maxFolders: MAX_FOLDERS,
      skip: (path) => !isOnTheWay(path, folder),
      wants: (_name, at) => isBelow(at, folder),
    });
    budget.entries -= listed.entries.length;
    for (const { path } of listed.incomplete) incomplete.push(isBelow(path, folder) ? rename(path) : from);
    for (const { path, kind } of listed.entries) {
      const name = rename(path);
      if (kind === 'link' && matters(name)) open(name, [...through, folder]);
      reached.push({ path: name, real: path, kind });
    }
  };
  open(link, []);
  return { reached, broken, incomplete };
}

/** @returns whether a folder is `below` or lies in it. */
export function isBelow(folder: string, below: string): boolean {
  return below === '' || folder === below || folder.startsWith(`${below}/`);
}

/** @returns whether a walk has to enter a folder to see all of `goal`. */
export function isOnTheWay(folder: string, goal: string): boolean {
  return isBelow(folder, goal) || goal.startsWith(`${folder}/`);
}

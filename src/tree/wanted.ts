import { type Matcher, matcherOf } from '../discover/matcher.ts';
import { subjectOf } from '../discover/sidecars.ts';
import { HOSTS } from '../generated/hosts.ts';
import type { InitPattern } from '../model/policy.ts';
import { SET_FILE } from '../policy/set-file.ts';
import { type Listing, listingOf, resolveLinks } from './links.ts';
import { LINK, SUBMODULE, type Tree } from './tree.ts';

/** Links within links that are followed, links in all, and files met through them; more than a search of the folder follows. */
const MAX_DEPTH = 6;
const MAX_LINKS = 1_024;
const MAX_LINKED = 400_000;

/** What of a tree has to be laid out so that judging finds there what it would find in a checkout. */
export interface Wanted {
  /** Files, links and submodules. */
  readonly files: Set<string>;
  /** Folders that must be there although nothing in them is wanted. */
  readonly folders: Set<string>;
  /** Files read line by line, which may be large. */
  readonly boards: Set<string>;
  /** Links beyond what is followed: nothing is known of what lies behind them. */
  readonly unsearched: Set<string>;
  /** Whether a path would be an init path, or lead to one. */
  matters(path: string): boolean;
  /** Takes one more path, through links, with its sidecars; quiet where the tree has no such file. */
  take(path: string): void;
}

interface Work extends Pick<Wanted, 'files' | 'folders' | 'boards' | 'unsearched'> {
  readonly tree: Tree;
  readonly targets: ReadonlyMap<string, string>;
  readonly matcher: Matcher;
  readonly listing: Listing;
  links: number;
  linked: number;
}

/**
 * Chooses by name alone, and rather too much than too little: every profile counts, whatever hosts the policy names, since what is laid out beside an init path
 * is no init path by that. `targets`: where each link of the tree points. `initPaths`: the policy's own patterns.
 */
export function wantedOf(tree: Tree, targets: ReadonlyMap<string, string>, initPaths: readonly InitPattern[]): Wanted {
  const foldsCase = process.platform === 'darwin' || process.platform === 'win32';
  const work: Work = {
    tree,
    targets,
    matcher: matcherOf(null, initPaths, foldsCase),
    listing: listingOf(tree),
    files: new Set(),
    folders: new Set(),
    boards: new Set(),
    unsearched: new Set(),
    links: MAX_LINKS,
    linked: MAX_LINKED,
  };
  for (const [path, { mode }] of tree.files) if (mode === SUBMODULE) work.matcher.isRepository(path);
  const folders = new Set<string>();
  for (const path of tree.files.keys()) {
    takeInitPath(work, path, path);
    for (let at = folderOf(path); at !== '' && !folders.has(at); at = folderOf(at)) folders.add(at);
    if (path === SET_FILE || path.endsWith(`/${SET_FILE}`)) takeSet(work, folderOf(path));
  }
  // A folder where hosts expect a file, and the folders by which hosts are known.
  for (const folder of folders) if (/\.(?:md|json|yml)$/.test(folder) && isHit(work, folder)) work.folders.add(folder);
  for (const mark of HOSTS.flatMap((host) => host.presence)) if (work.listing.isFolder(mark)) work.folders.add(mark);
  for (const path of HOSTS.flatMap((host) => host.presence)) take(work, path);
  return {
    files: work.files,
    folders: work.folders,
    boards: work.boards,
    unsearched: work.unsearched,
    matters: (path) => {
      const subject = subjectOf(path);
      return isHit(work, path) || isOnTheWay(work, path) || (subject !== null && isHit(work, subject));
    },
    take: (path) => take(work, path),
  };
}

/** Takes a file where the name it is found by is an init path, or a sidecar of one. `as`: that name; another than `path` behind a link to a folder. */
function takeInitPath(work: Work, path: string, as: string, depth = 0): void {
  const mode = work.tree.files.get(path)?.mode;
  if (mode === SUBMODULE) {
    work.files.add(path);
    return;
  }
  if (mode === LINK) {
    if (isHit(work, as) || isOnTheWay(work, as)) takeLink(work, path, as, depth);
    return;
  }
  const subject = subjectOf(as);
  if (!isHit(work, as) && !(subject !== null && isHit(work, subject))) return;
  if (work.matcher.hit(nameOf(as), work.matcher.folder(folderOf(as)))?.kind === 'board') work.boards.add(path);
  take(work, path);
}

function takeLink(work: Work, path: string, as: string, depth: number): void {
  work.files.add(path);
  const { path: target, met } = resolveLinks(work.targets, path);
  for (const link of met) work.files.add(link);
  if (target === null) return;
  if (work.tree.files.has(target)) {
    take(work, target);
    return;
  }
  if (!work.listing.isFolder(target)) return;
  work.folders.add(target);
  const below = work.listing.below(target);
  work.links -= 1;
  work.linked -= below.length;
  if (depth === MAX_DEPTH || work.links < 0 || work.linked < 0) {
    work.unsearched.add(as);
    return;
  }
  const cut = target === '' ? 0 : target.length + 1;
  for (const one of below) takeInitPath(work, one, `${as}/${one.slice(cut)}`, depth + 1);
}

/** Takes a file with its sidecars, a sidecar with its file, a link with what it leads to. */
function take(work: Work, path: string): void {
  const { path: target, met } = resolveLinks(work.targets, path);
  for (const link of met) work.files.add(link);
  for (const one of [path, ...(target === null ? [] : [target])]) {
    if (!work.tree.files.has(one)) continue;
    work.files.add(one);
    const subject = subjectOf(one);
    const beside = [`${one}.manifest.yaml`, `${one}.manifest.json`, ...(subject === null ? [] : [subject])];
    for (const other of beside) if (work.tree.files.has(other) && !work.files.has(other)) take(work, other);
  }
}

function takeSet(work: Work, dir: string): void {
  for (const path of work.listing.below(dir)) {
    // A set at the top would take the whole tree with it.
    if (dir === '' && !/^(?:[^/]+|(?:spawns|authorship|approvals|revocations|roots|rules)\/[^/]+)$/.test(path))
      continue;
    take(work, path);
  }
}

function isHit(work: Work, path: string): boolean {
  return work.matcher.hit(nameOf(path), work.matcher.folder(folderOf(path))) !== null;
}

function isOnTheWay(work: Work, path: string): boolean {
  return work.matcher.leadsOn(nameOf(path), work.matcher.folder(folderOf(path))) !== null;
}

export function folderOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('/')));
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

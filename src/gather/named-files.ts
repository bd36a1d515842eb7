import { join, posix } from 'node:path';
import { linkTarget, MAX_FOLDERS, underLink } from '../discover/linked-folders.ts';
import { basesOf, configForm, isUrl, isWanted, wantedBelow } from '../discover/named-paths.ts';
import { walk } from '../files/walk.ts';
import { toRelative, type WorkspaceRoot } from '../files/workspace-root.ts';
import type { ConfigForm } from '../model/source.ts';
import type { Parsed } from '../model/stages.ts';
import { type NamedEntry, namedFiles } from '../parse/named-files.ts';
import { type Found, isFolder, locate, type Places } from './locate.ts';

/** Most files that one pattern yields, and paths that the patterns of one configuration and of all together are held against. */
const MAX_MATCHES = 500;
const MAX_TRIES = 200_000;
const MAX_ALL_TRIES = 2_000_000;
/** What a look at the disk counts for among them. */
const LOOK = 10;
/** Links to folders that are followed for patterns, and files met through them. */
const MAX_LINKS = 256;
const MAX_LINKED = 100_000;

interface Listing {
  /** Every file and link of the workspace, also through links to folders, sorted. */
  readonly paths: readonly string[];
  /** Folders and links below which nothing is known. */
  readonly blind: readonly string[];
}

interface Search extends Places {
  readonly form: ConfigForm;
  readonly config: Parsed;
  readonly listing: () => Listing;
  /** What may still be tried: of this configuration, and of all. */
  readonly own: { left: number };
  readonly all: { left: number };
}

/**
 * Finds what configurations have their hosts load: files, folders, patterns and addresses. What cannot be told is `unread`. Those near the root go first, so that no
 * flood of others below it spends the work they need (hard rule 10).
 */
export async function findNamed(
  configs: readonly Parsed[],
  places: Places,
): Promise<readonly (readonly [Parsed, readonly Found[]])[]> {
  let listed: Listing | null = null;
  const listing = (): Listing => {
    listed ??= listAll(places.root);
    return listed;
  };
  const all = { left: MAX_ALL_TRIES };
  const depth = ({ candidate }: Parsed): number => candidate.path.split('/').length;
  const found: (readonly [Parsed, readonly Found[]])[] = [];
  for (const config of [...configs].sort((a, b) => depth(a) - depth(b))) {
    const form = configForm(config.candidate.path);
    if (form === null || config.text === null) continue;
    const { entries, fault } = await namedFiles(form, config.text.read());
    const { root, home, place } = places;
    const search: Search = { form, root, home, place, config, listing, all, own: { left: MAX_TRIES } };
    const named = entries.flatMap((entry) => find(entry, search));
    found.push([
      config,
      fault === null ? named : [...named, { path: '', state: 'unread', line: 1, column: 1, why: fault }],
    ]);
  }
  return found;
}

function find(entry: NamedEntry, search: Search): readonly Found[] {
  const { value, line, column, beside } = entry;
  const at = { line, column };
  if (!beside && isUrl(value)) return [{ path: printable(value), state: 'remote', ...at }];
  // What OpenCode puts there before it reads the entry is known to nobody.
  if (!beside && /\{(?:env|file):/.test(value))
    return [{ path: value, state: 'unread', why: 'it is put together at the start', ...at }];
  const bases = basesOf(search.config.candidate.path, search.config.candidate.nested ?? '');
  const found = (beside ? bases.slice(0, 1) : bases).flatMap((base) => findBelow(base, value, beside, search));
  const there = found.filter((one) => one.state !== 'missing');
  const told = there.length > 0 ? there : found.slice(0, 1);
  return told.map((one) => ({ ...one, ...at }));
}

type Placed = Omit<Found, 'line' | 'column'>;

function findBelow(base: string, value: string, plainly: boolean, search: Search): readonly Placed[] {
  const literal = (path: string): readonly Placed[] =>
    locate(`${base}${base === '' ? '' : '/'}config`, path, search, true);
  if (isSpent(search, LOOK)) return [{ path: value, state: 'unread', why: 'there are too many files to search' }];
  const wanted = plainly ? { plain: value } : wantedBelow(base, value);
  if (wanted === 'unclear') return [{ path: value, state: 'unread', why: 'the pattern is not understood' }];
  if ('outside' in wanted) return outside(wanted.outside, value, search);
  if ('plain' in wanted) {
    const path = posix.join(base, value);
    const inside = toRelative({ path: search.place }, join(search.place, path));
    // Only aider reads whole folders.
    if (
      search.form === 'aider' &&
      !value.startsWith('/') &&
      inside !== null &&
      isFolder(join(search.root.path, inside))
    )
      return matching(inside, '**', value, search);
    const found = literal(value);
    return found.length > 0 ? found : [{ path: value, state: 'missing' }];
  }
  // A file may also be called as the pattern is spelt.
  const spelt = literal(value).filter((one) => one.state === 'inside');
  return [...spelt, ...matching(wanted.folder, wanted.glob, value, search)];
}

function matching(folder: string, glob: string, value: string, search: Search): readonly Placed[] {
  if (/(?:^|\/)\.git(?:\/|$)/.test(folder))
    return [{ path: value, state: 'unread', why: 'it lies in the folder of git' }];
  const { paths, blind } = search.listing();
  const found: Placed[] = [];
  const unread = (why: string): readonly Placed[] => [...found, { path: value, state: 'unread', why }];
  const prefix = folder === '' ? '' : `${folder}/`;
  for (let at = prefix === '' ? 0 : firstFrom(paths, prefix); at < paths.length; at += 1) {
    const path = paths[at] ?? '';
    if (!path.startsWith(prefix)) break;
    if (isSpent(search, 1)) return unread('there are too many files to search');
    if (!isWanted(path, { folder, glob })) continue;
    if (found.length === MAX_MATCHES) return unread(`it stands for more than ${MAX_MATCHES} files`);
    if (!isFolder(join(search.root.path, path))) found.push({ path, state: 'inside' });
  }
  const hidden = blind.find((one) => `${one}/`.startsWith(prefix) || prefix.startsWith(`${one}/`));
  return hidden === undefined ? found : unread(`${hidden} could not be searched`);
}

function isSpent({ own, all }: Search, cost: number): boolean {
  own.left -= cost;
  all.left -= cost;
  return own.left < 0 || all.left < 0;
}

/** A pattern of files outside of the workspace: where its folder is there, the host reads whatever lies in it. */
function outside(folder: string, value: string, { place, home }: Search): readonly Placed[] {
  const absolute = folder.startsWith('~')
    ? join(home, folder.slice(1))
    : folder.startsWith('/')
      ? folder
      : join(place, folder);
  if (!isFolder(absolute)) return [{ path: value, state: 'missing' }];
  return [{ path: value, state: 'escapes' }];
}

function listAll(root: WorkspaceRoot): Listing {
  const paths: string[] = [];
  const blind: string[] = [];
  const links: string[] = [];
  const walked = walk(root, {
    maxFolders: MAX_FOLDERS,
    skip: () => false,
    wants: (name, folder, kind) => {
      const path = folder === '' ? name : `${folder}/${name}`;
      if (kind === 'link' && linkTarget(root, path) !== 'file') links.push(path);
      else paths.push(path);
      return false;
    },
  });
  blind.push(...walked.incomplete.map((one) => one.path));
  const budget = { links: MAX_LINKS, entries: MAX_LINKED };
  for (const link of links) {
    const { reached, broken, incomplete } = underLink(root, link, budget, () => true);
    for (const one of reached) paths.push(one.path);
    // A link that leads out or nowhere is named by its own path too: who reads it says which.
    for (const one of broken) paths.push(one);
    blind.push(...broken, ...incomplete);
  }
  return { paths: paths.sort(), blind };
}

function firstFrom(sorted: readonly string[], text: string): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] ?? '') < text) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** An address without what may be secret in it. */
function printable(value: string): string {
  try {
    const url = new URL(value);
    return `${url.protocol}//${url.host}${url.pathname}`;
  } catch {
    return value.replace(/[?#].*$/s, '').replace(/\/\/[^/]*@/, '//');
  }
}

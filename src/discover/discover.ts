import { isAbsolute, resolve } from 'node:path';
import { followLinks } from '../files/follow-links.ts';
import { walk } from '../files/walk.ts';
import { toRelative, type WorkspaceRoot } from '../files/workspace-root.ts';
import { finding } from '../model/codes.ts';
import { escapePath } from '../model/escaped.ts';
import type { Finding } from '../model/finding.ts';
import type { InitPattern } from '../model/policy.ts';
import type { Candidate } from '../model/source.ts';
import { isBelow, isOnTheWay, type LinkBudget, linkTarget, MAX_FOLDERS, underLink } from './linked-folders.ts';
import { type Hit, kindByName, type Matcher, matcherOf } from './matcher.ts';
import { isRepository, nestedFolderOf } from './nested.ts';
import { hostsPresent } from './present.ts';
import { liesThere, sidecarsBeside, subjectOf } from './sidecars.ts';

/** Links to folders that are followed, and files met through them, before a search gives up and says so. */
const MAX_LINKS = 512;
const MAX_LINKED = 200_000;
/** Findings of one kind that are told one by one. */
const MAX_TOLD = 20;

export interface DiscoverInput {
  readonly root: WorkspaceRoot;
  /** Profiles to apply besides `generic`; null: all. */
  readonly policyHosts: readonly string[] | null;
  /** The policy's own patterns, relative to the root and exact: a bare name counts in the root only. */
  readonly initPaths: readonly InitPattern[];
  /** Most candidates returned from a search. */
  readonly maxFiles: number;
  /** Paths to judge instead of searching the workspace, init paths or not; a folder stands for the init paths below it. Null: the whole workspace. */
  readonly paths: readonly string[] | null;
  /** Constitution documents, always candidates. */
  readonly documents: readonly string[];
  /** Paths that approvals name: of a whole search they go before all others, so that no flood of files crowds them out. */
  readonly first: readonly string[];
}

export interface Discovery {
  /** By path, in code unit order, each path once. */
  readonly candidates: readonly Candidate[];
  readonly findings: readonly Finding[];
  /** Hosts whose marks lie in the root. */
  readonly present: readonly string[];
  /** File to the sidecars seen beside it; an empty list where its whole folder was seen and holds none. */
  readonly sidecars: ReadonlyMap<string, readonly string[]>;
  /** Sidecars of init paths that are not there. */
  readonly orphans: readonly string[];
}

interface Search {
  readonly input: DiscoverInput;
  readonly matcher: Matcher;
  readonly own: Map<string, Candidate>;
  readonly foreign: Map<string, Candidate>;
  readonly sidecars: Map<string, readonly string[]>;
  readonly orphans: string[];
  readonly unsearched: string[];
  readonly links: LinkBudget;
  readonly foldsCase: boolean;
  tooMany: boolean;
}

/**
 * Finds what has to be judged. Reads no file, obeys no ignore file, hides nothing: dependencies and nested repositories are searched too and their
 * candidates say so. Named files cost a few looks each and no walk. Throws nothing for what it meets on disk.
 */
export function discover(input: DiscoverInput): Discovery {
  const foldsCase = process.platform === 'darwin' || process.platform === 'win32';
  const search: Search = {
    input,
    matcher: matcherOf(input.policyHosts, input.initPaths, foldsCase),
    own: new Map(),
    foreign: new Map(),
    sidecars: new Map(),
    orphans: [],
    unsearched: [],
    links: { links: MAX_LINKS, entries: MAX_LINKED },
    foldsCase,
    tooMany: false,
  };
  if (input.paths === null) searchFolder(search, '');
  else for (const path of input.paths) takeNamed(search, path);
  if (input.paths === null) takeMissed(search);
  const chosen = cutToLimit(search);
  for (const path of input.documents) chosen.set(path, document(search, path, chosen.get(path)));
  return {
    candidates: [...chosen.values()].sort((a, b) => (a.path < b.path ? -1 : 1)),
    findings: incompleteFindings(search),
    present: hostsPresent(input.root.path),
    sidecars: search.sidecars,
    orphans: [...new Set(search.orphans)].sort(),
  };
}

function searchFolder(search: Search, goal: string): void {
  const { input, matcher } = search;
  const links: string[] = [];
  const pending: string[] = [];
  const walked = walk(input.root, {
    maxFolders: MAX_FOLDERS,
    skip: (path) => {
      if (goal !== '' && !isOnTheWay(path, goal)) return true;
      takeFolderInTheWay(search, path);
      return false;
    },
    onFolder: (folder, repository) => {
      if (repository && isRepository(join(input.root.path, folder))) matcher.isRepository(folder);
    },
    wants: (name, at, kind) => {
      if (goal !== '' && !isBelow(at, goal)) return false;
      const folder = matcher.folder(at);
      if (subjectOf(name) !== null) pending.push(join(at, name));
      else if (kind === 'link') links.push(join(at, name));
      else {
        const hit = matcher.hit(name, folder);
        if (hit === null) return false;
        const path = join(at, name);
        keep(search, path, hit, folder.nested);
        // Where names fold, a sidecar may be spelt otherwise than its file, so only a look tells.
        if (kind === 'file' && !search.foldsCase) search.sidecars.set(path, []);
      }
      return false;
    },
  });
  search.unsearched.push(...walked.incomplete.map(({ path, why }) => `${path === '' ? '.' : path} (${why})`));
  for (const path of links) takeLink(search, path);
  for (const path of pending) takeSidecar(search, path);
}

/** A folder where hosts expect a file: it can't be read as one, and that is told rather than passed over. */
function takeFolderInTheWay(search: Search, path: string): void {
  if (!/\.(?:md|json|yml)$/.test(path)) return;
  const { name, at } = split(path);
  const folder = search.matcher.folder(at);
  const hit = search.matcher.hit(name, folder);
  if (hit !== null && hit.confusableWith === null && search.matcher.leadsOn(name, folder) === null)
    keep(search, path, hit, folder.nested);
}

function takeLink(search: Search, path: string): void {
  const { root } = search.input;
  const { name, at } = split(path);
  const folder = search.matcher.folder(at);
  const hit = search.matcher.hit(name, folder);
  const below = search.matcher.leadsOn(name, folder);
  if (hit === null && below === null) return;
  const target = linkTarget(root, path);
  if (hit !== null && (below === null || target === 'file')) {
    keep(search, path, hit, folder.nested ?? nestedOfTarget(root, path));
    return;
  }
  if (target !== 'file') searchLinked(search, path, below ?? hit);
}

/** Judges what a host finds below a link to a folder, by the names it finds it by. `asWhole`: what the link itself counts as where it can't be followed. */
function searchLinked(search: Search, path: string, asWhole: Hit | null): void {
  const { root } = search.input;
  const { matcher } = search;
  const found = underLink(root, path, search.links, (one) => leadsOn(matcher, one) !== null);
  const sidecars: string[] = [];
  for (const one of found.reached) {
    const { name, at } = split(one.path);
    const folder = matcher.folder(at);
    if (subjectOf(name) !== null) sidecars.push(one.path);
    else {
      const hit = matcher.hit(name, folder);
      if (hit !== null) keep(search, one.path, hit, folder.nested ?? nestedFolderOf(root.path, one.real));
    }
  }
  for (const one of found.broken)
    keep(search, one, leadsOn(matcher, one) ?? asWhole, matcher.folder(split(one).at).nested);
  search.unsearched.push(...found.incomplete);
  for (const one of sidecars) takeSidecar(search, one);
}

function leadsOn(matcher: Matcher, path: string): Hit | null {
  const { name, at } = split(path);
  return matcher.leadsOn(name, matcher.folder(at));
}

/** A sidecar speaks for the file beside it; without that file it is text like any other, and an orphan where the file would be an init path. */
function takeSidecar(search: Search, path: string): void {
  const subject = spokenFor(search, path);
  if (subject !== null) {
    search.sidecars.set(subject, [...(search.sidecars.get(subject) ?? []), path].sort());
    return;
  }
  const { name, at } = split(path);
  const folder = search.matcher.folder(at);
  keep(search, path, search.matcher.hit(name, folder), folder.nested);
  const absent = subjectOf(path) ?? path;
  if (
    !liesThere(search.input.root.path, absent) &&
    search.matcher.hit(split(absent).name, folder)?.confusableWith === null
  )
    search.orphans.push(path);
}

/**
 * @returns the file whose sidecar this is, or null where it is text like any other: that file is not there, is a sidecar itself, or
 * is no init path while a host loads this one. Else a name with a suffix too many would keep what a host reads from being judged.
 */
function spokenFor(search: Search, path: string): string | null {
  const subject = subjectOf(path);
  if (subject === null || !liesThere(search.input.root.path, subject)) return null;
  const isHit = (one: string): boolean => {
    const { name, at } = split(one);
    return search.matcher.hit(name, search.matcher.folder(at)) !== null;
  };
  if (!isHit(path)) return subject;
  return subjectOf(subject) === null && isHit(subject) ? subject : null;
}

function takeNamed(search: Search, given: string): void {
  const { root } = search.input;
  const path = toRelative(root, isAbsolute(given) ? resolve(given) : resolve(root.path, given));
  if (path === null) {
    const absolute = resolve(root.path, given);
    search.own.set(absolute, {
      path: absolute,
      kind: kindByName(absolute),
      uses: [],
      nested: null,
      confusableWith: null,
      outside: true,
      importHops: 0,
    });
    return;
  }
  const target = path === '' ? { folder: '' } : linkTarget(root, path);
  if (typeof target === 'object') {
    if (target.folder === path) searchFolder(search, path);
    else searchLinked(search, path, null);
    return;
  }
  const subject = spokenFor(search, path) ?? path;
  const { name, at } = split(subject);
  const hit = search.matcher.hit(name, search.matcher.folder(at));
  const nested = nestedFolderOf(root.path, subject) ?? nestedOfTarget(root, subject);
  search.own.set(subject, candidate(subject, hit, nested));
  const beside = sidecarsBeside(root.path, subject);
  if (beside.length > 0) search.sidecars.set(subject, beside);
}

/** Where the search did not see everything, what approvals name is looked for by its name. */
function takeMissed(search: Search): void {
  if (!search.tooMany && search.unsearched.length === 0) return;
  for (const path of search.input.first) {
    if (search.own.has(path) || search.foreign.has(path) || !liesThere(search.input.root.path, path)) continue;
    const { name, at } = split(path);
    if (search.matcher.hit(name, search.matcher.folder(at)) !== null) takeNamed(search, path);
  }
}

function keep(search: Search, path: string, hit: Hit | null, nested: string | null): void {
  if (hit === null) return;
  const kept = nested === null ? search.own : search.foreign;
  if (kept.size >= search.input.maxFiles && !kept.has(path)) search.tooMany = true;
  else kept.set(path, candidate(path, hit, nested));
}

function candidate(path: string, hit: Hit | null, nested: string | null): Candidate {
  return {
    path,
    kind: hit?.kind ?? kindByName(path),
    uses: hit?.uses ?? [],
    nested,
    confusableWith: hit?.confusableWith ?? null,
    outside: false,
    importHops: hit?.hops ?? 0,
    ...(hit?.budgets === undefined ? {} : { budgets: hit.budgets }),
  };
}

function document(search: Search, path: string, known: Candidate | undefined): Candidate {
  const { name, at } = split(path);
  const beside = search.sidecars.get(path) ?? sidecarsBeside(search.input.root.path, path);
  if (beside.length > 0) search.sidecars.set(path, beside);
  const made =
    known ??
    candidate(path, search.matcher.hit(name, search.matcher.folder(at)), nestedFolderOf(search.input.root.path, path));
  return { ...made, kind: 'document' };
}

/** What approvals name goes first, then the workspace's own files, so that no dependency can crowd them out. */
function cutToLimit(search: Search): Map<string, Candidate> {
  const { maxFiles } = search.input;
  const first = new Set(search.input.first);
  const kept = search.own.size > maxFiles ? [...search.own].filter(([path]) => first.has(path)) : [];
  const own = new Map([...new Map([...kept, ...search.own])].slice(0, Math.max(maxFiles, kept.length)));
  const room = Math.max(0, maxFiles - own.size);
  if (search.foreign.size > room) search.tooMany = true;
  return new Map([...own, ...[...search.foreign].slice(0, room)]);
}

function incompleteFindings(search: Search): readonly Finding[] {
  const told = search.unsearched.slice(0, MAX_TOLD).map((what) => `Not searched: ${escapePath(what)}.`);
  const rest = search.unsearched.length - told.length;
  if (rest > 0) told.push(`Not searched: ${rest} more folders.`);
  if (search.tooMany) told.push(`More than ${search.input.maxFiles} init files: the rest was not judged.`);
  return told.map((message) => finding('discovery-incomplete', { message }));
}

function nestedOfTarget(root: WorkspaceRoot, path: string): string | null {
  const target = followLinks(root, path);
  return 'path' in target && target.path !== path ? nestedFolderOf(root.path, target.path) : null;
}

function split(path: string): { readonly name: string; readonly at: string } {
  const slash = path.lastIndexOf('/');
  return { name: path.slice(slash + 1), at: slash < 0 ? '' : path.slice(0, slash) };
}

function join(folder: string, name: string): string {
  return folder === '' ? name : `${folder}/${name}`;
}

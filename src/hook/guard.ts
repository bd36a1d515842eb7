import { existsSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { matchesAny } from '../discover/globs.ts';
import { type Matcher, matcherOf } from '../discover/matcher.ts';
import type { ProfileKind } from '../discover/profile.ts';
import { subjectOf } from '../discover/sidecars.ts';
import { isInside, realOrMissing, toRelative, type WorkspaceRoot } from '../files/workspace-root.ts';
import { type Judgement, judge, type Request } from '../gate.ts';
import { HOSTS } from '../generated/hosts.ts';
import { findRepository } from '../git/repository.ts';
import { POLICY_DIR } from '../policy/defaults.ts';
import { EXCEPTIONS_FILE, POLICY_FILE, SIGNERS_FILE } from '../policy/policy-set.ts';
import { SET_FILE } from '../policy/set-file.ts';

/** Why a path is not written directly. `path` is relative to its workspace, else absolute. */
export interface Guarded {
  readonly path: string;
  readonly what: 'init' | 'document' | 'policy' | 'outside' | 'state';
  readonly kind: ProfileKind;
  /** The init path whose name it only looks like, else null. */
  readonly looksLike: string | null;
}

export interface Guard {
  /** @returns null for a path that agents may write. */
  why(path: string): Promise<Guarded | null>;
  /** Under `observe` nothing is blocked (overview.md, faces). Known once a path was asked about. */
  observes(): boolean;
}

interface Governed {
  readonly root: WorkspaceRoot;
  readonly matcher: Matcher;
  readonly dir: string;
  readonly documents: ReadonlySet<string>;
  readonly observes: boolean;
}

/** Files and folders of a policy set that writ reads: a change by hand breaks or widens it. */
const SET_PARTS = [
  SET_FILE,
  POLICY_FILE,
  SIGNERS_FILE,
  EXCEPTIONS_FILE,
  'approvals',
  'authorship',
  'revocations',
  'spawns',
];
const PROJECTS = '.claude/projects/';

/**
 * Guards the init paths of every workspace a path may belong to: the session's, and the one the path itself lies in.
 * @param request of the session; no artifact is judged. `onlyGoverned`: a workspace without a policy set is left alone.
 */
export function guardOf(request: Request, folders: readonly string[], onlyGoverned: boolean): Guard {
  const known = new Map<string, Promise<Governed | null>>();
  let observing = false;
  const at = (root: WorkspaceRoot): Promise<Governed | null> => {
    const found = known.get(root.path) ?? govern(request, root, onlyGoverned);
    known.set(root.path, found);
    return found;
  };
  const places = new Map<string, WorkspaceRoot | null>();
  const placeOf = (folder: string): readonly WorkspaceRoot[] => {
    const found = places.has(folder) ? places.get(folder) : workspaceOf(folder);
    places.set(folder, found ?? null);
    return found ? [found] : [];
  };
  const session = [request.root, ...folders.flatMap((folder) => workspaceOf(folder) ?? [])];
  const guard = async (path: string): Promise<Guarded | null> => {
    const spellings = spellingsOf(path);
    const { configDir } = request.places;
    const state = request.state.kind === 'sqlite' ? dirname(request.state.file) : configDir;
    const mine = spellings.find((one) => [configDir, state].some((folder) => isInside(folder, one)));
    if (mine !== undefined) return { path: mine, what: 'state', kind: 'executable', looksLike: null };
    const own = spellings.flatMap((one) => placeOf(dirname(one)));
    const roots = new Map([...session, ...own].map((root) => [root.path, root]));
    for (const root of roots.values()) {
      const holds = spellings.flatMap((one) => toRelative(root, one) ?? []);
      const isSession = session.some((one) => one.path === root.path);
      if (holds.length === 0 && !isSession) continue;
      const governed = await at(root);
      if (governed === null) continue;
      observing ||= governed.observes;
      const found =
        holds.map((one) => inWorkspace(one, governed)).find((one) => one !== null) ??
        (isSession ? beyond(spellings, root, request.places.home) : null);
      if (found !== null) return found;
    }
    return null;
  };
  return { why: guard, observes: () => observing };
}

/** A path as it is spelt, behind the links of its folder, and behind its own. */
function spellingsOf(path: string): readonly string[] {
  const spelt = resolve(path);
  const folder = realOrMissing(dirname(spelt));
  const real = realOrMissing(spelt);
  return [
    ...new Set([spelt, ...(folder === null ? [] : [join(folder, basename(spelt))]), ...(real === null ? [] : [real])]),
  ];
}

/** The workspace a folder lies in: its git work tree, else the nearest folder above with a policy set. Null where there is neither. */
function workspaceOf(folder: string): WorkspaceRoot | null {
  const real = realOrMissing(folder);
  if (real === null) return null;
  let there = real;
  while (!existsSync(there) && dirname(there) !== there) there = dirname(there);
  const repository = findRepository(there);
  if (repository !== null) return { path: repository.topLevel };
  for (let one = there; ; one = dirname(one)) {
    if (existsSync(join(one, POLICY_DIR, SET_FILE))) return { path: one };
    if (dirname(one) === one) return null;
  }
}

async function govern(request: Request, root: WorkspaceRoot, onlyGoverned: boolean): Promise<Governed | null> {
  const asked = { ...request, root, repository: findRepository(root.path), paths: [], onProgress: null };
  // State costs more to open than the rest together, and says nothing of which paths are init paths.
  let judgement = await judge({ ...asked, state: { kind: 'none' } });
  const hasSet = (one: Judgement): boolean => existsSync(join(root.path, one.set.dir, SET_FILE));
  if (onlyGoverned && !hasSet(judgement)) {
    judgement = await judge(asked);
    // A set that is gone governs still: this machine remembers what the checkout was.
    const { remembered, findings } = judgement.memory;
    if (remembered.checkout === null && findings.length === 0) return null;
  }
  const { set } = judgement;
  const foldsCase = process.platform === 'darwin' || process.platform === 'win32';
  return {
    root,
    matcher: matcherOf(set.policy.hosts, set.policy.initPaths, foldsCase),
    dir: hasSet(judgement) ? set.dir : '',
    documents: new Set([...set.documents.keys(), ...set.policy.constitution.documents]),
    observes: judgement.enforcement === 'observe',
  };
}

function inWorkspace(path: string, { matcher, dir, documents }: Governed): Guarded | null {
  if (documents.has(path)) return { path, what: 'document', kind: 'prose', looksLike: null };
  if (dir !== '' && path.startsWith(`${dir}/`)) {
    const part = path.slice(dir.length + 1).split('/')[0] ?? '';
    if (SET_PARTS.includes(part)) return { path, what: 'policy', kind: 'prose', looksLike: null };
  }
  for (const one of [path, subjectOf(path)]) {
    if (one === null) continue;
    const slash = one.lastIndexOf('/');
    const hit = matcher.hit(one.slice(slash + 1), matcher.folder(slash < 0 ? '' : one.slice(0, slash)));
    if (hit !== null) return { path, what: 'init', kind: hit.kind, looksLike: hit.confusableWith };
  }
  return null;
}

/** What hosts load from the home and from the folders above. The memory Claude Code keeps by itself stays its own: it is judged when it is read. */
function beyond(spellings: readonly string[], root: WorkspaceRoot, home: string): Guarded | null {
  const homes = [...new Set([home, realOrMissing(home) ?? home])];
  for (const host of HOSTS) {
    for (const entry of host.outside) {
      const isIt = (path: string): boolean => {
        if (entry.where === 'ancestors')
          return path.endsWith(`/${entry.path}`) && isInside(path.slice(0, -entry.path.length) || '/', root.path);
        if (entry.where !== 'home' || entry.path.startsWith(PROJECTS)) return false;
        return homes.some((one) => matchesAny(toRelative({ path: one }, path) ?? '', [entry.path]));
      };
      const path = spellings.find((one) => toRelative(root, one) === null && isIt(one));
      if (path !== undefined) return { path, what: 'outside', kind: entry.kind, looksLike: null };
    }
  }
  return null;
}

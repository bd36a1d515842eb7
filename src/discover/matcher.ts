import { ENTRIES, FOLDERS, LOOKALIKES, NAME_PATTERNS, NAMES } from '../generated/hosts.ts';
import type { InitPattern } from '../model/policy.ts';
import type { HostUse } from '../model/source.ts';
import { matchesAny } from './globs.ts';
import { canonicalFolder, imitated, isOrdinary, type Spellings } from './lookalike.ts';
import { isDependencyFolder } from './nested.ts';
import type { ProfileEntry, ProfileKind } from './profile.ts';

interface Place {
  readonly canonical: string;
  readonly starts: readonly number[];
}

/** What is known about a folder once, for every name in it. */
export interface Folder {
  /** Workspace-relative, `''` for the root. */
  readonly path: string;
  /** The path with look-alike parts read as what they imitate. */
  readonly canonical: string;
  /** Offsets in `canonical` where a part begins that patterns start with. */
  readonly starts: readonly number[];
  /** The same for the path as it is spelt; `canonical` and it are equal for nearly every folder. */
  readonly spelt: Place;
  /** Whether a host's own folder (`.claude`, `.github`, ...) is on the way. */
  readonly inHost: boolean;
  /** The outermost dependency folder or repository it lies in, else null. */
  readonly nested: string | null;
}

/** What an init path is to the hosts that load it. */
export interface Hit {
  readonly uses: readonly HostUse[];
  readonly kind: ProfileKind;
  readonly hops: number;
  /** What their hosts read at most: places in BUDGETS; absent where none says. */
  readonly budgets?: readonly number[];
  /** The exact init path the name only looks like, else null. */
  readonly confusableWith: string | null;
}

/** Says of paths whether they are init paths. Holds the folders it has seen. */
export interface Matcher {
  folder(path: string): Folder;
  /** Tells that a folder is a repository of its own; before anything below it is asked about. */
  isRepository(path: string): void;
  /** @returns null for a name no host, policy or look-alike rule knows. */
  hit(name: string, folder: Folder): Hit | null;
  /** @returns whether a folder at this path would hold something that patterns with folders can match. */
  leadsOn(name: string, folder: Folder): Hit | null;
}

const TOP: Place = { canonical: '', starts: [] };
const ROOT: Folder = { path: '', ...TOP, spelt: TOP, inHost: false, nested: null };
const LOUDNESS: Readonly<Record<HostUse['loads'], number>> = { lazy: 0, spawn: 1, launch: 2 };
const KIND_ORDER: Readonly<Record<ProfileKind, number>> = { prose: 0, board: 1, executable: 2 };

const byName = new Map(NAMES);
const byFolder = new Map(FOLDERS);
const namePatterns = NAME_PATTERNS.map(([source, ids]) => ({ pattern: new RegExp(source, 's'), ids }));
const anyName = new RegExp(NAME_PATTERNS.map(([source]) => source).join('|'), 's');
const tails = new Map<number, RegExp>();
let spellings: Spellings | null = null;

/**
 * Makes a matcher over every profile, or over those in `hosts` and `generic`, and the policy's own patterns.
 * `foldsCase`: the file system takes `agents.md` for AGENTS.md, so no spelling is ordinary.
 */
export function matcherOf(
  hosts: readonly string[] | null,
  initPaths: readonly InitPattern[],
  foldsCase: boolean,
): Matcher {
  const active = hosts === null ? null : new Set([...hosts, 'generic']);
  const folders = new Map<string, Folder>([['', ROOT]]);
  const isActive = (id: number): boolean => active === null || active.has(ENTRIES[id]?.host ?? '');

  const folder = (path: string): Folder => {
    const known = folders.get(path);
    if (known !== undefined) return known;
    const slash = path.lastIndexOf('/');
    const made = below(folder(slash < 0 ? '' : path.slice(0, slash)), path.slice(slash + 1), path);
    folders.set(path, made);
    return made;
  };

  const exact = (name: string, at: Place): Hit | null => {
    const found = collect(name, at, isActive);
    const path = under(at.canonical, name);
    for (const { path: glob, loads } of initPaths) {
      if (matchesAny(path, [glob]))
        found.push({ use: { host: 'policy', loads }, kind: kindByName(name), hops: 0, budget: null });
    }
    return found.length === 0 ? null : hitOf(found);
  };

  // Most files of a folder are what their neighbours are; they share one answer.
  const hits = new Map<string, Hit>();
  const hitOf = (found: readonly Found[]): Hit => {
    const key = found.map((one) => `${one.use.host} ${one.use.loads} ${one.kind} ${one.hops} ${one.budget}`).join();
    const known = hits.get(key);
    if (known !== undefined) return known;
    const made = merged(found);
    hits.set(key, made);
    return made;
  };

  return {
    folder,
    isRepository(path) {
      const known = folder(path);
      if (path !== '' && known.nested === null) folders.set(path, { ...known, nested: path });
    },
    hit(name, at) {
      const here = exact(name, at.spelt);
      const isSpelt = at.path === at.canonical;
      if (here !== null && isSpelt) return here;
      const read = isSpelt ? null : exact(name, at);
      if (read !== null && !isSame(read, here)) return { ...read, confusableWith: under(at.canonical, name) };
      if (here !== null) return here;
      for (const one of imitated(name, at.inHost, known())) {
        const as = exact(one, at);
        if (as === null || (isSpelt && !at.inHost && !foldsCase && isOrdinary(name, one, at.path))) continue;
        const isFolderSound = isSame(as, exact(one, at.spelt));
        return { ...as, confusableWith: under(isFolderSound ? at.path : at.canonical, one) };
      }
      return null;
    },
    leadsOn(name, at) {
      const as = below(at, name, under(at.path, name));
      const found = as.starts.flatMap((start) => {
        const parts = as.canonical.slice(start).split('/');
        const ids = byFolder.get(parts[0] ?? '') ?? [];
        return ids.flatMap((id) => {
          const entry = ENTRIES[id];
          return entry && isActive(id) && reaches(entry.glob, parts) && (start === 0 || entry.anyDepth)
            ? [asFound(entry, start === 0)]
            : [];
        });
      });
      return found.length === 0 ? null : hitOf(found);
    },
  };
}

interface Found {
  readonly use: HostUse;
  readonly kind: ProfileKind;
  readonly hops: number;
  readonly budget: number | null;
}

function collect(name: string, at: Place, isActive: (id: number) => boolean): Found[] {
  const found: Found[] = [];
  const take = (ids: readonly number[], isTop: boolean): void => {
    for (const id of ids) {
      const entry = ENTRIES[id];
      if (entry && isActive(id) && (isTop || entry.anyDepth)) found.push(asFound(entry, isTop));
    }
  };
  const exact = byName.get(name);
  if (exact !== undefined) take(exact, at.canonical === '');
  if (anyName.test(name)) {
    for (const { pattern, ids } of namePatterns) if (pattern.test(name)) take(ids, at.canonical === '');
  }
  for (const start of at.starts) {
    const tail = `${start === 0 ? at.canonical : at.canonical.slice(start)}/${name}`;
    const ids = byFolder.get(tail.slice(0, tail.indexOf('/'))) ?? [];
    take(
      ids.filter((id) => tailOf(id).test(tail)),
      start === 0,
    );
  }
  return found;
}

function asFound(entry: ProfileEntry, isTop: boolean): Found {
  const loads = entry.loads === 'launch' && !isTop ? 'lazy' : entry.loads;
  return { use: { host: entry.host, loads }, kind: entry.kind, hops: entry.hops, budget: entry.budget };
}

function merged(found: readonly Found[]): Hit {
  const uses = new Map<string, HostUse>();
  for (const { use } of found) {
    const known = uses.get(use.host);
    if (known === undefined || LOUDNESS[use.loads] > LOUDNESS[known.loads]) uses.set(use.host, use);
  }
  const budgets = [...new Set(found.flatMap(({ budget }) => budget ?? []))];
  return {
    uses: [...uses.values()].sort((a, b) => (a.host < b.host ? -1 : 1)),
    kind: found.reduce<ProfileKind>(
      (kind, one) => (KIND_ORDER[one.kind] > KIND_ORDER[kind] ? one.kind : kind),
      'prose',
    ),
    hops: Math.max(...found.map((one) => one.hops)),
    ...(budgets.length === 0 ? {} : { budgets }),
    confusableWith: null,
  };
}

function below(parent: Folder, name: string, path: string): Folder {
  const part = canonicalFolder(name, parent.inHost, known);
  const read = placeBelow(parent, part);
  const isSpelt = part === name && parent.path === parent.canonical;
  return {
    path,
    ...read,
    spelt: isSpelt ? read : placeBelow(parent.spelt, name),
    inHost: parent.inHost || (part.startsWith('.') && byFolder.has(part)),
    nested: parent.nested ?? (isDependencyFolder(name) ? path : null),
  };
}

function placeBelow(parent: Place, part: string): Place {
  const canonical = under(parent.canonical, part);
  return { canonical, starts: byFolder.has(part) ? [...parent.starts, canonical.length - part.length] : parent.starts };
}

function under(folder: string, name: string): string {
  return folder === '' ? name : `${folder}/${name}`;
}

function isSame(a: Hit, b: Hit | null): boolean {
  return b !== null && a.kind === b.kind && JSON.stringify(a.uses) === JSON.stringify(b.uses);
}

/** Whether a pattern can match something below the folder that these parts spell. */
function reaches(glob: string, parts: readonly string[]): boolean {
  const wanted = glob.split('/');
  for (const [at, part] of parts.entries()) {
    const want = wanted[at];
    if (want === '**') return true;
    if (want === undefined || at === wanted.length - 1 || !matchesAny(part, [want])) return false;
  }
  return true;
}

/** How a file that no profile describes is read: line by line where its name says so. */
export function kindByName(name: string): ProfileKind {
  return name.endsWith('.jsonl') ? 'board' : 'prose';
}

function tailOf(id: number): RegExp {
  let pattern = tails.get(id);
  if (pattern === undefined) {
    pattern = new RegExp(ENTRIES[id]?.source ?? '(?!)', 's');
    tails.set(id, pattern);
  }
  return pattern;
}

function known(): Spellings {
  spellings ??= makeSpellings();
  return spellings;
}

function makeSpellings(): Spellings {
  const lower = (names: Iterable<string>): ReadonlyMap<string, string> =>
    new Map([...names].map((name) => [name.toLowerCase(), name]));
  const inner = ENTRIES.flatMap((entry) => entry.glob.split('/').slice(1)).filter((part) => !/[*?[\]]/.test(part));
  return {
    names: lower([...byName.keys(), ...LOOKALIKES]),
    folders: lower([...byFolder.keys()].filter((name) => name.startsWith('.'))),
    inner: lower(inner),
  };
}

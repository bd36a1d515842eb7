import { type Dirent, lstatSync, readdirSync, statSync } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';
import { ENTRIES, HOSTS } from '../generated/hosts.ts';
import type { Candidate, HostUse, InitKind } from '../model/source.ts';
import { matchesAny } from './globs.ts';
import { belowMoved, type MovedHome } from './moved-homes.ts';
import type { OutsideEntry } from './profile.ts';

const MAX_DEPTH = 8;
const MAX_ENTRIES = 5_000;

export interface OutsideInput {
  /** The user's home, absolute. */
  readonly home: string;
  /** Folders of the home that lie elsewhere. They are looked at as well: the next start of a host may have another environment. */
  readonly moved: readonly MovedHome[];
  /** Real path of the workspace root. */
  readonly start: string;
  /** Top level of the repository the workspace lies in, or null. Some hosts read from there down, so what lies above the workspace counts. */
  readonly topLevel: string | null;
  /** Profiles to look at besides `generic`; null: all. */
  readonly hosts: readonly string[] | null;
}

/**
 * Finds what hosts load from the user's home, from the system and from the folders above the workspace: only what is there, by absolute path.
 * They are told, never moved. A folder that can't be listed yields nothing: what the same user can't read, the host can't either.
 */
export function discoverOutside({ home, moved, start, topLevel, hosts }: OutsideInput): readonly Candidate[] {
  const found = new Map<string, Candidate>();
  for (const host of HOSTS) {
    if (hosts !== null && !hosts.includes(host.name)) continue;
    for (const entry of host.outside) {
      for (const path of placesOf(entry, home, start, movedOf(entry, host.name, moved, start))) {
        if (!isInside(path, start))
          found.set(path, joined(found.get(path), path, entry, { host: host.name, loads: entry.loads }));
      }
    }
  }
  for (const { glob, kind, ...entry } of ENTRIES.filter(
    (one) => FROM_TOP.has(one.host) && hosts?.includes(one.host) !== false,
  )) {
    for (const path of foldersAbove(start, topLevel).flatMap((folder) => matching(folder, glob))) {
      const above = { ...entry, where: 'ancestors', path: glob, kind } as const;
      if (!isInside(path, start))
        found.set(path, joined(found.get(path), path, above, { host: entry.host, loads: entry.loads }));
    }
  }
  return [...found.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** Hosts that look for their files in every folder from the top level of the repository down to the one they start in. */
const FROM_TOP: ReadonlySet<string> = new Set(['codex', 'copilot', 'opencode', 'gemini']);

/** @returns the folders above a workspace up to the top level of its repository; none where it is the top level. */
export function foldersAbove(start: string, topLevel: string | null): readonly string[] {
  return topLevel === null || !isInside(start, topLevel)
    ? []
    : ancestorsOf(start).filter((folder) => folder === topLevel || isInside(folder, topLevel));
}

function movedOf(entry: OutsideEntry, host: string, moved: readonly MovedHome[], start: string): readonly string[] {
  return moved.flatMap((one) => {
    const pattern = entry.where === 'home' ? belowMoved(one, host, entry.path) : null;
    return pattern === null ? [] : matching(one.path, pattern.replace('{project}', projectName(start)));
  });
}

function placesOf(entry: OutsideEntry, home: string, start: string, moved: readonly string[]): readonly string[] {
  const path = entry.path.replace('{project}', projectName(start));
  switch (entry.where) {
    case 'home':
      return [...matching(home, path), ...moved];
    case 'ancestors':
      return ancestorsOf(start).flatMap((folder) => matching(folder, path));
    case 'system':
      return isAbsolute(path) ? matching('', path) : [];
  }
}

/** Claude Code's name for the folder of a project below `~/.claude/projects`: every character but letters and digits is a hyphen. */
function projectName(start: string): string {
  return start.replace(/[^A-Za-z0-9]/g, '-');
}

function ancestorsOf(start: string): readonly string[] {
  const all: string[] = [];
  for (let folder = dirname(start), last = start; folder !== last; last = folder, folder = dirname(folder))
    all.push(folder);
  return all;
}

function matching(base: string, pattern: string): readonly string[] {
  const parts = pattern.split('/');
  const wild = parts.findIndex((part) => /[*?[]/.test(part));
  if (wild < 0) {
    const path = base === '' ? pattern : join(base, pattern);
    return isFile(path) ? [path] : [];
  }
  const folder = base === '' ? parts.slice(0, wild).join('/') : join(base, ...parts.slice(0, wild));
  const rest = parts.slice(wild).join('/');
  const budget = { left: MAX_ENTRIES };
  const listed = filesBelow(folder, '', rest.includes('**') ? MAX_DEPTH : rest.split('/').length, budget);
  return listed.filter((path) => matchesAny(path, [rest])).map((path) => join(folder, path));
}

function filesBelow(folder: string, at: string, depth: number, budget: { left: number }): readonly string[] {
  if (depth === 0) return [];
  return entriesOf(join(folder, at)).flatMap((entry) => {
    if (budget.left <= 0) return [];
    budget.left -= 1;
    const path = at === '' ? entry.name : `${at}/${entry.name}`;
    const kind = entry.isSymbolicLink() ? kindBehind(join(folder, path)) : entry;
    if (kind?.isDirectory())
      return entry.name === 'node_modules' || entry.name === '.git' ? [] : filesBelow(folder, path, depth - 1, budget);
    return [path];
  });
}

function entriesOf(folder: string): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
  } catch {
    return [];
  }
}

function kindBehind(path: string): { isDirectory(): boolean } | null {
  try {
    return statSync(path, { throwIfNoEntry: false }) ?? null;
  } catch {
    return null;
  }
}

function isFile(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === false;
  } catch {
    return false;
  }
}

function isInside(path: string, folder: string): boolean {
  return path.startsWith(folder.endsWith('/') ? folder : `${folder}/`);
}

function joined(known: Candidate | undefined, path: string, entry: OutsideEntry, use: HostUse): Candidate {
  const uses = [...(known?.uses ?? [])];
  const at = uses.findIndex((one) => one.host === use.host);
  if (at < 0) uses.push(use);
  else if (use.loads === 'launch') uses[at] = use;
  const kind: InitKind = known?.kind === 'executable' ? 'executable' : entry.kind;
  const importHops = Math.max(known?.importHops ?? 0, entry.hops);
  const budgets = [...new Set([...(known?.budgets ?? []), ...(entry.budget === null ? [] : [entry.budget])])];
  return {
    path,
    kind,
    uses: uses.sort((a, b) => (a.host < b.host ? -1 : 1)),
    nested: null,
    confusableWith: null,
    outside: true,
    importHops,
    ...(budgets.length === 0 ? {} : { budgets }),
  };
}

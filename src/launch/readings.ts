import { matchesAny } from '../discover/globs.ts';
import type { LaunchProfile } from '../discover/launch-profile.ts';
import { belowMoved, type MovedHome } from '../discover/moved-homes.ts';
import { foldersAbove } from '../discover/outside.ts';
import { ENTRIES, HOSTS } from '../generated/hosts.ts';
import type { HostUse } from '../model/source.ts';
import type { Judged } from '../model/stages.ts';
import { findOption } from './command-line.ts';

/** Where a host is started. */
export interface Place {
  /** Top level of the repository, or null. */
  readonly topLevel: string | null;
  /** CMD: some of its words put a switch out of use. */
  readonly words: readonly string[];
  /** Real path of the workspace. */
  readonly root: string;
  /** The folder the host starts in: workspace-relative, `''` for the root. */
  readonly cwd: string;
  /** Every name of the home. */
  readonly homes: readonly string[];
  readonly moved: readonly MovedHome[];
}

/** One artifact that the host reads by itself, where it lies. */
export interface Reading {
  readonly judged: Judged;
  readonly loads: HostUse['loads'];
  /** The narrowings that keep it out, none where it is always kept out; null where no switch does. */
  readonly kept: readonly string[] | null;
}

interface Found {
  readonly loads: HostUse['loads'];
  readonly mask: string | undefined;
}

const LOUDNESS: Readonly<Record<HostUse['loads'], number>> = { lazy: 0, spawn: 1, launch: 2 };

/**
 * @returns what of the judged a host would read by itself, by the patterns of its profile. A file that two patterns reach is kept out only
 * where both are. One that no pattern reaches is there because another imports it: it is kept out with all of those; one that only binding
 * texts import was approved with them.
 */
export function readingsOf(
  artifacts: readonly Judged[],
  host: string,
  launch: LaunchProfile | null,
  place: Place,
): readonly Reading[] {
  const own = new Map<string, Reading>();
  const imported: { readonly judged: Judged; readonly loads: HostUse['loads'] }[] = [];
  for (const judged of artifacts) {
    const { candidate, line } = judged.evidence.parsed;
    const use = candidate.uses.find((one) => one.host === host);
    if (use === undefined || line !== null) continue;
    const path = candidate.confusableWith ?? candidate.path;
    const found = candidate.outside ? outsideOf(path, host, launch, place) : insideOf(path, host, launch, place);
    if (found.length === 0) imported.push({ judged, loads: use.loads });
    else
      own.set(candidate.path, {
        judged,
        loads: loudest([use.loads, ...found.map((one) => one.loads)]),
        kept: together(found.map(({ mask }) => (mask === undefined ? null : mask === 'always' ? [] : [mask]))),
      });
  }
  const importers = importersOf(artifacts);
  const drawn = imported.flatMap(({ judged, loads }): readonly Reading[] => {
    const above = [...topsOf(judged.evidence.parsed.candidate.path, importers, own)];
    const unbound = above.filter((one) => one.judged.rank !== 'binding');
    return above.length > 0 && unbound.length === 0
      ? []
      : [{ judged, loads, kept: above.length === 0 ? null : together(unbound.map((one) => one.kept)) }];
  });
  return [...own.values(), ...drawn];
}

function loudest(loads: readonly HostUse['loads'][]): HostUse['loads'] {
  return loads.reduce((a, b) => (LOUDNESS[b] > LOUDNESS[a] ? b : a));
}

/** What keeps all of them out; null where one is kept out by nothing. */
function together(all: readonly (readonly string[] | null)[]): readonly string[] | null {
  return all.some((one) => one === null) ? null : [...new Set(all.flatMap((one) => one ?? []))];
}

function importersOf(artifacts: readonly Judged[]): ReadonlyMap<string, readonly string[]> {
  const importers = new Map<string, string[]>();
  for (const { evidence } of artifacts) {
    for (const { path } of evidence.imports)
      importers.set(path, [...(importers.get(path) ?? []), evidence.parsed.candidate.path]);
  }
  return importers;
}

/** The files a host finds by itself from which imports lead to a path. */
function topsOf(
  path: string,
  importers: ReadonlyMap<string, readonly string[]>,
  own: ReadonlyMap<string, Reading>,
): ReadonlySet<Reading> {
  const tops = new Set<Reading>();
  const seen = new Set([path]);
  for (const at of seen) {
    for (const above of importers.get(at) ?? []) {
      const top = own.get(above);
      if (top !== undefined) tops.add(top);
      seen.add(above);
    }
  }
  return tops;
}

/** Whether a host reads nothing of a workspace at launch that a switch does not always keep out: then nothing on disk can change what it starts with. */
export function isSealed(host: string, launch: LaunchProfile | null): boolean {
  return ENTRIES.filter((entry) => entry.host === host).every((entry) =>
    ['always', 'launch'].includes(launch?.inside[entry.glob] ?? ''),
  );
}

/** What loads at launch in the root does so in every folder from there down to the one the host starts in. */
function insideOf(path: string, host: string, launch: LaunchProfile | null, place: Place): readonly Found[] {
  const parts = path.split('/');
  return ENTRIES.filter((entry) => entry.host === host).flatMap((entry) => {
    const most = entry.anyDepth ? parts.length : 1;
    for (let at = 0; at < most; at += 1) {
      if (!matchesAny(parts.slice(at).join('/'), [entry.glob])) continue;
      const folder = parts.slice(0, at).join('/');
      const above = folder === '' || place.cwd === folder || place.cwd.startsWith(`${folder}/`);
      const loads = entry.loads === 'launch' && !above ? 'lazy' : entry.loads;
      const mask = launch?.inside[entry.glob];
      const held = mask === 'launch' ? (above ? 'always' : undefined) : mask;
      return [{ loads, mask: working(held, launch, place) }];
    }
    return [];
  });
}

function outsideOf(path: string, host: string, launch: LaunchProfile | null, place: Place): readonly Found[] {
  const entries = HOSTS.find((one) => one.name === host)?.outside ?? [];
  const folders = foldersAbove(place.root, place.topLevel);
  const above = ENTRIES.filter((one) => one.host === host && folders.some((folder) => liesAt(path, folder, one.glob)));
  const beside = entries
    .filter((entry) => {
      const pattern = entry.path.replace('{project}', '*').replace(/^\//, '');
      if (entry.where === 'system') return matchesAny(path.replace(/^\//, ''), [pattern]);
      if (entry.where === 'home')
        return (
          place.homes.some((home) => liesAt(path, home, pattern)) ||
          place.moved.some((one) => liesAt(path, one.path, belowMoved(one, host, pattern)))
        );
      const folder = path.endsWith(`/${entry.path}`) ? path.slice(0, -entry.path.length) : null;
      return folder !== null && place.root.startsWith(folder);
    })
    .map((entry) => ({
      loads: entry.loads,
      mask: working(launch?.outside[`${entry.where} ${entry.path}`], launch, place),
    }));
  // What a switch keeps out at launch is kept out above the folder it starts in.
  const held = ({ glob }: { readonly glob: string }): string | undefined => {
    const mask = launch?.inside[glob];
    return working(mask === 'launch' ? 'always' : mask, launch, place);
  };
  return [...beside, ...above.map((one) => ({ loads: one.loads, mask: held(one) }))];
}

function liesAt(path: string, folder: string, pattern: string | null): boolean {
  return pattern !== null && path.startsWith(`${folder}/`) && matchesAny(path.slice(folder.length + 1), [pattern]);
}

/** A narrowing that a word of CMD puts out of use keeps nothing out. */
function working(mask: string | undefined, launch: LaunchProfile | null, { words }: Place): string | undefined {
  const unless = mask === undefined ? [] : (launch?.narrow[mask]?.unless ?? []);
  return findOption(words, launch, unless) === null ? mask : undefined;
}

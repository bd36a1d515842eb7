import { matchesAny } from '../discover/globs.ts';
import type { LaunchProfile } from '../discover/launch-profile.ts';
import { ENTRIES, HOSTS } from '../generated/hosts.ts';
import type { HostUse } from '../model/source.ts';
import type { Judged } from '../model/stages.ts';

/** Where a host is started. */
export interface Place {
  /** Real path of the workspace. */
  readonly root: string;
  /** The folder the host starts in: workspace-relative, `''` for the root. */
  readonly cwd: string;
  readonly home: string;
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

/** @returns what of the judged a host would read by itself, by the pattern of its profile; a file that two patterns reach is kept out only where both are. */
export function readingsOf(
  artifacts: readonly Judged[],
  host: string,
  launch: LaunchProfile | null,
  place: Place,
): readonly Reading[] {
  return artifacts.flatMap((judged): readonly Reading[] => {
    const { candidate, line } = judged.evidence.parsed;
    const use = candidate.uses.find((one) => one.host === host);
    if (use === undefined || line !== null) return [];
    const path = candidate.confusableWith ?? candidate.path;
    const found = candidate.outside ? outsideOf(path, host, launch, place) : insideOf(path, host, launch, place.cwd);
    const loads = found.map((one) => one.loads).concat(use.loads);
    const loudest = loads.reduce((a, b) => (LOUDNESS[b] > LOUDNESS[a] ? b : a));
    const open = found.length === 0 || found.some((one) => one.mask === undefined);
    const kept = open ? null : [...new Set(found.flatMap(({ mask }) => (mask && mask !== 'always' ? [mask] : [])))];
    return [{ judged, loads: loudest, kept }];
  });
}

/** Whether a host reads nothing of a workspace that a switch does not always keep out: then nothing on disk can change what it starts with. */
export function isSealed(host: string, launch: LaunchProfile | null): boolean {
  return ENTRIES.filter((entry) => entry.host === host).every((entry) => launch?.inside[entry.glob] === 'always');
}

/** What loads at launch in the root does so in every folder from there down to the one the host starts in. */
function insideOf(path: string, host: string, launch: LaunchProfile | null, cwd: string): readonly Found[] {
  const parts = path.split('/');
  return ENTRIES.filter((entry) => entry.host === host).flatMap((entry) => {
    const most = entry.anyDepth ? parts.length : 1;
    for (let at = 0; at < most; at += 1) {
      if (!matchesAny(parts.slice(at).join('/'), [entry.glob])) continue;
      const folder = parts.slice(0, at).join('/');
      const above = folder === '' || cwd === folder || cwd.startsWith(`${folder}/`);
      const loads = entry.loads === 'launch' && !above ? 'lazy' : entry.loads;
      return [{ loads, mask: launch?.inside[entry.glob] }];
    }
    return [];
  });
}

function outsideOf(path: string, host: string, launch: LaunchProfile | null, place: Place): readonly Found[] {
  const entries = HOSTS.find((one) => one.name === host)?.outside ?? [];
  return entries
    .filter((entry) => {
      const pattern = entry.path.replace('{project}', '*').replace(/^\//, '');
      if (entry.where === 'system') return matchesAny(path.replace(/^\//, ''), [pattern]);
      if (entry.where === 'home')
        return path.startsWith(`${place.home}/`) && matchesAny(path.slice(place.home.length + 1), [pattern]);
      const folder = path.endsWith(`/${entry.path}`) ? path.slice(0, -entry.path.length) : null;
      return folder !== null && place.root.startsWith(folder);
    })
    .map((entry) => ({ loads: entry.loads, mask: launch?.outside[`${entry.where} ${entry.path}`] }));
}

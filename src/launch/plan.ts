import type { LaunchProfile } from '../discover/launch-profile.ts';
import { finding } from '../model/codes.ts';
import type { Finding } from '../model/finding.ts';
import type { Judged } from '../model/stages.ts';
import type { Reading } from './readings.ts';

/** How one start of a host is narrowed, and what stays open all the same. */
export interface Plan {
  /** Names of the narrowings in use, sorted. */
  readonly narrowed: readonly string[];
  /** Files of the workspace below binding that the host obeys at launch and no switch keeps out: the host is not started. */
  readonly refused: readonly Refused[];
  /** The same, read later or from outside the workspace: named, refused under `--strict`. */
  readonly open: readonly Reading[];
  /** Approved files that a switch keeps out and the host takes as private copies of the bytes judged. */
  readonly handed: readonly { readonly judged: Judged; readonly option: string }[];
  /** Approved executable configuration that a switch keeps out and that cannot be handed over. */
  readonly unused: readonly Judged[];
  /** Binding files that the host reads where they lie. */
  readonly inPlace: readonly Judged[];
}

export interface Refused {
  readonly judged: Judged;
  readonly finding: Finding;
}

/**
 * Plans a start from verdicts alone: everything below binding is kept out by the host's own switches, or named.
 * @param gone artifacts that quarantine has taken away.
 */
export function planOf(
  readings: readonly Reading[],
  launch: LaunchProfile | null,
  gone: (one: Judged) => boolean,
  title: string,
): Plan {
  const there = readings.filter(({ judged }) => !gone(judged));
  const unbound = there.filter(({ judged }) => judged.rank !== 'binding');
  const narrowed = [...new Set(unbound.flatMap(({ kept }) => kept ?? []))].sort();
  const isOff = ({ kept }: Reading): boolean => kept?.every((one) => narrowed.includes(one)) === true;
  const open = unbound.filter(({ kept }) => kept === null);
  const refused = open.filter(obeyed);
  const bound = there.filter(({ judged }) => judged.rank === 'binding');
  const off = bound.filter(isOff).map(({ judged }) => judged);
  const optionOf = (one: Judged): string | undefined =>
    launch?.takes.find(({ path }) => path === one.evidence.parsed.candidate.path)?.option;
  return {
    narrowed,
    refused: refused.map(({ judged }) => ({ judged, finding: refusalOf(judged, title) })),
    open: open.filter((one) => !obeyed(one)),
    handed: off.flatMap((judged) => {
      const option = optionOf(judged);
      return option === undefined ? [] : [{ judged, option }];
    }),
    unused: off.filter((one) => one.evidence.parsed.candidate.kind === 'executable' && optionOf(one) === undefined),
    inPlace: bound.filter((one) => !isOff(one)).map(({ judged }) => judged),
  };
}

/** Two plans that start a host on the same bytes are the same. */
export function traceOf(plan: Plan): string {
  const trace = (one: Judged): string =>
    `${one.evidence.parsed.candidate.path}\0${one.evidence.parsed.sha256}\0${one.rank}`;
  return JSON.stringify([
    plan.narrowed,
    plan.refused.map(({ judged }) => trace(judged)),
    plan.open.map(({ judged }) => trace(judged)),
    plan.inPlace.map(trace),
  ]);
}

/** What the host obeys before anybody has said a word: prose at launch, and whatever it runs. */
function obeyed({ judged, loads }: Reading): boolean {
  const { candidate } = judged.evidence.parsed;
  return !candidate.outside && (loads === 'launch' || (candidate.kind === 'executable' && candidate.nested === null));
}

function refusalOf(judged: Judged, title: string): Finding {
  const { kind, path } = judged.evidence.parsed.candidate;
  return kind === 'executable'
    ? finding('executes-unapproved', {
        file: path,
        message: `It is not approved, ${title} would obey it, and no switch keeps it out.`,
        cure: 'Review it, then: writ approve PATH --class policy; or take it away.',
      })
    : finding('host-loads-raw', {
        file: path,
        message: `It ranks ${judged.rank}, ${title} would read it as law, and no switch keeps it out.`,
        cure: 'Approve it: writ approve PATH; or take it away.',
      });
}

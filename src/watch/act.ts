import { type Enacted, enact } from '../enact.ts';
import type { Judgement, Request } from '../gate.ts';
import type { Judged } from '../model/stages.ts';
import { shown } from './to-event.ts';
import { keyOf } from './told.ts';

/** A file is moved once nothing has changed for so long: who writes in several steps is not cut off in the middle, ms. */
export const QUIET_MS = 500;
/** And at the latest so long after it was first refused: noise elsewhere never keeps it, ms. */
export const LATEST_MS = 5_000;

/** What was done and what waits, between two judgements. */
export interface Acting {
  readonly actor: string;
  /** Path to when it was first refused, on the clock of `performance.now()`. */
  readonly refusedSince: Map<string, number>;
  /** Path to the digest that was acted on, so that a move that failed is tried again on the period and not at every change. */
  readonly acted: Map<string, string>;
  /** What the policy set was when it was last recorded. */
  recordedSet: string | null;
}

export interface Moment {
  /** `performance.now()` at the judgement. */
  readonly at: number;
  /** When a change was last noticed, on the same clock. */
  readonly noticedAt: number;
  /** The first judgement acts at once, as `load` does. */
  readonly first: boolean;
}

export interface Acted extends Omit<Enacted, 'handoffs'> {
  /** When the next file is due, on the clock of `performance.now()`; null where none waits. */
  readonly dueAt: number | null;
}

/** Acts on a judgement as `load` does, but only on what is due, and records only the verdicts that are new. Throws where the ledger cannot be written. */
export async function act(
  judgement: Judgement,
  changed: readonly Judged[],
  request: Request,
  acting: Acting,
  moment: Moment,
): Promise<Acted> {
  const refused = judgement.artifacts.filter((one) => one.disposition === 'move');
  const paths = new Set(refused.map(pathOf));
  for (const path of [...acting.refusedSince.keys()]) if (!paths.has(path)) acting.refusedSince.delete(path);
  for (const path of [...acting.acted.keys()]) if (!paths.has(path)) acting.acted.delete(path);
  const open = refused.filter((one) => acting.acted.get(pathOf(one)) !== digestOf(one));
  let dueAt: number | null = null;
  const due = open.filter((one) => {
    const since = acting.refusedSince.get(pathOf(one)) ?? moment.at;
    acting.refusedSince.set(pathOf(one), since);
    const from = Math.min(moment.noticedAt + QUIET_MS, since + LATEST_MS);
    if (moment.first || from <= moment.at) return true;
    dueAt = Math.min(dueAt ?? from, from);
    return false;
  });
  const set = setOf(judgement);
  const artifacts = [...changed.filter((one) => one.disposition !== 'move'), ...due];
  if (artifacts.length === 0 && set === acting.recordedSet) return { quarantine: [], findings: [], dueAt };
  const enacted = await enact({ ...judgement, artifacts }, request, acting.actor);
  acting.recordedSet = set;
  // What was moved and lies there again is moved again.
  const moved = new Set(enacted.quarantine.filter((one) => one.moved).map((one) => one.path));
  for (const one of due) if (!moved.has(shown(pathOf(one)))) acting.acted.set(pathOf(one), digestOf(one));
  return { ...enacted, dueAt };
}

/** What a record remembers of the set besides the verdicts. */
function setOf({ set }: Judgement): string {
  return JSON.stringify([
    set.workspace,
    set.intact,
    set.version,
    set.floor,
    set.digest,
    set.revocations.map((one) => one.payloadDigest),
  ]);
}

function pathOf(one: Judged): string {
  return keyOf(one.evidence.parsed.candidate.path, one.evidence.parsed.line);
}

function digestOf(one: Judged): string {
  return one.evidence.parsed.sha256 ?? '';
}

import type { Level } from '../model/artifact-class.ts';
import { LEVELS } from '../model/artifact-class.ts';
import { finding } from '../model/codes.ts';
import type { Finding } from '../model/finding.ts';
import type { HandoffArtifact, ProvenanceEntry } from '../model/handoff.ts';
import { type Instant, instantFromIso, shift } from '../model/instant.ts';
import type { HandoffPredicate, Statement } from '../model/statement.ts';
import { floorOf } from './floors.ts';

/** Clocks of two machines may differ by so much, ms. */
const SKEW = 300_000;

/** One hop whose signature and artifact were checked. */
export interface Hop {
  readonly statement: Statement<HandoffPredicate>;
  readonly artifact: HandoffArtifact;
}

/**
 * F11: the hops lead from the task’s origin to this sender without a gap, each naming the one before by digest, and provenance says the same.
 * @param hops oldest first, the handoff itself last.
 * @returns `handoff-chain` or `handoff-role` for the first fault.
 */
export function checkChain(hops: readonly Hop[]): Finding | null {
  for (const [index, hop] of hops.entries()) {
    const before = hops[index - 1] ?? null;
    const fault = linkFault(hop, before) ?? provenanceFault(hop, before) ?? widened(hop, before);
    if (fault !== null) return fault;
  }
  const ids = hops.map((one) => one.statement.predicate.handoffId);
  return new Set(ids).size === ids.length ? null : broken('one hop is in it twice');
}

function linkFault({ statement }: Hop, before: Hop | null): Finding | null {
  const { predicate, issuedAt } = statement;
  const named = predicate.prev === null ? 'none' : predicate.prev.slice(0, 12);
  const { from } = predicate;
  if (before === null)
    return predicate.prev === null ? null : broken(`${from} names an earlier hop (${named}) that is not in it`);
  const last = before.statement;
  if (predicate.prev !== last.payloadDigest)
    return broken(`${from} names ${named} as the hop before, and the one before is ${last.payloadDigest.slice(0, 12)}`);
  if (last.predicate.to !== from)
    return broken(`the hop before was handed to ${last.predicate.to}, and ${from} hands it on`);
  if (issuedAt < last.issuedAt) return broken(`${from} signed before the hop it follows`);
  if (predicate.taskId !== last.predicate.taskId) return broken(`${from} made it another task`);
  const { returns } = predicate;
  if (returns !== null && (returns !== last.predicate.handoffId || predicate.to !== last.predicate.from))
    return broken(`${from} gives back another handoff than the one it was handed`);
  return null;
}

function provenanceFault({ statement, artifact }: Hop, before: Hop | null): Finding | null {
  const { from } = statement.predicate;
  const { provenance } = artifact;
  const known = before?.artifact.provenance ?? [];
  const changed = known.findIndex((entry, index) => !isSame(entry, provenance[index]));
  if (changed !== -1) return broken(`provenance[${changed}] is not what the hop before said`);
  if (provenance.length === known.length) return broken(`provenance does not end at ${from}`);
  let last: Instant | null = null;
  for (const [index, { agent, timestamp }] of provenance.entries()) {
    const at = instantFromIso(timestamp);
    if (at === null) return broken(`provenance[${index}] has no time`);
    if (last !== null && at < last) return broken(`provenance[${index}] lies before the entry above it`);
    if (at > shift(statement.issuedAt, SKEW)) return broken(`provenance[${index}] lies in the future`);
    // Who else touched the task handed it over, and that hop would be here.
    if (index >= known.length && agent !== from)
      return broken(`provenance[${index}] names ${agent}, and no hop from ${agent} is in it`);
    last = at;
  }
  return null;
}

function isSame(entry: ProvenanceEntry, other: ProvenanceEntry | undefined): boolean {
  return (
    other !== undefined &&
    entry.agent === other.agent &&
    entry.action === other.action &&
    entry.timestamp === other.timestamp
  );
}

/** Handed on it never holds more authority, nor fewer constraints, than it was handed over with. */
function widened({ statement, artifact }: Hop, before: Hop | null): Finding | null {
  if (before === null) return null;
  const { from, level } = statement.predicate;
  if (isHigher(level, before.statement.predicate.level))
    return finding('handoff-role', {
      message: `${from} was handed ${before.statement.predicate.level} and hands over ${level}.`,
    });
  const kept = new Set(artifact.constraints.map(floorOf));
  const dropped = before.artifact.constraints.map(floorOf).find((floor) => !kept.has(floor));
  return dropped === undefined ? null : broken(`${from} dropped the constraint ${dropped}`);
}

function isHigher(level: Level, than: Level): boolean {
  return LEVELS.indexOf(level) > LEVELS.indexOf(than);
}

function broken(why: string): Finding {
  return finding('handoff-chain', { message: `The chain is not whole: ${why}.` });
}

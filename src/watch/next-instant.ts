import type { Judgement } from '../gate.ts';
import type { Instant } from '../model/instant.ts';
import { SKEW_MS } from '../policy/key-lines.ts';
import { SOON_MS } from '../verify/verify.ts';

/**
 * The next instant at which a verdict may change although nothing is written: something runs out, begins, or comes near its end. Null where
 * nothing is timed. It may be one at which nothing changes after all; a judgement then finds that out.
 */
export function nextInstant({ at, artifacts, proofs, set }: Judgement): Instant | null {
  let next = Number.POSITIVE_INFINITY;
  const take = (instant: number | null | undefined): void => {
    if (typeof instant === 'number' && instant > at && instant < next) next = instant;
  };
  /** What counts from the first millisecond after an instant. */
  const begins = (instant: number | null | undefined): void => {
    if (typeof instant === 'number') take(instant - SKEW_MS);
  };
  const ends = (instant: number | null | undefined): void => {
    take(instant);
    if (typeof instant === 'number') take(instant - SOON_MS);
  };
  for (const { evidence } of artifacts) {
    const { claimed, parsed } = evidence;
    begins(claimed?.manifest.createdAt);
    ends(claimed?.manifest.expiresAt);
    begins(parsed.post?.issuedAt);
    begins(parsed.handoff?.issuedAt);
    ends(parsed.post?.predicate.expiresAt);
    ends(parsed.handoff?.predicate.finishBy);
  }
  for (const { approval } of proofs.approvals.all) {
    begins(approval.issuedAt);
    ends(approval.predicate.expiresAt);
  }
  for (const { statement } of [...proofs.spawns.byActor.values()].flat()) {
    begins(statement.issuedAt);
    take(statement.predicate.expiresAt);
  }
  for (const key of set.keys) {
    take(key.validAfter);
    take(key.validBefore);
  }
  for (const one of set.exceptions) take(one.until);
  take(set.expiresAt);
  return Number.isFinite(next) ? (next as Instant) : null;
}

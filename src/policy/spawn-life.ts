import { type Instant, shift } from '../model/instant.ts';
import type { PolicySet } from '../model/policy.ts';
import type { SpawnPredicate, Statement } from '../model/statement.ts';
import { SKEW_MS } from './key-lines.ts';

/** Longest chain of spawn records below a principal (overview.md, spawn records). */
export const MAX_LINKS = 3;
const HOUR = 3_600_000;

export interface SpawnLink {
  readonly statement: Statement<SpawnPredicate>;
  /** Fingerprint of the child's key. */
  readonly fingerprint: string;
}

/** Spawn records by the fingerprint of the child's key and by actor name. */
export interface SpawnIndex {
  readonly byKey: ReadonlyMap<string, readonly SpawnLink[]>;
  readonly byActor: ReadonlyMap<string, readonly SpawnLink[]>;
}

/** What is wrong with a record's own life: it ran out, begins in the future, or lasts longer than spawns.maxHours. Null: nothing. */
export function lifeOf(set: PolicySet, { statement }: SpawnLink, now: Instant): 'over' | 'early' | 'too-long' | null {
  const { predicate, issuedAt } = statement;
  if (predicate.expiresAt <= now) return 'over';
  if (issuedAt > shift(now, SKEW_MS)) return 'early';
  return predicate.expiresAt - issuedAt > set.policy.spawns.maxHours * HOUR + SKEW_MS ? 'too-long' : null;
}

/** Whether a record takes the name or the key of somebody the signed set itself lists. */
export function isSomebody(set: PolicySet, link: SpawnLink): boolean {
  const { actor } = link.statement.predicate;
  return (
    set.policy.principals.has(actor) ||
    set.keys.some((key) => key.principal === actor || key.fingerprint === link.fingerprint)
  );
}

import type { Instant } from '../model/instant.ts';
import type { ApprovalPredicate, AuthorshipPredicate, Statement } from '../model/statement.ts';
import type { SpawnLink } from './spawn-life.ts';

/** What a workspace holds now, as far as proofs of authorship are asked for. */
export interface Present {
  /** Whether a path is there in any form: on disk, in the git index, or held in quarantine. */
  has(path: string): boolean;
  /** Digests of the content there now, bare hex; none where it is not known. */
  contentsOf(path: string): ReadonlySet<string>;
}

/**
 * Proofs of authorship that no text needs any more: those of paths that are gone, and those of earlier bytes of a path whose present bytes a later one
 * proves. What an approval names is kept whatever became of it, and so is what was signed within the grace.
 * @param before signed at or after this instant: kept.
 */
export function spentAuthorship(
  statements: readonly Statement<AuthorshipPredicate>[],
  approvals: readonly Statement<ApprovalPredicate>[],
  present: Present,
  before: Instant,
): readonly Statement<AuthorshipPredicate>[] {
  const ids = new Set(approvals.flatMap((one) => [one.predicate.artifactId, ...one.predicate.replaces]));
  const digests = new Set(approvals.flatMap((one) => one.subjects.map((subject) => subject.sha256)));
  const proven = new Map<string, Instant>();
  for (const { subjects, issuedAt } of statements)
    for (const { name, sha256 } of subjects)
      if (present.contentsOf(name).has(sha256)) {
        const known = proven.get(name);
        if (known === undefined || issuedAt > known) proven.set(name, issuedAt);
      }
  return statements.filter(
    ({ predicate, subjects, issuedAt }) =>
      issuedAt < before &&
      subjects.length > 0 &&
      !ids.has(predicate.artifactId) &&
      subjects.every(
        ({ name, sha256 }) =>
          !digests.has(sha256) &&
          (!present.has(name) ||
            (present.contentsOf(name).size > 0 &&
              !present.contentsOf(name).has(sha256) &&
              issuedAt < (proven.get(name) ?? issuedAt))),
      ),
  );
}

/**
 * Spawn records that ran out and that nothing leans on: no proof or board line that stays is signed with their key, and no record that stays has their
 * name, their key or one of them as parent. A key that once was a deputy's must not become free for somebody lower while its signatures are here.
 * @param used fingerprints of every key that signed something that stays.
 * @param before ran out at or after this instant: kept.
 */
export function spentSpawns(
  links: readonly SpawnLink[],
  used: ReadonlySet<string>,
  before: Instant,
): readonly SpawnLink[] {
  let spent = links.filter((one) => one.statement.predicate.expiresAt < before && !used.has(one.fingerprint));
  for (;;) {
    const gone = new Set(spent);
    const kept = links.filter((one) => !gone.has(one));
    const names = new Set(kept.flatMap(({ statement }) => [statement.predicate.actor, statement.predicate.parent]));
    const keys = new Set(
      kept.flatMap(({ fingerprint, statement }) => [fingerprint, ...statement.signers.map((one) => one.fingerprint)]),
    );
    const left = spent.filter((one) => !names.has(one.statement.predicate.actor) && !keys.has(one.fingerprint));
    if (left.length === spent.length) return spent;
    spent = left;
  }
}

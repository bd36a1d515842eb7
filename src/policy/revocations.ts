import { mayApprove } from '../model/artifact-class.ts';
import type { Instant } from '../model/instant.ts';
import type { PolicySet } from '../model/policy.ts';
import type { Identity } from '../model/principal.ts';
import { outranks } from '../model/role.ts';
import type { RevocationPredicate, Statement } from '../model/statement.ts';
import { parsePublicKey } from '../sign/public-key.ts';
import { reaches, type Standing } from './approvals.ts';
import { chainOf, hasDeparted, trace } from './identity.ts';
import type { SpawnIndex, SpawnLink } from './spawn-life.ts';
import { foremost } from './standing-spawns.ts';

/**
 * The revocations whose signer was allowed to make them: what the root lists at its next signing and what state remembers.
 * Who may approve a class may revoke it, within the paths they speak for; the sovereign may revoke anyone, an approver lower
 * roles, a parent its spawns; somebody who departed nothing more.
 */
export function standingRevocations(
  set: PolicySet,
  spawns: SpawnIndex,
  approvals: readonly Standing[],
  now: Instant,
): readonly Statement<RevocationPredicate>[] {
  return set.revocations.filter(
    (one) =>
      set.endorsed.has(one.payloadDigest) ||
      one.signers.some((signer) => {
        const traced = trace(set, spawns, signer.fingerprint, 'writ', now);
        return (
          traced !== null &&
          traced.faults.length === 0 &&
          !hasDeparted(traced) &&
          mayMake(one.predicate, traced.identity, { set, spawns, approvals, now })
        );
      }),
  );
}

interface Known {
  readonly set: PolicySet;
  readonly spawns: SpawnIndex;
  readonly approvals: readonly Standing[];
  readonly now: Instant;
}

function mayMake(predicate: RevocationPredicate, by: Identity, known: Known): boolean {
  if (by.role === 'sovereign') return true;
  const { artifactId, digest, actor, publicKey } = predicate;
  if (artifactId !== null || digest !== null) return by.role === 'approver' && mayRevokeAll(predicate, by, known);
  const named = actor === null ? holderOf(publicKey, known) : actorNamed(actor, known);
  if (named === null) return false;
  return (
    (by.role === 'approver' && outranks('approver', named.role)) || named.chain.slice(0, -1).includes(by.principal)
  );
}

/**
 * What the root lists stands everywhere and for good, so an approver of some paths must be seen to have all of it within
 * them: approvals that say where it lies, and none that lies outside.
 */
function mayRevokeAll({ artifactId, digest }: RevocationPredicate, by: Identity, known: Known): boolean {
  const named = known.approvals
    .map((one) => one.approval)
    .filter(
      (approval) =>
        approval.predicate.artifactId === artifactId || approval.subjects.some((subject) => subject.sha256 === digest),
    );
  return (
    (named.length > 0 || by.scopes.length === 0) &&
    named.every(
      ({ predicate, subjects }) =>
        mayApprove(by.role, predicate.class, predicate.level) && subjects.every(({ name }) => reaches(by, name)),
    )
  );
}

/** Whoever is to be revoked: their role, and the names from the first principal down to them. */
type Named = Pick<Identity, 'role' | 'chain'>;

function holderOf(publicKey: string | null, known: Known): Named | null {
  const fingerprint = publicKey === null ? null : (parsePublicKey(publicKey)?.fingerprint ?? null);
  if (fingerprint === null) return null;
  const principal = known.set.keys.find((key) => key.fingerprint === fingerprint)?.principal;
  if (principal !== undefined) return principalNamed(principal, known);
  return childOf(foremost(known.set, known.spawns.byKey.get(fingerprint) ?? [], known.spawns, known.now), known);
}

function actorNamed(name: string, known: Known): Named | null {
  const { set, spawns, now } = known;
  if (set.policy.principals.has(name)) return principalNamed(name, known);
  return childOf(foremost(set, spawns.byActor.get(name) ?? [], spawns, now), known);
}

/** A name that only allowed_signers lists is treated as the highest: nobody but the sovereign revokes it. */
function principalNamed(name: string, { set }: Known): Named {
  return { role: set.policy.principals.get(name)?.role ?? 'sovereign', chain: [name] };
}

/** The record that speaks, never the first that lies there: anybody may drop one with the name of somebody else's child. */
function childOf(link: SpawnLink | null, { set, spawns, now }: Known): Named | null {
  if (link === null) return null;
  const chain = chainOf(set, spawns, link, now);
  return { role: link.statement.predicate.role, chain };
}

import { mayApprove } from '../model/artifact-class.ts';
import type { Instant } from '../model/instant.ts';
import type { PolicySet } from '../model/policy.ts';
import { outranks, type Role } from '../model/role.ts';
import type { RevocationPredicate, Statement } from '../model/statement.ts';
import { parsePublicKey } from '../sign/public-key.ts';
import type { Standing } from './approvals.ts';
import { type SpawnIndex, trace } from './identity.ts';

/**
 * The revocations whose signer was allowed to make them: what the root lists at its next signing and what state remembers.
 * Who may approve a class may revoke it; the sovereign may revoke anyone, an approver lower roles, a parent its spawns.
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
          mayMake(one.predicate, traced.identity, { set, spawns, approvals })
        );
      }),
  );
}

interface Known {
  readonly set: PolicySet;
  readonly spawns: SpawnIndex;
  readonly approvals: readonly Standing[];
}

function mayMake(
  predicate: RevocationPredicate,
  by: { readonly principal: string; readonly role: Role },
  known: Known,
): boolean {
  if (by.role === 'sovereign') return true;
  const { artifactId, digest, actor, publicKey } = predicate;
  if (artifactId !== null || digest !== null) {
    return (
      known.approvals
        .map((one) => one.approval)
        .filter(
          (approval) =>
            approval.predicate.artifactId === artifactId ||
            approval.subjects.some((subject) => subject.sha256 === digest),
        )
        .every((approval) => mayApprove(by.role, approval.predicate.class, approval.predicate.level)) &&
      by.role === 'approver'
    );
  }
  const name = actor ?? ownerOf(publicKey, known);
  if (name === null) return false;
  return (
    (by.role === 'approver' && outranks('approver', roleOf(name, known))) ||
    parentsOf(name, known.spawns).includes(by.principal)
  );
}

function ownerOf(publicKey: string | null, { set, spawns }: Known): string | null {
  const fingerprint = publicKey === null ? null : (parsePublicKey(publicKey)?.fingerprint ?? null);
  if (fingerprint === null) return null;
  return (
    set.keys.find((key) => key.fingerprint === fingerprint)?.principal ??
    spawns.byKey.get(fingerprint)?.[0]?.statement.predicate.actor ??
    null
  );
}

function roleOf(name: string, { set, spawns }: Known): Role {
  return (
    set.policy.principals.get(name)?.role ?? spawns.byActor.get(name)?.[0]?.statement.predicate.role ?? 'sovereign'
  );
}

function parentsOf(name: string, spawns: SpawnIndex): readonly string[] {
  const names: string[] = [];
  for (
    let parent = spawns.byActor.get(name)?.[0]?.statement.predicate.parent;
    parent !== undefined && names.length < 8;
    parent = spawns.byActor.get(parent)?.[0]?.statement.predicate.parent
  )
    names.push(parent);
  return names;
}

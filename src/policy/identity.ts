import { finding } from '../model/codes.ts';
import type { Finding } from '../model/finding.ts';
import type { Instant } from '../model/instant.ts';
import type { PolicySet } from '../model/policy.ts';
import type { AllowedKey, Identity, PrincipalEntry } from '../model/principal.ts';
import { outranks, type Role } from '../model/role.ts';
import { parsePublicKey } from '../sign/public-key.ts';
import { type KeyWindow, keyOf, windowOf } from './key-lines.ts';
import { isSomebody, lifeOf, MAX_LINKS, type SpawnIndex, type SpawnLink } from './spawn-life.ts';
import { collides, foremost } from './standing-spawns.ts';

/** Who a key belongs to, and what is wrong with that. */
export interface Traced {
  readonly identity: Identity;
  readonly window: KeyWindow;
  /** The line of allowed_signers it is known by; null for a spawned actor. */
  readonly key: AllowedKey | null;
  /** The policy entry, for a principal of allowed_signers; null for a spawned actor. */
  readonly entry: PrincipalEntry | null;
  /** `spawn-*` findings; empty where the chain stands. */
  readonly faults: readonly Finding[];
}

export type { SpawnIndex, SpawnLink };

export const NO_SPAWNS: SpawnIndex = { byKey: new Map(), byActor: new Map() };

/** @returns the index of a workspace's verified spawn records. */
export function indexSpawns(links: readonly SpawnLink[]): SpawnIndex {
  const byKey = new Map<string, SpawnLink[]>();
  const byActor = new Map<string, SpawnLink[]>();
  for (const link of links) {
    push(byKey, link.fingerprint, link);
    push(byActor, link.statement.predicate.actor, link);
  }
  return { byKey, byActor };
}

/** One link of a chain, from the first principal down. */
interface Step {
  readonly name: string;
  readonly role: Role;
  readonly fingerprint: string;
}

interface Found {
  readonly traced: Traced;
  readonly steps: readonly Step[];
}

/**
 * Traces a key to a principal of allowed_signers, or through spawn records to one. Never asks what a text says of itself.
 * @param namespace the SSHSIG namespace the signature was made in: `writ`, or `git` for commits.
 * @returns null where the key belongs to nobody known here, or was revoked.
 */
export function trace(
  set: PolicySet,
  spawns: SpawnIndex,
  fingerprint: string,
  namespace: 'writ' | 'git',
  now: Instant,
): Traced | null {
  const found = identify(set, spawns, fingerprint, namespace, now);
  if (!found) return null;
  const { traced, steps } = found;
  const revoked = steps.find((_step, index) => isRevoked(set, spawns, steps, index, now));
  if (!revoked) return traced;
  if (traced.entry !== null) return null;
  const { identity } = traced;
  const why = revoked.name === identity.principal ? 'it was revoked' : `${revoked.name}, above it, was revoked`;
  return {
    ...traced,
    identity: { ...identity, role: 'unknown' },
    faults: [...traced.faults, broken(identity.principal, why)],
  };
}

/** Whether somebody left: of what they signed only what was kept, or what the root has listed, still counts. */
export function hasDeparted({ entry }: Traced): boolean {
  return entry !== null && entry.departed !== null;
}

function identify(
  set: PolicySet,
  spawns: SpawnIndex,
  fingerprint: string,
  namespace: 'writ' | 'git',
  now: Instant,
): Found | null {
  if (!set.intact) return null;
  const key = keyOf(set, fingerprint, namespace, now);
  if (key) return principalOf(set, key, now);
  const link = namespace === 'writ' ? foremost(set, spawns.byKey.get(fingerprint) ?? [], spawns, now) : null;
  return link ? actorOf(set, spawns, link, now) : null;
}

/** The names from the first principal down to the actor of one record, as far as signatures lead. */
export function chainOf(set: PolicySet, spawns: SpawnIndex, link: SpawnLink, now: Instant): readonly string[] {
  return actorOf(set, spawns, link, now).traced.identity.chain;
}

/** Whether a standing revocation names this link of the chain, by its name or by the key it acted with. */
function isRevoked(set: PolicySet, spawns: SpawnIndex, steps: readonly Step[], index: number, now: Instant): boolean {
  const step = steps[index];
  return set.revocations.some(({ predicate, signers, payloadDigest }) => {
    const named =
      (predicate.publicKey !== null && parsePublicKey(predicate.publicKey)?.fingerprint === step?.fingerprint) ||
      (predicate.actor !== null && predicate.actor === step?.name);
    // Whoever signed it is not asked whether they were revoked later: denial beats (style.md 9).
    return (
      named &&
      (set.endorsed.has(payloadDigest) ||
        signers.some((signer) =>
          mayRevoke(identify(set, spawns, signer.fingerprint, 'writ', now)?.traced, steps, index),
        ))
    );
  });
}

/** The sovereign may revoke anyone, an approver orchestrators and specialists, a parent its spawns (formats.md, statements). */
function mayRevoke(by: Traced | undefined, steps: readonly Step[], index: number): boolean {
  if (!by || by.faults.length > 0 || hasDeparted(by)) return false;
  const { principal, role } = by.identity;
  const target = steps[index]?.role ?? 'sovereign';
  return (
    role === 'sovereign' ||
    steps.slice(0, index).some((above) => above.name === principal) ||
    (role === 'approver' && outranks('approver', target))
  );
}

function principalOf(
  set: PolicySet,
  key: AllowedKey,
  now: Instant,
): (Found & { readonly entry: PrincipalEntry }) | null {
  const { principal, fingerprint } = key;
  const entry = set.policy.principals.get(principal);
  if (!entry) return null;
  const { role, paths } = entry;
  const identity: Identity = { principal, role, scopes: paths ? [paths] : [], chain: [principal] };
  const traced: Traced = { identity, window: windowOf(key, now), key, entry, faults: [] };
  return { traced, entry, steps: [{ name: principal, role, fingerprint }] };
}

function actorOf(set: PolicySet, spawns: SpawnIndex, leaf: SpawnLink, now: Instant): Found {
  const faults: Finding[] = [];
  const steps: Step[] = [];
  const scopes: (readonly string[])[] = [];
  for (let link = leaf; ; ) {
    const { predicate, issuedAt, signers } = link.statement;
    const { actor, role, parent } = predicate;
    steps.unshift({ name: actor, role, fingerprint: link.fingerprint });
    if (predicate.paths.length > 0) scopes.push(predicate.paths);
    faults.push(...lifeFaults(set, link, now));
    if (isSomebody(set, link) || collides(set, spawns, link, now)) faults.push(collision(actor));
    const principal = signers
      .map(({ fingerprint }) => keyOf(set, fingerprint, 'writ', now))
      .map((key) => (key ? principalOf(set, key, now) : null))
      .find((found) => found?.traced.identity.principal === parent);
    if (principal) {
      const { traced, entry } = principal;
      if (traced.window !== 'open' || entry.departed !== null)
        faults.push(broken(actor, 'its parent\u2019s key is not valid now'));
      if (outranks(role, traced.identity.role)) faults.push(widened(actor));
      steps.unshift(...principal.steps);
      scopes.push(...traced.identity.scopes);
      break;
    }
    const uppers = (spawns.byActor.get(parent) ?? []).filter((candidate) =>
      signers.some((signer) => signer.fingerprint === candidate.fingerprint),
    );
    const upper = foremost(set, uppers, spawns, now);
    const isCircle = steps.some((step) => step.name === parent);
    if (!upper || isCircle || steps.length >= MAX_LINKS) {
      const tooLong = isCircle ? 'the chain is a circle' : `the chain is longer than ${MAX_LINKS} links`;
      faults.push(broken(actor, upper ? tooLong : 'its parent is nobody known here'));
      break;
    }
    const above = upper.statement;
    if (
      outranks(role, above.predicate.role) ||
      predicate.expiresAt > above.predicate.expiresAt ||
      issuedAt < above.issuedAt
    )
      faults.push(widened(actor));
    link = upper;
  }
  const { actor, role } = leaf.statement.predicate;
  const identity: Identity = {
    principal: actor,
    role: faults.length > 0 ? 'unknown' : role,
    scopes,
    chain: steps.map((step) => step.name),
  };
  return { traced: { identity, window: 'open', key: null, entry: null, faults: distinct(faults) }, steps };
}

function lifeFaults(set: PolicySet, link: SpawnLink, now: Instant): readonly Finding[] {
  const { actor } = link.statement.predicate;
  const life = lifeOf(set, link, now);
  if (life === 'over') return [finding('spawn-expired', { message: `The spawn record of ${actor} has run out.` })];
  if (life === 'early') return [broken(actor, 'it was issued in the future')];
  return life === null ? [] : [widened(actor)];
}

function collision(actor: string): Finding {
  return finding('spawn-collision', {
    message: `The spawn record of ${actor} reuses a name or key that is already somebody.`,
  });
}

function broken(actor: string, why: string): Finding {
  return finding('spawn-chain-broken', { message: `The spawn record of ${actor} does not stand: ${why}.` });
}

function widened(actor: string): Finding {
  return finding('spawn-role-widened', {
    message: `The spawn record of ${actor} grants more role or life than its parent had.`,
  });
}

function distinct(faults: readonly Finding[]): readonly Finding[] {
  return faults.filter(
    (fault, index) =>
      faults.findIndex((other) => other.code === fault.code && other.message === fault.message) === index,
  );
}

function push<K, V>(map: Map<K, V[]>, key: K, value: V): void {
  const list = map.get(key);
  if (list) list.push(value);
  else map.set(key, [value]);
}

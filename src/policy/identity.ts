import { finding } from '../model/codes.ts';
import type { Finding } from '../model/finding.ts';
import { type Instant, shift } from '../model/instant.ts';
import type { PolicySet } from '../model/policy.ts';
import type { AllowedKey, Identity, PrincipalEntry } from '../model/principal.ts';
import { outranks, type Role } from '../model/role.ts';
import type { SpawnPredicate, Statement } from '../model/statement.ts';
import { parsePublicKey } from '../sign/public-key.ts';
import { collides, foremost } from './standing-spawns.ts';

/** Longest chain of spawn records below a principal (overview.md, spawn records). */
const MAX_LINKS = 3;
/** Clocks may differ this much, ms. */
export const SKEW_MS = 300_000;
const HOUR = 3_600_000;

/** Whether a key's window is open on our clock. */
export type KeyWindow = 'open' | 'closed' | 'early';

/** Who a key belongs to, and what is wrong with that. */
export interface Traced {
  readonly identity: Identity;
  readonly window: KeyWindow;
  /** The policy entry, for a principal of allowed_signers; null for a spawned actor. */
  readonly entry: PrincipalEntry | null;
  /** `spawn-*` findings; empty where the chain stands. */
  readonly faults: readonly Finding[];
}

/** Spawn records by the fingerprint of the child's key and by actor name. */
export interface SpawnIndex {
  readonly byKey: ReadonlyMap<string, readonly SpawnLink[]>;
  readonly byActor: ReadonlyMap<string, readonly SpawnLink[]>;
}

export interface SpawnLink {
  readonly statement: Statement<SpawnPredicate>;
  /** Fingerprint of the child's key. */
  readonly fingerprint: string;
}

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
  if (!by || by.faults.length > 0) return false;
  const { principal, role } = by.identity;
  const target = steps[index]?.role ?? 'sovereign';
  return (
    role === 'sovereign' ||
    steps.slice(0, index).some((above) => above.name === principal) ||
    (role === 'approver' && outranks('approver', target))
  );
}

function keyOf(set: PolicySet, fingerprint: string, namespace: string, now: Instant): AllowedKey | null {
  // A line without namespaces= speaks for statements only: git proofs are opted into (overview.md, authorship proofs).
  const lines = set.keys.filter(
    (line) =>
      line.fingerprint === fingerprint &&
      (line.namespaces === null ? namespace === 'writ' : line.namespaces.includes(namespace)),
  );
  return lines.find((line) => windowOf(line, now) === 'open') ?? lines[0] ?? null;
}

function windowOf(key: AllowedKey, now: Instant): KeyWindow {
  if (key.validAfter !== null && now < key.validAfter) return 'early';
  return key.validBefore !== null && now >= key.validBefore ? 'closed' : 'open';
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
  const traced: Traced = { identity, window: windowOf(key, now), entry, faults: [] };
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
  return { traced: { identity, window: 'open', entry: null, faults: distinct(faults) }, steps };
}

function lifeFaults(set: PolicySet, link: SpawnLink, now: Instant): readonly Finding[] {
  const { predicate, issuedAt } = link.statement;
  if (predicate.expiresAt <= now)
    return [finding('spawn-expired', { message: `The spawn record of ${predicate.actor} has run out.` })];
  if (issuedAt > shift(now, SKEW_MS)) return [broken(predicate.actor, 'it was issued in the future')];
  if (predicate.expiresAt - issuedAt > set.policy.spawns.maxHours * HOUR + SKEW_MS) return [widened(predicate.actor)];
  return [];
}

function isSomebody(set: PolicySet, link: SpawnLink): boolean {
  const { actor } = link.statement.predicate;
  return (
    set.policy.principals.has(actor) ||
    set.keys.some((key) => key.principal === actor || key.fingerprint === link.fingerprint)
  );
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

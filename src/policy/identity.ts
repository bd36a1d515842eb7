import { finding } from '../model/codes.ts';
import type { Finding } from '../model/finding.ts';
import { type Instant, shift } from '../model/instant.ts';
import type { PolicySet } from '../model/policy.ts';
import type { AllowedKey, Identity, PrincipalEntry } from '../model/principal.ts';
import { outranks, type Role } from '../model/role.ts';
import type { SpawnPredicate, Statement } from '../model/statement.ts';
import { parsePublicKey } from '../sign/public-key.ts';

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

/**
 * Traces a key to a principal of allowed_signers, or through spawn records to one. Never asks what a text says of itself.
 * @param namespace the SSHSIG namespace the signature was made in: `writ`, or `git` for commits.
 * @returns null where the key belongs to nobody known here.
 */
export function trace(
  set: PolicySet,
  spawns: SpawnIndex,
  fingerprint: string,
  namespace: 'writ' | 'git',
  now: Instant,
): Traced | null {
  const traced = identify(set, spawns, fingerprint, namespace, now);
  if (!traced || !isRevoked(set, spawns, traced, fingerprint, now)) return traced;
  if (traced.entry !== null) return null;
  const { identity } = traced;
  return {
    ...traced,
    identity: { ...identity, role: 'unknown' },
    faults: [...traced.faults, broken(identity.principal, 'it was revoked')],
  };
}

function identify(
  set: PolicySet,
  spawns: SpawnIndex,
  fingerprint: string,
  namespace: 'writ' | 'git',
  now: Instant,
): Traced | null {
  if (!set.intact) return null;
  const key = keyOf(set, fingerprint, namespace, now);
  if (key) return principalOf(set, key, now);
  const links = namespace === 'writ' ? (spawns.byKey.get(fingerprint) ?? []) : [];
  const [link] = links;
  return link ? actorOf(set, spawns, link, links.length > 1, now) : null;
}

/** Whether a standing revocation names this key, this identity, or anyone above it in its chain. */
function isRevoked(set: PolicySet, spawns: SpawnIndex, traced: Traced, fingerprint: string, now: Instant): boolean {
  return set.revocations.some(({ predicate, signers }) => {
    const named =
      (predicate.publicKey !== null && parsePublicKey(predicate.publicKey)?.fingerprint === fingerprint) ||
      (predicate.actor !== null && traced.identity.chain.includes(predicate.actor));
    return (
      named &&
      signers.some((signer) =>
        mayRevoke(identify(set, spawns, signer.fingerprint, 'writ', now), traced, predicate.actor),
      )
    );
  });
}

/** The sovereign may revoke anyone, an approver orchestrators and specialists, a parent its spawns (formats.md, statements). */
function mayRevoke(by: Traced | null, target: Traced, actor: string | null): boolean {
  if (!by || by.faults.length > 0) return false;
  const { principal, role } = by.identity;
  if (role === 'sovereign') return true;
  const { chain } = target.identity;
  const named = actor === null ? chain.length - 1 : chain.indexOf(actor);
  const parent = chain.indexOf(principal);
  if (parent !== -1 && parent < named) return true;
  return role === 'approver' && outranks('approver', target.identity.role);
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

function principalOf(set: PolicySet, key: AllowedKey, now: Instant): Traced | null {
  const entry = set.policy.principals.get(key.principal);
  if (!entry) return null;
  const window = windowOf(key, now);
  const identity: Identity = {
    principal: key.principal,
    role: entry.role,
    scopes: entry.paths ? [entry.paths] : [],
    chain: [key.principal],
  };
  return { identity, window, entry, faults: [] };
}

function actorOf(set: PolicySet, spawns: SpawnIndex, leaf: SpawnLink, sharedKey: boolean, now: Instant): Traced {
  const faults: Finding[] = [];
  const names: string[] = [];
  const scopes: (readonly string[])[] = [];
  let role: Role = leaf.statement.predicate.role;
  let link = leaf;
  let linkRole: Role = role;
  if (sharedKey) faults.push(finding('spawn-collision', { message: 'Two spawn records name the same key.' }));
  for (let depth = 1; ; depth += 1) {
    const { predicate, issuedAt, signers } = link.statement;
    names.unshift(predicate.actor);
    if (predicate.paths.length > 0) scopes.push(predicate.paths);
    faults.push(...lifeFaults(set, link, now));
    if (isSomebody(set, link) || (spawns.byActor.get(predicate.actor)?.length ?? 0) > 1) {
      faults.push(
        finding('spawn-collision', {
          message: `The spawn record of ${predicate.actor} reuses a name or key that is already somebody.`,
        }),
      );
    }
    const parents = signers.map(({ fingerprint }) => ({ fingerprint, key: keyOf(set, fingerprint, 'writ', now) }));
    const principal = parents
      .map(({ key }) => (key ? principalOf(set, key, now) : null))
      .find((found) => found?.identity.principal === predicate.parent);
    if (principal) {
      if (principal.window !== 'open' || principal.entry?.departed !== null)
        faults.push(broken(predicate.actor, 'its parent\u2019s key is not valid now'));
      if (outranks(linkRole, principal.identity.role)) faults.push(widened(predicate.actor));
      names.unshift(predicate.parent);
      scopes.push(...principal.identity.scopes);
      break;
    }
    const upper = (spawns.byActor.get(predicate.parent) ?? []).find((candidate) =>
      signers.some((signer) => signer.fingerprint === candidate.fingerprint),
    );
    if (!upper || depth >= MAX_LINKS || names.includes(predicate.parent)) {
      faults.push(
        broken(
          predicate.actor,
          upper ? `the chain is longer than ${MAX_LINKS} links` : 'its parent is nobody known here',
        ),
      );
      break;
    }
    const above = upper.statement.predicate;
    if (outranks(linkRole, above.role) || predicate.expiresAt > above.expiresAt || issuedAt < upper.statement.issuedAt)
      faults.push(widened(predicate.actor));
    linkRole = above.role;
    link = upper;
  }
  if (faults.length > 0) role = 'unknown';
  return {
    identity: { principal: leaf.statement.predicate.actor, role, scopes, chain: names },
    window: 'open',
    entry: null,
    faults: distinct(faults),
  };
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

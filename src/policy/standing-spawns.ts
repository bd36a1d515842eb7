import type { Instant } from '../model/instant.ts';
import type { PolicySet } from '../model/policy.ts';
import { outranks, type Role } from '../model/role.ts';
import { parsePublicKey } from '../sign/public-key.ts';
import type { SpawnIndex, SpawnLink } from './identity.ts';

const cache = new WeakMap<PolicySet, WeakMap<SpawnIndex, ReadonlySet<SpawnLink>>>();

/**
 * The one of several records that speaks: one that stands before one that does not, then the latest. Records nobody known
 * signed are anybody's to drop into the folder, so they never come first.
 * @returns null where there is none.
 */
export function foremost(
  set: PolicySet,
  links: readonly SpawnLink[],
  spawns: SpawnIndex,
  now: Instant,
): SpawnLink | null {
  if (links.length < 2) return links[0] ?? null;
  const rooted = rootedOf(set, spawns);
  const weight = (link: SpawnLink): number => (rooted.has(link) ? (isLive(link, now) ? 2 : 1) : 0);
  const [first] = [...links].sort((a, b) => weight(b) - weight(a) || b.statement.issuedAt - a.statement.issuedAt);
  return first ?? null;
}

/**
 * Whether another record of somebody known names the same actor or the same key. A record that was renewed by the same
 * parent for the same key is the same child, and one that nobody known signed, ran out or was revoked is nobody (hard rule 10).
 */
export function collides(set: PolicySet, spawns: SpawnIndex, link: SpawnLink, now: Instant): boolean {
  const { actor, parent } = link.statement.predicate;
  const others = [...(spawns.byActor.get(actor) ?? []), ...(spawns.byKey.get(link.fingerprint) ?? [])];
  const rooted = rootedOf(set, spawns);
  return others.some((other) => {
    const { predicate } = other.statement;
    const isSame = predicate.actor === actor && predicate.parent === parent && other.fingerprint === link.fingerprint;
    return !isSame && rooted.has(other) && isLive(other, now);
  });
}

function isLive(link: SpawnLink, now: Instant): boolean {
  return link.statement.predicate.expiresAt > now;
}

/** Records whose signatures lead up to a principal, whatever else is wrong with them; one walk down from the principals. */
function rootedOf(set: PolicySet, spawns: SpawnIndex): ReadonlySet<SpawnLink> {
  const known = cache.get(set)?.get(spawns);
  if (known) return known;
  const names = new Map(set.keys.filter(isForStatements).map((key) => [key.fingerprint, key.principal]));
  const revoked = revokedOf(set, names);
  const links = [...spawns.byActor.values()]
    .flat()
    .filter((link) => !revoked.has(link.statement.predicate.actor) && !revoked.has(link.fingerprint));
  const byParent = groupByParent(links);
  const isOut = (name: string, fingerprint: string): boolean => {
    const { role } = set.policy.principals.get(name) ?? { role: 'unknown' };
    return [name, fingerprint].some((one) => {
      const by = revoked.get(one);
      return by === 'sovereign' || (by === 'approver' && outranks('approver', role));
    });
  };
  const rooted = new Set<SpawnLink>();
  const rest = [...set.policy.principals.keys()].flatMap((name) =>
    (byParent.get(name) ?? []).filter((link) =>
      link.statement.signers.some(({ fingerprint }) => names.get(fingerprint) === name && !isOut(name, fingerprint)),
    ),
  );
  for (let link = rest.pop(); link !== undefined; link = rest.pop()) {
    if (rooted.has(link)) continue;
    rooted.add(link);
    const { fingerprint, statement } = link;
    for (const child of byParent.get(statement.predicate.actor) ?? []) {
      if (child.statement.signers.some((signer) => signer.fingerprint === fingerprint)) rest.push(child);
    }
  }
  const perSet = cache.get(set) ?? new WeakMap<SpawnIndex, ReadonlySet<SpawnLink>>();
  cache.set(set, perSet.set(spawns, rooted));
  return rooted;
}

/** Names and keys that the sovereign or an approver revoked: either may revoke any spawned actor. The higher of the two is kept. */
function revokedOf(set: PolicySet, names: ReadonlyMap<string, string>): ReadonlyMap<string, Role> {
  const revoked = new Map<string, Role>();
  for (const { predicate, signers } of set.revocations) {
    const key = predicate.publicKey === null ? null : parsePublicKey(predicate.publicKey)?.fingerprint;
    for (const { fingerprint } of signers) {
      const role = set.policy.principals.get(names.get(fingerprint) ?? '')?.role;
      if (role !== 'sovereign' && role !== 'approver') continue;
      for (const named of [predicate.actor, key]) {
        if (typeof named === 'string' && revoked.get(named) !== 'sovereign') revoked.set(named, role);
      }
    }
  }
  return revoked;
}

function isForStatements(key: { readonly namespaces: readonly string[] | null }): boolean {
  return key.namespaces === null || key.namespaces.includes('writ');
}

function groupByParent(links: readonly SpawnLink[]): ReadonlyMap<string, readonly SpawnLink[]> {
  const groups = new Map<string, SpawnLink[]>();
  for (const link of links) {
    const { parent } = link.statement.predicate;
    const group = groups.get(parent);
    if (group) group.push(link);
    else groups.set(parent, [link]);
  }
  return groups;
}

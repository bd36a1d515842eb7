import type { Instant } from '../model/instant.ts';
import type { PolicySet } from '../model/policy.ts';
import { outranks, ROLES, type Role } from '../model/role.ts';
import { parsePublicKey } from '../sign/public-key.ts';
import { keyOf, windowOf } from './key-lines.ts';
import { isSomebody, lifeOf, MAX_LINKS, type SpawnIndex, type SpawnLink } from './spawn-life.ts';

/** What became of the records of a workspace at one instant. */
interface Standings {
  readonly at: Instant;
  /** Records that stand: their chain does, and no other has a better right to their name and key. */
  readonly standing: ReadonlySet<SpawnLink>;
  /** Records that somebody who stands signed, whatever else is wrong with them: the higher their parent, the lower the number. */
  readonly signed: ReadonlyMap<SpawnLink, number>;
  /** Records that would stand, had nobody else a better right to their name or key, or as good a one. */
  readonly lost: ReadonlySet<SpawnLink>;
  readonly claims: Claims;
}

/** By name or key, which hold a colon and so are no names: the children that hold it. Where there are two neither has the better right, and neither stands. */
type Claims = Map<string, Set<string>>;

const cache = new WeakMap<PolicySet, WeakMap<SpawnIndex, Standings>>();

/**
 * The one of several records that speaks: one that stands before one that does not, then the one of the higher parent, then the latest. Records nobody known
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
  const { standing, signed, claims } = standingsOf(set, spawns, now);
  const weight = (link: SpawnLink): number =>
    standing.has(link) ? 3 : claims.get(link.fingerprint)?.has(childKey(link)) ? 2 : signed.has(link) ? 1 : 0;
  const order = (link: SpawnLink): number => signed.get(link) ?? Number.MAX_SAFE_INTEGER;
  const [first] = [...links].sort(
    (a, b) => weight(b) - weight(a) || order(a) - order(b) || b.statement.issuedAt - a.statement.issuedAt,
  );
  return first ?? null;
}

/**
 * Whether another child has a better right to the name or the key of this record, or as good a one. A record that was
 * renewed by the same parent for the same key is the same child, and one that nobody known signed, ran out or was
 * revoked is nobody (hard rule 10).
 */
export function collides(set: PolicySet, spawns: SpawnIndex, link: SpawnLink, now: Instant): boolean {
  const { standing, lost, claims } = standingsOf(set, spawns, now);
  return lost.has(link) || (!standing.has(link) && isContested(claims, link));
}

/** One record with the chain that leads to it. */
interface Rooted {
  readonly link: SpawnLink;
  /** Names and keys of everybody above it. */
  readonly above: ReadonlySet<string>;
}

/** Somebody who stands and may sign records for children: a principal, or a child itself. */
interface Parent {
  readonly name: string;
  readonly role: Role;
  readonly expiresAt: Instant | null;
  readonly issuedAt: Instant | null;
  readonly above: ReadonlySet<string>;
  signed(link: SpawnLink): boolean;
}

/**
 * Gives names and keys away in the order of authority: first to the children of higher roles, among those to the children of
 * principals before the children of children, so a parent is always settled before what it spawned. Whoever comes
 * later with a name or key that is taken holds nothing. Of one parent's children the earlier record holds it; two different
 * parents of the same standing have the same right, and then neither child stands. A key whose record ran out or was
 * revoked still belongs to that child for everybody lower, or a specialist could answer for what a deputy once signed.
 */
function standingsOf(set: PolicySet, spawns: SpawnIndex, now: Instant): Standings {
  const known = cache.get(set)?.get(spawns);
  if (known?.at === now) return known;
  const standing = new Set<SpawnLink>();
  const signed = new Map<SpawnLink, number>();
  const lost = new Set<SpawnLink>();
  const claims: Claims = new Map();
  const spent = new Set<string>();
  const byParent = groupByParent(spawns);
  const denied = deniedOf(set, now);
  const parents: Parent[][] = Array.from({ length: MAX_LINKS }, () => []);
  parents[0]?.push(...principalsOf(set, denied, now));
  for (const role of [...ROLES].reverse()) {
    for (const [depth, here] of parents.entries()) {
      const fit: Rooted[] = [];
      const over: SpawnLink[] = [];
      for (const parent of here.filter((one) => one.role === role)) {
        for (const link of byParent.get(parent.name) ?? []) {
          if (!parent.signed(link)) continue;
          signed.set(link, (ROLES.length - ROLES.indexOf(role)) * MAX_LINKS + depth);
          const state = stateOf(set, link, parent, denied, now);
          if (state === 'fit') fit.push({ link, above: parent.above });
          if (state === 'over') over.push(link);
        }
      }
      const free = fit.filter(({ link }) => !spent.has(link.fingerprint) && !isContested(claims, link));
      const entitled = firstOfEachParent(free);
      for (const { link } of entitled) claim(claims, link);
      const won = entitled.filter(({ link }) => !isContested(claims, link));
      for (const { link } of won) standing.add(link);
      for (const { link } of fit) if (!standing.has(link)) lost.add(link);
      for (const { fingerprint } of over) spent.add(fingerprint);
      for (const one of latestOfEachChild(won)) parents[depth + 1]?.push(childAsParent(one));
    }
  }
  const standings = { at: now, standing, signed, lost, claims };
  const perSet = cache.get(set) ?? new WeakMap<SpawnIndex, Standings>();
  cache.set(set, perSet.set(spawns, standings));
  return standings;
}

/** `fit`: `actorOf` finds no fault with a record and its parent, but for collisions. `over`: it did once, and ran out or was revoked. */
function stateOf(
  set: PolicySet,
  link: SpawnLink,
  parent: Parent,
  denied: Denied,
  now: Instant,
): 'fit' | 'over' | 'unfit' {
  const { predicate, issuedAt } = link.statement;
  const life = lifeOf(set, link, now);
  const sound =
    (life === null || life === 'over') &&
    !isSomebody(set, link) &&
    !outranks(predicate.role, parent.role) &&
    (parent.expiresAt === null || predicate.expiresAt <= parent.expiresAt) &&
    (parent.issuedAt === null || issuedAt >= parent.issuedAt);
  if (!sound) return 'unfit';
  const isOut = [predicate.actor, link.fingerprint].some((one) => isDenied(denied, one, predicate.role, parent.above));
  return life === 'over' || isOut ? 'over' : 'fit';
}

/** Of the children of one parent that want the same name or key, the one with the earliest record. Renewals are the same child. */
function firstOfEachParent(fit: readonly Rooted[]): readonly Rooted[] {
  const taken = new Map<string, string>();
  const order = (a: Rooted, b: Rooted): number =>
    a.link.statement.issuedAt - b.link.statement.issuedAt ||
    (a.link.statement.payloadDigest < b.link.statement.payloadDigest ? -1 : 1);
  return [...fit].sort(order).filter(({ link }) => {
    const { parent } = link.statement.predicate;
    const child = childKey(link);
    const wanted = [`${parent} ${link.statement.predicate.actor}`, `${parent} ${link.fingerprint}`];
    if (wanted.some((one) => (taken.get(one) ?? child) !== child)) return false;
    for (const one of wanted) taken.set(one, child);
    return true;
  });
}

/** Of the renewals of one child the latest, which is the one that speaks. */
function latestOfEachChild(won: readonly Rooted[]): readonly Rooted[] {
  const latest = new Map<string, Rooted>();
  for (const one of won) {
    const child = childKey(one.link);
    const known = latest.get(child);
    if (known === undefined || one.link.statement.issuedAt > known.link.statement.issuedAt) latest.set(child, one);
  }
  return [...latest.values()];
}

function principalsOf(set: PolicySet, denied: Denied, now: Instant): Parent[] {
  return [...set.policy.principals].flatMap(([name, { role, departed }]) => {
    if (departed !== null) return [];
    const keys = new Set(
      set.keys
        .filter((key) => key.principal === name)
        .map(({ fingerprint }) => fingerprint)
        .filter((fingerprint) => {
          const line = keyOf(set, fingerprint, 'writ', now);
          return line?.principal === name && windowOf(line, now) === 'open';
        })
        .filter((fingerprint) => ![name, fingerprint].some((one) => isDenied(denied, one, role, new Set()))),
    );
    const signed = ({ statement }: SpawnLink): boolean => statement.signers.some((one) => keys.has(one.fingerprint));
    return [{ name, role, expiresAt: null, issuedAt: null, above: new Set([name, ...keys]), signed }];
  });
}

function childAsParent({ link, above }: Rooted): Parent {
  const { predicate, issuedAt } = link.statement;
  return {
    name: predicate.actor,
    role: predicate.role,
    expiresAt: predicate.expiresAt,
    issuedAt,
    above: new Set([...above, predicate.actor, link.fingerprint]),
    signed: ({ statement }) => statement.signers.some((one) => one.fingerprint === link.fingerprint),
  };
}

/** Names and keys that were revoked: by whom, as the keys that signed it, and the highest role among them; the root counts as sovereign. */
type Denied = ReadonlyMap<string, readonly { readonly role: Role; readonly keys: readonly string[] }[]>;

function deniedOf(set: PolicySet, now: Instant): Denied {
  const denied = new Map<string, { readonly role: Role; readonly keys: readonly string[] }[]>();
  for (const { predicate, signers, payloadDigest } of set.revocations) {
    const key = predicate.publicKey === null ? null : parsePublicKey(predicate.publicKey)?.fingerprint;
    const keys = signers.map((signer) => signer.fingerprint);
    const roles = set.endorsed.has(payloadDigest) ? (['sovereign'] as const) : keys.map((one) => roleOf(set, one, now));
    for (const role of roles) {
      for (const named of [predicate.actor, key]) {
        if (typeof named === 'string') denied.set(named, [...(denied.get(named) ?? []), { role, keys }]);
      }
    }
  }
  return denied;
}

function roleOf(set: PolicySet, fingerprint: string, now: Instant): Role {
  const entry = set.policy.principals.get(keyOf(set, fingerprint, 'writ', now)?.principal ?? '');
  return entry?.departed === null ? entry.role : 'unknown';
}

/** The sovereign may revoke anyone, an approver lower roles, and everybody what they spawned. */
function isDenied(denied: Denied, named: string, role: Role, above: ReadonlySet<string>): boolean {
  return (denied.get(named) ?? []).some(
    (by) =>
      by.role === 'sovereign' ||
      (by.role === 'approver' && outranks('approver', role)) ||
      by.keys.some((key) => above.has(key)),
  );
}

function claim(claims: Claims, link: SpawnLink): void {
  for (const wanted of [link.statement.predicate.actor, link.fingerprint]) {
    const holders = claims.get(wanted) ?? new Set<string>();
    claims.set(wanted, holders.add(childKey(link)));
  }
}

function isContested(claims: Claims, link: SpawnLink): boolean {
  const child = childKey(link);
  return [link.statement.predicate.actor, link.fingerprint].some((wanted) => {
    const holders = claims.get(wanted);
    return holders !== undefined && (holders.size > 1 || !holders.has(child));
  });
}

function childKey({ statement, fingerprint }: SpawnLink): string {
  return `${statement.predicate.actor} ${statement.predicate.parent} ${fingerprint}`;
}

function groupByParent(spawns: SpawnIndex): ReadonlyMap<string, readonly SpawnLink[]> {
  const groups = new Map<string, SpawnLink[]>();
  for (const link of [...spawns.byActor.values()].flat()) {
    const { parent } = link.statement.predicate;
    const group = groups.get(parent);
    if (group) group.push(link);
    else groups.set(parent, [link]);
  }
  return groups;
}

import type { Judgement } from '../gate.ts';
import type { PolicySet } from '../model/policy.ts';
import type { PagePerson } from '../page/data.ts';
import { trace } from '../policy/identity.ts';
import { windowOf } from '../policy/key-lines.ts';
import { short } from './page-text.ts';

/**
 * Everybody who may sign here or once might: the keys of the root, the principals of the set, and every spawn record. Where the set is not pinned and
 * intact nobody is proven, and what it names is listed with that fault.
 */
export function toPeople(judgement: Judgement): readonly PagePerson[] {
  return [...toRoots(judgement.set), ...toPrincipals(judgement), ...toSpawned(judgement)];
}

/** Keys the set is signed with that are no principal's. */
function toRoots({ roots, keys, intact }: PolicySet): readonly PagePerson[] {
  return roots
    .filter((root) => keys.every((key) => key.fingerprint !== root))
    .map((root) => ({
      name: short(root),
      role: 'root',
      kind: 'root',
      parent: null,
      keys: [short(root)],
      paths: [],
      ends: null,
      fault: intact ? null : UNPROVEN,
    }));
}

const UNPROVEN = 'the policy set is not pinned and intact';

function toPrincipals({ set, at }: Judgement): readonly PagePerson[] {
  return [...set.policy.principals].map(([name, entry]) => {
    const keys = set.keys.filter((key) => key.principal === name);
    const open = keys.filter((key) => windowOf(key, at) === 'open');
    const lasting = open.filter((key) => key.validBefore === null);
    const fault = !set.intact
      ? UNPROVEN
      : entry.departed !== null
        ? 'departed; what was kept still stands'
        : keys.length === 0
          ? 'no key'
          : open.length === 0
            ? 'no key is valid now'
            : null;
    return {
      name: short(name),
      role: entry.role,
      kind: keys.some((key) => set.roots.includes(key.fingerprint)) ? 'root' : 'principal',
      parent: null,
      keys: keys.map((key) => short(`${key.fingerprint} ${key.keyType}`)),
      paths: (entry.paths ?? []).map(short),
      ends: open.length === 0 || lasting.length > 0 ? null : Math.max(...open.map((key) => key.validBefore ?? 0)),
      fault,
    };
  });
}

function toSpawned({ set, proofs, at }: Judgement): readonly PagePerson[] {
  return [...proofs.spawns.byActor.values()].flat().map(({ statement, fingerprint }) => {
    const { predicate } = statement;
    const traced = trace(set, proofs.spawns, fingerprint, 'writ', at);
    const other = traced !== null && traced.identity.principal !== predicate.actor;
    const [broken] = traced?.faults ?? [];
    const fault =
      traced === null
        ? 'its key belongs to nobody known'
        : other
          ? `its key speaks for ${short(traced.identity.principal)}`
          : broken
            ? short(broken.message)
            : predicate.expiresAt <= at
              ? 'it ran out'
              : null;
    return {
      name: short(predicate.actor),
      role: predicate.role,
      kind: 'spawned',
      parent: short(predicate.parent),
      keys: [short(fingerprint)],
      paths: predicate.paths.map(short),
      ends: predicate.expiresAt,
      fault,
    };
  });
}

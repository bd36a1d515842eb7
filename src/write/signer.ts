import type { Instant } from '../model/instant.ts';
import type { PolicySet } from '../model/policy.ts';
import type { Identity } from '../model/principal.ts';
import { type SpawnIndex, trace } from '../policy/identity.ts';
import type { SigningKey } from '../sign/private-key.ts';

/** Somebody who signs here: a key that was traced to a name and a role. */
export interface KnownSigner {
  readonly key: SigningKey;
  readonly identity: Identity;
}

/** Traces the key a command was given. @returns why it may not sign as that name, in plain words. */
export function knowSigner(
  key: SigningKey,
  name: string | null,
  set: PolicySet,
  spawns: SpawnIndex,
  now: Instant,
): KnownSigner | { readonly refused: string } {
  const { fingerprint } = key.publicKey;
  const traced = trace(set, spawns, fingerprint, 'writ', now);
  if (!traced)
    return {
      refused: set.intact
        ? `the key ${fingerprint} belongs to nobody here: add it with writ trust add, or declare it with writ spawn`
        : 'the policy set is not pinned and intact, so nobody is proven; see writ trust show',
    };
  const { identity, window, entry, faults } = traced;
  if (name !== null && identity.principal !== name)
    return { refused: `the key belongs to ${identity.principal}, not to ${name}` };
  const [fault] = faults;
  if (fault) return { refused: fault.message };
  if (window !== 'open' || (entry !== null && entry.departed !== null))
    return { refused: `the key of ${identity.principal} is not valid now` };
  return { key, identity };
}

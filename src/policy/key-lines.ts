import type { Instant } from '../model/instant.ts';
import type { PolicySet } from '../model/policy.ts';
import type { AllowedKey } from '../model/principal.ts';

/** Clocks may differ this much, ms. */
export const SKEW_MS = 300_000;

/** Whether a key's window is open on our clock. */
export type KeyWindow = 'open' | 'closed' | 'early';

/** The line of allowed_signers that speaks for a key in a namespace: one whose window is open before any other. Null where there is none. */
export function keyOf(set: PolicySet, fingerprint: string, namespace: string, now: Instant): AllowedKey | null {
  // A line without namespaces= speaks for statements only: git proofs are opted into (overview.md, authorship proofs).
  const lines = set.keys.filter(
    (line) =>
      line.fingerprint === fingerprint &&
      (line.namespaces === null ? namespace === 'writ' : line.namespaces.includes(namespace)),
  );
  return lines.find((line) => windowOf(line, now) === 'open') ?? lines[0] ?? null;
}

/** Where our clock stands to a key's window. */
export function windowOf(key: AllowedKey, now: Instant): KeyWindow {
  if (key.validAfter !== null && now < key.validAfter) return 'early';
  return key.validBefore !== null && now >= key.validBefore ? 'closed' : 'open';
}

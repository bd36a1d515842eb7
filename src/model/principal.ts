import type { Instant } from './instant.ts';
import type { Role } from './role.ts';

/** One key line of `allowed_signers`. */
export interface AllowedKey {
  readonly principal: string;
  readonly fingerprint: string;
  readonly keyType: string;
  /** `<type> <base64>` */
  readonly publicKey: string;
  /** Namespaces the line allows; null allows every one. */
  readonly namespaces: readonly string[] | null;
  readonly validAfter: Instant | null;
  readonly validBefore: Instant | null;
}

/** What policy.yaml says of one principal. */
export interface PrincipalEntry {
  readonly role: Role;
  /** Globs this principal may speak for; null means every path. */
  readonly paths: readonly string[] | null;
  /** After this instant only the approvals in `keeps` still count. */
  readonly departed: Instant | null;
  /** Payload digests of the approvals kept when the principal departed. */
  readonly keeps: readonly string[];
}

/** A person or agent a key was traced back to. */
export interface Identity {
  readonly principal: string;
  readonly role: Role;
  /** Every glob list that must match a path: one per link of the chain. */
  readonly scopes: readonly (readonly string[])[];
  /** Names from the first principal down to this one. */
  readonly chain: readonly string[];
}

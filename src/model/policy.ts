import type { ArtifactClass } from './artifact-class.ts';
import type { CodeName } from './codes.ts';
import type { Finding } from './finding.ts';
import type { Instant } from './instant.ts';
import type { AllowedKey, PrincipalEntry } from './principal.ts';
import type { Rank } from './rank.ts';
import type { Role } from './role.ts';
import type { RevocationPredicate, Statement } from './statement.ts';

export interface InitPattern {
  readonly path: string;
  readonly loads: 'launch' | 'lazy' | 'spawn';
}

export interface Limits {
  /** Largest file judged, bytes. */
  readonly fileBytes: number;
  /** Most init files judged. */
  readonly files: number;
  /** Work budget of the scan, in times the size of the text. */
  readonly scanWork: number;
}

/** The rungs of evidence, from observed to speculated. */
export const RUNGS = ['OBS', 'DER', 'INT', 'SPEC'] as const;
export type Rung = (typeof RUNGS)[number];

/** How agents hand over (handoffs.md). */
export interface HandoffSettings {
  /** How long a sender waits for a signed answer before it escalates. */
  readonly ackSeconds: number;
  /** Who is told where no answer comes; null where only the user’s own command may be. */
  readonly escalateUrl: string | null;
  /** Most confidence evidence of a rung may claim. */
  readonly rungs: Readonly<Record<Rung, number>>;
}

/** policy.yaml, normalised; the built-in defaults where no intact set judges. */
export interface Policy {
  readonly workspace: string | null;
  readonly constitution: { readonly documents: readonly string[]; readonly accepts: readonly string[] };
  readonly principals: ReadonlyMap<string, PrincipalEntry>;
  readonly approvals: {
    readonly threshold: { readonly policy: number; readonly constitution: number };
    readonly maxDays: number;
    readonly presence: 'none' | 'touch';
  };
  readonly commits: {
    /** Role a signed commit proves for anyone not listed; null proves nothing. */
    readonly authorship: Role | null;
    readonly perPrincipal: ReadonlyMap<string, Role | null>;
    /** Principals whose signed commits approve what they introduce. */
    readonly approval: readonly string[];
  };
  readonly spawns: { readonly maxHours: number };
  readonly unmanifested: 'reference' | 'quarantined';
  readonly hosts: readonly string[] | null;
  readonly initPaths: readonly InitPattern[];
  /** Narrowed ceilings only. */
  readonly classes: ReadonlyMap<ArtifactClass, Rank>;
  readonly audit: ReadonlySet<CodeName>;
  readonly limits: Limits;
  readonly handoffs: HandoffSettings;
  /** What policy.yaml says in so many words, by dotted name; absent for the built-in defaults. */
  readonly given?: ReadonlyMap<string, number | string | readonly string[]>;
}

export interface Exception {
  readonly code: string;
  readonly path: string;
  readonly artifactId: string | null;
  readonly owner: string;
  readonly reason: string;
  readonly until: Instant;
  readonly line: number;
}

/** What humans decided, as far as it could be proven. */
export interface PolicySet {
  readonly root: 'pinned' | 'unpinned' | 'mismatch';
  /** Pinned, signed, unaltered, at or above the floor and not expired: the only state in which anybody is proven. */
  readonly intact: boolean;
  readonly workspace: string | null;
  readonly version: number | null;
  readonly floor: number | null;
  /** `sha256:<hex>` of today's constitution, or null where none could be read. */
  readonly constitution: string | null;
  /** Workspace-relative folder of the set. */
  readonly dir: string;
  readonly policy: Policy;
  readonly keys: readonly AllowedKey[];
  readonly roots: readonly string[];
  readonly exceptions: readonly Exception[];
  /** Revocations that stand: those in the folder and those state remembers. */
  readonly revocations: readonly Statement<RevocationPredicate>[];
  /** Payload digests of the revocations the root itself listed: they stand whatever becomes of who signed them. */
  readonly endorsed: ReadonlySet<string>;
  /** Constitution documents the signature covers: path to bare hex sha256. */
  readonly documents: ReadonlyMap<string, string>;
  /** The user's rule files that the signature covers, as they were signed. */
  readonly ruleFiles: readonly { readonly path: string; readonly text: string }[];
  /** `SHA256:…` of the recovery key the set names, or null; absent where no set stands. */
  readonly recovery?: string | null;
  /** When the set itself runs out; null where it never does, absent where none stands. */
  readonly expiresAt?: Instant | null;
  /** Every setting with the layer it comes from; absent where no set stands. */
  readonly settings?: readonly {
    readonly name: string;
    readonly value: number | string | readonly string[];
    readonly layer: 'built in' | 'system' | 'user' | 'workspace';
  }[];
  /** Bare hex sha256 of the set's payload, or null. */
  readonly digest: string | null;
  readonly findings: readonly Finding[];
}

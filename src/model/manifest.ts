import type { ArtifactClass, Level } from './artifact-class.ts';
import type { Instant } from './instant.ts';

/** Where a manifest was found (formats.md, carriers). */
export type Carrier = 'front-matter' | 'comment' | 'json' | 'sidecar';

/** The normalised context_manifest (WAJIB 8). Every field is a claim; only proofs decide. */
export interface Manifest {
  readonly artifactId: string;
  readonly class: ArtifactClass;
  readonly author: string;
  readonly sourceCommit: string | null;
  readonly level: Level;
  readonly approvedBy: string | null;
  readonly binding: boolean;
  readonly createdAt: Instant;
  readonly expiresAt: Instant | null;
  /** `sha256:<hex>` or a label; null where the manifest names none. */
  readonly constitution: string | null;
  readonly supersedes: readonly string[];
  /** Bare lower-case hex, or null where the manifest names none. */
  readonly contentHash: string | null;
  /** Fields writ does not know, as JSON values; part of the digest. */
  readonly unknown: Readonly<Record<string, unknown>>;
}

import type { ArtifactClass } from './artifact-class.ts';
import type { Finding, FindingCode } from './finding.ts';
import type { Instant } from './instant.ts';
import type { Carrier, Manifest } from './manifest.ts';
import type { Identity } from './principal.ts';
import type { Rank } from './rank.ts';
import type { Candidate } from './source.ts';
import type {
  ApprovalPredicate,
  AuthorshipPredicate,
  HandoffPredicate,
  PostPredicate,
  RevocationPredicate,
  Statement,
} from './statement.ts';

declare const stage: unique symbol;
/** Marks a value that only one stage can build; a missing check is then a compile error (style.md 2). */
export type Staged<Name extends string> = { readonly [stage]: Name };

/** The manifest as it was found, with the digests that proofs are held against. */
export interface Claimed {
  readonly manifest: Manifest;
  readonly carrier: Carrier;
  /** Bare hex sha256 of the RFC 8785 form of the normalised manifest (formats.md). */
  readonly manifestDigest: string;
  /** Bare hex sha256 of the content this carrier leaves. */
  readonly contentSha256: string;
  /** The text without the carrier: what loads. */
  readonly content: string;
  /** The sidecar's path, where that is the carrier. */
  readonly sidecar: string | null;
  readonly line: number;
  /** Byte range of the manifest's own YAML in its file; null for JSON. */
  readonly span: { readonly from: number; readonly to: number } | null;
}

/** One place that may hold the manifest, read. */
export interface Reading {
  readonly claimed: Claimed | null;
  /** Why it could not be read strictly; null where it could. */
  readonly fault: Finding | null;
  readonly notes: readonly Finding[];
  /** The sidecar it is, or null for a carrier inside the file. */
  readonly sidecar: { readonly path: string; readonly bytes: Uint8Array } | null;
}

/** One artifact as read: the only bytes any later stage sees. */
/** The text of an artifact. */
export interface Text {
  /** Decodes it, anew each time: a thousand texts that live as long as their bytes cost more than to make them twice. */
  read(): string;
}

export interface Parsed extends Staged<'parsed'> {
  readonly candidate: Candidate;
  /** 1-based line on a board; null for a whole file. */
  readonly line: number | null;
  /** Null where the bytes could not be read. */
  readonly bytes: Uint8Array | null;
  readonly mode: number;
  /** Bare hex sha256 of the bytes; null where they could not be read. */
  readonly sha256: string | null;
  /** The whole text, carrier included; null where the bytes could not be read or are none. */
  readonly text: Text | null;
  /** Every manifest found for it: in the file first, then its sidecars. */
  readonly readings: readonly Reading[];
  readonly aliasOf: string | null;
  /** A signed board line, opened. */
  readonly post: Statement<PostPredicate> | null;
  /** A file that is one handoff envelope, opened. */
  readonly handoff?: Statement<HandoffPredicate>;
  readonly findings: readonly Finding[];
}

/** A signed commit as proof of who wrote a blob. */
export interface CommitProof {
  readonly commit: string;
  readonly fingerprint: string;
  /** Whether the commit introduced exactly the bytes judged. */
  readonly sameBlob: boolean;
}

export interface ImportFact {
  readonly path: string;
  readonly line: number;
  readonly column: number;
  /**
   * `home`: the user's own file under a host's folder in the home; `remote`: an address, fetched when the host starts; `unread`: what is imported could not
   * be told, `path` is empty or the pattern.
   */
  readonly state: 'judged' | 'missing' | 'escapes' | 'home' | 'remote' | 'unread';
  /** Bare hex sha256 of the imported content; null unless judged. */
  readonly sha256: string | null;
  /** Only where it is `unread`. */
  readonly why?: string;
}

/** A valid approval of another version or path, reduced to what supersession needs. */
export interface LiveApproval {
  readonly payloadDigest: string;
  readonly artifactId: string;
  readonly class: ArtifactClass;
  readonly level: 'T1' | 'T2' | 'T3';
  readonly path: string;
  readonly sha256: string;
  readonly issuedAt: Instant;
  readonly replaces: readonly string[];
  readonly approver: Identity;
  readonly expiresAt: Instant | null;
  /** It has run out or was revoked since: it approves nothing any more, but what it replaced stays replaced. */
  readonly lapsed: boolean;
  /** The path is only pulled in by the artifact that was approved: it is no version of that artifact. */
  readonly companion?: true;
}

/** Everything read from the world for one artifact, gathered once. */
export interface Evidence extends Staged<'evidence'> {
  readonly parsed: Parsed;
  /** The manifest that speaks for the text, or null where there is none. */
  readonly claimed: Claimed | null;
  /** What settling on that manifest found: `manifest-missing`, `manifest-invalid`, `manifest-ambiguous`, notes. */
  readonly findings: readonly Finding[];
  /** Sidecars that lost against an approved manifest: refused alone. */
  readonly strays: readonly Reading[];
  readonly authorship: readonly Statement<AuthorshipPredicate>[];
  readonly commit: CommitProof | null;
  /** Approvals that name this path, these bytes or this artifact id. */
  readonly approvals: readonly Statement<ApprovalPredicate>[];
  /** What the signed commit that introduced exactly this says as an approval; absent or null where none does (policy.yaml, commits.approval). */
  readonly commitApproval?: Statement<ApprovalPredicate> | null;
  /** A commit might approve it, and the history that would tell is cut off or git could not read it. */
  readonly commitHistory?: 'incomplete' | null;
  readonly revocations: readonly Statement<RevocationPredicate>[];
  /** Every live approval of the workspace, for supersession. */
  readonly live: readonly LiveApproval[];
  /** Every artifact id any verified approval names. */
  readonly knownIds: ReadonlySet<string>;
  readonly sourceCommit: 'missing' | 'unknown' | 'shallow' | 'known' | 'unchecked';
  readonly imports: readonly ImportFact[];
  /** The bytes would match the manifest's hash if CRLF and LF were the same. */
  readonly lineEndingsOnly: boolean;
  /** Another artifact carries the same id and this one holds no matching approval. */
  readonly duplicateOf: string | null;
}

export interface Writer {
  readonly principal: string;
  readonly role: Identity['role'];
  readonly via: 'statement' | 'commit' | 'post' | 'set';
  readonly chain: readonly string[];
}

/** After `bind`: who wrote it, as far as it is proven. */
export interface Bound extends Staged<'bound'> {
  readonly evidence: Evidence;
  readonly writer: Writer | null;
  readonly findings: readonly Finding[];
}

/** After `verify`: what was approved, and whether it still stands. */
export interface Verified extends Staged<'verified'> {
  readonly bound: Bound;
  /** Principals whose approvals stand, sorted. */
  readonly approvedBy: readonly string[];
  /** Earliest end of the approvals that stand. */
  readonly approvalExpiresAt: Instant | null;
  /** The sovereign's approval stands: who wrote it no longer matters. */
  readonly adopted: boolean;
  /** `<path> <sha256>` of everything the approvals that stand cover. */
  readonly covered: ReadonlySet<string>;
  /** Scan codes that a valid approval accepts. */
  readonly accepted: ReadonlySet<FindingCode>;
  readonly findings: readonly Finding[];
}

/** After `scan`: what the text itself says. */
export interface Scanned extends Staged<'scanned'> {
  readonly verified: Verified;
  readonly findings: readonly Finding[];
}

/** A finding with what was made of it. */
export interface Weighed extends Finding {
  readonly effect: 'quarantine' | 'reference' | 'advisory' | 'note';
  /** Why the effect is milder than the table says. */
  readonly relief?: 'accepted' | 'excepted' | 'audit' | 'adopted';
}

/** The verdict on one artifact. */
export interface Judged extends Staged<'judged'> {
  readonly evidence: Evidence;
  readonly rank: Rank;
  readonly declaredClass: ArtifactClass | null;
  readonly class: ArtifactClass;
  readonly writer: Writer | null;
  readonly approvedBy: readonly string[];
  readonly approvalExpiresAt: Instant | null;
  /** `move`: quarantine takes the file away; `withhold`: it stays and does not load. */
  readonly disposition: 'load' | 'withhold' | 'move';
  /** It could not be checked (class E). */
  readonly unchecked: boolean;
  readonly findings: readonly Weighed[];
}

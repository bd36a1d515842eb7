import type { ArtifactClass, Level } from './artifact-class.ts';
import type { Instant } from './instant.ts';
import type { Role } from './role.ts';

/** What a statement's signature proves: this key signed these bytes. Who the key is, is decided in `bind` and `verify`. */
export interface Signer {
  /** `SHA256:<base64 without padding>` over the SSH public key blob. */
  readonly fingerprint: string;
  /** SSH key type, for example `ssh-ed25519` or `sk-ssh-ed25519@openssh.com`. */
  readonly keyType: string;
  /** sk- keys: the user-present bit; false for every other key. */
  readonly userPresent: boolean;
}

/** One entry of a statement's subject: a workspace-relative path and the bare hex sha256 of its content. */
export interface Subject {
  readonly name: string;
  readonly sha256: string;
}

export interface PolicyPredicate {
  readonly type: 'policy';
  readonly version: number;
  readonly floor: number;
  readonly roots: readonly string[];
  readonly recovery: string | null;
  /** Workspace-relative path to bare hex sha256. */
  readonly files: Readonly<Record<string, string>>;
  /** Bare hex sha256 of every revocation payload known at signing. */
  readonly revocations: readonly string[];
  readonly expiresAt: Instant | null;
}

export interface SpawnPredicate {
  readonly type: 'spawn';
  readonly actor: string;
  readonly role: Extract<Role, 'orchestrator' | 'specialist'>;
  readonly parent: string;
  /** OpenSSH public key line: `<type> <base64>`. */
  readonly publicKey: string;
  readonly paths: readonly string[];
  readonly expiresAt: Instant;
  readonly session: string | null;
}

export interface AuthorshipPredicate {
  readonly type: 'authorship';
  readonly artifactId: string;
  readonly class: ArtifactClass;
  readonly level: Level;
  readonly author: string;
  readonly manifestDigest: string;
  readonly sourceCommit: string | null;
}

export interface AcceptedRule {
  readonly rule: string;
  readonly reason: string;
}

export interface ApprovalPredicate {
  readonly type: 'approval';
  readonly artifactId: string;
  readonly class: ArtifactClass;
  readonly level: Level;
  readonly approver: string;
  readonly manifestDigest: string;
  readonly constitution: string | null;
  readonly accepts: readonly AcceptedRule[];
  readonly replaces: readonly string[];
  readonly expiresAt: Instant | null;
}

/** Exactly one of the four targets is not null. */
export interface RevocationPredicate {
  readonly type: 'revocation';
  readonly artifactId: string | null;
  readonly digest: string | null;
  readonly publicKey: string | null;
  readonly actor: string | null;
  readonly by: string;
  readonly reason: string;
}

/** One signed line of a board. */
export interface PostPredicate {
  readonly type: 'post';
  readonly board: string;
  readonly kind: string;
  readonly author: string;
  readonly text: string;
  readonly data: Readonly<Record<string, unknown>> | null;
  readonly nonce: string;
  readonly expiresAt: Instant | null;
}

/** Transport envelope of one handoff (handoffs.md). What it hands over lies beside the statement and is bound by its one subject. */
export interface HandoffPredicate {
  readonly type: 'handoff';
  readonly handoffId: string;
  readonly from: string;
  /** The audience: nobody else may open it. */
  readonly to: string;
  /** How much authority the task asks for; never more than the sender may claim. */
  readonly level: Level;
  /** Bare hex sha256 of the payload of the handoff before this one; null at the task’s origin. */
  readonly prev: string | null;
  readonly nonce: string;
  readonly taskId: string | null;
  /** Id of a cancelled handoff that this one takes the place of. */
  readonly supersedes: string | null;
  /** Id of an accepted handoff that this one gives back. */
  readonly returns: string | null;
  /** Until when it may be accepted. */
  readonly expiresAt: Instant;
  /** Until when the task is to be finished. */
  readonly finishBy: Instant;
}

/** The receiver’s signed answer to exactly one envelope. */
export interface AckPredicate {
  readonly type: 'ack';
  readonly handoffId: string;
  /** Bare hex sha256 of the envelope’s payload. */
  readonly envelope: string;
  readonly by: string;
  readonly decision: 'received' | 'accepted' | 'rejected';
  readonly reason: string | null;
}

/** The order to stop working on a handoff, signed by the receiver’s parent or the sovereign. */
export interface CancelPredicate {
  readonly type: 'cancel';
  readonly handoffId: string;
  /** Bare hex sha256 of the envelope’s payload. */
  readonly envelope: string;
  readonly by: string;
  readonly reason: string;
  readonly expiresAt: Instant;
}

export type Predicate =
  | PolicyPredicate
  | SpawnPredicate
  | AuthorshipPredicate
  | ApprovalPredicate
  | RevocationPredicate
  | PostPredicate
  | HandoffPredicate
  | AckPredicate
  | CancelPredicate;

/** A statement whose signatures were verified over the very payload bytes it was read from. */
export interface Statement<P extends Predicate = Predicate> {
  readonly predicate: P;
  readonly workspace: string;
  readonly issuedAt: Instant;
  readonly subjects: readonly Subject[];
  /** Bare hex sha256 of the payload bytes: the statement's identity. */
  readonly payloadDigest: string;
  /** Distinct keys whose signatures verified; never empty. */
  readonly signers: readonly Signer[];
  /** Workspace-relative path of the file it came from, or the board line. */
  readonly file: string;
}

import type { Level } from './artifact-class.ts';
import type { Finding } from './finding.ts';
import type { Instant } from './instant.ts';
import type { Rung } from './policy.ts';
import type { Identity } from './principal.ts';
import type { Staged } from './stages.ts';

export const STEP_STATES = ['done', 'failed', 'pending'] as const;
export const FLOOR_STATES = ['PASS', 'CHECKING', 'FAIL', 'PENDING'] as const;

export interface EvidenceItem {
  readonly source: string;
  readonly rung: Rung;
  /** 0 to 1. */
  readonly confidence: number;
}

export interface ReasoningStep {
  /** From 1. */
  readonly step: number;
  readonly action: string;
  readonly result: string;
  readonly status: (typeof STEP_STATES)[number];
}

export interface ProvenanceEntry {
  readonly agent: string;
  readonly action: string;
  /** ISO 8601, ending in Z. */
  readonly timestamp: string;
}

/** What one agent hands another (FORGE, handoff artifact schema). Every field is data about a task; none is an order or a proof. */
export interface HandoffArtifact {
  readonly handoff_id: string;
  readonly from_agent: string;
  readonly to_agent: string;
  readonly task_intent: string;
  /** Floor ids; `F1` and `F01` are one. */
  readonly constraints: readonly string[];
  readonly evidence: readonly EvidenceItem[];
  readonly reasoning_chain: readonly ReasoningStep[];
  readonly floor_state: Readonly<Record<string, (typeof FLOOR_STATES)[number]>>;
  readonly provenance: readonly ProvenanceEntry[];
  readonly next_actions: readonly string[];
  readonly escalation_note: string;
}

/**
 * Where a handoff stands on one machine. The sender’s side: `sent` until answered; `received`, `accepted` or `rejected` by a signed answer; `escalated`
 * where none came in time; `late` where one came after that and was not confirmed. The receiver’s: `received` until it decides. Both: `returned`, `cancelled`.
 */
export const HANDOFF_STATES = [
  'sent',
  'received',
  'accepted',
  'rejected',
  'escalated',
  'late',
  'returned',
  'cancelled',
] as const;
export type HandoffState = (typeof HANDOFF_STATES)[number];

/** States in which somebody still owes a word. */
export const OPEN_STATES: readonly HandoffState[] = ['sent', 'received', 'escalated', 'late'];

/** A handoff that passed every check. Only `openHandoff` makes one, and nothing else gives the artifact out (handoffs.md). */
export interface VerifiedHandoff extends Staged<'handoff'> {
  readonly artifact: HandoffArtifact;
  /** Bare hex sha256 of the signed payload: what an answer names, and what the next hop names as `prev`. */
  readonly digest: string;
  readonly sender: Identity;
  readonly to: string;
  readonly level: Level;
  readonly nonce: string;
  readonly taskId: string | null;
  /** Digests of the hops before it, oldest first. */
  readonly hops: readonly string[];
  readonly supersedes: string | null;
  readonly returns: string | null;
  readonly issuedAt: Instant;
  readonly expiresAt: Instant;
  readonly finishBy: Instant;
  /** What it could say better (F4, rung caps): nothing that refuses it. */
  readonly findings: readonly Finding[];
}

/** Why a handoff was not opened. */
export interface HandoffRefused {
  readonly refused: Finding;
  /** The envelope’s signature is that of a sender known here, it was made for this receiver, and this is its digest: then a refusal may be signed. */
  readonly proven: { readonly handoffId: string; readonly digest: string; readonly from: string } | null;
}

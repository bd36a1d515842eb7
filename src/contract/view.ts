import type { ContractRow } from '../store/contracts.ts';
import type { Draft } from './draft.ts';
import { type JsonObject, stateOf } from './envelope.ts';
import { envelopeOf, isVerified } from './finalize.ts';

/** A row as lists and answers show it, without its envelope. */
export function viewRow(row: ContractRow): JsonObject {
  return {
    handoff_id: row.id,
    contract_id: row.contractId,
    agent_id: row.agentId,
    agent: row.agentName,
    harness_id: row.harnessId,
    profile: row.profile,
    state: row.state,
    agent_state: row.state,
    cut_reason: row.cutReason,
    degraded: row.cutReason !== null,
    auto_captured: row.cutReason !== null && row.cutReason !== 'never_finalized',
    verified: isVerified(row),
    plan_task_id: row.planTaskId,
    parent_handoff_id: row.parentId,
    signer: row.signer,
    created_at: row.createdAt,
    updated_at: row.updatedAt,
  };
}

/** A draft as `view` shows it. */
export function viewDraft(draft: Draft): JsonObject {
  return {
    draft_id: draft.draftId,
    agent_id: draft.agentId,
    profile: draft.profile,
    envelope_source: 'draft',
    state: stateOf(draft.envelope, draft.profile),
    envelope: draft.envelope,
  };
}

/** A row as `view` shows it, where the draft is gone. */
export function viewStoredEnvelope(row: ContractRow): JsonObject {
  return {
    draft_id: row.contractId,
    agent_id: row.agentId,
    profile: row.profile,
    envelope_source: 'row',
    handoff_id: row.id,
    state: row.state,
    cut_reason: row.cutReason,
    envelope: envelopeOf(row),
  };
}

/**
 * What is put into the prompt of a resumed turn: only what never changes in the life of a draft, so that the bytes before the prompt stay the same and the
 * cache holds. What the draft holds by now is asked for.
 */
export function viewForResume(draft: Pick<Draft, 'draftId' | 'agentId' | 'profile'>): JsonObject {
  return {
    draft_id: draft.draftId,
    agent_id: draft.agentId,
    profile: draft.profile,
    read: `writ contract view --draft-id ${draft.draftId}`,
    close: `writ contract finalize --draft-id ${draft.draftId}`,
  };
}

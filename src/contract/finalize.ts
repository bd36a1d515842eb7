import { sha256Hex } from '../sign/digest.ts';
import type { ContractRow, ContractTables } from '../store/contracts.ts';
import type { ContractPlace, Draft } from './draft.ts';
import { at, type ContractError, own, type State, stateOf, toState } from './envelope.ts';
import { error } from './error.ts';
import { requestGrant } from './grant.ts';
import { type Step, step } from './transitions.ts';
import { type Validated, validate } from './validate.ts';
import { type Bound, bindVerdict } from './verifier.ts';

export interface Finalized {
  readonly row: ContractRow;
  /** Whether this call wrote the first row of the contract: of many at once exactly one. */
  readonly created: boolean;
  /** Whether the row already held these very bytes. */
  readonly unchanged: boolean;
  readonly warnings: readonly ContractError[];
  /** The request that now waits for a decision; null where none was made. */
  readonly approvalId: string | null;
  /** What the verdict of a verifier did to its producer's row; null where this is no verifier's. */
  readonly bound: Bound | null;
}

export type FinalizeResult = Finalized | { readonly rejected: Validated } | { readonly refused: ContractError };

/** The text of an envelope as rows keep it, and its digest. */
export function sealEnvelope(envelope: unknown): { readonly text: string; readonly digest: string } {
  const text = JSON.stringify(envelope);
  return { text, digest: sha256Hex(text) };
}

/**
 * Writes the terminal row of a draft: the only writer of a clean one, and idempotent. Call it inside `Contracts.change`, with the draft read inside too.
 * @param signer who proved to be the agent; null where nobody did.
 */
export async function finalize(
  tables: ContractTables,
  place: ContractPlace,
  draft: Draft,
  by: { readonly now: number; readonly signer: string | null },
): Promise<FinalizeResult> {
  const verdict = await validate(draft.envelope, {
    profile: draft.profile,
    input: draft.input,
    formOnly: false,
    isPending: (id) => isPending(tables, place, id, by.now),
  });
  if (!verdict.ok || verdict.state === null) return { rejected: verdict };
  if (at(draft.envelope, 'agent_status.agent_id') !== draft.agentId)
    return refuse('AGENT_ID_CHANGED', 'agent_status.agent_id', `the draft is of ${draft.agentId}`);
  const { text, digest } = sealEnvelope(draft.envelope);
  const there = await tables.row(place.workspace, draft.draftId);
  const clean = isClean(there);
  // The same bytes in another state are news only where a verifier sent them back.
  if (clean && there.digest === digest && (there.state === verdict.state || there.state === 'COMPLETE')) {
    const [open] = await tables.grantsOf(place.workspace, draft.draftId);
    const approvalId = verdict.state === 'APPROVAL_REQUEST' ? (open?.approvalId ?? null) : null;
    return { row: there, created: false, unchanged: true, warnings: verdict.warnings, approvalId, bound: null };
  }
  if (clean && there.state === 'COMPLETE')
    return refuse(
      'CONTRACT_CLOSED',
      'agent_status',
      'the row is COMPLETE; go on in a new contract: writ contract init',
    );
  // By the row too: a draft is a file, and a file can be edited.
  const planTaskId = draft.planTaskId ?? there?.planTaskId ?? null;
  if (verdict.state === 'COMPLETE' && planTaskId !== null)
    return refuse(
      'BLIND_VERIFICATION',
      `agent_status.${draft.profile}`,
      'bound to a plan task, this contract becomes COMPLETE by the pass of a verifier, not by its own word',
    );
  const stepped = step(stepFrom(draft, clean ? there : null, verdict.state));
  if ('refused' in stepped)
    return refuse(
      stepped.refused,
      `agent_status.${draft.profile}`,
      stepped.refused === 'RETRY_CAP'
        ? 'this would be the third IN_PROGRESS in a row; close the turn in another state, or resume it: writ contract init --draft-id'
        : `from ${there?.state ?? 'nothing'} a contract goes on in IN_PROGRESS first, not in ${verdict.state}`,
    );
  const row = await tables.put({
    ...rowOf(place, draft, by.now),
    ...(there === null ? {} : { createdAt: there.createdAt, verdict: there.digest === digest ? there.verdict : null }),
    planTaskId,
    parentId: draft.parent?.id ?? there?.parentId ?? null,
    state: verdict.state,
    cutReason: null,
    signer: by.signer,
    envelope: text,
    digest,
    revision: (there?.revision ?? 0) + 1,
    retries: stepped.retries,
  });
  const warnings = stepped.last
    ? [...verdict.warnings, error('RETRY_CAP', `agent_status.${draft.profile}`, 'the next IN_PROGRESS needs a resume')]
    : verdict.warnings;
  const approvalId = await requestGrant(tables, row, draft.envelope, by.now);
  const bound = await bindVerdict(tables, draft, row, by.now);
  return { row, created: there === null, unchanged: false, warnings, approvalId, bound };
}

/** @returns whether a row was closed by its own agent: neither cut nor only born. */
export function isClean(row: ContractRow | null): row is ContractRow {
  return row !== null && row.cutReason === null && row.state !== 'DISPATCHED';
}

/** @returns whether a row is COMPLETE by its agent's own finalize or by a verifier: both are needed, the state alone says nothing. */
export function isVerified(row: ContractRow): boolean {
  return row.state === 'COMPLETE' && row.cutReason === null;
}

/** Whether a request of that id waits for a decision. */
export async function isPending(
  tables: ContractTables,
  place: ContractPlace,
  approvalId: string,
  now: number,
): Promise<boolean> {
  const grant = await tables.grant(place.workspace, approvalId);
  return grant !== null && grant.status === 'REQUESTED' && grant.expiresAt > now;
}

/** A row of a draft before anything is known of its state. */
export function rowOf(place: ContractPlace, draft: Draft, now: number): Omit<ContractRow, 'id'> {
  const { text, digest } = sealEnvelope(draft.envelope);
  return {
    contractId: draft.draftId,
    workspace: place.workspace,
    agentId: draft.agentId,
    agentName: draft.agentName,
    harnessId: draft.harnessId,
    profile: draft.profile,
    state: stateOf(draft.envelope, draft.profile) ?? 'IN_PROGRESS',
    cutReason: 'never_finalized',
    planTaskId: draft.planTaskId,
    parentId: draft.parent?.id ?? null,
    signer: null,
    envelope: text,
    digest,
    revision: 1,
    retries: 0,
    verdict: null,
    createdAt: now,
    updatedAt: now,
  };
}

/** The envelope of a row; an empty object where the text is none. */
export function envelopeOf(row: ContractRow): unknown {
  try {
    return JSON.parse(row.envelope);
  } catch {
    return {};
  }
}

function stepFrom(draft: Draft, row: ContractRow | null, to: State): Step {
  if (row === null) return { from: null, to, retries: 0 };
  const reopened = draft.reopened === row.revision || draft.resumed === row.revision;
  const recorded = toState(row.state, draft.profile);
  const retries = recorded === 'IN_PROGRESS' && draft.resumed !== row.revision ? row.retries : 0;
  return { from: reopened ? 'IN_PROGRESS' : recorded, to, retries };
}

function refuse(code: Parameters<typeof error>[0], field: string, detail: string): { readonly refused: ContractError } {
  return { refused: error(code, field, detail) };
}

/** What an envelope says its verification came to, in lower case; null where it says nothing. */
export function resultOf(envelope: unknown): string | null {
  const result = own(at(envelope, 'evidence_report.verification'), 'result');
  return typeof result === 'string' ? result.trim().toLowerCase() : null;
}

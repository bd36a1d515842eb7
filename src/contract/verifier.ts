import type { ContractRow, ContractTables } from '../store/contracts.ts';
import type { Draft } from './draft.ts';
import { at, type ContractError, stateOf } from './envelope.ts';
import { error, shown } from './error.ts';

/** What a verifier's row did to the row it verifies. */
export type Bound =
  | { readonly producer: number; readonly became: 'COMPLETE' | 'IN_PROGRESS' }
  | { readonly producer: number; readonly unchanged: ContractError }
  | { readonly producer: number; readonly undecided: true };

/**
 * Binds the verdict of a verifier to its producer, by parent_handoff_id: a pass promotes the producer to COMPLETE, a fail returns it to IN_PROGRESS
 * with the evidence. Only a producer that waits for it, only the bytes the verifier began with, and never one's own work.
 * @returns null where the draft verifies nothing.
 */
export async function bindVerdict(
  tables: ContractTables,
  draft: Draft,
  row: ContractRow,
  now: number,
): Promise<Bound | null> {
  if (draft.parent === null) return null;
  const { id } = draft.parent;
  const unchanged = (code: Parameters<typeof error>[0], detail: string): Bound => ({
    producer: id,
    unchanged: error(code, 'parent_handoff_id', detail),
  });
  const producer = await tables.byId(row.workspace, id);
  if (producer === null) return unchanged('PARENT_UNKNOWN', `there is no row ${id}`);
  const fault = dependence(producer, row);
  if (fault !== null) return unchanged('VERIFIER_NOT_INDEPENDENT', fault);
  const result = verdictOf(draft);
  if (result === null) return { producer: id, undecided: true };
  const became = result === 'pass' ? 'COMPLETE' : 'IN_PROGRESS';
  if (!awaits(producer))
    return unchanged('ILLEGAL_TRANSITION', `row ${id} is ${producer.state} and waits for no verifier`);
  if (producer.digest !== draft.parent.digest)
    return unchanged('PARENT_UNKNOWN', `row ${id} has changed since the verifier began; verify what it holds now`);
  const verification = at(draft.envelope, 'evidence_report.verification');
  await tables.put({
    ...producer,
    state: became,
    revision: producer.revision + 1,
    retries: 0,
    updatedAt: now,
    verdict: JSON.stringify({
      verifier: row.id,
      agent: row.agentId,
      signer: row.signer,
      result,
      digest: producer.digest,
      verification,
      open_gaps: at(draft.envelope, 'evidence_report.open_gaps') ?? [],
    }),
  });
  return { producer: id, became };
}

/** Why a row is not independent of the one it verifies; null where it is. */
export function dependence(
  producer: ContractRow,
  verifier: Pick<ContractRow, 'agentId' | 'contractId' | 'signer'>,
): string | null {
  if (producer.contractId === verifier.contractId || producer.agentId === verifier.agentId)
    return 'the producer cannot verify its own work';
  // Names are claims; where the producer proved who it is, another has to prove that it is another.
  if (producer.signer !== null && (verifier.signer === null || verifier.signer === producer.signer))
    return `the producer signed as ${shown(producer.signer)}, so its verifier signs too, as somebody else`;
  return null;
}

/** A plan_status producer has no word for it: bound to a plan task, it waits in IN_PROGRESS. */
function awaits({ state, profile, planTaskId, cutReason }: ContractRow): boolean {
  if (cutReason !== null) return false;
  return (
    state === 'NEEDS_VERIFICATION' || (profile === 'plan_status' && planTaskId !== null && state === 'IN_PROGRESS')
  );
}

/** A pass counts only of a verifier that is itself COMPLETE; a fail in any state. */
function verdictOf(draft: Draft): 'pass' | 'fail' | null {
  const said = at(draft.envelope, 'evidence_report.verification.result');
  const result = typeof said === 'string' ? said.trim().toLowerCase() : null;
  if (result === 'pass') return stateOf(draft.envelope, draft.profile) === 'COMPLETE' ? 'pass' : null;
  return result === 'fail' ? 'fail' : null;
}

import { parseAdvisory } from '../../contract/advisory.ts';
import type { Draft } from '../../contract/draft.ts';
import { type JsonObject, toState } from '../../contract/envelope.ts';
import { envelopeOf, type Finalized, finalize, isVerified } from '../../contract/finalize.ts';
import { LANES, reconcile } from '../../contract/reconcile.ts';
import { retireDrafts } from '../../contract/retire.ts';
import { viewRow } from '../../contract/view.ts';
import { type Call, EXIT, type Exit, flag, text, UsageError } from '../command.ts';
import { printJson } from '../print-json.ts';
import { provenAgent, writeArtifacts } from './artifacts.ts';
import { refused, rejected, tellDone } from './draft.ts';
import { findDraft } from './find-draft.ts';
import { atDesk, inTurn } from './place.ts';

/** `writ contract finalize`: the terminal row of a draft. May be called again, and by many at once: one row. */
export async function close(call: Call): Promise<Exit> {
  return atDesk(call, async ({ place, store, workspace }) => {
    const agent = await provenAgent(call, workspace);
    const by = { now: workspace.now, signer: agent?.signer.identity.principal ?? null };
    const done = await inTurn(store.contracts, async (tables) => {
      const found = await findDraft(call, tables, place, true);
      if ('refused' in found) return refused(found.refused, 'plan_status');
      const { draft } = found;
      const result = await finalize(tables, place, draft, by);
      if ('rejected' in result) return rejected(draft, result.rejected.errors, result.rejected.warnings);
      return 'refused' in result ? rejected(draft, [result.refused], []) : { draft, result };
    });
    if (!('result' in done)) return tellDone(done);
    const { draft, result } = done;
    // Behind the row: what is delivered is in the row, whatever becomes of these.
    const artifacts =
      agent === null || result.unchanged || flag(call, 'no-artifacts')
        ? []
        : await writeArtifacts(workspace, agent, {
            contractId: draft.draftId,
            agentId: draft.agentId,
            state: toState(result.row.state, draft.profile) ?? 'IN_PROGRESS',
            envelope: draft.envelope,
          });
    return tellDone({ value: { ...shownResult(draft, result), artifacts } });
  });
}

function shownResult(draft: Draft, { row, created, unchanged, approvalId, bound, warnings }: Finalized): JsonObject {
  return {
    status: 'finalized',
    ok: true,
    draft_id: draft.draftId,
    ...viewRow(row),
    created,
    unchanged,
    approval_id: approvalId,
    verification: bound,
    systemMessage: isVerified(row) ? parseAdvisory(draft.envelope).summary : null,
    errors: [],
    warnings,
  };
}

/** `writ contract reconcile`: rows for turns that ended without a finalize; old drafts that have their row go. */
export async function reconcileTurns(call: Call): Promise<Exit> {
  const reason = text(call, 'stop-reason');
  if (reason !== null && !/^[\w.-]{1,64}$/.test(reason))
    throw new UsageError('--stop-reason takes the word of the host');
  const agentId = text(call, 'agent-id');
  if (agentId !== null && !/^[\w.:@/-]{1,128}$/.test(agentId)) throw new UsageError('--agent-id takes an id');
  return atDesk(call, async ({ place, store, workspace }) => {
    const stopped = { agentId, agentName: text(call, 'agent-name'), reason, now: workspace.now };
    const { results, retired } = await inTurn(store.contracts, async (tables) => ({
      results: await reconcile(tables, place, stopped),
      retired: await retireDrafts(tables, place, workspace.now),
    }));
    await printJson({
      count: results.filter(({ did }) => did === 'written').length,
      reconciled: results.map(({ row, did }) => ({
        did,
        ...viewRow(row),
        systemMessage: isVerified(row) ? parseAdvisory(envelopeOf(row)).summary : null,
      })),
      lanes: LANES,
      retired_drafts: retired,
    });
    return EXIT.ok;
  });
}

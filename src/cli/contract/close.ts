import { parseAdvisory } from '../../contract/advisory.ts';
import { finalize } from '../../contract/finalize.ts';
import { LANES, reconcile } from '../../contract/reconcile.ts';
import { retireDrafts } from '../../contract/retire.ts';
import { viewRow } from '../../contract/view.ts';
import { type Call, EXIT, type Exit, text, UsageError } from '../command.ts';
import { refused, rejected, tellDone } from './draft.ts';
import { findDraft } from './find-draft.ts';
import { atDesk, inTurn } from './place.ts';
import { printJson } from './print-json.ts';

/** `writ contract finalize`: the terminal row of a draft. May be called again, and by many at once: one row. */
export async function close(call: Call): Promise<Exit> {
  return atDesk(call, async ({ place, store, workspace }) => {
    const done = await inTurn(store.contracts, async (tables) => {
      const found = await findDraft(call, tables, place, true);
      if ('refused' in found) return refused(found.refused, 'plan_status');
      const { draft } = found;
      const result = await finalize(tables, place, draft, { now: workspace.now, signer: null });
      if ('rejected' in result) return rejected(draft, result.rejected.errors, result.rejected.warnings);
      if ('refused' in result) return rejected(draft, [result.refused], []);
      const { row } = result;
      const { summary } = parseAdvisory(draft.envelope);
      return {
        value: {
          status: 'finalized',
          ok: true,
          draft_id: draft.draftId,
          ...viewRow(row),
          created: result.created,
          unchanged: result.unchanged,
          approval_id: result.approvalId,
          verification: result.bound,
          systemMessage: row.state === 'COMPLETE' ? summary : null,
          errors: [],
          warnings: result.warnings,
        },
      };
    });
    return tellDone(done);
  });
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
      reconciled: results.map(({ row, did }) => ({ did, ...viewRow(row) })),
      lanes: LANES,
      retired_drafts: retired,
    });
    return EXIT.ok;
  });
}

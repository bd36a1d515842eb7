import { type ContractPlace, DRAFT_ID, type Draft, listDrafts, readDraft } from '../../contract/draft.ts';
import { isObject, type JsonObject, own, STATES } from '../../contract/envelope.ts';
import { envelopeOf } from '../../contract/finalize.ts';
import { LANES } from '../../contract/reconcile.ts';
import { viewDraft, viewForResume, viewRow, viewStoredEnvelope } from '../../contract/view.ts';
import { escapeText } from '../../model/escaped.ts';
import { durationMs, instantFromIso } from '../../model/instant.ts';
import type { ContractQuery, ContractRow, ContractTables } from '../../store/contracts.ts';
import { type Call, EXIT, type Exit, flag, text, UsageError } from '../command.ts';
import { tell } from '../output.ts';
import { printJson } from '../print-json.ts';
import { refused, tellDone } from './draft.ts';
import { findDraft } from './find-draft.ts';
import { reading } from './place.ts';

/** What a row may say: DISPATCHED stands before the agent's first write. */
const ROW_STATES: readonly string[] = ['DISPATCHED', ...STATES];

/** `writ contract view`: a draft, or its row where the draft is gone; with --field one value, exit 1 where it is absent. */
export async function view(call: Call): Promise<Exit> {
  return reading(call, async ({ place, contracts }) => {
    const seen = await seek(call, place, contracts);
    if ('refused' in seen) return tellDone(refused(seen.refused, 'plan_status'));
    const field = text(call, 'field');
    if (field !== null) {
      const found = valueAt(seen.envelope, field);
      if (found === undefined) {
        await tell(`writ: the envelope has no ${escapeText(field, 200)}`);
        return EXIT.refused;
      }
      await printJson(found);
      return EXIT.ok;
    }
    await printJson(flag(call, 'resume') ? seen.resume : seen.shown);
    return EXIT.ok;
  });
}

interface Seen {
  readonly envelope: unknown;
  readonly shown: JsonObject;
  readonly resume: JsonObject;
}

async function seek(
  call: Call,
  place: ContractPlace,
  contracts: ContractTables | null,
): Promise<Seen | { readonly refused: { code: string; field: string; detail: string } }> {
  const harness = text(call, 'harness-id');
  if (harness !== null) {
    const drafts = listDrafts(place).map(({ id }) => readDraft(place, id));
    const draft = drafts.find(
      (one) => one !== null && one !== 'damaged' && (one.harnessId === harness || one.agentId === harness),
    );
    if (draft !== undefined && draft !== null && draft !== 'damaged') return seenDraft(draft);
    const rows = [
      ...((await contracts?.byHarness(place.workspace, harness)) ?? []),
      ...((await contracts?.list({ workspace: place.workspace, agentId: harness, limit: 1 })) ?? []),
    ];
    if (rows[0] !== undefined) return seenRow(rows[0]);
    return { refused: { code: 'DRAFT_UNKNOWN', field: 'harness_id', detail: 'no turn of that id is known here' } };
  }
  const found = await findDraft(call, contracts, place, true);
  if ('draft' in found) return seenDraft(found.draft);
  const id = text(call, 'draft-id');
  const row = id !== null && DRAFT_ID.test(id) ? await contracts?.row(place.workspace, id) : null;
  return row === null || row === undefined ? found : seenRow(row);
}

function seenDraft(draft: Draft): Seen {
  return { envelope: draft.envelope, shown: viewDraft(draft), resume: viewForResume(draft) };
}

function seenRow(row: ContractRow): Seen {
  const profile = row.profile === 'agent_state' ? 'agent_state' : 'plan_status';
  return {
    envelope: envelopeOf(row),
    shown: viewStoredEnvelope(row),
    resume: viewForResume({ draftId: row.contractId, agentId: row.agentId, profile }),
  };
}

/** The value at a dotted path; undefined where it is absent. A value that is null is there. */
function valueAt(envelope: unknown, field: string): unknown {
  let here = envelope;
  for (const key of field.split('.')) {
    if (!isObject(here) || !Object.hasOwn(here, key)) return undefined;
    here = own(here, key);
  }
  return here;
}

/** `writ contract list`: rows of this checkout, newest first. */
export async function listRows(call: Call): Promise<Exit> {
  const query = queryOf(call);
  return reading(call, async ({ workspace, place, contracts }) => {
    const since = sinceOf(call, workspace.now);
    const rows =
      (await contracts?.list({ workspace: place.workspace, ...query, ...(since === null ? {} : { since }) })) ?? [];
    await printJson({ count: rows.length, handoffs: rows.map(viewRow) });
    return EXIT.ok;
  });
}

function queryOf(call: Call): Omit<ContractQuery, 'workspace' | 'since'> {
  const state = text(call, 'state')?.toUpperCase() ?? null;
  if (state !== null && !ROW_STATES.includes(state))
    throw new UsageError(`--state takes one of ${ROW_STATES.join(', ')}`);
  const [lane = null] = call.positionals;
  if (lane !== null && !flag(call, 'cut')) throw new UsageError('a lane goes with --cut');
  if (lane !== null && !LANES.some((one) => one === lane))
    throw new UsageError(`--cut takes one of ${LANES.join(', ')}, or nothing for all`);
  const limit = text(call, 'limit') ?? '20';
  if (!/^[1-9]\d{0,5}$/.test(limit)) throw new UsageError('--limit takes a count');
  const agentId = text(call, 'agent');
  return {
    limit: Number(limit),
    ...(state === null ? {} : { state }),
    ...(flag(call, 'cut') ? { cut: lane ?? true } : {}),
    ...(agentId === null ? {} : { agentId }),
  };
}

function sinceOf(call: Call, now: number): number | null {
  const given = text(call, 'since');
  if (given === null) return null;
  const span = durationMs(given);
  const at = span === null ? instantFromIso(given) : now - span;
  if (at === null) throw new UsageError('--since takes a duration like 8h, or an ISO 8601 time ending in Z');
  return at;
}

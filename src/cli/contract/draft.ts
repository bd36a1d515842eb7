import { isAgentId } from '../../contract/check-agent-id.ts';
import { type Draft, mintAgentId, newDraft, writeDraft } from '../../contract/draft.ts';
import { addToField, type Edited, fill as fillIn, setField } from '../../contract/edit.ts';
import { type ContractError, isObject, type JsonObject, PROFILES, stateOf } from '../../contract/envelope.ts';
import { error } from '../../contract/error.ts';
import { isClean, isPending, rowOf, sealEnvelope } from '../../contract/finalize.ts';
import { MAX_BYTES, MAX_DEPTH, readJson } from '../../contract/read-json.ts';
import { repairMessage } from '../../contract/repair-message.ts';
import { type Validated, validate } from '../../contract/validate.ts';
import { dependence } from '../../contract/verifier.ts';
import { escapeText } from '../../model/escaped.ts';
import { parseStrictJson } from '../../sign/strict-json.ts';
import type { ContractTables } from '../../store/contracts.ts';
import { type Call, EXIT, type Exit, flag, oneOf, text, UsageError } from '../command.ts';
import { printJson } from '../print-json.ts';
import { inputFrom } from './check.ts';
import { findDraft } from './find-draft.ts';
import { atDesk, type ContractDesk, inTurn } from './place.ts';
import { readText } from './read-file.ts';
import { tellRefusal } from './tell-refusal.ts';

/** `writ contract init`: a new draft, or with --draft-id the resume of one. */
export async function init(call: Call): Promise<Exit> {
  return atDesk(call, async (desk) => {
    const resumed = text(call, 'draft-id') !== null;
    const done = await inTurn(desk.store.contracts, (tables) =>
      resumed ? resume(call, desk, tables) : begin(call, desk, tables),
    );
    return tellDone(done);
  });
}

async function begin(call: Call, { place, workspace }: ContractDesk, tables: ContractTables): Promise<Done> {
  const profile = oneOf(call, 'profile', PROFILES) ?? 'plan_status';
  const agentId = text(call, 'agent-id') ?? mintAgentId();
  if (agentId.length > 65 || agentId.endsWith('\n') || !isAgentId(agentId, profile))
    return refused(
      error(
        'AGENT_ID_FORMAT',
        'agent_status.agent_id',
        `${escapeText(agentId, 80)} is not spelt as an agent id; without --agent-id one is made`,
      ),
      profile,
    );
  const planTaskId = nameOf(call, 'plan-task-id');
  const parent = await parentOf(call, place.workspace, tables);
  if (parent !== null && 'code' in parent) return refused(parent, profile);
  if (parent !== null && planTaskId !== null)
    return refused(error('VERIFIER_BOUND', 'plan_task_id', 'a verifier carries no plan task of its own'), profile);
  if (parent !== null) {
    const producer = await tables.byId(place.workspace, parent.id);
    const same = producer?.agentId === agentId ? dependence(producer, { agentId, contractId: '', signer: null }) : null;
    if (same !== null) return refused(error('VERIFIER_NOT_INDEPENDENT', 'parent_handoff_id', same), profile);
  }
  const draft = newDraft({
    agentId,
    agentName: nameOf(call, 'agent-name'),
    harnessId: nameOf(call, 'harness-id'),
    profile,
    planTaskId,
    parent,
    input: await inputFrom(call),
    createdAt: workspace.now,
  });
  // The row first: a crash in between leaves a turn that the backstop finds, never a draft whose birth nobody knows.
  const born = flag(call, 'dispatched')
    ? await tables.put({ ...rowOf(place, draft, workspace.now), state: 'DISPATCHED' })
    : null;
  writeDraft(place, draft);
  return {
    value: { status: 'created', ...shownDraft(draft), handoff_id: born?.id ?? null, row_state: born?.state ?? null },
  };
}

async function resume(call: Call, { place }: ContractDesk, tables: ContractTables): Promise<Done> {
  const found = await findDraft(call, tables, place, false);
  if ('refused' in found) return refused(found.refused, 'plan_status');
  const { draft } = found;
  const row = await tables.row(place.workspace, draft.draftId);
  if (isClean(row) && row.state === 'COMPLETE')
    return refused(error('CONTRACT_CLOSED', 'draft_id', 'the contract is COMPLETE; go on in a new one'), draft.profile);
  const revision = row?.revision ?? null;
  writeDraft(place, { ...draft, resumed: revision, reopened: revision });
  return {
    value: { status: 'resumed', ...shownDraft(draft), handoff_id: row?.id ?? null, row_state: row?.state ?? null },
  };
}

async function parentOf(
  call: Call,
  workspace: string,
  tables: ContractTables,
): Promise<Draft['parent'] | ContractError> {
  const given = text(call, 'parent-handoff-id');
  if (given === null) return null;
  const id = /^[1-9]\d{0,14}$/.test(given) ? Number(given) : null;
  const row = id === null ? null : await tables.byId(workspace, id);
  if (row === null)
    return error(
      'PARENT_UNKNOWN',
      'parent_handoff_id',
      `there is no row ${escapeText(given, 40)}; writ contract list names them`,
    );
  return { id: row.id, digest: row.digest };
}

function nameOf(call: Call, name: string): string | null {
  const given = text(call, name);
  if (given === null) return null;
  if (!/^[\w.:@/ -]{1,128}$/.test(given))
    throw new UsageError(`--${name} takes a name of at most 128 plain characters`);
  return given;
}

/** `writ contract set`: a value at a dotted path; JSON where it is JSON, else a text. */
export async function set(call: Call): Promise<Exit> {
  const { field, value } = fieldAndValue(call);
  return edit(call, (envelope) => setField(envelope, field, value));
}

/** `writ contract add`: appends to a list. */
export async function add(call: Call): Promise<Exit> {
  const { field, value } = fieldAndValue(call);
  return edit(call, (envelope) => addToField(envelope, field, value));
}

/** `writ contract fill`: merges a JSON object; anything else is refused before anything is merged. */
export async function fill(call: Call): Promise<Exit> {
  const inline = text(call, 'json');
  const file = text(call, 'file');
  if ((inline === null) === (file === null)) throw new UsageError('give one of --json OBJECT and --file FILE');
  const given = inline ?? (await readText(file, MAX_BYTES));
  const patch = given === null ? { fault: 'it is not UTF-8' } : parseStrictJson(given, { maxDepth: MAX_DEPTH });
  return edit(call, (envelope): Edited => {
    if ('fault' in patch)
      return { errors: [error(/duplicate/.test(patch.fault) ? 'DUPLICATE_KEY' : 'NOT_JSON', 'json', patch.fault)] };
    if (!isObject(patch.value)) return { errors: [error('NOT_JSON', 'json', 'a patch is a JSON object')] };
    return { envelope: fillIn(envelope, patch.value) };
  });
}

function fieldAndValue(call: Call): { readonly field: string; readonly value: unknown } {
  const [field, given, ...more] = [...call.positionals, ...call.rest];
  if (field === undefined || given === undefined || more.length > 0)
    throw new UsageError('give a field and one value, in quotes; a value that begins with a dash comes behind --');
  // Strictly: a number that would not come out as it went in stays the text it is, and so does NaN.
  const read = parseStrictJson(given, { maxDepth: MAX_DEPTH });
  return { field, value: 'value' in read ? read.value : given };
}

interface Done {
  readonly value: JsonObject;
  readonly exit?: Exit;
}

async function edit(call: Call, change: (envelope: JsonObject) => Edited): Promise<Exit> {
  return atDesk(call, async ({ place, store, workspace }) => {
    const done = await inTurn(store.contracts, async (tables): Promise<Done> => {
      const found = await findDraft(call, tables, place, false);
      if ('refused' in found) return refused(found.refused, 'plan_status');
      const { draft } = found;
      const row = await tables.row(place.workspace, draft.draftId);
      if (isClean(row) && row.state === 'COMPLETE')
        return refused(
          error('CONTRACT_CLOSED', 'draft_id', 'the contract is COMPLETE; go on in a new one: writ contract init'),
          draft.profile,
        );
      const edited = change(draft.envelope);
      if ('errors' in edited) return rejected(draft, edited.errors, []);
      const { envelope } = edited;
      const fault = tooLarge(envelope);
      if (fault !== null) return rejected(draft, [fault], []);
      const verdict = await validateDraft(draft, envelope, (id) => isPending(tables, place, id, workspace.now));
      if (!verdict.ok) return rejected(draft, verdict.errors, verdict.warnings);
      const inProgress = verdict.state === 'IN_PROGRESS' && row !== null;
      writeDraft(place, { ...draft, envelope, reopened: inProgress ? row.revision : draft.reopened });
      // The agent's first write: the turn that was dispatched is under way.
      if (row?.state === 'DISPATCHED')
        await tables.put({ ...row, state: verdict.state ?? 'IN_PROGRESS', updatedAt: workspace.now });
      return {
        value: {
          status: 'ok',
          ok: true,
          draft_id: draft.draftId,
          state: verdict.state,
          digest: sealEnvelope(envelope).digest,
          errors: [],
          warnings: verdict.warnings,
        },
      };
    });
    return tellDone(done);
  });
}

/** A draft that is still being put together owes its consolidation only when it leaves IN_PROGRESS; what it may write holds at once. */
function validateDraft(
  draft: Draft,
  envelope: JsonObject,
  pending: (id: string) => Promise<boolean>,
): Promise<Validated> {
  const early = stateOf(envelope, draft.profile) === 'IN_PROGRESS';
  const input = draft.input === null ? null : { ...draft.input, consolidation: draft.input.consolidation && !early };
  return validate(envelope, { profile: draft.profile, input, formOnly: false, isPending: pending });
}

function tooLarge(envelope: JsonObject): ContractError | null {
  const text = JSON.stringify(envelope);
  if (Buffer.byteLength(text) > MAX_BYTES)
    return error('TOO_LARGE', 'agent_contract_handoff', `an envelope has at most ${MAX_BYTES} bytes`);
  const read = readJson(text);
  return 'fault' in read
    ? error('TOO_LARGE', 'agent_contract_handoff', `an envelope is at most ${MAX_DEPTH} levels deep`)
    : null;
}

function shownDraft(draft: Draft): JsonObject {
  return {
    draft_id: draft.draftId,
    contract_id: draft.draftId,
    agent_id: draft.agentId,
    profile: draft.profile,
    parent_handoff_id: draft.parent?.id ?? null,
    plan_task_id: draft.planTaskId,
  };
}

/** A write that was refused: nothing of it landed. */
export function rejected(draft: Draft, errors: readonly ContractError[], warnings: readonly ContractError[]): Done {
  return {
    exit: EXIT.refused,
    value: {
      status: 'rejected',
      ok: false,
      draft_id: draft.draftId,
      errors,
      warnings,
      repair_message: repairMessage(draft.profile),
    },
  };
}

/** A call that was refused before a draft was looked at. */
export function refused(fault: ContractError, profile: Draft['profile']): Done {
  return {
    exit: EXIT.refused,
    value: { status: 'refused', ok: false, errors: [fault], warnings: [], repair_message: repairMessage(profile) },
  };
}

/** Prints what was done. */
export async function tellDone(done: Done): Promise<Exit> {
  await printJson(done.value);
  if (done.exit === EXIT.refused) await tellRefusal((done.value as { errors?: readonly ContractError[] }).errors ?? []);
  return done.exit ?? EXIT.ok;
}

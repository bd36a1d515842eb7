import { sha256Hex } from '../sign/digest.ts';
import type { ContractRow, ContractTables } from '../store/contracts.ts';
import { type ContractPlace, type Draft, firstEnvelope, listDrafts, readDraft } from './draft.ts';
import { isObject, type JsonObject } from './envelope.ts';
import { isClean, rowOf, sealEnvelope } from './finalize.ts';

/** How a turn ended that did not close itself. */
export const LANES = ['never_finalized', 'backstop_capture', 'reaped', 'salvaged_truncation'] as const;
export type Lane = (typeof LANES)[number];

/** Drafts that have their row and were not touched for so long, ms, are taken off the disk. */
export const DRAFT_LIFE = 7 * 86_400_000;

export interface Reconciled {
  readonly contractId: string;
  readonly row: ContractRow;
  /** `unchanged`: a row was there that says it all. */
  readonly did: 'written' | 'unchanged';
}

/** What the host says of the turn that stopped. */
export interface Stopped {
  /** The agent id of the contract, or the host's own; null for every open draft of the checkout. */
  readonly agentId: string | null;
  readonly agentName: string | null;
  /** The host's stop reason; `max_tokens` and `tool_use` mean the output was cut. */
  readonly reason: string | null;
  readonly now: number;
}

/**
 * The backstop: a row for every turn that ended without a finalize, marked degraded and auto-captured with its lane. It never touches a row that the agent
 * closed itself and that holds what its draft holds, so it may run beside a finalize. Call it inside `Contracts.change`.
 */
export async function reconcile(
  tables: ContractTables,
  place: ContractPlace,
  stopped: Stopped,
): Promise<readonly Reconciled[]> {
  const drafts = listDrafts(place).flatMap(({ id }) => {
    const draft = readDraft(place, id);
    return draft === null ? [] : [{ id, draft }];
  });
  const results: Reconciled[] = [];
  let matched = false;
  for (const { id, draft } of drafts) {
    if (!belongs(id, draft, stopped.agentId)) continue;
    matched = true;
    results.push(await capture(tables, place, id, draft === 'damaged' ? null : draft, stopped));
  }
  results.push(...(await reapBorn(tables, place, stopped, new Set(drafts.map(({ id }) => id)))));
  if (results.length === 0 && !matched && stopped.agentId !== null)
    results.push(await captureNothing(tables, place, stopped, stopped.agentId));
  return results;
}

function belongs(id: string, draft: Draft | 'damaged', agentId: string | null): boolean {
  if (agentId === null || id.startsWith(`${agentId}.`)) return true;
  return draft !== 'damaged' && draft.harnessId === agentId;
}

async function capture(
  tables: ContractTables,
  place: ContractPlace,
  contractId: string,
  draft: Draft | null,
  stopped: Stopped,
): Promise<Reconciled> {
  const there = await tables.row(place.workspace, contractId);
  if (draft === null) return captureDamaged(tables, place, contractId, there, stopped);
  const sealed = sealEnvelope(draft.envelope);
  // Closed by the agent, and nothing came after; or COMPLETE, which nothing may come after.
  if (isClean(there) && (there.digest === sealed.digest || there.state === 'COMPLETE'))
    return { contractId, row: there, did: 'unchanged' };
  const lane = laneOf(there, stopped.reason);
  const { text, digest } = sealEnvelope(marked(draft.envelope, lane));
  if (there !== null && there.cutReason === lane && there.digest === digest)
    return { contractId, row: there, did: 'unchanged' };
  const row = await tables.put({
    ...rowOf(place, draft, stopped.now),
    agentName: draft.agentName ?? there?.agentName ?? stopped.agentName,
    planTaskId: draft.planTaskId ?? there?.planTaskId ?? null,
    parentId: draft.parent?.id ?? there?.parentId ?? null,
    createdAt: there?.createdAt ?? stopped.now,
    cutReason: lane,
    envelope: text,
    digest,
    revision: (there?.revision ?? 0) + 1,
    retries: there?.retries ?? 0,
    verdict: there?.verdict ?? null,
  });
  return { contractId, row, did: 'written' };
}

/** A draft that cannot be read leaves a minimal row, and stays where it is for a person. */
async function captureDamaged(
  tables: ContractTables,
  place: ContractPlace,
  contractId: string,
  there: ContractRow | null,
  stopped: Stopped,
): Promise<Reconciled> {
  if (there !== null && there.state !== 'DISPATCHED') return { contractId, row: there, did: 'unchanged' };
  const agentId = contractId.split('.')[0] ?? contractId;
  return { contractId, row: await minimal(tables, place, contractId, agentId, there, stopped), did: 'written' };
}

/** Born rows whose agent never wrote a draft, or whose draft is gone. */
async function reapBorn(
  tables: ContractTables,
  place: ContractPlace,
  stopped: Stopped,
  withDraft: ReadonlySet<string>,
): Promise<readonly Reconciled[]> {
  const { agentId } = stopped;
  const born = await tables.list({ workspace: place.workspace, state: 'DISPATCHED', limit: 1_000 });
  const own = born.filter(
    (row) =>
      !withDraft.has(row.contractId) && (agentId === null || row.agentId === agentId || row.harnessId === agentId),
  );
  const results: Reconciled[] = [];
  for (const row of own)
    results.push({
      contractId: row.contractId,
      row: await minimal(tables, place, row.contractId, row.agentId, row, stopped),
      did: 'written',
    });
  return results;
}

/** A turn that left nothing at all: one minimal row for its agent, however often the host tells. */
async function captureNothing(
  tables: ContractTables,
  place: ContractPlace,
  stopped: Stopped,
  agentId: string,
): Promise<Reconciled> {
  const known = [
    ...(await tables.list({ workspace: place.workspace, agentId, limit: 1 })),
    ...(await tables.byHarness(place.workspace, agentId)),
  ];
  const [row] = known;
  if (row !== undefined) return { contractId: row.contractId, row, did: 'unchanged' };
  const contractId = `backstop.${sha256Hex(JSON.stringify([place.workspace, agentId])).slice(0, 16)}`;
  return { contractId, row: await minimal(tables, place, contractId, agentId, null, stopped), did: 'written' };
}

async function minimal(
  tables: ContractTables,
  place: ContractPlace,
  contractId: string,
  agentId: string,
  there: ContractRow | null,
  { now, agentName }: Stopped,
): Promise<ContractRow> {
  const lane: Lane = there === null ? 'backstop_capture' : 'reaped';
  const profile = there?.profile === 'agent_state' ? 'agent_state' : 'plan_status';
  const { text, digest } = sealEnvelope(marked(firstEnvelope(agentId, profile), lane));
  return tables.put({
    contractId,
    workspace: place.workspace,
    agentId,
    agentName: there?.agentName ?? agentName,
    harnessId: there?.harnessId ?? null,
    profile,
    state: 'IN_PROGRESS',
    cutReason: lane,
    planTaskId: there?.planTaskId ?? null,
    parentId: there?.parentId ?? null,
    signer: null,
    envelope: text,
    digest,
    revision: (there?.revision ?? 0) + 1,
    retries: there?.retries ?? 0,
    verdict: there?.verdict ?? null,
    createdAt: there?.createdAt ?? now,
    updatedAt: now,
  });
}

/** The lane, once it is known, is not overwritten by a later sweep that knows less. */
function laneOf(there: ContractRow | null, reason: string | null): Lane {
  if (reason === 'max_tokens' || reason === 'tool_use') return 'salvaged_truncation';
  const known = LANES.find((one) => one === there?.cutReason && one !== 'never_finalized');
  return known ?? (there === null ? 'backstop_capture' : 'reaped');
}

function marked(envelope: JsonObject, lane: Lane): JsonObject {
  const mark = {
    backstop_capture: 'backstop',
    reaped: 'reaped',
    salvaged_truncation: 'salvaged',
    never_finalized: 'backstop',
  };
  return isObject(envelope) ? { ...envelope, degraded: true, auto_captured: true, [mark[lane]]: true } : envelope;
}

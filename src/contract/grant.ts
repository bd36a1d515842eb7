import { sha256Hex } from '../sign/digest.ts';
import type { ContractRow, ContractTables, GrantRow } from '../store/contracts.ts';
import { fingerprintOf, toGrantCommands } from './command-set.ts';
import { type ContractError, isText, own } from './envelope.ts';
import { error } from './error.ts';

/** A grant lives so long, ms, from the request on; nothing prolongs it. */
export const GRANT_LIFE = 60 * 60_000;

/** A grant as people and orchestrators read it: what is done, what failed and what nobody touched, told apart. */
export interface GrantView {
  readonly approval_id: string;
  readonly contract_id: string;
  readonly agent_id: string;
  readonly status: 'REQUESTED' | 'PENDING' | 'CONSUMED' | 'FAILED' | 'EXPIRED' | 'REJECTED';
  readonly commands: readonly string[];
  readonly fingerprint: string;
  readonly next_index: number;
  readonly done: readonly number[];
  readonly failed: { readonly index: number; readonly reason: string | null } | null;
  readonly untouched: readonly number[];
  /** Reserved and never settled: whether it ran nobody knows. */
  readonly reserved: { readonly index: number; readonly by: string | null; readonly at: number } | null;
  readonly decided_by: string | null;
  readonly created_at: number;
  readonly expires_at: number;
}

export type GrantResult = { readonly grant: GrantRow } | { readonly refused: ContractError };

/** Makes the request that a row in APPROVAL_REQUEST asks for, where its envelope names none. @returns its id; null where there is nothing to ask. */
export async function requestGrant(
  tables: ContractTables,
  row: ContractRow,
  envelope: unknown,
  now: number,
): Promise<string | null> {
  if (row.state !== 'APPROVAL_REQUEST') return null;
  const request = own(envelope, 'approval_request');
  const named = own(request, 'approval_id');
  if (isText(named)) return named;
  const set = toGrantCommands(request);
  if ('fault' in set || set.commands.length === 0) return null;
  const fingerprint = fingerprintOf(set.commands);
  // By the row's revision too: a request made anew after a failure is another request, be its commands the same.
  const approvalId = `P-${sha256Hex(JSON.stringify([row.workspace, row.contractId, row.revision, fingerprint])).slice(0, 32)}`;
  await tables.putGrant({
    approvalId,
    workspace: row.workspace,
    contractId: row.contractId,
    agentId: row.agentId,
    status: 'REQUESTED',
    commands: JSON.stringify(set.commands),
    fingerprint,
    nextIndex: 0,
    consumed: '[]',
    reservedBy: null,
    reservedAt: null,
    failedIndex: null,
    failureReason: null,
    decidedBy: null,
    createdAt: now,
    expiresAt: now + GRANT_LIFE,
  });
  return approvalId;
}

/** A person's decision on a request. @param by the approver, proven by signature. */
export function decide(grant: GrantRow, decision: 'approve' | 'reject', by: string, now: number): GrantResult {
  if (grant.status !== 'REQUESTED') return refuse('GRANT_NOT_LIVE', `it is ${statusOf(grant, now)} already`);
  if (isOver(grant, now)) return refuse('GRANT_NOT_LIVE', 'its hour has passed; ask anew');
  return { grant: { ...grant, status: decision === 'approve' ? 'PENDING' : 'REJECTED', decidedBy: by } };
}

/** Reserves the next command. It has to be that command byte for byte; nothing else may be reserved meanwhile. @param by who will run it. */
export function reserve(grant: GrantRow, command: string, by: string, now: number): GrantResult {
  const status = statusOf(grant, now);
  if (status !== 'PENDING')
    return refuse('GRANT_NOT_LIVE', `the grant is ${status}; a retry or the rest needs a fresh request`);
  if (grant.reservedAt !== null)
    return refuse(
      'GRANT_RESERVED',
      `command ${grant.nextIndex} is reserved by ${grant.reservedBy ?? 'somebody'} and not settled`,
    );
  const commands = commandsOf(grant);
  if (commands === null || commands[grant.nextIndex] !== command)
    return refuse('GRANT_BYTES', `only command ${grant.nextIndex} of the set may run now, exactly as it was approved`);
  return { grant: { ...grant, reservedBy: by, reservedAt: now } };
}

/** Settles what was reserved. A failure freezes the grant for good: neither a retry nor the rest may run under it. */
export function settle(
  grant: GrantRow,
  outcome: { readonly ok: boolean; readonly reason: string | null },
  by: string,
): GrantResult {
  if (grant.status !== 'PENDING' || grant.reservedAt === null)
    return refuse('GRANT_NOT_RESERVED', 'nothing is reserved');
  if (grant.reservedBy !== by)
    return refuse('GRANT_NOT_RESERVED', `it was reserved by ${grant.reservedBy ?? 'somebody'}`);
  const free = { ...grant, reservedBy: null, reservedAt: null };
  if (!outcome.ok)
    return { grant: { ...free, status: 'FAILED', failedIndex: grant.nextIndex, failureReason: outcome.reason } };
  const commands = commandsOf(grant);
  if (commands === null) return refuse('GRANT_BYTES', 'the commands are not the ones that were approved');
  const consumed = [...consumedOf(grant), grant.nextIndex];
  const next = grant.nextIndex + 1;
  return {
    grant: {
      ...free,
      consumed: JSON.stringify(consumed),
      nextIndex: next,
      status: next >= commands.length ? 'CONSUMED' : 'PENDING',
    },
  };
}

/** The grant as it stands at an instant. */
export function viewGrant(grant: GrantRow, now: number): GrantView {
  const commands = commandsOf(grant) ?? [];
  const done = consumedOf(grant);
  const failed = grant.failedIndex === null ? null : { index: grant.failedIndex, reason: grant.failureReason };
  const reserved =
    grant.reservedAt === null ? null : { index: grant.nextIndex, by: grant.reservedBy, at: grant.reservedAt };
  return {
    approval_id: grant.approvalId,
    contract_id: grant.contractId,
    agent_id: grant.agentId,
    status: statusOf(grant, now),
    commands,
    fingerprint: grant.fingerprint,
    next_index: grant.nextIndex,
    done,
    failed,
    untouched: commands
      .map((_, index) => index)
      .filter((index) => !done.includes(index) && index !== failed?.index && index !== reserved?.index),
    reserved,
    decided_by: grant.decidedBy,
    created_at: grant.createdAt,
    expires_at: grant.expiresAt,
  };
}

function statusOf(grant: GrantRow, now: number): GrantView['status'] {
  const open = grant.status === 'REQUESTED' || grant.status === 'PENDING';
  if (open && (isOver(grant, now) || commandsOf(grant) === null)) return 'EXPIRED';
  return (
    (['REQUESTED', 'PENDING', 'CONSUMED', 'FAILED', 'REJECTED'] as const).find((one) => one === grant.status) ??
    'EXPIRED'
  );
}

function isOver(grant: GrantRow, now: number): boolean {
  // A clock that went back before the request is no reason to live longer.
  return !(
    now < grant.expiresAt &&
    now >= grant.createdAt - 300_000 &&
    grant.expiresAt - grant.createdAt <= GRANT_LIFE
  );
}

/** The exact commands; null where the row does not hold the set its fingerprint names. */
function commandsOf(grant: GrantRow): readonly string[] | null {
  try {
    const commands: unknown = JSON.parse(grant.commands);
    if (!Array.isArray(commands) || !commands.every((one) => typeof one === 'string')) return null;
    return fingerprintOf(commands) === grant.fingerprint ? commands : null;
  } catch {
    return null;
  }
}

function consumedOf(grant: GrantRow): readonly number[] {
  try {
    const consumed: unknown = JSON.parse(grant.consumed);
    return Array.isArray(consumed) ? consumed.filter((one) => Number.isSafeInteger(one)) : [];
  } catch {
    return [];
  }
}

function refuse(
  code: 'GRANT_NOT_LIVE' | 'GRANT_RESERVED' | 'GRANT_BYTES' | 'GRANT_NOT_RESERVED',
  detail: string,
): GrantResult {
  return { refused: error(code, 'grant', detail) };
}

import type { Kysely, Selectable, Transaction } from 'kysely';
import type { StateSchema } from './schema.ts';

/** One contract of an agent's turn (contracts.md, draft and row). */
export interface ContractRow {
  /** The number that verifiers and people name; counts from 1. */
  readonly id: number;
  readonly contractId: string;
  /** The checkout it belongs to: the git common dir, else the folder. */
  readonly workspace: string;
  readonly agentId: string;
  /** What kind of agent it is, by its host's word; null where nobody says. */
  readonly agentName: string | null;
  readonly harnessId: string | null;
  readonly profile: string;
  /** A state of the profile, or DISPATCHED before the agent's first write. */
  readonly state: string;
  /** The lane; null only after the agent's own clean finalize. */
  readonly cutReason: string | null;
  readonly planTaskId: string | null;
  /** The row this one verifies. */
  readonly parentId: number | null;
  /** Who proved to be the agent when it finalized; null where nobody did. */
  readonly signer: string | null;
  /** JSON of the envelope, as it was written. */
  readonly envelope: string;
  readonly digest: string;
  /** Counts the writes of the row. */
  readonly revision: number;
  /** Consecutive IN_PROGRESS since the last resume. */
  readonly retries: number;
  /** JSON of what a verifier found; null where none has. */
  readonly verdict: string | null;
  /** Unix ms. */
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** A request to run commands, and once it is approved the grant of it. */
export interface GrantRow {
  readonly approvalId: string;
  readonly workspace: string;
  readonly contractId: string;
  readonly agentId: string;
  /** REQUESTED, PENDING, CONSUMED, FAILED or REJECTED. */
  readonly status: string;
  /** JSON list of exact commands. */
  readonly commands: string;
  readonly fingerprint: string;
  readonly nextIndex: number;
  /** JSON list of the indexes done. */
  readonly consumed: string;
  readonly reservedBy: string | null;
  readonly reservedAt: number | null;
  readonly failedIndex: number | null;
  readonly failureReason: string | null;
  readonly decidedBy: string | null;
  readonly createdAt: number;
  readonly expiresAt: number;
}

export interface ContractQuery {
  readonly workspace: string;
  readonly state?: string;
  /** True: every row with a lane; a text: that lane. */
  readonly cut?: true | string;
  readonly agentId?: string;
  /** Rows changed at or after this instant, unix ms. */
  readonly since?: number;
  readonly limit: number;
}

/** The rows as one transaction sees them. */
export interface ContractTables {
  row(workspace: string, contractId: string): Promise<ContractRow | null>;
  byId(workspace: string, id: number): Promise<ContractRow | null>;
  /** Rows of a host's agent id, newest first. */
  byHarness(workspace: string, harnessId: string): Promise<readonly ContractRow[]>;
  /** Newest first. */
  list(query: ContractQuery): Promise<readonly ContractRow[]>;
  /** Inserts the row, or replaces the one of the same contract. The number is given on the first write and stays. @returns the row as it stands. */
  put(row: Omit<ContractRow, 'id'>): Promise<ContractRow>;
  grant(workspace: string, approvalId: string): Promise<GrantRow | null>;
  /** Newest first. */
  grantsOf(workspace: string, contractId: string): Promise<readonly GrantRow[]>;
  putGrant(row: GrantRow): Promise<void>;
}

/** Contract rows, and the lock of everything that has to do with them: drafts too are changed inside `change`. */
export interface Contracts extends ContractTables {
  /** Runs work in one transaction that holds the write lock from its beginning; a process that dies gives it up. */
  change<T>(work: (tables: ContractTables) => Promise<T>): Promise<T>;
}

export function contractsOf(db: Kysely<StateSchema>): Contracts {
  return { ...tablesOf(db), change: (work) => db.transaction().execute((trx) => work(tablesOf(trx))) };
}

function tablesOf(db: Kysely<StateSchema> | Transaction<StateSchema>): ContractTables {
  const rows = (workspace: string) => db.selectFrom('contract_rows').selectAll().where('workspace', '=', workspace);
  const grants = (workspace: string) => db.selectFrom('contract_grants').selectAll().where('workspace', '=', workspace);
  const row: ContractTables['row'] = async (workspace, contractId) =>
    toRow(await rows(workspace).where('contract_id', '=', contractId).executeTakeFirst());
  return {
    row,
    async byId(workspace, id) {
      return toRow(await rows(workspace).where('id', '=', id).executeTakeFirst());
    },
    async byHarness(workspace, harnessId) {
      return toRows(await rows(workspace).where('harness_id', '=', harnessId).orderBy('id', 'desc').execute());
    },
    async list({ workspace, state, cut, agentId, since, limit }) {
      let query = rows(workspace);
      if (state !== undefined) query = query.where('state', '=', state);
      if (cut === true) query = query.where('cut_reason', 'is not', null);
      else if (cut !== undefined) query = query.where('cut_reason', '=', cut);
      if (agentId !== undefined)
        query = query.where((e) => e.or([e('agent_id', '=', agentId), e('agent_name', '=', agentId)]));
      if (since !== undefined) query = query.where('updated_at', '>=', since);
      return toRows(await query.orderBy('id', 'desc').limit(limit).execute());
    },
    async put(given) {
      const last = await db
        .selectFrom('contract_rows')
        .select((e) => e.fn.max('id').as('id'))
        .executeTakeFirst();
      const { contract_id, ...rest } = fromRow(given);
      await db
        .insertInto('contract_rows')
        .values({ id: Number(last?.id ?? 0) + 1, contract_id, ...rest })
        .onConflict((conflict) => conflict.column('contract_id').doUpdateSet(rest))
        .execute();
      const stands = await row(given.workspace, given.contractId);
      if (stands === null) throw new Error('the contract row just written is not there');
      return stands;
    },
    async grant(workspace, approvalId) {
      return toGrant(await grants(workspace).where('approval_id', '=', approvalId).executeTakeFirst());
    },
    async grantsOf(workspace, contractId) {
      const found = await grants(workspace)
        .where('contract_id', '=', contractId)
        .orderBy('created_at', 'desc')
        .orderBy('approval_id')
        .execute();
      return found.map((one) => toGrant(one)).filter((one) => one !== null);
    },
    async putGrant(given) {
      const { approval_id, ...rest } = fromGrant(given);
      await db
        .insertInto('contract_grants')
        .values({ approval_id, ...rest })
        .onConflict((conflict) => conflict.column('approval_id').doUpdateSet(rest))
        .execute();
    },
  };
}

type StoredRow = Selectable<StateSchema['contract_rows']>;
type StoredGrant = Selectable<StateSchema['contract_grants']>;

function toRows(stored: readonly StoredRow[]): readonly ContractRow[] {
  return stored.map((one) => toRow(one)).filter((one) => one !== null);
}

function toRow(stored: StoredRow | undefined): ContractRow | null {
  if (stored === undefined) return null;
  return {
    id: Number(stored.id),
    contractId: stored.contract_id,
    workspace: stored.workspace,
    agentId: stored.agent_id,
    agentName: stored.agent_name,
    harnessId: stored.harness_id,
    profile: stored.profile,
    state: stored.state,
    cutReason: stored.cut_reason,
    planTaskId: stored.plan_task_id,
    parentId: numberOrNull(stored.parent_id),
    signer: stored.signer,
    envelope: stored.envelope,
    digest: stored.digest,
    revision: Number(stored.revision),
    retries: Number(stored.retries),
    verdict: stored.verdict,
    createdAt: Number(stored.created_at),
    updatedAt: Number(stored.updated_at),
  };
}

function fromRow(row: Omit<ContractRow, 'id'>): Omit<StoredRow, 'id'> {
  return {
    contract_id: row.contractId,
    workspace: row.workspace,
    agent_id: row.agentId,
    agent_name: row.agentName,
    harness_id: row.harnessId,
    profile: row.profile,
    state: row.state,
    cut_reason: row.cutReason,
    plan_task_id: row.planTaskId,
    parent_id: row.parentId,
    signer: row.signer,
    envelope: row.envelope,
    digest: row.digest,
    revision: row.revision,
    retries: row.retries,
    verdict: row.verdict,
    created_at: row.createdAt,
    updated_at: row.updatedAt,
  };
}

function toGrant(stored: StoredGrant | undefined): GrantRow | null {
  if (stored === undefined) return null;
  return {
    approvalId: stored.approval_id,
    workspace: stored.workspace,
    contractId: stored.contract_id,
    agentId: stored.agent_id,
    status: stored.status,
    commands: stored.commands,
    fingerprint: stored.fingerprint,
    nextIndex: Number(stored.next_index),
    consumed: stored.consumed,
    reservedBy: stored.reserved_by,
    reservedAt: numberOrNull(stored.reserved_at),
    failedIndex: numberOrNull(stored.failed_index),
    failureReason: stored.failure_reason,
    decidedBy: stored.decided_by,
    createdAt: Number(stored.created_at),
    expiresAt: Number(stored.expires_at),
  };
}

function fromGrant(row: GrantRow): StoredGrant {
  return {
    approval_id: row.approvalId,
    workspace: row.workspace,
    contract_id: row.contractId,
    agent_id: row.agentId,
    status: row.status,
    commands: row.commands,
    fingerprint: row.fingerprint,
    next_index: row.nextIndex,
    consumed: row.consumed,
    reserved_by: row.reservedBy,
    reserved_at: row.reservedAt,
    failed_index: row.failedIndex,
    failure_reason: row.failureReason,
    decided_by: row.decidedBy,
    created_at: row.createdAt,
    expires_at: row.expiresAt,
  };
}

/** PostgreSQL hands 64-bit numbers over as text. */
function numberOrNull(value: number | null): number | null {
  return value === null ? null : Number(value);
}

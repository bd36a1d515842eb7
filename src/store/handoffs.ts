import type { Kysely, Selectable } from 'kysely';
import { HANDOFF_STATES, type HandoffState, OPEN_STATES } from '../model/handoff.ts';
import type { HandoffTable } from './handoff-table.ts';
import type { StateSchema } from './schema.ts';

export type HandoffSide = 'sent' | 'received';

/** What tells one row from all others. */
export interface HandoffKey {
  readonly workspace: string;
  readonly side: HandoffSide;
  readonly sender: string;
  readonly handoffId: string;
}

/** One handoff as this machine knows it, without its envelope. Times are unix ms. */
export interface HandoffRow extends HandoffKey {
  readonly nonce: string;
  readonly receiver: string;
  /** Bare hex sha256 of the payload. */
  readonly digest: string;
  readonly task: string;
  readonly taskId: string | null;
  readonly messageId: string;
  readonly state: HandoffState;
  readonly ack: string | null;
  readonly code: string | null;
  readonly reason: string | null;
  readonly url: string | null;
  readonly at: number;
  readonly changed: number;
  readonly expiresAt: number;
  readonly finishBy: number;
}

/** What a step writes; what it leaves out stays. */
export type HandoffChange = Partial<Pick<HandoffRow, 'ack' | 'code' | 'reason' | 'url' | 'task'>> & {
  readonly state: HandoffState;
  readonly changed: number;
};

/** Handoffs sent and received. Every step is one conditional statement, so of two that race exactly one is told true. */
export interface Handoffs {
  /**
   * Makes the row, once. @returns the row that is there now, `made` or not; null where id or nonce belong to another envelope of this sender.
   */
  begin(row: HandoffRow, wire: string): Promise<{ readonly made: boolean; readonly row: HandoffRow } | null>;
  /** Moves a row on where it stands in one of the states given. @returns whether it did. */
  move(key: HandoffKey, from: readonly HandoffState[], change: HandoffChange): Promise<boolean>;
  /** @returns null where there is none. */
  get(key: HandoffKey): Promise<HandoffRow | null>;
  /** The rows a word may mean: a handoff id, a task, the client’s own name for one, or a digest. */
  named(workspace: string, word: string): Promise<readonly HandoffRow[]>;
  /** Whether an id or a nonce of a sender lies in a received row already; `digest` is that of the envelope asked about. */
  seen(question: {
    readonly workspace: string;
    readonly from: string;
    readonly handoffId: string;
    readonly nonce: string;
  }): Promise<readonly HandoffRow[]>;
  /** The envelope file of a row; null where there is no such row. */
  wire(key: HandoffKey): Promise<string | null>;
  /** Newest last. `open`: only those somebody still owes a word on. */
  list(want: {
    readonly workspace: string;
    readonly open: boolean;
    readonly limit: number;
  }): Promise<readonly HandoffRow[]>;
  /** How many are open, by side and state, and since when. */
  open(workspace: string): Promise<readonly OpenCount[]>;
}

export interface OpenCount {
  readonly side: HandoffSide;
  readonly state: HandoffState;
  readonly count: number;
  /** Unix ms of the oldest. */
  readonly since: number;
}

/** The handoffs over an open state database. */
export function handoffsOf(db: Kysely<StateSchema>): Handoffs {
  return {
    begin: (row, wire) => db.transaction().execute((trx) => begin(trx, row, wire)),
    async move(key, from, change) {
      const { state, changed, ack, code, reason, url, task } = change;
      const set = { state, changed, ack, code, reason, url, task };
      const done = await db
        .updateTable('handoffs')
        .set(Object.fromEntries(Object.entries(set).filter(([, value]) => value !== undefined)))
        .where('workspace', '=', key.workspace)
        .where('side', '=', key.side)
        .where('sender', '=', key.sender)
        .where('handoff_id', '=', key.handoffId)
        .where('state', 'in', [...from])
        .executeTakeFirst();
      return Number(done.numUpdatedRows) === 1;
    },
    get: async (key) => get(db, key),
    async named(workspace, word) {
      const rows = await db
        .selectFrom('handoffs')
        .select(COLUMNS)
        .where('workspace', '=', workspace)
        .where((e) =>
          e.or([
            e('handoff_id', '=', word),
            e('task', '=', word),
            e('task_id', '=', word),
            e('message_id', '=', word),
            e('digest', '=', word),
          ]),
        )
        .orderBy('at')
        .limit(64)
        .execute();
      return rows.flatMap(toRow);
    },
    async seen({ workspace, from, handoffId, nonce }) {
      const rows = await db
        .selectFrom('handoffs')
        .select(COLUMNS)
        .where('workspace', '=', workspace)
        .where('side', '=', 'received')
        .where('sender', '=', from)
        .where((e) => e.or([e('handoff_id', '=', handoffId), e('nonce', '=', nonce)]))
        .execute();
      return rows.flatMap(toRow);
    },
    async wire(key) {
      const row = await db
        .selectFrom('handoffs')
        .select('wire')
        .where('workspace', '=', key.workspace)
        .where('side', '=', key.side)
        .where('sender', '=', key.sender)
        .where('handoff_id', '=', key.handoffId)
        .executeTakeFirst();
      return row?.wire ?? null;
    },
    async list({ workspace, open, limit }) {
      let query = db.selectFrom('handoffs').select(COLUMNS).where('workspace', '=', workspace);
      if (open) query = query.where('state', 'in', [...OPEN_STATES]);
      const rows = await query.orderBy('at', 'desc').orderBy('handoff_id').limit(limit).execute();
      return rows.reverse().flatMap(toRow);
    },
    async open(workspace) {
      const rows = await db
        .selectFrom('handoffs')
        .select((e) => ['side', 'state', e.fn.countAll().as('count'), e.fn.min('at').as('since')])
        .where('workspace', '=', workspace)
        .where('state', 'in', [...OPEN_STATES])
        .groupBy(['side', 'state'])
        .orderBy('side')
        .orderBy('state')
        .execute();
      return rows.flatMap(({ side, state, count, since }) => {
        const known = stateOf(state);
        return known === null ? [] : [{ side: sideOf(side), state: known, count: Number(count), since: Number(since) }];
      });
    },
  };
}

const COLUMNS = [
  'workspace',
  'side',
  'sender',
  'handoff_id',
  'nonce',
  'receiver',
  'digest',
  'task',
  'task_id',
  'message_id',
  'state',
  'ack',
  'code',
  'reason',
  'url',
  'at',
  'changed',
  'expires_at',
  'finish_by',
] as const;

async function begin(
  db: Kysely<StateSchema>,
  row: HandoffRow,
  wire: string,
): Promise<{ readonly made: boolean; readonly row: HandoffRow } | null> {
  const { handoffId, taskId, messageId, expiresAt, finishBy, ...same } = row;
  const made = await db
    .insertInto('handoffs')
    .values({
      ...same,
      handoff_id: handoffId,
      task_id: taskId,
      message_id: messageId,
      expires_at: expiresAt,
      finish_by: finishBy,
      wire,
    })
    .onConflict((conflict) => conflict.doNothing())
    .returning('handoff_id')
    .executeTakeFirst();
  if (made !== undefined) return { made: true, row };
  const known = await get(db, row);
  return known === null || known.digest !== row.digest ? null : { made: false, row: known };
}

async function get(db: Kysely<StateSchema>, key: HandoffKey): Promise<HandoffRow | null> {
  const row = await db
    .selectFrom('handoffs')
    .select(COLUMNS)
    .where('workspace', '=', key.workspace)
    .where('side', '=', key.side)
    .where('sender', '=', key.sender)
    .where('handoff_id', '=', key.handoffId)
    .executeTakeFirst();
  return row === undefined ? null : (toRow(row)[0] ?? null);
}

type Stored = Omit<Selectable<HandoffTable>, 'wire'>;

/** None where a column does not hold what writ writes: then the row says nothing. */
function toRow(stored: Stored): readonly HandoffRow[] {
  const { handoff_id, task_id, message_id, expires_at, finish_by, ...same } = stored;
  const state = stateOf(stored.state);
  const times = [stored.at, stored.changed, expires_at, finish_by].map(Number);
  if (state === null || !times.every(Number.isSafeInteger)) return [];
  const [at = 0, changed = 0, expiresAt = 0, finishBy = 0] = times;
  return [
    {
      ...same,
      handoffId: handoff_id,
      taskId: task_id,
      messageId: message_id,
      side: sideOf(stored.side),
      state,
      at,
      changed,
      expiresAt,
      finishBy,
    },
  ];
}

function stateOf(word: string): HandoffState | null {
  return HANDOFF_STATES.find((one) => one === word) ?? null;
}

function sideOf(word: string): HandoffSide {
  return word === 'sent' ? 'sent' : 'received';
}

import type { Kysely } from 'kysely';
import type { StateSchema } from './schema.ts';

/** One handoff on one machine. Times are unix ms. */
export interface HandoffTable {
  readonly workspace: string;
  /** `sent` or `received`: a machine may hold both ends. */
  readonly side: string;
  readonly sender: string;
  readonly handoff_id: string;
  readonly nonce: string;
  readonly receiver: string;
  readonly digest: string;
  /** The A2A task, by the receiver’s name for it and by the sender’s. */
  readonly task: string;
  /** The task that is handed over, by the name its sender signed; null where it has none. */
  readonly task_id: string | null;
  /** The client’s name for the A2A task or message. */
  readonly message_id: string;
  readonly state: string;
  /** The whole envelope file. */
  readonly wire: string;
  /** The last signed answer. */
  readonly ack: string | null;
  readonly code: string | null;
  readonly reason: string | null;
  readonly url: string | null;
  readonly at: number;
  readonly changed: number;
  readonly expires_at: number;
  readonly finish_by: number;
}

/** Its keys are what makes a handoff happen once: an id and a nonce are each good for one row of their sender. */
export async function createHandoffs(db: Kysely<StateSchema>): Promise<void> {
  await db.schema
    .createTable('handoffs')
    .addColumn('workspace', 'text', (c) => c.notNull())
    .addColumn('side', 'text', (c) => c.notNull())
    .addColumn('sender', 'text', (c) => c.notNull())
    .addColumn('handoff_id', 'text', (c) => c.notNull())
    .addColumn('nonce', 'text', (c) => c.notNull())
    .addColumn('receiver', 'text', (c) => c.notNull())
    .addColumn('digest', 'text', (c) => c.notNull())
    .addColumn('task', 'text', (c) => c.notNull())
    .addColumn('task_id', 'text')
    .addColumn('message_id', 'text', (c) => c.notNull())
    .addColumn('state', 'text', (c) => c.notNull())
    .addColumn('wire', 'text', (c) => c.notNull())
    .addColumn('ack', 'text')
    .addColumn('code', 'text')
    .addColumn('reason', 'text')
    .addColumn('url', 'text')
    .addColumn('at', 'bigint', (c) => c.notNull())
    .addColumn('changed', 'bigint', (c) => c.notNull())
    .addColumn('expires_at', 'bigint', (c) => c.notNull())
    .addColumn('finish_by', 'bigint', (c) => c.notNull())
    .addPrimaryKeyConstraint('handoffs_key', ['workspace', 'side', 'sender', 'handoff_id'])
    .addUniqueConstraint('handoffs_nonce', ['workspace', 'side', 'sender', 'nonce'])
    .execute();
  await db.schema.createIndex('handoffs_by_state').on('handoffs').columns(['workspace', 'state', 'at']).execute();
  // Each name by which a row is asked for, so that many rows never make one slow.
  for (const name of ['handoff_id', 'digest', 'task', 'task_id', 'message_id'])
    await db.schema.createIndex(`handoffs_by_${name}`).on('handoffs').columns(['workspace', name]).execute();
}

import type { SchemaModule } from 'kysely';

/** The tables of contracts, as kysely reads and writes them. */
export interface ContractSchema {
  readonly contract_rows: {
    readonly id: number;
    readonly contract_id: string;
    readonly workspace: string;
    readonly agent_id: string;
    readonly agent_name: string | null;
    readonly harness_id: string | null;
    readonly profile: string;
    readonly state: string;
    readonly cut_reason: string | null;
    readonly plan_task_id: string | null;
    readonly parent_id: number | null;
    readonly signer: string | null;
    /** JSON. */
    readonly envelope: string;
    readonly digest: string;
    readonly revision: number;
    readonly retries: number;
    /** JSON. */
    readonly verdict: string | null;
    readonly created_at: number;
    readonly updated_at: number;
  };
  readonly contract_grants: {
    readonly approval_id: string;
    readonly workspace: string;
    readonly contract_id: string;
    readonly agent_id: string;
    readonly status: string;
    /** JSON array of strings. */
    readonly commands: string;
    readonly fingerprint: string;
    readonly next_index: number;
    /** JSON array of numbers. */
    readonly consumed: string;
    readonly reserved_by: string | null;
    readonly reserved_at: number | null;
    readonly failed_index: number | null;
    readonly failure_reason: string | null;
    readonly decided_by: string | null;
    readonly created_at: number;
    readonly expires_at: number;
  };
}

/** Migration: the rows of contracts and the grants of command sets. */
export async function createContractTables({ schema }: { readonly schema: SchemaModule }): Promise<void> {
  await schema
    .createTable('contract_rows')
    .addColumn('id', 'bigint', (c) => c.primaryKey())
    .addColumn('contract_id', 'text', (c) => c.notNull().unique())
    .addColumn('workspace', 'text', (c) => c.notNull())
    .addColumn('agent_id', 'text', (c) => c.notNull())
    .addColumn('agent_name', 'text')
    .addColumn('harness_id', 'text')
    .addColumn('profile', 'text', (c) => c.notNull())
    .addColumn('state', 'text', (c) => c.notNull())
    .addColumn('cut_reason', 'text')
    .addColumn('plan_task_id', 'text')
    .addColumn('parent_id', 'bigint')
    .addColumn('signer', 'text')
    .addColumn('envelope', 'text', (c) => c.notNull())
    .addColumn('digest', 'text', (c) => c.notNull())
    .addColumn('revision', 'bigint', (c) => c.notNull())
    .addColumn('retries', 'bigint', (c) => c.notNull())
    .addColumn('verdict', 'text')
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .addColumn('updated_at', 'bigint', (c) => c.notNull())
    .execute();
  await schema
    .createIndex('contract_rows_by_workspace')
    .on('contract_rows')
    .columns(['workspace', 'state', 'id'])
    .execute();
  await schema
    .createTable('contract_grants')
    .addColumn('approval_id', 'text', (c) => c.primaryKey())
    .addColumn('workspace', 'text', (c) => c.notNull())
    .addColumn('contract_id', 'text', (c) => c.notNull())
    .addColumn('agent_id', 'text', (c) => c.notNull())
    .addColumn('status', 'text', (c) => c.notNull())
    .addColumn('commands', 'text', (c) => c.notNull())
    .addColumn('fingerprint', 'text', (c) => c.notNull())
    .addColumn('next_index', 'bigint', (c) => c.notNull())
    .addColumn('consumed', 'text', (c) => c.notNull())
    .addColumn('reserved_by', 'text')
    .addColumn('reserved_at', 'bigint')
    .addColumn('failed_index', 'bigint')
    .addColumn('failure_reason', 'text')
    .addColumn('decided_by', 'text')
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .addColumn('expires_at', 'bigint', (c) => c.notNull())
    .execute();
}

import type { Kysely } from 'kysely';
import { type ContractSchema, createContractTables } from './contract-tables.ts';
import { createHandoffs, type HandoffTable } from './handoff-table.ts';
import { createSegments } from './segments.ts';

/** The tables of state, as kysely reads and writes them. Column types stay within what SQLite and PostgreSQL share. */
export interface StateSchema extends ContractSchema {
  readonly state_version: { readonly id: number; readonly version: number };
  readonly ledger: {
    readonly seq: number;
    readonly at: number;
    readonly workspace: string | null;
    readonly actor: string;
    readonly path: string;
    readonly line: number | null;
    readonly digest: string | null;
    readonly rank: string;
    readonly class: string;
    /** JSON array of strings. */
    readonly codes: string;
    readonly prev: string;
    readonly hash: string;
  };
  readonly checkouts: { readonly common_dir: string; readonly workspace: string };
  readonly revocations: { readonly workspace: string; readonly payload_digest: string; readonly envelope: string };
  readonly floors: {
    readonly workspace: string;
    readonly version: number;
    readonly floor: number;
    readonly digest: string;
  };
  readonly nonces: { readonly workspace: string; readonly board: string; readonly nonce: string };
  readonly ledger_segments: {
    readonly first: number;
    readonly last: number;
    readonly head: string;
    readonly file: string;
    readonly sha256: string;
  };
  readonly handoffs: HandoffTable;
}

export type TableName = keyof StateSchema;

interface Migration {
  readonly run: (db: Kysely<StateSchema>) => Promise<void>;
  /** Tables it makes. */
  readonly tables: readonly TableName[];
}

const MIGRATIONS: readonly Migration[] = [
  { run: createFirstTables, tables: ['state_version', 'ledger', 'checkouts', 'revocations', 'floors', 'nonces'] },
  { run: createContractTables, tables: ['contract_rows', 'contract_grants'] },
  { run: createSegments, tables: ['ledger_segments'] },
  { run: createHandoffs, tables: ['handoffs'] },
];

/** The schema this build writes; state of a higher one was written by a newer writ. */
export const SCHEMA_VERSION = MIGRATIONS.length;

/** @returns the tables of a schema version, for the probe that each is there and readable. */
export function tablesOf(version: number): readonly TableName[] {
  return MIGRATIONS.slice(0, version).flatMap((one) => one.tables);
}

/**
 * Brings state forward to SCHEMA_VERSION; never back. Call it inside a transaction that holds the write lock.
 * @param from the version found; 0 where no table exists yet.
 */
export async function migrate(db: Kysely<StateSchema>, from: number): Promise<void> {
  for (const { run } of MIGRATIONS.slice(from)) await run(db);
  if (from === 0) await db.insertInto('state_version').values({ id: 1, version: SCHEMA_VERSION }).execute();
  else await db.updateTable('state_version').set({ version: SCHEMA_VERSION }).where('id', '=', 1).execute();
}

async function createFirstTables(db: Kysely<StateSchema>): Promise<void> {
  await db.schema
    .createTable('state_version')
    .addColumn('id', 'integer', (c) => c.primaryKey())
    .addColumn('version', 'integer', (c) => c.notNull())
    .execute();
  await db.schema
    .createTable('ledger')
    .addColumn('seq', 'bigint', (c) => c.primaryKey())
    .addColumn('at', 'bigint', (c) => c.notNull())
    .addColumn('workspace', 'text')
    .addColumn('actor', 'text', (c) => c.notNull())
    .addColumn('path', 'text', (c) => c.notNull())
    .addColumn('line', 'bigint')
    .addColumn('digest', 'text')
    .addColumn('rank', 'text', (c) => c.notNull())
    .addColumn('class', 'text', (c) => c.notNull())
    .addColumn('codes', 'text', (c) => c.notNull())
    .addColumn('prev', 'text', (c) => c.notNull().unique())
    .addColumn('hash', 'text', (c) => c.notNull().unique())
    .execute();
  await db.schema.createIndex('ledger_by_workspace').on('ledger').columns(['workspace', 'seq']).execute();
  await db.schema
    .createTable('checkouts')
    .addColumn('common_dir', 'text', (c) => c.primaryKey())
    .addColumn('workspace', 'text', (c) => c.notNull())
    .execute();
  await db.schema
    .createTable('revocations')
    .addColumn('workspace', 'text', (c) => c.notNull())
    .addColumn('payload_digest', 'text', (c) => c.notNull())
    .addColumn('envelope', 'text', (c) => c.notNull())
    .addPrimaryKeyConstraint('revocations_key', ['workspace', 'payload_digest'])
    .execute();
  await db.schema
    .createTable('floors')
    .addColumn('workspace', 'text', (c) => c.primaryKey())
    .addColumn('version', 'bigint', (c) => c.notNull())
    .addColumn('floor', 'bigint', (c) => c.notNull())
    .addColumn('digest', 'text', (c) => c.notNull())
    .execute();
  await db.schema
    .createTable('nonces')
    .addColumn('workspace', 'text', (c) => c.notNull())
    .addColumn('board', 'text', (c) => c.notNull())
    .addColumn('nonce', 'text', (c) => c.notNull())
    .addPrimaryKeyConstraint('nonces_key', ['workspace', 'board', 'nonce'])
    .execute();
}

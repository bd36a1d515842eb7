import type { Kysely } from 'kysely';
import type { StateSchema } from './schema.ts';

/** A run of old ledger rows that lies in a file of the archive. */
export interface LedgerSegment {
  /** Numbers of its first and last row. */
  readonly first: number;
  readonly last: number;
  /** The hash of its last row: what the next row follows. */
  readonly head: string;
  /** Bare name in the archive folder. */
  readonly file: string;
  /** Bare hex sha256 of that file. */
  readonly sha256: string;
}

/** What was archived of the ledger: the segments follow each other from row 1, and the first row kept in state follows the last of them. */
export interface Segments {
  /** In order. */
  list(): Promise<readonly LedgerSegment[]>;
  /**
   * Remembers a segment and takes its rows out of the ledger, in one transaction. The newest row always stays.
   * @returns false, with nothing done, where the rows are not there as told: another process was faster.
   */
  close(segment: LedgerSegment): Promise<boolean>;
}

export function segmentsOf(db: Kysely<StateSchema>): Segments {
  return {
    list: () => list(db),
    close: (segment) => db.transaction().execute((trx) => close(trx, segment)),
  };
}

/** The table of this file; one step of the migrations. */
export async function createSegments(db: Kysely<StateSchema>): Promise<void> {
  await db.schema
    .createTable('ledger_segments')
    .addColumn('first', 'bigint', (c) => c.primaryKey())
    .addColumn('last', 'bigint', (c) => c.notNull().unique())
    .addColumn('head', 'text', (c) => c.notNull())
    .addColumn('file', 'text', (c) => c.notNull())
    .addColumn('sha256', 'text', (c) => c.notNull())
    .execute();
}

async function list(db: Kysely<StateSchema>): Promise<readonly LedgerSegment[]> {
  const rows = await db.selectFrom('ledger_segments').selectAll().orderBy('first').execute();
  return rows.map((row) => ({ ...row, first: Number(row.first), last: Number(row.last) }));
}

async function close(db: Kysely<StateSchema>, segment: LedgerSegment): Promise<boolean> {
  const before = (await list(db)).at(-1)?.last ?? 0;
  const { first, last, head } = segment;
  const there = await db
    .selectFrom('ledger')
    .select((e) => [e.fn.countAll().as('rows'), e.fn.min('seq').as('first')])
    .where('seq', '<=', last)
    .executeTakeFirst();
  const end = await db.selectFrom('ledger').select('hash').where('seq', '=', last).executeTakeFirst();
  const next = await db
    .selectFrom('ledger')
    .select('prev')
    .where('seq', '=', last + 1)
    .executeTakeFirst();
  const fits =
    first === before + 1 &&
    Number(there?.first) === first &&
    Number(there?.rows) === last - first + 1 &&
    end?.hash === head &&
    next?.prev === head;
  if (!fits) return false;
  await db.insertInto('ledger_segments').values(segment).execute();
  await db.deleteFrom('ledger').where('seq', '<=', last).execute();
  return true;
}

import type { Kysely, Selectable } from 'kysely';
import type { StateSchema } from './schema.ts';

/** One decision before it has a place in the chain (formats.md, ledger entry). */
export interface LedgerDraft {
  /** Unix ms. */
  readonly at: number;
  /** Workspace id; null where no intact policy set names one. */
  readonly workspace: string | null;
  /** Who ran the command. */
  readonly actor: string;
  readonly path: string;
  /** 1-based line of a board, null for a whole file. */
  readonly line: number | null;
  /** Digest of the bytes judged; null where they could not be read. */
  readonly digest: string | null;
  readonly rank: string;
  readonly class: string;
  readonly codes: readonly string[];
}

/** A row as it is sealed: everything but its own hash. */
export interface UnsealedRow extends LedgerDraft {
  /** Counts from 1 without gaps. */
  readonly seq: number;
  /** The hash of the row before; 64 zeros for the first. */
  readonly prev: string;
}

export interface LedgerRow extends UnsealedRow {
  readonly hash: string;
}

/** The end of the chain. */
export interface LedgerTail {
  readonly seq: number;
  readonly hash: string;
  /** Unix ms. */
  readonly at: number;
}

/** Computes a row's hash. It is given in, because the store knows rows and not digests. */
export type Seal = (prev: string, row: UnsealedRow) => string;

/** A stored row; `row` is null where its columns do not hold what writ writes. */
export interface StoredRow {
  readonly seq: number;
  readonly row: LedgerRow | null;
  /** Why it is null, where that is not its columns. */
  readonly why?: string;
}

export interface Ledger {
  /** Appends in one transaction that holds the write lock from reading the tail to the last row. @returns the new tail; the old one where there is nothing to append. */
  append(drafts: readonly LedgerDraft[], seal: Seal): Promise<LedgerTail | null>;
  /** @returns null for an empty ledger. */
  tail(): Promise<LedgerTail | null>;
  /** The newest `limit` rows, newest last; of one workspace where it is given. Rows that do not hold what writ writes are left to `all`. */
  read(want: { readonly limit: number; readonly workspace?: string }): Promise<readonly LedgerRow[]>;
  /** Every row in order, or those behind a number, read in pages so that a long walk never keeps writers waiting. */
  all(behind?: number): AsyncIterable<StoredRow>;
}

/** What stands before the first row. */
export const CHAIN_START = '0'.repeat(64);

const PAGE = 500;
const INSERT_ROWS = 500;

/** The ledger over an open state database. */
export function ledgerOf(db: Kysely<StateSchema>): Ledger {
  return {
    append: (drafts, seal) => db.transaction().execute((trx) => append(trx, drafts, seal)),
    tail: () => tailOf(db),
    read: (want) => read(db, want.limit, want.workspace),
    all: (behind) => all(db, behind),
  };
}

async function append(db: Kysely<StateSchema>, drafts: readonly LedgerDraft[], seal: Seal): Promise<LedgerTail | null> {
  let tail = await tailOf(db);
  const rows: LedgerRow[] = [];
  for (const draft of drafts) {
    const prev: string = tail?.hash ?? CHAIN_START;
    const unsealed: UnsealedRow = { ...draft, seq: (tail?.seq ?? 0) + 1, prev };
    const row: LedgerRow = { ...unsealed, hash: seal(prev, unsealed) };
    rows.push(row);
    tail = { seq: row.seq, hash: row.hash, at: row.at };
  }
  for (let from = 0; from < rows.length; from += INSERT_ROWS) {
    const values = rows.slice(from, from + INSERT_ROWS).map((row) => ({ ...row, codes: JSON.stringify(row.codes) }));
    await db.insertInto('ledger').values(values).execute();
  }
  return tail;
}

async function tailOf(db: Kysely<StateSchema>): Promise<LedgerTail | null> {
  const row = await db
    .selectFrom('ledger')
    .select(['seq', 'hash', 'at'])
    .orderBy('seq', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row ? { seq: Number(row.seq), hash: row.hash, at: Number(row.at) } : null;
}

async function read(
  db: Kysely<StateSchema>,
  limit: number,
  workspace: string | undefined,
): Promise<readonly LedgerRow[]> {
  let query = db.selectFrom('ledger').selectAll();
  if (workspace !== undefined) query = query.where('workspace', '=', workspace);
  const rows = await query.orderBy('seq', 'desc').limit(limit).execute();
  return rows
    .reverse()
    .map(toRow)
    .filter((row) => row !== null);
}

async function* all(db: Kysely<StateSchema>, behind = Number.MIN_SAFE_INTEGER): AsyncIterable<StoredRow> {
  let after = behind;
  for (;;) {
    const rows = await db
      .selectFrom('ledger')
      .selectAll()
      .where('seq', '>', after)
      .orderBy('seq')
      .limit(PAGE)
      .execute();
    for (const row of rows) yield { seq: Number(row.seq), row: toRow(row) };
    const last = rows.at(-1);
    if (last === undefined) return;
    after = Number(last.seq);
  }
}

/** SQLite keeps any type in any column and PostgreSQL hands 64-bit numbers over as text, so each column is looked at. */
function toRow(stored: Selectable<StateSchema['ledger']>): LedgerRow | null {
  const seq = toCount(stored.seq);
  const at = toCount(stored.at);
  const line = stored.line === null ? null : toCount(stored.line);
  const codes = toCodes(stored.codes);
  const texts = [stored.actor, stored.path, stored.rank, stored.class, stored.prev, stored.hash];
  const optional = [stored.workspace, stored.digest];
  if (seq === null || at === null || codes === null || (line === null && stored.line !== null)) return null;
  if (texts.some((text) => typeof text !== 'string')) return null;
  if (optional.some((text) => text !== null && typeof text !== 'string')) return null;
  return { ...stored, seq, at, line, codes };
}

function toCount(value: unknown): number | null {
  const count = typeof value === 'string' && /^\d{1,16}$/.test(value) ? Number(value) : value;
  return typeof count === 'number' && Number.isSafeInteger(count) && count >= 0 ? count : null;
}

function toCodes(text: unknown): readonly string[] | null {
  if (typeof text !== 'string') return null;
  try {
    const codes: unknown = JSON.parse(text);
    const strings = Array.isArray(codes) && codes.every((code) => typeof code === 'string');
    return strings && JSON.stringify(codes) === text ? codes : null;
  } catch {
    return null;
  }
}

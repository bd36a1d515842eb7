import { randomBytes } from 'node:crypto';
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  linkSync,
  mkdirSync,
  openSync,
  readSync,
  rmSync,
  statSync,
} from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { DatabaseConnection, DatabaseIntrospector, Dialect } from 'kysely';
import { CompiledQuery, Kysely, SqliteAdapter, SqliteDriver, SqliteQueryCompiler } from 'kysely';
import Database from 'libsql';
import { migrate, SCHEMA_VERSION, type StateSchema, tablesOf } from './schema.ts';
import { snapshot } from './snapshot.ts';

/** State that cannot be used; `why` is for people. */
export interface Unavailable {
  readonly unavailable: string;
  /** Only its schema is older than this build: the next writer brings it forward. */
  readonly older?: true;
}

/** An open state database. `close` releases the file. */
export interface OpenDatabase {
  readonly db: Kysely<StateSchema>;
  close(): Promise<void>;
}

const BUSY_MS = 5_000;

/** Opens state to read it. Creates and changes nothing: no file beside it either, so state keeps a rollback journal (a WAL reader would write to `-shm`). */
export async function openReading(file: string): Promise<OpenDatabase | Unavailable> {
  const side = sideFiles(file);
  if (!side.wal) {
    const opened = await tryOpen(file, 'ro');
    if (!('unavailable' in opened) || !(side.journal() || opened.older)) return opened;
  }
  // A writer was killed in mid-write, or the schema is an older one. Undoing half-written pages and bringing tables forward are changes, so that is
  // done on a private copy.
  const copy = snapshot(file);
  if (copy === null) return { unavailable: `the state file ${file} is being recovered; run the command again` };
  const opened = await tryOpen(copy.file, 'rw');
  if ('unavailable' in opened) {
    copy.remove();
    return opened;
  }
  const close = async (): Promise<void> => {
    await opened.close();
    copy.remove();
  };
  return { db: opened.db, close };
}

/** Opens state to write it; creates it where it is missing and brings an older schema forward. */
export async function openWriting(file: string): Promise<OpenDatabase | Unavailable> {
  try {
    makeFolderOf(file);
    if (statSync(file, { throwIfNoEntry: false }) === undefined) await create(file);
    // SQLite quietly opens such a file read-only, and a read-only one begins a transaction without a word.
    for (const needed of [file, path.dirname(file)]) accessSync(needed, constants.W_OK);
  } catch (error) {
    return cannotUse(file, error);
  }
  return tryOpen(file, 'rw');
}

/** The first missing folder by itself: where a disk refuses it, as /proc does, Node's recursive mkdir would try for ever. */
function makeFolderOf(file: string): void {
  let first = path.dirname(file);
  if (existsSync(first)) return;
  while (!existsSync(path.dirname(first))) first = path.dirname(first);
  try {
    mkdirSync(first, { mode: 0o700 });
  } catch (error) {
    // Another boot was faster.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
}

/** Built whole under another name and then linked into place: the state file never exists without its tables, so an empty one is damage. */
async function create(file: string): Promise<void> {
  const fresh = `${file}.new-${randomBytes(6).toString('hex')}`;
  closeSync(openSync(fresh, 'wx', 0o600));
  try {
    const { db, close } = connect(fresh, 'rw');
    await db.transaction().execute((trx) => migrate(trx, 0));
    await close();
    linkSync(fresh, file);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  } finally {
    for (const name of [fresh, `${fresh}-journal`]) rmSync(name, { force: true });
  }
}

async function tryOpen(file: string, mode: 'ro' | 'rw'): Promise<OpenDatabase | Unavailable> {
  let opened: Connection | null = null;
  try {
    opened = connect(file, mode);
    if (!opened.isWhole()) throw new Error('it was cut short');
    const version = await probe(opened.db);
    if (version === SCHEMA_VERSION) return opened;
    if (version > 0 && version < SCHEMA_VERSION && mode === 'rw') {
      await upgrade(opened.db);
      return opened;
    }
    await opened.close();
    const fault = { unavailable: versionFault(file, version) };
    return version > 0 && version < SCHEMA_VERSION ? { ...fault, older: true } : fault;
  } catch (error) {
    await opened?.close().catch(() => {});
    return cannotUse(file, error);
  }
}

/** One row of each table: a file cut short, overwritten or not writ's own does not get past it. The chain itself is the caller's check. */
async function probe(db: Kysely<StateSchema>): Promise<number> {
  const row = await db.selectFrom('state_version').select('version').where('id', '=', 1).executeTakeFirst();
  const version = Number(row?.version ?? 0);
  if (version > SCHEMA_VERSION) return version;
  for (const table of tablesOf(version))
    await db
      .selectFrom(table)
      .select((e) => e.lit(1).as('one'))
      .limit(1)
      .execute();
  await db.selectFrom('ledger').select('hash').orderBy('seq', 'desc').limit(1).execute();
  return version;
}

async function upgrade(db: Kysely<StateSchema>): Promise<void> {
  await db.transaction().execute(async (trx) => {
    const row = await trx.selectFrom('state_version').select('version').where('id', '=', 1).executeTakeFirstOrThrow();
    if (Number(row.version) < SCHEMA_VERSION) await migrate(trx, Number(row.version));
  });
}

function versionFault(file: string, version: number): string {
  if (version > SCHEMA_VERSION)
    return `the state file ${file} was written by a newer writ (schema ${version}); update writ`;
  return `the state file ${file} has no schema version, so it is not whole`;
}

interface Connection extends OpenDatabase {
  isWhole(): boolean;
}

function connect(file: string, mode: 'ro' | 'rw'): Connection {
  // An address and not a path: it is the only way libsql opens read-only, or without creating the file.
  const handle = new Database(`${pathToFileURL(file).href}?mode=${mode}`, { timeout: BUSY_MS });
  handle.exec(`PRAGMA busy_timeout = ${BUSY_MS}`);
  handle.exec('PRAGMA foreign_keys = ON');
  handle.exec('PRAGMA trusted_schema = OFF');
  // The pin remembers the ledger's head, so a commit that a power cut takes back would look like tampering.
  handle.exec('PRAGMA synchronous = FULL');
  if (mode === 'rw') handle.exec('PRAGMA journal_mode = DELETE');
  const db = new Kysely<StateSchema>({ dialect: dialectOf(handle) });
  const close = async (): Promise<void> => {
    if (handle.open) handle.close();
  };
  return { db, close, isWhole: () => isWhole(handle, file) };
}

/** SQLite takes a last page that was cut for a whole one. Asked under a read lock, so that no writer grows the file meanwhile. */
function isWhole(handle: Database.Database, file: string): boolean {
  handle.exec('begin');
  const numberOf = (name: string): number => {
    const row = handle.prepare(`PRAGMA ${name}`).get([]) as Record<string, number> | undefined;
    return row?.[name] ?? Number.NaN;
  };
  const bytes = numberOf('page_count') * numberOf('page_size');
  const size = statSync(file).size;
  handle.exec('commit');
  return bytes > 0 && size >= bytes;
}

function dialectOf(handle: Database.Database): Dialect {
  return {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new ImmediateDriver({ database: handle }),
    createQueryCompiler: () => new SqliteQueryCompiler(),
    createIntrospector: (): DatabaseIntrospector => {
      throw new Error('state is never introspected');
    },
  };
}

let turn: Promise<void> = Promise.resolve();

/**
 * Takes the write lock when a transaction begins: taken at the first write, two boots that both read the tail would deadlock or fork the chain.
 * Stores of one process take turns, because SQLite waits for a lock by blocking the very thread that would have to release it.
 */
class ImmediateDriver extends SqliteDriver {
  #release: () => void = () => {};

  override async acquireConnection(): Promise<DatabaseConnection> {
    const before = turn;
    let release = (): void => {};
    turn = new Promise((resolve) => {
      release = resolve;
    });
    await before;
    this.#release = release;
    return super.acquireConnection();
  }

  override async releaseConnection(): Promise<void> {
    await super.releaseConnection();
    this.#release();
  }

  override async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('begin immediate'));
  }
}

/** What lies beside the state file: a WAL (no writ makes one), or the journal of a write under way or cut off. */
function sideFiles(file: string): { readonly wal: boolean; journal(): boolean } {
  const header = Buffer.alloc(20);
  try {
    const fd = openSync(file, 'r');
    try {
      readSync(fd, header, 0, 20, 0);
    } finally {
      closeSync(fd);
    }
  } catch {
    // The open that follows says why.
  }
  const journal = (): boolean => (statSync(`${file}-journal`, { throwIfNoEntry: false })?.size ?? 0) > 0;
  return { wal: header[18] === 2 || header[19] === 2, journal };
}

function cannotUse(file: string, error: unknown): Unavailable {
  const why = error instanceof Error ? error.message.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, 200) : 'unknown error';
  return { unavailable: `the state file ${file} cannot be used: ${why}` };
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
}

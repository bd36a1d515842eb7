import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { withLock } from '../files/lock.ts';
import { makeFolder } from '../files/make-folder.ts';
import { writeAtomic } from '../files/write-atomic.ts';
import type { Instant } from '../model/instant.ts';
import { canonicalJson } from '../sign/canonical.ts';
import { sha256Hex } from '../sign/digest.ts';
import { CHAIN_START, type LedgerRow, type StoredRow } from '../store/ledger.ts';
import type { LedgerSegment } from '../store/segments.ts';
import type { Store } from '../store/store.ts';
import { faultOf } from './ledger.ts';

/** A segment ends at so many rows, or at so many characters of text. */
const MAX_ROWS = 50_000;
const MAX_TEXT = 32 * 1024 * 1024;
/** Most a segment inflates to, bytes: its text, in UTF-8, and the row that went over. */
const MAX_BYTES = 4 * MAX_TEXT;
const NAME = /^\d{1,16}-\d{1,16}-[0-9a-f]{16}\.ndjson\.gz$/;

/** What archiving came to. */
export interface Archived {
  readonly segments: readonly LedgerSegment[];
  readonly rows: number;
}

/**
 * Moves the rows that are older than an instant into files of a folder, oldest first, one segment after the other. The file is whole on disk before its
 * rows leave state, so a crash between leaves both. A row that does not stand in the chain is never archived, nor is what follows it.
 * @param dry changes nothing and says what would be moved.
 * @returns why not, with the row, where the chain does not stand. The newest row always stays in state.
 */
export async function archiveLedger(
  store: Store,
  folder: string,
  before: Instant,
  dry: boolean,
): Promise<Archived | { readonly fault: string; readonly seq: number }> {
  if (dry) return archive(store, folder, before, true);
  makeFolder(folder, 0o700);
  return withLock(folder, 'gc', () => archive(store, folder, before, false));
}

async function archive(
  store: Store,
  folder: string,
  before: Instant,
  dry: boolean,
): Promise<Archived | { readonly fault: string; readonly seq: number }> {
  const known = (await store.segments.list()).at(-1);
  const newest = (await store.ledger.tail())?.seq ?? 0;
  let prev = known?.head ?? CHAIN_START;
  let seq = known?.last ?? 0;
  const segments: LedgerSegment[] = [];
  let open: { rows: LedgerRow[]; text: string[]; size: number } = { rows: [], text: [], size: 0 };
  const closeOpen = async (): Promise<boolean> => {
    const segment = toSegment(open.rows, open.text);
    const { text } = open;
    open = { rows: [], text: [], size: 0 };
    if (segment === null) return true;
    if (!dry) {
      writeAtomic(join(folder, segment.file), pack(text), 0o600);
      const whole = readSegment(folder, segment);
      if (typeof whole === 'string') throw new Error(`the archive did not keep ${segment.file}: ${whole}`);
      if (!(await store.segments.close(segment))) return false;
    }
    segments.push(segment);
    return true;
  };
  for await (const stored of store.ledger.all()) {
    const fault = faultOf(stored, seq + 1, prev);
    if (fault !== null) return { fault, seq: stored.seq };
    const { row } = stored;
    if (row === null || row.at >= before || row.seq >= newest) break;
    seq = row.seq;
    prev = row.hash;
    const line = canonicalJson(row);
    open.rows.push(row);
    open.text.push(line);
    open.size += line.length;
    if ((open.rows.length >= MAX_ROWS || open.size >= MAX_TEXT) && !(await closeOpen())) break;
  }
  await closeOpen();
  return { segments, rows: segments.reduce((sum, one) => sum + one.last - one.first + 1, 0) };
}

/** Every row there ever was, the archived ones first. A segment that is not there, or not the one that was closed, is a row that cannot be read. */
export async function* allRows(store: Store, folder: string | null): AsyncIterable<StoredRow> {
  for (const segment of await store.segments.list()) {
    const rows = folder === null ? 'no archive folder is given' : readSegment(folder, segment);
    if (typeof rows === 'string') {
      yield { seq: segment.first, row: null, why: `the archived rows ${segment.first} to ${segment.last}: ${rows}` };
      return;
    }
    for (const row of rows) yield { seq: row.seq, row };
  }
  // All of them: a row in state that the archive holds too is one too many.
  yield* store.ledger.all();
}

function toSegment(rows: readonly LedgerRow[], text: readonly string[]): LedgerSegment | null {
  const [first, last] = [rows[0], rows.at(-1)];
  if (first === undefined || last === undefined) return null;
  const file = `${first.seq}-${last.seq}-${last.hash.slice(0, 16)}.ndjson.gz`;
  return { first: first.seq, last: last.seq, head: last.hash, file, sha256: sha256Hex(pack(text)) };
}

function pack(text: readonly string[]): Buffer {
  return gzipSync(`${text.join('\n')}\n`, { level: 9 });
}

/** @returns the rows of a segment, or why they cannot be had. */
function readSegment(folder: string, segment: LedgerSegment): readonly LedgerRow[] | string {
  if (!NAME.test(segment.file)) return 'state names no file of an archive';
  let packed: Buffer;
  try {
    const fd = openSync(join(folder, segment.file), constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0));
    try {
      const stat = fstatSync(fd);
      if (!stat.isFile() || stat.size > MAX_BYTES) return `${segment.file} is no ordinary file`;
      packed = readFileSync(fd);
    } finally {
      closeSync(fd);
    }
  } catch (error) {
    return `${segment.file} cannot be read from the archive (${(error as NodeJS.ErrnoException).code ?? 'error'})`;
  }
  if (sha256Hex(packed) !== segment.sha256) return `${segment.file} is not the file that was archived`;
  try {
    const lines = gunzipSync(packed, { maxOutputLength: MAX_BYTES }).toString('utf8').trimEnd().split('\n');
    const rows = lines.map((line) => {
      const row = JSON.parse(line) as LedgerRow;
      if (typeof row !== 'object' || row === null || canonicalJson(row) !== line)
        throw new Error('not as it was written');
      return row;
    });
    const [first, last] = [rows[0], rows.at(-1)];
    return first?.seq === segment.first && last?.seq === segment.last && last.hash === segment.head
      ? rows
      : `${segment.file} holds other rows than state says`;
  } catch {
    return `${segment.file} cannot be unpacked`;
  }
}

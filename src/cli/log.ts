import { resolve } from 'node:path';
import { escapePath, escapeText } from '../model/escaped.ts';
import { instantFromMs, isoOf } from '../model/instant.ts';
import { readPins } from '../policy/pins.ts';
import { allRows } from '../record/archive.ts';
import { verifyRows } from '../record/ledger.ts';
import type { LedgerRow, StoredRow } from '../store/ledger.ts';
import { archiveOf } from '../store/location.ts';
import { isOpen, openStore, type Store } from '../store/store.ts';
import { type Call, CannotError, EXIT, type Exit, flag, oneOf, RefusedError, text, UsageError } from './command.ts';
import { print, tell } from './output.ts';
import { openWorkspace } from './workspace.ts';

const MOST_ROWS = 1_000_000;
/** Newest rows shown where no limit is given: ndjson is written as it is read, so it needs none. */
const DEFAULT_LIMITS = { text: 50, json: MOST_ROWS, ndjson: Number.MAX_SAFE_INTEGER } as const;
/** Characters of ndjson gathered before they are written. */
const CHUNK = 65_536;

/** `writ log`: the decisions taken on this machine, newest last. */
export async function log(call: Call): Promise<Exit> {
  const format = oneOf(call, 'format', ['text', 'json', 'ndjson']) ?? 'text';
  const limit = text(call, 'limit') === null ? DEFAULT_LIMITS[format] : Number(text(call, 'limit'));
  if (text(call, 'limit') !== null && (!Number.isInteger(limit) || limit < 1 || limit > MOST_ROWS))
    throw new UsageError('--limit takes a whole number from 1');
  const archived = flag(call, 'archived');
  if (archived && (format !== 'ndjson' || text(call, 'limit') !== null || flag(call, 'head')))
    throw new UsageError('--archived writes every row there is: it takes --format ndjson, and no --limit or --head');
  const store = await openState(call);
  if (store === null) {
    await print(format === 'json' ? '[]\n' : format === 'text' ? 'no decision is recorded yet\n' : '');
    return EXIT.ok;
  }
  try {
    if (flag(call, 'head')) {
      await print(`${(await store.ledger.tail())?.hash ?? ''}\n`);
      return EXIT.ok;
    }
    if (format === 'ndjson')
      return await stream(archived ? allRows(store, archiveFor(call)) : await newest(store, limit));
    const rows = (await store.ledger.read({ limit })).map(toLine);
    if (format === 'json') await print(`${JSON.stringify(rows, null, 1)}\n`);
    else
      await print(
        rows
          .map(
            (row) =>
              `${row.seq}  ${time(row.at)}  ${row.rank.padEnd(11)}  ${escapePath(row.path)}${row.line === null ? '' : `:${row.line}`}  ${row.codes.join(', ')}\n`,
          )
          .join(''),
      );
    return EXIT.ok;
  } finally {
    await store.close();
  }
}

/** Rows are written as they are read, so that the size of the ledger is no matter. A row that is not as writ writes it is told and ends in 4: it may be what was to be hidden. */
async function stream(stored: AsyncIterable<StoredRow>): Promise<Exit> {
  let lines = '';
  let damaged = 0;
  for await (const { row } of stored) {
    if (row === null) damaged += 1;
    else lines += `${JSON.stringify(toLine(row))}\n`;
    if (lines.length < CHUNK) continue;
    await print(lines);
    lines = '';
  }
  await print(lines);
  if (damaged === 0) return EXIT.ok;
  await tell(`writ: ${damaged} rows are damaged and left out; see: writ log verify`);
  return EXIT.unchecked;
}

async function newest(store: Store, limit: number): Promise<AsyncIterable<StoredRow>> {
  return store.ledger.all(((await store.ledger.tail())?.seq ?? 0) - limit);
}

/** Where the archived rows lie. */
function archiveFor(call: Call): string | null {
  const given = text(call, 'archive');
  return given === null ? archiveOf(openWorkspace(call).state) : resolve(given);
}

/** The fields of a row, by name and in this order, whatever the table holds besides; names are escaped and never cut. */
function toLine({ seq, at, workspace, actor, path, line, digest, rank, class: cls, codes, prev, hash }: LedgerRow) {
  const whole = (name: string): string => escapeText(name, Number.POSITIVE_INFINITY);
  return {
    seq,
    at,
    workspace: workspace === null ? null : whole(workspace),
    actor: whole(actor),
    path: whole(path),
    line,
    digest,
    rank,
    class: cls,
    codes,
    prev,
    hash,
  };
}

/** `writ log verify`: walks the hash chain; against a head kept elsewhere, or the one the pins keep, a cut tail shows too. */
export async function verify(call: Call): Promise<Exit> {
  oneOf(call, 'format', ['text']);
  const head = text(call, 'head')?.replace(/^sha256:/, '') ?? null;
  if (head !== null && !/^[0-9a-f]{64}$/.test(head))
    throw new UsageError('--head takes the 64 hex digits that writ log --head printed');
  const workspace = openWorkspace(call);
  const { places, state } = workspace;
  const pins = await readPins({ systemDir: places.systemDir, configDir: places.configDir, environment: null });
  if ('fault' in pins) throw new CannotError(pins.fault);
  const mark = state.kind === 'sqlite' && pins.ledger?.state === state.file ? pins.ledger : null;
  const store = await openState(call);
  if (store === null) {
    if (head !== null || mark !== null)
      throw new RefusedError('state-unavailable', 'the ledger is gone, and a head of it is remembered');
    await print('the ledger is empty\n');
    return EXIT.ok;
  }
  try {
    for (const known of [head, mark?.head ?? null]) {
      const verdict = await verifyRows(allRows(store, archiveFor(call)), known);
      if (!verdict.ok)
        throw new RefusedError('state-unavailable', `the ledger does not stand at row ${verdict.seq}: ${verdict.why}`);
      if (known === (mark?.head ?? null)) await print(`${verdict.rows} rows, whole; head ${verdict.head ?? 'none'}\n`);
    }
    return EXIT.ok;
  } finally {
    await store.close();
  }
}

async function openState(call: Call): Promise<Store | null> {
  const store = await openStore(openWorkspace(call).state, 'read');
  if (store === null) return null;
  if (!isOpen(store)) throw new CannotError(`state cannot be used: ${store.unavailable}`);
  return store;
}

function time(at: number): string {
  const instant = instantFromMs(at);
  return instant === null ? String(at) : isoOf(instant);
}

import { escapePath } from '../model/escaped.ts';
import { instantFromMs, isoOf } from '../model/instant.ts';
import { readPins } from '../policy/pins.ts';
import { verifyLedger } from '../record/ledger.ts';
import { isOpen, openStore, type Store } from '../store/store.ts';
import { type Call, CannotError, EXIT, type Exit, flag, oneOf, RefusedError, text, UsageError } from './command.ts';
import { print } from './output.ts';
import { openWorkspace } from './workspace.ts';

const DEFAULT_ROWS = 50;
const MOST_ROWS = 1_000_000;

/** `writ log`: the decisions taken on this machine, newest last. */
export async function log(call: Call): Promise<Exit> {
  const format = oneOf(call, 'format', ['text', 'json', 'ndjson']) ?? 'text';
  const limit =
    text(call, 'limit') === null ? (format === 'text' ? DEFAULT_ROWS : MOST_ROWS) : Number(text(call, 'limit'));
  if (!Number.isInteger(limit) || limit < 1 || limit > MOST_ROWS)
    throw new UsageError('--limit takes a whole number from 1');
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
    const rows = (await store.ledger.read({ limit })).map((row) => ({ ...row, path: escapePath(row.path) }));
    if (format === 'json') await print(`${JSON.stringify(rows, null, 1)}\n`);
    else if (format === 'ndjson') await print(rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
    else
      await print(
        rows
          .map(
            (row) =>
              `${row.seq}  ${time(row.at)}  ${row.rank.padEnd(11)}  ${row.path}${row.line === null ? '' : `:${row.line}`}  ${row.codes.join(', ')}\n`,
          )
          .join(''),
      );
    return EXIT.ok;
  } finally {
    await store.close();
  }
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
      const verdict = await verifyLedger(store, known);
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

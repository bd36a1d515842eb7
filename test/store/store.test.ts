import { createHash } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import Database from 'libsql';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { LedgerDraft, UnsealedRow } from '../../src/store/ledger.ts';
import { isOpen, openStore, type Store } from '../../src/store/store.ts';
import { bundleProgram, ended, start } from './child.ts';

let dir: string;
let file: string;
const stores: Store[] = [];

beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'writ-store-'));
  file = path.join(dir, 'state', 'writ.db');
});

afterEach(async () => {
  for (const store of stores.splice(0)) await store.close();
  rmSync(dir, { recursive: true, force: true });
});

async function open(mode: 'read' | 'write'): Promise<Store> {
  const store = await openStore({ kind: 'sqlite', file }, mode);
  if (!isOpen(store)) throw new Error(`not open: ${JSON.stringify(store)}`);
  stores.push(store);
  return store;
}

const seal = (prev: string, row: UnsealedRow): string =>
  createHash('sha256')
    .update(prev + JSON.stringify(row))
    .digest('hex');

function draft(name: string, workspace: string | null = 'w'): LedgerDraft {
  return {
    at: 1_786_000_000_000,
    workspace,
    actor: 'ada',
    path: name,
    line: null,
    digest: 'd',
    rank: 'binding',
    class: 'policy',
    codes: ['expired'],
  };
}

/** Every file of the state folder by name, bytes and mtime. */
function picture(): string {
  return JSON.stringify(
    readdirSync(path.dirname(file))
      .sort()
      .map((name) => {
        const full = path.join(path.dirname(file), name);
        return [name, statSync(full).mtimeMs, createHash('sha256').update(readFileSync(full)).digest('hex')];
      }),
  );
}

describe('opening', () => {
  it('state that an older writ wrote is read as it would be brought forward, changing nothing; the first writer does that', async () => {
    const store = await open('write');
    await store.ledger.append([draft('a')], seal);
    await store.close();
    const old = new Database(file);
    for (const table of ['handoffs', 'ledger_segments', 'contract_grants', 'contract_rows'])
      old.exec(`drop table ${table}`);
    old.exec('update state_version set version = 1');
    old.close();
    const before = picture();
    const reading = await open('read');
    expect((await reading.ledger.tail())?.seq).toBe(1);
    expect(await reading.handoffs.list({ workspace: 'w', open: false, limit: 9 })).toEqual([]);
    expect(await reading.handoffs.open('w')).toEqual([]);
    expect(await reading.handoffs.named('w', 'x')).toEqual([]);
    expect(await reading.segments.list()).toEqual([]);
    expect(await reading.contracts.list({ workspace: 'w', limit: 9 })).toEqual([]);
    await reading.close();
    expect(picture()).toBe(before);
    const writing = await open('write');
    expect((await writing.ledger.tail())?.seq).toBe(1);
    expect(await writing.handoffs.list({ workspace: 'w', open: false, limit: 9 })).toEqual([]);
    await writing.close();
    const rows = new Database(file).prepare('select version from state_version').all();
    expect(rows).toEqual([{ version: expect.any(Number) }]);
    expect(Number((rows[0] as { version: number }).version)).toBeGreaterThan(1);
  });

  it('none and a missing file are null; an address is unavailable and never printed', async () => {
    expect(await openStore({ kind: 'none' }, 'write')).toBeNull();
    expect(await openStore({ kind: 'sqlite', file }, 'read')).toBeNull();
    expect(readdirSync(dir)).toEqual([]);
    const refused = await openStore({ kind: 'unsupported', url: 'postgres://u:hunter2@db' }, 'read');
    expect(JSON.stringify(refused)).toContain('unavailable');
    expect(JSON.stringify(refused)).not.toContain('hunter2');
  });

  it('creates the file 0600 in a 0700 folder and leaves nothing beside it', async () => {
    const store = await open('write');
    await store.ledger.append([draft('a')], seal);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(path.dirname(file)).mode & 0o777).toBe(0o700);
    await store.close();
    expect(readdirSync(path.dirname(file))).toEqual(['writ.db']);
  });

  it('survives odd folder names', async () => {
    file = path.join(dir, 'a ?#%41&é', 'writ.db');
    await (await open('write')).checkouts.set('/g', 'w');
    expect(await (await open('read')).checkouts.get('/g')).toBe('w');
    expect(readdirSync(path.dirname(file))).toEqual(['writ.db']);
  });

  it('reading changes no file, and cannot write', async () => {
    const writer = await open('write');
    await writer.ledger.append([draft('a')], seal);
    await writer.close();
    const before = picture();
    const reader = await open('read');
    expect((await reader.ledger.read({ limit: 9 })).map((row) => row.path)).toEqual(['a']);
    await expect(reader.checkouts.set('/g', 'w')).rejects.toThrow(/readonly/);
    expect(picture()).toBe(before);
    await reader.close();
    expect(picture()).toBe(before);
  });

  it('reads while a writer holds the lock, and a second writer waits its turn', async () => {
    await (await open('write')).ledger.append([draft('a')], seal);
    const raw = new Database(file);
    raw.exec('begin immediate');
    raw.exec("insert into checkouts values ('/x', 'y')");
    const reader = await open('read');
    expect((await reader.ledger.tail())?.seq).toBe(1);
    expect(await reader.checkouts.list()).toEqual([]);
    raw.exec('commit');
    raw.close();
    expect(await reader.checkouts.list()).toEqual([{ commonDir: '/x', workspace: 'y' }]);
  });

  it('reads on a read-only folder, and calls it unavailable for writing', async () => {
    await (await open('write')).checkouts.set('/g', 'w');
    const program = await bundleProgram(`
      import 'libsql';
      import { openStore } from './src/store/store.ts';
      if (process.getuid?.() === 0) {
        process.setgid(65534);
        process.setuid(65534);
      }
      const location = { kind: 'sqlite', file: process.argv[2]! } as const;
      const store = await openStore(location, 'read');
      const seen = store !== null && 'checkouts' in store ? await store.checkouts.get('/g') : store;
      process.stdout.write(JSON.stringify([seen, await openStore(location, 'write')]));
    `);
    if (process.getuid?.() === 0) for (const name of [dir, path.dirname(file), file]) chownSync(name, 65534, 65534);
    chmodSync(file, 0o400);
    chmodSync(path.dirname(file), 0o500);
    const end = await ended(start(program, [file]));
    chmodSync(path.dirname(file), 0o700);
    program.remove();
    expect(JSON.parse(end.stdout)).toEqual(['w', { unavailable: expect.stringContaining('EACCES') }]);
  });

  it('two first opens at once end in one state', async () => {
    const [a, b] = await Promise.all([open('write'), open('write')]);
    await a.checkouts.set('/a', 'w');
    await b.checkouts.set('/b', 'w');
    expect((await a.checkouts.list()).length).toBe(2);
    expect(readdirSync(path.dirname(file))).toEqual(['writ.db']);
  });
});

describe('damage is unavailable, in both modes', () => {
  const damages: readonly (readonly [string, () => void])[] = [
    ['an empty file', () => truncateSync(file, 0)],
    ['a file cut in half', () => truncateSync(file, Math.floor(statSync(file).size / 8192) * 4096)],
    ['a file cut inside a page', () => truncateSync(file, statSync(file).size - 100)],
    ['garbage', () => writeFileSync(file, Buffer.alloc(9_000, 7))],
    [
      'garbage behind a good header',
      () =>
        writeFileSync(
          file,
          Buffer.concat([readFileSync(file).subarray(0, 100), Buffer.alloc(statSync(file).size - 100, 7)]),
        ),
    ],
    [
      'a file of another program',
      () => {
        rmSync(file);
        new Database(file).exec('create table t(a)');
      },
    ],
    ['a table gone', () => new Database(file).exec('drop table nonces')],
    ['a newer schema', () => new Database(file).exec('update state_version set version = 99')],
    ['no version row', () => new Database(file).exec('delete from state_version')],
    [
      'a folder in its place',
      () => {
        rmSync(file);
        mkdirSync(file);
      },
    ],
  ];
  it.each(damages)('%s', async (_name, damage) => {
    const store = await open('write');
    await store.ledger.append(
      Array.from({ length: 200 }, (_, i) => draft(`p${i}`)),
      seal,
    );
    await store.close();
    damage();
    expect(await openStore({ kind: 'sqlite', file }, 'read')).toHaveProperty('unavailable');
    expect(await openStore({ kind: 'sqlite', file }, 'write')).toHaveProperty('unavailable');
  });

  it('a file where a folder should be', async () => {
    writeFileSync(path.join(dir, 'state'), 'x');
    expect(await openStore({ kind: 'sqlite', file }, 'read')).toHaveProperty('unavailable');
    expect(await openStore({ kind: 'sqlite', file }, 'write')).toHaveProperty('unavailable');
  });

  it('names a newer writ', async () => {
    await (await open('write')).close();
    new Database(file).exec('update state_version set version = 99');
    expect(await openStore({ kind: 'sqlite', file }, 'read')).toEqual({
      unavailable: expect.stringContaining('newer writ (schema 99)'),
    });
  });
});

describe('a writer killed in mid-write', () => {
  it('a reader sees the rows from before, changing nothing; the next writer recovers', async () => {
    const store = await open('write');
    await store.ledger.append([draft('kept')], seal);
    await store.close();
    const program = await bundleProgram(`
      import Database from 'libsql';
      const db = new Database(process.argv[2]);
      db.exec('PRAGMA cache_size = 1');
      db.exec('begin immediate');
      const add = db.prepare("insert into checkouts values (?, ?)");
      for (let i = 0; i < 3000; i++) add.run(['/c' + i, 'w'.repeat(200)]);
      console.log('spilled');
      setInterval(() => {}, 1000);
    `);
    const child = start(program, [file]);
    const end = ended(child);
    await new Promise((resolve) => child.stdout?.once('data', resolve));
    child.kill('SIGKILL');
    expect((await end).signal).toBe('SIGKILL');
    program.remove();
    expect(readdirSync(path.dirname(file))).toContain('writ.db-journal');

    const before = picture();
    const reader = await open('read');
    expect((await reader.ledger.read({ limit: 5 })).map((row) => row.path)).toEqual(['kept']);
    expect(await reader.checkouts.list()).toEqual([]);
    await reader.close();
    expect(picture()).toBe(before);

    const writer = await open('write');
    expect(await writer.checkouts.list()).toEqual([]);
    expect((await writer.ledger.tail())?.seq).toBe(1);
  });

  it('a file turned to WAL by another tool is read without a -shm', async () => {
    await (await open('write')).checkouts.set('/g', 'w');
    new Database(file).exec('pragma journal_mode = wal');
    for (const suffix of ['-wal', '-shm']) rmSync(file + suffix, { force: true });
    const before = picture();
    const reader = await open('read');
    expect(await reader.checkouts.get('/g')).toBe('w');
    await reader.close();
    expect(picture()).toBe(before);
  });
});

describe('nouns', () => {
  it('ledger: numbers from 1, chains, reads newest last and by workspace, appends nothing for nothing', async () => {
    const { ledger } = await open('write');
    expect(await ledger.tail()).toBeNull();
    expect(await ledger.append([], seal)).toBeNull();
    await ledger.append(
      ['a', 'b'].map((name) => draft(name)),
      seal,
    );
    const tail = await ledger.append([draft('c', 'other'), draft('d', null)], seal);
    const rows = await ledger.read({ limit: 10 });
    expect(rows.map((row) => [row.seq, row.path])).toEqual([
      [1, 'a'],
      [2, 'b'],
      [3, 'c'],
      [4, 'd'],
    ]);
    expect(rows[0]?.prev).toBe('0'.repeat(64));
    expect(rows.slice(1).every((row, i) => row.prev === rows[i]?.hash)).toBe(true);
    expect(tail).toEqual({ seq: 4, hash: rows[3]?.hash, at: 1_786_000_000_000 });
    expect((await ledger.read({ limit: 2 })).map((row) => row.path)).toEqual(['c', 'd']);
    expect((await ledger.read({ limit: 1, workspace: 'w' })).map((row) => row.path)).toEqual(['b']);
  });

  it('ledger: a seal that throws leaves nothing behind, and the store stays usable', async () => {
    const { ledger } = await open('write');
    const broken = (): string => {
      throw new Error('no seal');
    };
    await expect(ledger.append([draft('a')], broken)).rejects.toThrow('no seal');
    expect(await ledger.tail()).toBeNull();
    expect((await ledger.append([draft('a')], seal))?.seq).toBe(1);
  });

  it('ledger: a large batch and a walk over several pages', async () => {
    const { ledger } = await open('write');
    await ledger.append(
      Array.from({ length: 1_201 }, (_, i) => draft(`p${i}`)),
      seal,
    );
    let count = 0;
    for await (const { seq, row } of ledger.all()) {
      count += 1;
      expect([seq, row?.path]).toEqual([count, `p${count - 1}`]);
    }
    expect(count).toBe(1_201);
  });

  it('checkouts: last set wins', async () => {
    const { checkouts } = await open('write');
    expect(await checkouts.get('/g')).toBeNull();
    await checkouts.set('/g', 'one');
    await checkouts.set('/g', 'two');
    expect(await checkouts.get('/g')).toBe('two');
  });

  it('revocations: remembered once, first envelope kept, by workspace', async () => {
    const { revocations } = await open('write');
    await revocations.remember('w', 'bb', 'first');
    await revocations.remember('w', 'bb', 'second');
    await revocations.remember('w', 'aa', 'other');
    await revocations.remember('v', 'cc', 'foreign');
    expect(await revocations.of('w')).toEqual([
      { payloadDigest: 'aa', envelope: 'other' },
      { payloadDigest: 'bb', envelope: 'first' },
    ]);
  });

  it('floors: only rise, each on its own', async () => {
    const { floors } = await open('write');
    expect(await floors.get('w')).toBeNull();
    expect(await floors.raise('w', { version: 3, floor: 2, digest: 'c' })).toEqual({
      version: 3,
      floor: 2,
      digest: 'c',
    });
    expect(await floors.raise('w', { version: 2, floor: 1, digest: 'b' })).toEqual({
      version: 3,
      floor: 2,
      digest: 'c',
    });
    expect(await floors.raise('w', { version: 3, floor: 2, digest: 'x' })).toEqual({
      version: 3,
      floor: 2,
      digest: 'c',
    });
    expect(await floors.raise('w', { version: 2, floor: 5, digest: 'b' })).toEqual({
      version: 3,
      floor: 5,
      digest: 'c',
    });
    expect(await floors.raise('w', { version: 4, floor: 1, digest: 'd' })).toEqual({
      version: 4,
      floor: 5,
      digest: 'd',
    });
    expect(await floors.get('w')).toEqual({ version: 4, floor: 5, digest: 'd' });
  });

  it('nonces: once a board and workspace, also from two stores at once', async () => {
    const [one, two] = [await open('write'), await open('write')];
    expect((await Promise.all([one.nonces.seen('w', 'b', 'n'), two.nonces.seen('w', 'b', 'n')])).sort()).toEqual([
      false,
      true,
    ]);
    expect(await one.nonces.seen('w', 'other', 'n')).toBe(false);
    expect(await one.nonces.seen('v', 'b', 'n')).toBe(false);
    expect(await one.nonces.seen('w', 'b', 'n')).toBe(true);
  });

  it('close twice', async () => {
    const store = await open('write');
    await store.close();
    await store.close();
  });
});

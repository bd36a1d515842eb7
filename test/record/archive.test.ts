import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import Database from 'libsql';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Instant, instantFromMs, shift } from '../../src/model/instant.ts';
import { allRows, archiveLedger } from '../../src/record/archive.ts';
import { recordDecisions, verifyRows } from '../../src/record/ledger.ts';
import { isOpen, openStore, type Store } from '../../src/store/store.ts';

const AT = instantFromMs(1_786_000_000_000) as Instant;
let dir: string;
let file: string;
let archive: string;
let store: Store;

beforeEach(async () => {
  dir = mkdtempSync(path.join(tmpdir(), 'writ-archive-'));
  file = path.join(dir, 'writ.db');
  archive = path.join(dir, 'archive');
  const opened = await openStore({ kind: 'sqlite', file }, 'write');
  if (!isOpen(opened)) throw new Error('not open');
  store = opened;
});
afterEach(async () => {
  await store.close();
  rmSync(dir, { recursive: true, force: true });
});

const boot = async (day: number, names: readonly string[]): Promise<void> => {
  const decisions = names.map((name) => ({
    workspace: 'w',
    path: name,
    line: null,
    digest: null,
    rank: 'reference' as const,
    class: 'observation' as const,
    codes: [],
  }));
  await recordDecisions(store, decisions, shift(AT, day * 86_400_000), 'ada');
};
const verify = (): Promise<unknown> => verifyRows(allRows(store, archive), null);

describe('archiving', () => {
  it('takes what is older, and never the newest row', async () => {
    await boot(0, ['a', 'b']);
    await boot(5, ['c']);
    await boot(9, ['d']);
    expect(await archiveLedger(store, archive, shift(AT, 5 * 86_400_000), false)).toMatchObject({ rows: 2 });
    expect(await archiveLedger(store, archive, shift(AT, 99 * 86_400_000), false)).toMatchObject({ rows: 1 });
    expect(await archiveLedger(store, archive, shift(AT, 99 * 86_400_000), false)).toMatchObject({ rows: 0 });
    expect(await verify()).toMatchObject({ ok: true, rows: 4 });
    expect((await store.segments.list()).map((one) => [one.first, one.last])).toEqual([
      [1, 2],
      [3, 3],
    ]);
    await boot(10, ['e']);
    expect(await verify()).toMatchObject({ ok: true, rows: 5 });
  });

  it('a clock that went back archives nothing behind a newer row', async () => {
    await boot(9, ['a']);
    await boot(0, ['b']);
    await boot(0, ['c']);
    expect(await archiveLedger(store, archive, shift(AT, 86_400_000), false)).toMatchObject({ rows: 0 });
  });

  it.each([
    ['a changed row', "update ledger set rank = 'binding' where seq = 1", 1],
    ['a row gone', 'delete from ledger where seq = 2', 3],
  ])('%s is not archived away', async (_name, sql, seq) => {
    await boot(0, ['a', 'b', 'c', 'd']);
    new Database(file).exec(sql);
    expect(await archiveLedger(store, archive, shift(AT, 86_400_000), false)).toMatchObject({ seq });
    expect(await store.segments.list()).toEqual([]);
  });

  it.each([
    [
      'a row of the archive put back into state',
      "insert into ledger select 1, at, workspace, actor, path, line, digest, rank, class, codes, 'p', 'h' from ledger where seq = 3",
    ],
    ['the row behind the archive gone', 'delete from ledger where seq = 3'],
    ['a segment forgotten', 'delete from ledger_segments'],
    ['a segment with another end', "update ledger_segments set head = 'ff'"],
    ['a segment of another file', "update ledger_segments set file = '../writ.db'"],
  ])('%s shows', async (_name, sql) => {
    await boot(0, ['a', 'b']);
    await boot(3, ['c', 'd']);
    await archiveLedger(store, archive, shift(AT, 86_400_000), false);
    expect(await verify()).toMatchObject({ ok: true, rows: 4 });
    new Database(file).exec(sql);
    expect(await verify()).toMatchObject({ ok: false });
  });

  it('a crash after the file is written leaves the rows, and the next run ends it', async () => {
    await boot(0, ['a', 'b', 'c']);
    const close = store.segments.close;
    const cut = { ...store, segments: { ...store.segments, close: () => Promise.reject(new Error('power cut')) } };
    await expect(archiveLedger(cut, archive, shift(AT, 86_400_000), false)).rejects.toThrow('power cut');
    expect(readdirSync(archive).filter((name) => name.endsWith('.gz'))).toHaveLength(1);
    expect(await verify()).toMatchObject({ ok: true, rows: 3 });
    expect(
      await archiveLedger({ ...store, segments: { ...store.segments, close } }, archive, shift(AT, 86_400_000), false),
    ).toMatchObject({ rows: 2 });
    expect(await verify()).toMatchObject({ ok: true, rows: 3 });
  });

  it('two at once archive each row once', async () => {
    await boot(0, ['a', 'b', 'c']);
    const other = await openStore({ kind: 'sqlite', file }, 'write');
    if (!isOpen(other)) throw new Error('not open');
    const done = await Promise.all(
      [store, other].map((one) => archiveLedger(one, archive, shift(AT, 86_400_000), false)),
    );
    await other.close();
    expect(done.map((one) => ('rows' in one ? one.rows : null)).sort()).toEqual([0, 2]);
    expect(await verify()).toMatchObject({ ok: true, rows: 3 });
  });

  it('a file that is no archive of ours is not unpacked', async () => {
    await boot(0, ['a', 'b']);
    await archiveLedger(store, archive, shift(AT, 86_400_000), false);
    const [name = ''] = readdirSync(archive).filter((one) => one.endsWith('.gz'));
    writeFileSync(path.join(archive, name), Buffer.alloc(9_000));
    expect(await verify()).toMatchObject({ ok: false, seq: 1, why: expect.stringContaining('not the file') });
  });
});

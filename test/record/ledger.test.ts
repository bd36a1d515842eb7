import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import Database from 'libsql';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { instantFromMs } from '../../src/model/instant.ts';
import { type Decision, recordDecisions, verifyLedger } from '../../src/record/ledger.ts';
import { canonicalJson } from '../../src/sign/canonical.ts';
import { sha256Hex } from '../../src/sign/digest.ts';
import { isOpen, openStore, type Store } from '../../src/store/store.ts';
import { bundleProgram, run } from '../store/child.ts';

const AT = instantFromMs(1_786_000_000_000);
if (AT === null) throw new Error('bad instant');
const at = AT;

let dir: string;
let file: string;
let store: Store;

beforeEach(async () => {
  dir = mkdtempSync(path.join(tmpdir(), 'writ-ledger-'));
  file = path.join(dir, 'writ.db');
  const opened = await openStore({ kind: 'sqlite', file }, 'write');
  if (!isOpen(opened)) throw new Error('not open');
  store = opened;
});

afterEach(async () => {
  await store.close();
  rmSync(dir, { recursive: true, force: true });
});

function decision(name: string): Decision {
  return {
    workspace: 'w',
    path: name,
    line: 3,
    digest: 'ab',
    rank: 'quarantined',
    class: 'policy',
    codes: ['approval-missing', 'scan/override'],
  };
}

it('a row is sealed with sha256(prev || RFC 8785 of the row without its hash)', async () => {
  const tail = await recordDecisions(store, [decision('a')], at, 'ada');
  const prev = '0'.repeat(64);
  const row = { ...decision('a'), seq: 1, at, actor: 'ada', prev };
  expect(tail).toEqual({ seq: 1, at, hash: sha256Hex(prev + canonicalJson(row)) });
  expect(await store.ledger.read({ limit: 1 })).toEqual([{ ...row, hash: tail?.hash }]);
});

it('an empty ledger stands, and nothing recorded moves no tail', async () => {
  expect(await verifyLedger(store, null)).toEqual({ ok: true, head: null, rows: 0 });
  expect(await recordDecisions(store, [], at, 'ada')).toBeNull();
  const tail = await recordDecisions(store, [decision('a')], at, 'ada');
  expect(await recordDecisions(store, [], at, 'ada')).toEqual(tail);
});

it('text that has no canonical form is still recorded', async () => {
  await recordDecisions(store, [decision('a\ud800b\0c'), decision('x'.repeat(9_000))], at, 'ada\udfff');
  const rows = await store.ledger.read({ limit: 2 });
  expect(rows.map((row) => [row.path, row.actor])).toEqual([
    ['a\ufffdb\ufffdc', 'ada\ufffd'],
    ['x'.repeat(4_096), 'ada\ufffd'],
  ]);
  expect((await verifyLedger(store, null)).ok).toBe(true);
});

describe('verify names the first broken row', () => {
  const faults: readonly (readonly [string, string, number, string])[] = [
    ['a changed rank', "update ledger set rank = 'binding' where seq = 3", 3, 'sealed with'],
    ['a changed instant', 'update ledger set at = at - 1 where seq = 2', 2, 'sealed with'],
    ['a changed code', "update ledger set codes = '[]' where seq = 1", 1, 'sealed with'],
    ['a changed hash', "update ledger set hash = 'ff' where seq = 4", 4, 'sealed with'],
    ['a deleted row', 'delete from ledger where seq = 3', 4, 'row 3 is missing'],
    ['a deleted first row', 'delete from ledger where seq = 1', 2, 'row 1 is missing'],
    [
      'deleted and renumbered',
      'delete from ledger where seq = 3; update ledger set seq = 3 where seq = 4; update ledger set seq = 4 where seq = 5',
      3,
      'follow',
    ],
    [
      'a row before the first',
      "insert into ledger select 0, at, workspace, actor, path, line, digest, rank, class, codes, 'p', 'h' from ledger where seq = 1",
      0,
      'row 1 is missing',
    ],
    ['codes that are no list', 'update ledger set codes = \'[ "a"]\' where seq = 2', 2, 'column'],
    ['a column of another type', "update ledger set at = 'soon' where seq = 2", 2, 'column'],
    ['a number as a path', "update ledger set path = x'00' where seq = 5", 5, 'column'],
  ];
  it.each(faults)('%s', async (_name, sql, seq, why) => {
    await recordDecisions(store, ['a', 'b', 'c', 'd', 'e'].map(decision), at, 'ada');
    new Database(file).exec(sql);
    expect(await verifyLedger(store, null)).toEqual({ ok: false, seq, why: expect.stringContaining(why) });
  });
});

describe('a head kept elsewhere', () => {
  it('any hash of the chain passes; a cut tail shows only against it', async () => {
    const early = await recordDecisions(store, [decision('a')], at, 'ada');
    const late = await recordDecisions(store, [decision('b'), decision('c')], at, 'ada');
    expect(await verifyLedger(store, early?.hash ?? '')).toEqual({ ok: true, head: late?.hash, rows: 3 });
    expect(await verifyLedger(store, late?.hash ?? '')).toEqual({ ok: true, head: late?.hash, rows: 3 });
    new Database(file).exec('delete from ledger where seq = 3');
    expect((await verifyLedger(store, null)).ok).toBe(true);
    expect(await verifyLedger(store, late?.hash ?? '')).toEqual({
      ok: false,
      seq: 2,
      why: expect.stringContaining('cut off'),
    });
    new Database(file).exec('delete from ledger');
    expect(await verifyLedger(store, early?.hash ?? '')).toMatchObject({ ok: false, seq: 0 });
  });
});

it('eight processes append at once: no row lost, one chain', async () => {
  const program = await bundleProgram(`
    import { recordDecisions } from './src/record/ledger.ts';
    import { openStore } from './src/store/store.ts';
    const [file, name] = process.argv.slice(2);
    for (let i = 0; i < 5; i++) {
      const store = await openStore({ kind: 'sqlite', file }, 'write');
      if (store === null || 'unavailable' in store) throw new Error(JSON.stringify(store));
      const decisions = [0, 1, 2].map((j) => ({ workspace: 'w', path: [name, i, j].join('/'), line: null, digest: null, rank: 'reference', class: 'observation', codes: [] }));
      await recordDecisions(store, decisions as never, 1786000000000 as never, name!);
      await store.close();
    }
  `);
  const fresh = path.join(dir, 'first', 'writ.db');
  const ends = await Promise.all(Array.from({ length: 8 }, (_, i) => run(program, [fresh, `p${i}`])));
  program.remove();
  expect(ends.map((end) => [end.code, end.stderr])).toEqual(ends.map(() => [0, '']));
  const opened = await openStore({ kind: 'sqlite', file: fresh }, 'read');
  if (!isOpen(opened)) throw new Error('not open');
  expect(await verifyLedger(opened, null)).toMatchObject({ ok: true, rows: 120 });
  const rows = await opened.ledger.read({ limit: 1_000 });
  expect(new Set(rows.map((row) => row.path)).size).toBe(120);
  for (let i = 0; i < rows.length; i += 3) {
    expect(rows.slice(i, i + 3).map((row) => row.path.slice(-1))).toEqual(['0', '1', '2']);
  }
  await opened.close();
});

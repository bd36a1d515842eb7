import { readFileSync } from 'node:fs';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { WorkspaceRoot } from '../../src/files/workspace-root.ts';
import { listQuarantine, openHeld } from '../../src/quarantine/list.ts';
import { quarantine } from '../../src/quarantine/move.ts';
import { restore } from '../../src/quarantine/restore.ts';
import { sweep } from '../../src/quarantine/sweep.ts';
import { sha256Hex } from '../../src/sign/digest.ts';
import { bundleProgram, type Ended, type Program, run } from '../store/child.ts';
import { AT, condemn, filesOf, hold, mustMove, newWorkspace, put, TEXT, textOf } from './given.ts';

const SHA = sha256Hex(TEXT);
const NAME = 'AGENTS.md';
const MANIFEST = 'AGENTS.md.manifest.yaml';
const SIDECARS = [{ path: MANIFEST, bytes: Buffer.from('m'), mode: 0o644 }];
const LONG_AFTER = Date.now() + 48 * 3_600_000;
const WHOLE = [`quarantine/${SHA}/artifact.gz`, `quarantine/${SHA}/record-1.json`];
const MOST_STEPS = 80;

/** Does one thing and kills itself just before its n-th change of the file system; a write is cut in half first. Exits 0 where there was no n-th. */
const CHILD = `
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { condemn } from './test/quarantine/given.ts';
import { openRoot } from './src/files/workspace-root.ts';
import { openHeld, listQuarantine } from './src/quarantine/list.ts';
import { quarantine } from './src/quarantine/move.ts';
import { purge } from './src/quarantine/purge.ts';
import { restore } from './src/quarantine/restore.ts';
import { sweep } from './src/quarantine/sweep.ts';

const [what, dir, killAt, text, extra] = process.argv.slice(2);
let left = killAt === 'never' ? Infinity : Number(killAt);
const die = () => process.kill(process.pid, 'SIGKILL');
for (const name of ['renameSync', 'linkSync', 'unlinkSync', 'mkdirSync', 'rmdirSync', 'symlinkSync', 'chmodSync', 'writeSync', 'openSync']) {
  const real = fs[name];
  fs[name] = (...args) => {
    const changes = name !== 'openSync' || (Number(args[1]) & fs.constants.O_CREAT) !== 0;
    if (changes) left -= 1;
    if (left === 0 && name === 'writeSync') real(args[0], args[1].subarray(0, args[1].length >> 1));
    if (left === 0) die();
    return real(...args);
  };
}
syncBuiltinESMExports();
const root = openRoot(dir);
const artifact = (path) => condemn(path, text, extra ? { sidecars: [{ path: path + '.manifest.yaml', bytes: Buffer.from(extra), mode: 0o644 }] } : {});
let result;
if (what === 'sweep') result = sweep(root, 1786000000000);
else if (what === 'restore') result = restore(root, openHeld(root, listQuarantine(root).entries[0].id), null);
else if (what === 'purge') result = purge(root, listQuarantine(root).entries.find((entry) => entry.path === 'first.md').id);
else result = quarantine(root, artifact(what));
process.stdout.write(JSON.stringify(result));
`;

let program: Program;
beforeAll(async () => {
  program = await bundleProgram(CHILD);
});
afterAll(() => program.remove());

/** Kills `what` at every step in turn, two at a time, each in a workspace of its own; stops where it runs through. @returns how many kills there were. */
async function killEverywhere(
  what: string,
  given: (root: WorkspaceRoot) => void,
  then: (root: WorkspaceRoot) => void,
): Promise<number> {
  const one = async (step: number): Promise<Ended> => {
    const { root, remove } = newWorkspace();
    try {
      given(root);
      const end = await run(program, [what, root.path, String(step), TEXT, 'm']);
      expect(end.stderr).toBe('');
      expect(wholePlaces(root), `${what}, killed at ${step}`).not.toEqual([]);
      then(root);
      return end;
    } finally {
      remove();
    }
  };
  for (let step = 1; step < MOST_STEPS; step += 2) {
    const ends = await Promise.all([one(step), one(step + 1)]);
    const through = ends.findIndex((end) => end.signal === null);
    if (through === -1) continue;
    expect(ends[through]?.code).toBe(0);
    return step + through - 1;
  }
  throw new Error('it never ran through');
}

/** Where the text is, whole. Throws where a place that is meant to hold it holds half of it. */
function wholePlaces(root: WorkspaceRoot): readonly string[] {
  const places: string[] = [];
  const original = textOf(root, NAME);
  if (original !== null) {
    expect(original).toBe(TEXT);
    places.push('original');
  }
  for (const file of filesOf(root).filter((name) => name.startsWith('quarantine/'))) {
    const bytes = readFileSync(path.join(root.path, file));
    if (file.endsWith('/artifact.gz')) {
      expect(gunzipSync(bytes).toString()).toBe(TEXT);
      places.push('held');
    }
    if (path.basename(file).startsWith('.capture-') && bytes.toString() === TEXT) places.push('capture');
  }
  return places;
}

function given(root: WorkspaceRoot): void {
  put(root, NAME, TEXT);
  put(root, MANIFEST, 'm');
}

function expectHeldOnce(root: WorkspaceRoot): void {
  expect(listQuarantine(root).faults).toEqual([]);
  expect(filesOf(root)).toEqual(WHOLE);
  const [entry] = listQuarantine(root).entries;
  const held = openHeld(root, entry?.id ?? '');
  if ('refused' in held) throw new Error(held.refused);
  expect(restore(root, held, null)).toMatchObject({ path: NAME });
  expect(filesOf(root)).toEqual([NAME, MANIFEST]);
  expect([textOf(root, NAME), textOf(root, MANIFEST)]).toEqual([TEXT, 'm']);
}

describe('kill -9 at every step', () => {
  it('of a move: the next load sweeps and judges again, and it is held once', async () => {
    const kills = await killEverywhere(NAME, given, (root) => {
      expect(sweep(root, AT).faults).toEqual([]);
      if (textOf(root, NAME) !== null) mustMove(quarantine(root, condemn(NAME, TEXT, { sidecars: SIDECARS })));
      expect(sweep(root, LONG_AFTER).faults).toEqual([]);
      expectHeldOnce(root);
    });
    expect(kills).toBeGreaterThan(15);
  });

  it('of a move that finds other bytes: they are at their path again', async () => {
    await killEverywhere(
      'CLAUDE.md',
      (root) => {
        put(root, 'CLAUDE.md', 'saved in the meantime');
        put(root, NAME, TEXT);
      },
      (root) => {
        expect(sweep(root, AT).faults).toEqual([]);
        sweep(root, LONG_AFTER);
        expect(filesOf(root)).toEqual([NAME, 'CLAUDE.md']);
        expect(textOf(root, 'CLAUDE.md')).toBe('saved in the meantime');
      },
    );
  });

  it('of the sweep after a cut-off move', async () => {
    const { root, remove } = newWorkspace();
    given(root);
    let step = 1;
    for (; step < MOST_STEPS; step += 1) {
      await run(program, [NAME, root.path, String(step), TEXT, 'm']);
      if (filesOf(root).some((name) => path.basename(name).startsWith('.capture-'))) break;
      sweep(root, LONG_AFTER);
    }
    const left = filesOf(root).map((name) => [name, readFileSync(path.join(root.path, name))] as const);
    remove();
    const kills = await killEverywhere(
      'sweep',
      (again) => {
        for (const [name, bytes] of left) put(again, name, bytes);
      },
      (again) => {
        expect(sweep(again, AT).faults).toEqual([]);
        sweep(again, LONG_AFTER);
        if (textOf(again, MANIFEST) !== null) throw new Error('the sidecar was left');
        expectHeldOnce(again);
      },
    );
    expect(kills).toBeGreaterThan(2);
  });

  it('of a release: whole in one place or both', async () => {
    await killEverywhere(
      'restore',
      (root) => {
        put(root, MANIFEST, 'm');
        hold(root, NAME, TEXT, { sidecars: SIDECARS });
      },
      (root) => {
        expect(sweep(root, LONG_AFTER).faults).toEqual([]);
        for (const file of filesOf(root))
          expect(file).toMatch(
            /^(AGENTS\.md|AGENTS\.md\.manifest\.yaml|quarantine\/[0-9a-f]{64}\/(artifact\.gz|record-1\.json))$/,
          );
        if (textOf(root, NAME) === null)
          expect(listQuarantine(root)).toMatchObject({ entries: [{ path: NAME }], faults: [] });
      },
    );
  });
});

describe('at the same time', () => {
  it('six processes move one file: one does, the others say it is gone', async () => {
    const { root, remove } = newWorkspace();
    given(root);
    const ends = await Promise.all(
      Array.from({ length: 6 }, () => run(program, [NAME, root.path, 'never', TEXT, 'm'])),
    );
    const results = ends.map((end) => JSON.parse(end.stdout) as { id?: string; gone?: boolean });
    expect(results.filter((result) => result.id !== undefined).length).toBe(1);
    expect(results.filter((result) => result.gone === true).length).toBe(5);
    expectHeldOnce(root);
    remove();
  });

  it('moves of the same bytes from six paths beside sweeps and purges: nothing is lost', async () => {
    const { root, remove } = newWorkspace();
    hold(root, 'first.md', TEXT);
    const names = Array.from({ length: 6 }, (_, i) => `${i}/AGENTS.md`);
    for (const name of names) put(root, name, TEXT);
    const work = names.flatMap((name, i) => [
      run(program, [name, root.path, 'never', TEXT, '']),
      run(program, [i === 2 ? 'purge' : 'sweep', root.path, 'never', TEXT, '']),
    ]);
    const ends = await Promise.all(work);
    expect(ends.filter((end) => end.code !== 0 || end.stderr !== '')).toEqual([]);
    expect(sweep(root, LONG_AFTER).faults).toEqual([]);
    const { entries, faults } = listQuarantine(root);
    expect(faults).toEqual([]);
    expect(entries.length, ends.map((end) => end.stdout).join(' ')).toBe(6);
    for (const entry of entries) expect(openHeld(root, entry.id)).toHaveProperty('bytes');
    expect(filesOf(root).length).toBe(7);
    remove();
  });

  it('a sweep in the middle of a living move completes it, and the move agrees', async () => {
    const { root, remove } = newWorkspace();
    given(root);
    const ends = await Promise.all(
      Array.from({ length: 8 }, (_, i) => run(program, [i === 0 ? NAME : 'sweep', root.path, 'never', TEXT, 'm'])),
    );
    expect(JSON.parse(ends[0]?.stdout ?? '')).toMatchObject({ path: NAME });
    expectHeldOnce(root);
    remove();
  });
});

import fs, {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { WorkspaceRoot } from '../../src/files/workspace-root.ts';
import { listQuarantine, openHeld } from '../../src/quarantine/list.ts';
import { quarantine } from '../../src/quarantine/move.ts';
import { sweep } from '../../src/quarantine/sweep.ts';
import { sha256Hex } from '../../src/sign/digest.ts';
import { AT, condemn, filesOf, hold, modeOf, mustMove, newWorkspace, put, TEXT, textOf } from './given.ts';

let root: WorkspaceRoot;
let remove: () => void;
const SHA = sha256Hex(TEXT);
const ARTIFACT = `quarantine/${SHA}/artifact.gz`;
const RECORD = `quarantine/${SHA}/record-1.json`;

beforeEach(() => {
  ({ root, remove } = newWorkspace());
});
afterEach(() => remove());

/** Runs with one fs call replaced, as a full or foreign disk would. */
function withFs<K extends keyof typeof fs>(name: K, stub: (typeof fs)[K], act: () => void): void {
  const real = fs[name];
  fs[name] = stub;
  syncBuiltinESMExports();
  try {
    act();
  } finally {
    fs[name] = real;
    syncBuiltinESMExports();
  }
}

function fail(code: string): never {
  throw Object.assign(new Error(code), { code });
}

describe('moving', () => {
  it('leaves nothing at the path, the exact bytes compressed, and a record without a word of the text', () => {
    put(root, 'sub/AGENTS.md', TEXT);
    const writer = { principal: 'lead', role: 'approver' } as const;
    const moved = mustMove(quarantine(root, condemn('sub/AGENTS.md', TEXT, { writer })));
    expect(filesOf(root)).toEqual([ARTIFACT, RECORD]);
    expect(gunzipSync(readFileSync(path.join(root.path, ARTIFACT))).toString()).toBe(TEXT);
    const record = textOf(root, RECORD) ?? '';
    expect(record).not.toMatch(/IGNORE|tokens|he said/);
    expect(JSON.parse(record)).toEqual({
      schema: 'writ.quarantine/1',
      id: moved.id,
      path: 'sub/AGENTS.md',
      sha256: SHA,
      bytes: Buffer.byteLength(TEXT),
      mode: 0o640,
      link: null,
      class: 'policy',
      findings: [
        { code: 'approval-missing', line: null, column: null },
        { code: 'writer-unproven', line: 3, column: null },
      ],
      at: AT,
      writer,
      sidecars: [],
    });
    expect(moved).toEqual({ id: expect.stringMatching(/^[0-9a-f]{12}$/), path: 'sub/AGENTS.md', sha256: SHA });
    expect([
      modeOf(path.join(root.path, 'quarantine')),
      modeOf(path.join(root.path, 'quarantine', SHA)),
      modeOf(path.join(root.path, ARTIFACT)),
      modeOf(path.join(root.path, RECORD)),
    ]).toEqual([0o700, 0o700, 0o600, 0o600]);
    expect(listQuarantine(root)).toEqual({
      entries: [
        {
          id: moved.id,
          path: 'sub/AGENTS.md',
          sha256: SHA,
          bytes: Buffer.byteLength(TEXT),
          at: AT,
          codes: ['approval-missing', 'writer-unproven'],
        },
      ],
      faults: [],
    });
  });

  it('the same bytes from two paths: one artifact, two records; and the same file every time', () => {
    hold(root, 'AGENTS.md', TEXT);
    const first = readFileSync(path.join(root.path, ARTIFACT));
    hold(root, 'CLAUDE.md', TEXT);
    hold(root, 'AGENTS.md', TEXT);
    expect(filesOf(root)).toEqual([
      ARTIFACT,
      RECORD,
      `quarantine/${SHA}/record-2.json`,
      `quarantine/${SHA}/record-3.json`,
    ]);
    expect(readFileSync(path.join(root.path, ARTIFACT)).equals(first)).toBe(true);
    expect(first[9]).toBe(255);
  });

  it('binary, empty and large bytes', () => {
    for (const bytes of [Buffer.alloc(0), Buffer.from([0, 255, 254, 10, 13]), Buffer.alloc(3_000_000, 'x')]) {
      const held = openHeld(root, hold(root, 'AGENTS.md', bytes).id);
      expect('bytes' in held && Buffer.compare(held.bytes, bytes)).toBe(0);
    }
  });

  it('takes the sidecar along, and only the one that was judged', () => {
    put(root, 'AGENTS.md.manifest.yaml', 'class: policy\n');
    put(root, 'AGENTS.md.manifest.json', 'newer');
    const sidecars = [
      { path: 'AGENTS.md.manifest.yaml', bytes: Buffer.from('class: policy\n'), mode: 0o644 },
      { path: 'AGENTS.md.manifest.json', bytes: Buffer.from('judged'), mode: 0o644 },
    ];
    const moved = hold(root, 'AGENTS.md', TEXT, { sidecars });
    expect(filesOf(root)).toEqual(['AGENTS.md.manifest.json', ARTIFACT, RECORD]);
    expect(textOf(root, 'AGENTS.md.manifest.json')).toBe('newer');
    expect(textOf(root, RECORD)).not.toContain('class: policy\\n');
    const held = openHeld(root, moved.id);
    expect(
      'sidecars' in held && held.sidecars.map((sidecar) => [sidecar.suffix, Buffer.from(sidecar.bytes).toString()]),
    ).toEqual([
      ['.manifest.yaml', 'class: policy\n'],
      ['.manifest.json', 'judged'],
    ]);
  });

  it('a link goes as a link: its target stays, and is recorded', () => {
    put(root, 'real.md', TEXT);
    symlinkSync('real.md', path.join(root.path, 'CLAUDE.md'));
    const moved = mustMove(quarantine(root, condemn('CLAUDE.md', TEXT)));
    expect(filesOf(root)).toEqual([ARTIFACT, RECORD, 'real.md']);
    const held = openHeld(root, moved.id);
    expect('record' in held && held.record.link).toBe(Buffer.from('real.md').toString('base64'));
  });

  it('a damaged artifact.gz under that digest is replaced by the whole one', () => {
    hold(root, 'AGENTS.md', TEXT);
    writeFileSync(path.join(root.path, ARTIFACT), 'damaged');
    hold(root, 'AGENTS.md', TEXT);
    expect(gunzipSync(readFileSync(path.join(root.path, ARTIFACT))).toString()).toBe(TEXT);
  });
});

describe('nothing is taken but what was judged', () => {
  it('other bytes at the path are put back', () => {
    put(root, 'AGENTS.md', 'saved in the meantime');
    expect(quarantine(root, condemn('AGENTS.md', TEXT))).toEqual({
      failed: 'it changed after it was judged',
      gone: false,
    });
    expect(textOf(root, 'AGENTS.md')).toBe('saved in the meantime');
    expect(filesOf(root)).toEqual(['AGENTS.md']);
  });

  it('other bytes whose name is taken again are held under their own digest, not lost', () => {
    const file = put(root, 'AGENTS.md', 'second');
    const realRename = fs.renameSync;
    const rename: typeof fs.renameSync = (from, to) => {
      realRename(from, to);
      if (from === file) writeFileSync(file, 'third');
    };
    withFs('renameSync', rename, () => {
      expect(quarantine(root, condemn('AGENTS.md', TEXT))).toEqual({
        failed: 'it changed after it was judged',
        gone: false,
      });
    });
    expect(textOf(root, 'AGENTS.md')).toBe('third');
    const [entry, ...more] = listQuarantine(root).entries;
    expect([entry?.sha256, entry?.codes, more]).toEqual([sha256Hex('second'), ['changed-while-reading'], []]);
    expect(filesOf(root).length).toBe(3);
  });

  it('gone already says so and leaves nothing', () => {
    expect(quarantine(root, condemn('AGENTS.md', TEXT))).toEqual({ failed: 'it is gone already', gone: true });
    const file = put(root, 'AGENTS.md', TEXT);
    const realRename = fs.renameSync;
    const rename: typeof fs.renameSync = (from, to) => {
      if (from === file) rmSync(file);
      realRename(from, to);
    };
    withFs('renameSync', rename, () => {
      expect(quarantine(root, condemn('AGENTS.md', TEXT))).toEqual({ failed: 'it is gone already', gone: true });
    });
    expect(filesOf(root)).toEqual([]);
  });

  it.each([
    '../AGENTS.md',
    '/etc/passwd',
    'a/../b',
    '',
    '.git/config',
    'sub/.GIT/x',
    'quarantine/x',
    'Quarantine/x',
    'a\\b',
    'a//b',
  ])('the path %j is refused', (name) => {
    expect(quarantine(root, condemn(name, TEXT))).toEqual({
      failed: 'its path is not one that can be held',
      gone: false,
    });
  });

  it('a wrong digest, a folder, a sidecar from elsewhere', () => {
    put(root, 'AGENTS.md', TEXT);
    mkdirSync(path.join(root.path, 'dir'));
    expect(quarantine(root, condemn('AGENTS.md', TEXT, { sha256: sha256Hex('x') }))).toMatchObject({
      failed: 'its digest is not that of its bytes',
    });
    expect(quarantine(root, condemn('dir', TEXT))).toMatchObject({ failed: 'it is not a regular file' });
    const sidecars = [{ path: 'other.manifest.yaml', bytes: Buffer.from(''), mode: 0o644 }];
    expect(quarantine(root, condemn('AGENTS.md', TEXT, { sidecars }))).toMatchObject({
      failed: 'a sidecar does not lie beside it',
    });
    expect(filesOf(root)).toEqual(['AGENTS.md']);
  });

  it('a folder on the way that is a link out of the workspace', () => {
    const other = newWorkspace();
    put(other.root, 'AGENTS.md', TEXT);
    symlinkSync(other.root.path, path.join(root.path, 'sub'));
    expect(quarantine(root, condemn('sub/AGENTS.md', TEXT))).toMatchObject({
      failed: 'a folder on its way leads out of the workspace',
    });
    expect(textOf(other.root, 'AGENTS.md')).toBe(TEXT);
    other.remove();
  });

  it('another hard link of the file stays', () => {
    const file = put(root, 'AGENTS.md', TEXT);
    linkSync(file, path.join(root.path, 'copy.txt'));
    mustMove(quarantine(root, condemn('AGENTS.md', TEXT)));
    expect(textOf(root, 'copy.txt')).toBe(TEXT);
  });
});

describe('a quarantine folder that cannot be used: failed, original in place', () => {
  beforeEach(() => {
    put(root, 'AGENTS.md', TEXT);
  });

  function expectKept(failed: string): void {
    expect(quarantine(root, condemn('AGENTS.md', TEXT))).toEqual({ failed, gone: false });
    expect(textOf(root, 'AGENTS.md')).toBe(TEXT);
  }

  it('a link', () => {
    const other = newWorkspace();
    symlinkSync(other.root.path, path.join(root.path, 'quarantine'));
    expectKept('quarantine/ is a link');
    expect(filesOf(other.root)).toEqual([]);
    expect(sweep(root, AT).faults).toEqual(['quarantine/ is a link']);
    expect(listQuarantine(root).faults).toEqual([{ file: 'quarantine', why: 'quarantine/ is a link' }]);
    other.remove();
  });

  it('a file', () => {
    put(root, 'quarantine', 'x');
    expectKept('quarantine/ is not a folder');
  });

  it('a link in place of the digest folder', () => {
    const other = newWorkspace();
    mkdirSync(path.join(root.path, 'quarantine'));
    symlinkSync(other.root.path, path.join(root.path, 'quarantine', SHA));
    expectKept(`quarantine/${SHA} is not a folder`);
    expect(filesOf(other.root)).toEqual([]);
    other.remove();
  });

  it('read-only', ({ skip }) => {
    mkdirSync(path.join(root.path, 'quarantine'), { mode: 0o500 });
    if (process.getuid?.() === 0) skip('root is not bound by permission bits; EROFS is injected instead');
    expectKept('no permission');
    chmodSync(path.join(root.path, 'quarantine'), 0o700);
  });

  it.each([
    ['EROFS', 'mkdirSync', 'the file system is read-only'],
    ['ENOSPC', 'writeSync', 'the disk is full'],
    ['ENOSPC', 'fsyncSync', 'the disk is full'],
    ['ENOTSUP', 'linkSync', 'the file system has no hard links'],
  ] as const)('%s from %s', (code, name, why) => {
    withFs(name, (() => fail(code)) as never, () => expectKept(why));
    expect(filesOf(root)).toEqual(['AGENTS.md']);
  });

  it('another device, met when the original is taken', () => {
    const rename: typeof fs.renameSync = (from, to) =>
      String(from).endsWith('AGENTS.md') ? fail('EXDEV') : renameSyncReal(from, to);
    const renameSyncReal = renameSync;
    withFs('renameSync', rename, () => expectKept('the quarantine folder lies on another device'));
    expect(filesOf(root)).toEqual(['AGENTS.md']);
  });

  it('a disk that fills up after the original was taken: it is put back', () => {
    const realLink = fs.linkSync;
    const link: typeof fs.linkSync = (from, to) =>
      String(to).endsWith('record-1.json') ? fail('ENOSPC') : realLink(from, to);
    withFs('linkSync', link, () => expectKept('the disk is full'));
    expect(filesOf(root)).toEqual(['AGENTS.md']);
  });

  it('nothing works after the original was taken: whole in quarantine, and the next sweep ends it', () => {
    const realLink = fs.linkSync;
    const link: typeof fs.linkSync = (from, to) =>
      String(from).includes('.tmp-') ? realLink(from, to) : fail('EROFS');
    withFs('linkSync', link, () => {
      expect(quarantine(root, condemn('AGENTS.md', TEXT))).toEqual({
        failed: 'the file system is read-only',
        gone: false,
      });
    });
    expect(existsSync(path.join(root.path, 'AGENTS.md'))).toBe(false);
    expect(listQuarantine(root).faults.map((fault) => fault.why)).toContain(
      'a move that was cut off; the next load ends it',
    );
    expect(sweep(root, AT)).toEqual({ completed: ['AGENTS.md'], putBack: 0, faults: [] });
    expect(filesOf(root)).toEqual([ARTIFACT, RECORD]);
    expect(lstatSync(path.join(root.path, RECORD)).nlink).toBe(1);
  });
});

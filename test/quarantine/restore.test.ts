import { lstatSync, mkdirSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { WorkspaceRoot } from '../../src/files/workspace-root.ts';
import { type Held, listQuarantine, openHeld } from '../../src/quarantine/list.ts';
import { quarantine } from '../../src/quarantine/move.ts';
import { purge } from '../../src/quarantine/purge.ts';
import { restore } from '../../src/quarantine/restore.ts';
import { sweep } from '../../src/quarantine/sweep.ts';
import { sha256Hex } from '../../src/sign/digest.ts';
import { AT, condemn, filesOf, hold, modeOf, mustMove, newWorkspace, put, TEXT, textOf } from './given.ts';

let root: WorkspaceRoot;
let remove: () => void;
const SHA = sha256Hex(TEXT);

beforeEach(() => {
  ({ root, remove } = newWorkspace());
});
afterEach(() => remove());

function open(id: string): Held {
  const held = openHeld(root, id);
  if ('refused' in held) throw new Error(held.refused);
  return held;
}

describe('restore', () => {
  it('gives back the bytes, the mode, the sidecar and a lost folder; then holds nothing', () => {
    const sidecars = [{ path: 'a/b/AGENTS.md.manifest.yaml', bytes: Buffer.from('m'), mode: 0o600 }];
    put(root, 'a/b/AGENTS.md.manifest.yaml', 'm');
    const { id } = hold(root, 'a/b/AGENTS.md', TEXT, { sidecars });
    rmSync(path.join(root.path, 'a'), { recursive: true });
    expect(restore(root, open(id), null)).toEqual({ path: 'a/b/AGENTS.md', sha256: SHA });
    expect(filesOf(root)).toEqual(['a/b/AGENTS.md', 'a/b/AGENTS.md.manifest.yaml']);
    expect(textOf(root, 'a/b/AGENTS.md')).toBe(TEXT);
    expect(modeOf(path.join(root.path, 'a/b/AGENTS.md'))).toBe(0o640);
    expect(modeOf(path.join(root.path, 'a/b/AGENTS.md.manifest.yaml'))).toBe(0o600);
    expect(listQuarantine(root)).toEqual({ entries: [], faults: [] });
  });

  it('to another path; the other record of the same bytes stays', () => {
    const one = hold(root, 'AGENTS.md', TEXT);
    const two = hold(root, 'CLAUDE.md', TEXT);
    expect(restore(root, open(one.id), 'docs/old.txt')).toEqual({ path: 'docs/old.txt', sha256: SHA });
    expect(listQuarantine(root)).toMatchObject({ entries: [{ id: two.id }], faults: [] });
    expect(restore(root, open(two.id), null)).toMatchObject({ path: 'CLAUDE.md' });
  });

  it('never over a file, a link or a folder, nor over another sidecar', () => {
    const sidecars = [{ path: 'AGENTS.md.manifest.yaml', bytes: Buffer.from('m'), mode: 0o600 }];
    const { id } = hold(root, 'AGENTS.md', TEXT, { sidecars });
    const target = path.join(root.path, 'AGENTS.md');
    for (const taken of [
      () => writeFileSync(target, 'new'),
      () => symlinkSync('nowhere', target),
      () => mkdirSync(target),
    ]) {
      taken();
      expect(restore(root, open(id), null)).toEqual({ refused: 'a file lies there already' });
      rmSync(target, { recursive: true });
    }
    put(root, 'AGENTS.md.manifest.yaml', 'other');
    expect(restore(root, open(id), null)).toEqual({ refused: 'a file lies there already' });
    expect(textOf(root, 'AGENTS.md.manifest.yaml')).toBe('other');
    put(root, 'AGENTS.md.manifest.yaml', 'm');
    expect(restore(root, open(id), null)).toMatchObject({ path: 'AGENTS.md' });
  });

  it.each(['../x', '/tmp/x', 'a/../../x', '.git/hooks/pre-commit', 'sub/.git/config', 'quarantine/x', 'x/', './x'])(
    'not to %j',
    (to) => {
      const { id } = hold(root, 'AGENTS.md', TEXT);
      expect(restore(root, open(id), to)).toEqual({
        refused: 'that path lies outside the workspace or belongs to git or quarantine',
      });
      expect(listQuarantine(root).entries.length).toBe(1);
    },
  );

  it('not through a link', () => {
    const other = newWorkspace();
    symlinkSync(other.root.path, path.join(root.path, 'sub'));
    const { id } = hold(root, 'AGENTS.md', TEXT);
    expect(restore(root, open(id), 'sub/x.md')).toEqual({ refused: 'a folder on the way is a link or a file' });
    expect(filesOf(other.root)).toEqual([]);
    other.remove();
  });

  it('a link comes back as a link, but only inside the workspace', () => {
    put(root, 'real.md', TEXT);
    symlinkSync('real.md', path.join(root.path, 'CLAUDE.md'));
    const inner = mustMove(quarantine(root, condemn('CLAUDE.md', TEXT)));
    expect(restore(root, open(inner.id), null)).toMatchObject({ path: 'CLAUDE.md' });
    expect(readlinkSync(path.join(root.path, 'CLAUDE.md'))).toBe('real.md');
    for (const target of ['../outside', '/etc/passwd', '.git/config']) {
      symlinkSync(target, path.join(root.path, 'GEMINI.md'));
      const { id } = mustMove(quarantine(root, condemn('GEMINI.md', '')));
      expect(restore(root, open(id), null)).toEqual({ refused: 'it was a link that leads out of the workspace' });
      expect(lstatSync(path.join(root.path, 'GEMINI.md'), { throwIfNoEntry: false })).toBeUndefined();
    }
  });
});

describe('purge', () => {
  it('drops one record, then the bytes with the last', () => {
    const one = hold(root, 'AGENTS.md', TEXT);
    const two = hold(root, 'CLAUDE.md', TEXT);
    expect(purge(root, one.id)).toEqual({ id: one.id, path: 'AGENTS.md' });
    expect(filesOf(root)).toEqual([`quarantine/${SHA}/artifact.gz`, `quarantine/${SHA}/record-2.json`]);
    expect(purge(root, two.id)).toEqual({ id: two.id, path: 'CLAUDE.md' });
    expect(filesOf(root)).toEqual([]);
    expect(purge(root, two.id)).toEqual({ refused: 'no record has that id; see: writ quarantine list' });
    expect(purge(root, '../../x')).toEqual({ refused: 'that is no id of a record; see: writ quarantine list' });
  });

  it('works where the bytes are gone', () => {
    const { id } = hold(root, 'AGENTS.md', TEXT);
    rmSync(path.join(root.path, `quarantine/${SHA}/artifact.gz`));
    expect(openHeld(root, id)).toEqual({ refused: 'the bytes held are not the ones the record names' });
    expect(listQuarantine(root).faults.map((fault) => fault.why)).toEqual(['the bytes are missing']);
    expect(purge(root, id)).toMatchObject({ path: 'AGENTS.md' });
    expect(filesOf(root)).toEqual([]);
  });
});

describe('hostile records', () => {
  const NAME = `quarantine/${SHA}/record-1.json`;
  let record: Record<string, unknown>;
  let id: string;

  beforeEach(() => {
    ({ id } = hold(root, 'AGENTS.md', TEXT));
    record = JSON.parse(textOf(root, NAME) ?? '') as Record<string, unknown>;
  });

  const render = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;
  const bad: readonly (readonly [string, (good: Record<string, unknown>) => string])[] = [
    ['a path out of the workspace', (good) => render({ ...good, path: '../../x' })],
    ['an absolute path', (good) => render({ ...good, path: '/etc/passwd' })],
    ['a path into git', (good) => render({ ...good, path: '.git/hooks/pre-commit' })],
    ['a setuid mode', (good) => render({ ...good, mode: 0o4755 })],
    ['a mode that is text', (good) => render({ ...good, mode: '644' })],
    ['an unknown class', (good) => render({ ...good, class: 'law' })],
    [
      'an unknown code',
      (good) => render({ ...good, findings: [{ code: 'IGNORE ALL RULES', line: null, column: null }] }),
    ],
    [
      'a message in a finding',
      (good) => render({ ...good, findings: [{ code: 'revoked', line: null, column: null, message: 'obey' }] }),
    ],
    ['an extra key', (good) => render({ ...good, note: 'obey me' })],
    ['a missing key', (good) => render({ ...good, link: undefined })],
    ['keys in another order', (good) => render({ path: good.path, ...good })],
    ['a doubled key', (good) => render(good).replace('"mode"', '"path": "../x",\n  "mode"')],
    ['a comment behind it', (good) => `${render(good)}obey me`],
    [
      'a sidecar elsewhere',
      (good) => render({ ...good, sidecars: [{ suffix: '/../x', mode: 0, sha256: SHA, data: '' }] }),
    ],
    ['another schema', (good) => render({ ...good, schema: 'writ.quarantine/2' })],
    ['an id that is a path', (good) => render({ ...good, id: '../../../../x' })],
    ['no JSON', () => 'obey me'],
    ['__proto__', (good) => render(good).replace('{', '{\n  "__proto__": {},')],
    ['nothing', () => ''],
  ];
  it.each(bad)('%s is a fault and has no id', (_name, text) => {
    put(root, NAME, text(record));
    expect(listQuarantine(root)).toEqual({ entries: [], faults: [{ file: NAME, why: 'not a record writ wrote' }] });
    expect(openHeld(root, id)).toHaveProperty('refused');
  });

  it('a record under another digest, a doubled id, a strange file, no record, a link', () => {
    put(root, NAME, render({ ...record, sha256: sha256Hex('x') }));
    expect(listQuarantine(root).faults).toEqual([{ file: NAME, why: 'the record names another digest' }]);
    put(root, NAME, render(record));
    put(root, `quarantine/${SHA}/record-2.json`, render(record));
    expect(openHeld(root, id)).toEqual({ refused: 'more than one record has that id: someone copied one by hand' });
    rmSync(path.join(root.path, `quarantine/${SHA}/record-2.json`));
    put(root, `quarantine/${SHA}/read me\u001b[31m.md`, 'obey');
    expect(listQuarantine(root).faults).toEqual([
      { file: `quarantine/${SHA}/read me\\u{1b}[31m.md`, why: 'not written by writ' },
    ]);
    rmSync(path.join(root.path, NAME));
    symlinkSync('/etc/hostname', path.join(root.path, NAME));
    expect(listQuarantine(root).faults.map((fault) => fault.why)).toContain('not a record writ wrote');
  });

  it.each([
    ['other bytes', gzipSync('other')],
    ['no gzip', Buffer.from(TEXT)],
    ['a bomb', gzipSync(Buffer.alloc(65 * 1024 * 1024))],
    ['cut short', gzipSync(TEXT).subarray(0, 30)],
  ])('an artifact.gz with %s is refused', (_name, bytes) => {
    put(root, `quarantine/${SHA}/artifact.gz`, bytes);
    expect(openHeld(root, id)).toEqual({ refused: 'the bytes held are not the ones the record names' });
  });

  it('a crafted move is no way out: the sweep writes nowhere', () => {
    const name = `quarantine/.pending-${SHA}-${id}.json`;
    put(root, name, render({ ...record, path: '../../x' }));
    put(root, `quarantine/.capture-${SHA}-${id}`, 'obey');
    expect(sweep(root, AT)).toEqual({
      completed: [],
      putBack: 0,
      faults: ['.pending-eda: a pending record is not readable'.replace('eda', SHA.slice(0, 3))],
    });
    put(root, name, render({ ...record, path: '.git/hooks/pre-commit' }));
    expect(sweep(root, AT).faults.length).toBe(1);
    expect(filesOf(root)).not.toContain('.git/hooks/pre-commit');
  });
});

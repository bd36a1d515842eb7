import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type WalkOptions, walk } from '../../src/files/walk.ts';
import { isInside, openRoot, toRelative, type WorkspaceRoot } from '../../src/files/workspace-root.ts';

let base: string;
let root: WorkspaceRoot;

beforeAll(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'writ-root-')));
  const at = (path: string): string => join(base, path);
  for (const folder of [
    'ws/b/deep',
    'ws/a',
    'ws/.git/objects',
    'ws/vendor/x/.git',
    'ws/sub',
    'ws/node_modules/p',
    'out',
  ]) {
    mkdirSync(at(folder), { recursive: true });
  }
  for (const file of [
    'ws/Z.md',
    'ws/A.md',
    'ws/b/x.md',
    'ws/b/deep/y.md',
    'ws/a/x.md',
    'ws/.git/HEAD',
    'ws/vendor/x/v.md',
    'ws/sub/.git',
    'ws/sub/s.md',
    'ws/node_modules/p/n.md',
    'ws/code.ts',
  ]) {
    writeFileSync(at(file), '');
  }
  symlinkSync('../out', at('ws/link'));
  symlinkSync('b', at('ws/blink'));
  symlinkSync('A.md', at('ws/alias.md'));
  symlinkSync('ws', at('wslink'));
  symlinkSync(at('ws/not/yet'), at('out/dangling'));
  execFileSync('mkfifo', [at('ws/fifo.md')]);
  root = openRoot(at('wslink'));
});

afterAll(() => rmSync(base, { recursive: true, force: true }));

describe('openRoot and toRelative', () => {
  it('takes the real path, and throws where there is no folder', () => {
    expect(root.path).toBe(join(base, 'ws'));
    expect(() => openRoot(join(base, 'none'))).toThrow(/ENOENT/);
    expect(() => openRoot(join(base, 'ws/A.md'))).toThrow(/ENOTDIR/);
  });

  const cases: readonly [string, string | null][] = [
    ['/r/a/b.md', 'a/b.md'],
    ['/r', ''],
    ['/r/..a', '..a'],
    ['/other', null],
    ['/rr/a', null],
    ['/', null],
    ['a', null],
    ['/r/../x', null],
  ];
  it.each(cases)('%s below /r is %j', (path, expected) => {
    expect(toRelative({ path: '/r' }, path)).toBe(expected);
  });
});

describe('isInside', () => {
  const cases: readonly [string, boolean][] = [
    ['ws/A.md', true],
    ['ws', true],
    ['ws/not/there/yet', true],
    ['wslink/x', true],
    ['out/dangling', true],
    ['out/dangling/more', true],
    ['ws/link/x', true],
    ['out/x', false],
    ['none/at/all', false],
    ['ws-other', false],
    ['.', false],
  ];
  it.each(cases)('%s: %s', (path, expected) => {
    expect(isInside(join(base, 'ws'), join(base, path))).toBe(expected);
  });

  it('goes by the real place where `..` follows a link', () => {
    expect(isInside(join(base, 'ws'), `${base}/out/dangling/../z`)).toBe(true);
  });

  it('counts what can not be found out as inside', () => {
    symlinkSync('loop', join(base, 'out/loop'));
    expect(isInside(join(base, 'ws'), join(base, 'out/loop/x'))).toBe(true);
  });
});

describe('walk', () => {
  const options = (more: Partial<WalkOptions> = {}): WalkOptions => ({
    maxFolders: 1_000,
    skip: (folder) => folder === 'node_modules',
    wants: (name) => name.endsWith('.md') || name.includes('link'),
    ...more,
  });

  it('lists wanted entries in a fixed order, links as links, without entering .git or linked folders', () => {
    const { entries, incomplete } = walk(root, options());
    expect(entries.map(({ path, kind }) => `${kind} ${path}`)).toEqual([
      'file A.md',
      'file Z.md',
      'link alias.md',
      'link blink',
      'other fifo.md',
      'link link',
      'file a/x.md',
      'file b/x.md',
      'file b/deep/y.md',
      'file sub/s.md',
      'file vendor/x/v.md',
    ]);
    expect(incomplete).toEqual([]);
  });

  it('tells nested repositories, a .git file or folder alike', () => {
    const repositories: string[] = [];
    walk(root, options({ onFolder: (folder, repository) => repository && repositories.push(folder) }));
    expect(repositories).toEqual(['', 'sub', 'vendor/x']);
  });

  it('says where it stopped', () => {
    expect(walk(root, options({ maxFolders: 2 })).incomplete).toEqual([{ path: 'b', why: 'more than 2 folders' }]);
  });

  it('tells a folder it can not read', () => {
    const { incomplete } = walk({ path: join(base, 'gone') }, options());
    expect(incomplete).toEqual([{ path: '', why: 'ENOENT' }]);
  });

  it('keeps names apart that are not UTF-8', ({ skip }) => {
    const folder = join(base, 'names');
    mkdirSync(folder);
    try {
      writeFileSync(Buffer.concat([Buffer.from(`${folder}/`), Buffer.from([0xff]), Buffer.from('.md')]), 'evil');
    } catch {
      skip('this file system takes only UTF-8 names');
    }
    writeFileSync(join(folder, '\ufffd.md'), 'mask');
    const kinds = walk(openRoot(folder), options()).entries.map(({ kind }) => kind);
    expect(kinds).toEqual(['other', 'other']);
    rmSync(Buffer.concat([Buffer.from(`${folder}/`), Buffer.from([0xff]), Buffer.from('.md')]));
    expect(walk(openRoot(folder), options()).entries).toEqual([{ path: '\ufffd.md', kind: 'file' }]);
    mkdirSync(Buffer.concat([Buffer.from(`${folder}/`), Buffer.from([0xfe])]));
    expect(walk(openRoot(folder), options()).incomplete).toEqual([{ path: '\ufffd', why: 'its name is not UTF-8' }]);
  });
});

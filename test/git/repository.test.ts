import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ancestors, headCommit, remoteUrl, resolveCommit } from '../../src/git/git.ts';
import { isShallow, readHead } from '../../src/git/head.ts';
import { findRepository, repositoryOfHook } from '../../src/git/repository.ts';
import { FIXTURE_ENV, type TempRepo, tempRepo } from './temp-repo.ts';

let temp: TempRepo;
let first: string;
let second: string;

beforeAll(() => {
  temp = tempRepo();
  temp.write('a/b/c.md', 'one');
  first = temp.commit('first');
  temp.write('a/b/c.md', 'two');
  second = temp.commit('second');
});

afterAll(() => temp.remove());

describe('findRepository', () => {
  it('finds the work tree from below, and none outside', () => {
    expect(findRepository(join(temp.folder, 'a/b'))).toMatchObject({
      topLevel: temp.folder,
      gitDir: join(temp.folder, '.git'),
      commonDir: join(temp.folder, '.git'),
      objectFormat: 'sha1',
    });
    expect(findRepository(temp.base)).toBeNull();
    expect(findRepository(join(temp.base, 'none'))).toBeNull();
  });

  it('finds linked work trees and submodules', () => {
    temp.git('worktree', 'add', '-q', '--detach', join(temp.base, 'tree'), first);
    const tree = findRepository(join(temp.base, 'tree'));
    expect(tree).toMatchObject({
      topLevel: join(temp.base, 'tree'),
      gitDir: join(temp.folder, '.git/worktrees/tree'),
      commonDir: join(temp.folder, '.git'),
    });
    expect(tree && readHead(tree)).toEqual({ commit: first });
    const inner = tempRepo();
    inner.write('x.md', 'x');
    const id = inner.commit('inner');
    const outer = tempRepo();
    outer.git('submodule', 'add', '-q', inner.folder, 'sub');
    const sub = findRepository(join(outer.folder, 'sub'));
    expect(sub).toMatchObject({ topLevel: join(outer.folder, 'sub'), gitDir: join(outer.folder, '.git/modules/sub') });
    expect(sub && readHead(sub)).toEqual({ commit: id });
    inner.remove();
    outer.remove();
  });

  const malformed: readonly [string, (path: string) => void][] = [
    ['an empty folder', (path) => mkdirSync(path)],
    ['an empty file', (path) => writeFileSync(path, '')],
    ['a file with other text', (path) => writeFileSync(path, 'hello\n')],
    ['a file that leads nowhere', (path) => writeFileSync(path, 'gitdir: nowhere\n')],
    ['two lines', (path) => writeFileSync(path, `gitdir: ${temp.folder}/.git\ngitdir: /x\n`)],
    ['a huge file', (path) => writeFileSync(path, `gitdir: ${'x'.repeat(100_000)}\n`)],
    ['a FIFO', (path) => execFileSync('mkfifo', [path])],
    ['a link in a circle', (path) => symlinkSync('.git', path)],
    [
      'a folder whose commondir leads nowhere',
      (path) => {
        mkdirSync(path);
        writeFileSync(join(path, 'HEAD'), `${first}\n`);
        writeFileSync(join(path, 'commondir'), '../nowhere\n');
      },
    ],
  ];
  it.each(malformed)('takes %s for no repository, and does not go on above it', (_name, make) => {
    const folder = join(temp.folder, 'broken');
    mkdirSync(folder);
    make(join(folder, '.git'));
    expect(findRepository(folder)).toBeNull();
    rmSync(folder, { recursive: true });
  });

  it('takes what git set for a hook, and only for a hook', () => {
    const env = {
      GIT_DIR: '.git',
      GIT_INDEX_FILE: '.git/next-index.lock',
      GIT_OBJECT_DIRECTORY: '/q',
      GIT_ALTERNATE_OBJECT_DIRECTORIES: '/o',
    };
    expect(repositoryOfHook(env, temp.folder)).toMatchObject({
      topLevel: temp.folder,
      indexFile: join(temp.folder, '.git/next-index.lock'),
      objectsDir: '/q',
      alternates: '/o',
    });
    expect(repositoryOfHook({}, join(temp.folder, 'a'))).toEqual(temp.found());
    expect(repositoryOfHook({ GIT_DIR: '/nowhere' }, temp.folder)).toBeNull();
  });
});

describe('HEAD', () => {
  it('is read from loose, packed and detached refs, without a process', async () => {
    const repo = temp.found();
    expect(readHead(repo)).toEqual({ commit: second });
    temp.git('pack-refs', '--all');
    expect(readHead(repo)).toEqual({ commit: second });
    expect(await headCommit(repo)).toBe(second);
    temp.git('checkout', '-q', '--detach', first);
    expect(readHead(repo)).toEqual({ commit: first });
    temp.git('checkout', '-q', 'main');
  });

  it('is null before the first commit', async () => {
    const empty = tempRepo();
    expect(await headCommit(empty.found())).toBeNull();
    expect(readHead(empty.found())).toBe('unborn');
    empty.remove();
  });

  const hostile = [
    'ref: refs/../../../etc/passwd',
    'ref: /etc/passwd',
    'ref: refs/heads/a..b',
    'ref: ../x',
    'zzzz',
    '',
    `ref: refs/heads/${'x'.repeat(5_000)}`,
  ];
  it.each(hostile)('%j is not followed', async (text) => {
    const other = tempRepo();
    other.commit('x');
    writeFileSync(join(other.folder, '.git/HEAD'), `${text}\n`);
    expect(readHead(other.found())).toBe('unreadable');
    expect(await headCommit(other.found())).toBeNull();
    other.remove();
  });

  it('is asked of git where refs are kept in a form we do not read', async () => {
    temp.git('pack-refs', '--all');
    mkdirSync(join(temp.folder, '.git/reftable'));
    expect(readHead(temp.found())).toBe('unreadable');
    expect(await headCommit(temp.found())).toBe(second);
    rmSync(join(temp.folder, '.git/reftable'), { recursive: true });
  });
});

describe('queries', () => {
  it('resolves names to commits, and nothing that is no name', async () => {
    const repo = temp.found();
    expect(await resolveCommit(repo, 'main~1')).toBe(first);
    expect(await resolveCommit(repo, second.slice(0, 12))).toBe(second);
    for (const name of ['none', '--all', '-x', '', ':/first', 'main:a', 'a b', '--output=/tmp/x', 'main..HEAD']) {
      expect(await resolveCommit(repo, name), name).toBeNull();
    }
  });

  it('tells ancestors of HEAD in one process', async () => {
    const repo = temp.found();
    temp.git('checkout', '-q', '-b', 'side', first);
    temp.write('side.md', 's');
    const side = temp.commit('side');
    temp.git('checkout', '-q', 'main');
    const blob = temp.git('rev-parse', 'HEAD:a/b/c.md');
    const asked = [first, second, side, '1'.repeat(40), first.slice(0, 12), '--all', 'HEAD', blob, '2'.repeat(64)];
    expect(await ancestors(repo, asked)).toEqual(new Set([first, second]));
    expect(await ancestors(repo, [])).toEqual(new Set());
  });

  it('gives the origin without credentials, and no include', async () => {
    const repo = temp.found();
    expect(await remoteUrl(repo)).toBeNull();
    temp.git('config', 'remote.origin.url', 'https://user:secret@example.com/acme/app.git');
    expect(await remoteUrl(repo)).toBe('https://example.com/acme/app.git');
    temp.git('config', 'remote.origin.url', 'git@example.com:acme/app.git');
    expect(await remoteUrl(repo)).toBe('git@example.com:acme/app.git');
    temp.git('config', '--unset', 'remote.origin.url');
    writeFileSync(join(temp.base, 'more'), '[remote "origin"]\nurl = https://evil.example\n');
    temp.git('config', 'include.path', join(temp.base, 'more'));
    expect(await remoteUrl(repo)).toBeNull();
    temp.git('config', '--unset', 'include.path');
  });

  it('sees that a clone is shallow', async () => {
    const clone = join(temp.base, 'shallow');
    execFileSync(
      'git',
      ['-c', 'protocol.file.allow=always', 'clone', '-q', '--depth=1', `file://${temp.folder}`, clone],
      { env: FIXTURE_ENV, stdio: 'ignore' },
    );
    const repo = findRepository(clone);
    if (repo === null) throw new Error('fixture');
    expect(isShallow(repo)).toBe(true);
    expect(isShallow(temp.found())).toBe(false);
    expect(await ancestors(repo, [first, second])).toEqual(new Set([second]));
  });
});

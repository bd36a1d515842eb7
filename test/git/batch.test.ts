import { execFileSync } from 'node:child_process';
import { chmodSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { deflateSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { type CommitFact, lastCommits, listIndex, listTree, readBlobs } from '../../src/git/batch.ts';
import { headCommit } from '../../src/git/git.ts';
import { findRepository, type Repository } from '../../src/git/repository.ts';
import { FIXTURE_ENV, isSignedBy, type TempRepo, tempRepo } from './temp-repo.ts';

const made: TempRepo[] = [];
const fresh = (...init: readonly string[]): TempRepo => {
  const temp = tempRepo(...init);
  made.push(temp);
  return temp;
};
afterEach(() => {
  for (const temp of made.splice(0)) temp.remove();
});

async function lastOf(repo: Repository, path: string): Promise<CommitFact | undefined> {
  const head = await headCommit(repo);
  if (head === null) throw new Error('fixture: no HEAD');
  const { facts, fault } = await lastCommits(repo, head, new Set([path]));
  expect(fault).toBeNull();
  return facts.get(path);
}

describe.each(['sha1', 'sha256'])('lastCommits with %s', (format) => {
  it('gives commit, blob, signature and the exact signed bytes', async () => {
    const temp = fresh(`--object-format=${format}`);
    temp.write('docs/AGENTS.md', 'one');
    const signed = temp.commit('first \u00e9', true);
    temp.write('other.md', 'x');
    const plain = temp.commit('second');
    const repo = temp.found();
    expect(repo.objectFormat).toBe(format);
    const fact = await lastOf(repo, 'docs/AGENTS.md');
    expect(fact).toMatchObject({ commit: signed, blob: temp.git('rev-parse', 'HEAD:docs/AGENTS.md'), isMerge: false });
    expect(fact?.committedAt).toBe(Number(temp.git('log', '-1', '--format=%ct', signed)) * 1_000);
    if (!fact?.signature) throw new Error('no signature');
    expect(isSignedBy(temp.base, fact.signature, fact.payload)).toBe(true);
    expect(isSignedBy(temp.base, fact.signature, Buffer.concat([fact.payload, Buffer.from('x')]))).toBe(false);
    expect(await lastOf(repo, 'other.md')).toMatchObject({ commit: plain, signature: null });
  });
});

describe('lastCommits', () => {
  it('demotes on a later unsigned commit, and ignores a change of mode alone', async () => {
    const temp = fresh();
    temp.write('a.md', 'one');
    const signed = temp.commit('one', true);
    chmodSync(join(temp.folder, 'a.md'), 0o755);
    temp.commit('mode', true);
    expect(await lastOf(temp.found(), 'a.md')).toMatchObject({ commit: signed });
    temp.write('a.md', 'two');
    const later = temp.commit('two');
    expect(await lastOf(temp.found(), 'a.md')).toMatchObject({ commit: later, signature: null });
  });

  it('has nothing for paths that were deleted, are links, or were never there', async () => {
    const temp = fresh();
    temp.write('gone.md', 'x');
    temp.write('folder/x.md', 'x');
    symlinkSync('gone.md', join(temp.folder, 'link.md'));
    temp.commit('one', true);
    temp.git('rm', '-q', 'gone.md');
    const head = temp.commit('two', true);
    const paths = new Set(['gone.md', 'link.md', 'never.md', 'folder', 'folder/', '', '../x', '/etc/passwd', 'nul\0']);
    const { facts, truncated } = await lastCommits(temp.found(), head, paths);
    expect([...facts.keys()]).toEqual([]);
    expect(truncated).toBe(false);
  });

  it('finds the merge that changed a path, as a merge without signature, also when it restores old signed bytes', async () => {
    const temp = fresh();
    temp.write('a.md', 'signed');
    temp.commit('signed', true);
    temp.git('checkout', '-q', '-b', 'side');
    temp.write('a.md', 'from the side');
    temp.commit('side', true);
    temp.git('checkout', '-q', 'main');
    temp.git('merge', '-q', '--no-ff', '-S', '-m', 'merge', 'side');
    const merge = temp.git('rev-parse', 'HEAD');
    expect(await lastOf(temp.found(), 'a.md')).toMatchObject({ commit: merge, isMerge: true, signature: null });
    temp.git('checkout', '-q', '-b', 'side2');
    temp.write('b.md', 'b');
    temp.commit('b');
    temp.git('checkout', '-q', 'main');
    temp.git('merge', '-q', '--no-ff', '--no-commit', 'side2');
    temp.write('a.md', 'signed');
    const evil = temp.commit('evil merge', true);
    expect(await lastOf(temp.found(), 'a.md')).toMatchObject({ commit: evil, isMerge: true, signature: null });
  });

  const names = [
    'new\nline.md',
    'quote".md',
    "it's.md",
    'tab\t.md',
    '-rf.md',
    '--output=x',
    ':(glob)*',
    '*.md',
    '\u65e5\u672c.md',
    'back\\slash.md',
    'colon:100644 x.md',
    'c0ffee',
    ' lead.md',
  ];
  it.each([[1], [40]])('keeps hostile names apart, with and without pathspecs (%i paths)', async (fill) => {
    const temp = fresh();
    temp.write('plain.md', 'p');
    temp.commit('zero');
    const commits = new Map<string, string>();
    for (const name of names) {
      temp.write(name, `text of ${name}`);
      commits.set(name, temp.commit('add'));
    }
    const head = temp.git('rev-parse', 'HEAD');
    const paths = new Set([...names, ...Array.from({ length: fill }, (_, at) => `none${at}`)]);
    const { facts, truncated } = await lastCommits(temp.found(), head, paths);
    expect(new Map([...facts].map(([path, fact]) => [path, fact.commit]))).toEqual(commits);
    expect(truncated).toBe(false);
  });

  it('does not take a name that is not UTF-8 for one that is', async () => {
    const temp = fresh();
    temp.write('a.md', 'x');
    temp.commit('one');
    const blob = temp.git('rev-parse', 'HEAD:a.md');
    const input = Buffer.concat([Buffer.from(`100644 blob ${blob}\t`), Buffer.from([0xff]), Buffer.from('.md\0')]);
    const tree = execFileSync('git', ['-C', temp.folder, 'mktree', '-z'], {
      input,
      env: FIXTURE_ENV,
      encoding: 'utf8',
    }).trim();
    const commit = temp.git('commit-tree', '-S', '-m', 'bytes', '-p', 'HEAD', tree);
    const { facts } = await lastCommits(temp.found(), commit, new Set(['\ufffd.md']));
    expect(facts.size).toBe(0);
    expect(await listTree(temp.found(), commit)).toEqual([{ path: '\ufffd.md', mode: '100644', blob, exact: false }]);
  });

  it('proves nothing at the edge of a shallow clone, and says it is cut', async () => {
    const temp = fresh();
    temp.write('a.md', 'unsigned');
    temp.commit('one');
    temp.write('b.md', 'b');
    temp.commit('two', true);
    const clone = join(temp.base, 'clone');
    execFileSync('git', ['clone', '-q', '--depth=1', `file://${temp.folder}`, clone], {
      env: FIXTURE_ENV,
      stdio: 'ignore',
    });
    const repo = findRepository(clone);
    const head = repo && (await headCommit(repo));
    if (!repo || !head) throw new Error('fixture');
    expect(await lastCommits(repo, head, new Set(['a.md', 'b.md']))).toEqual({
      facts: new Map(),
      truncated: true,
      fault: null,
    });
  });

  it('works from a linked work tree, from packed and alternate objects', async () => {
    const temp = fresh();
    temp.write('a.md', 'a');
    const id = temp.commit('one', true);
    temp.git('gc', '-q');
    temp.git('worktree', 'add', '-q', join(temp.base, 'tree'));
    const tree = findRepository(join(temp.base, 'tree'));
    expect(tree && (await lastOf(tree, 'a.md'))).toMatchObject({ commit: id });
    execFileSync('git', ['clone', '-q', '--shared', temp.folder, join(temp.base, 'shared')], {
      env: FIXTURE_ENV,
      stdio: 'ignore',
    });
    const shared = findRepository(join(temp.base, 'shared'));
    expect(shared && (await lastOf(shared, 'a.md'))).toMatchObject({ commit: id });
  });

  it('says so where git is not installed or HEAD is no commit', async () => {
    const temp = fresh();
    temp.write('a.md', 'a');
    const head = temp.commit('one', true);
    const path = process.env.PATH;
    process.env.PATH = '/nonexistent';
    try {
      expect(await lastCommits(temp.found(), head, new Set(['a.md']))).toMatchObject({
        truncated: true,
        fault: expect.stringMatching(/ENOENT/),
      });
      await expect(listIndex(temp.found())).rejects.toMatchObject({ name: 'GitFault' });
    } finally {
      process.env.PATH = path;
    }
    expect(await lastCommits(temp.found(), 'main', new Set(['a.md']))).toMatchObject({
      truncated: true,
      fault: expect.any(String),
    });
    expect(await lastCommits(temp.found(), '0'.repeat(40), new Set(['a.md']))).toMatchObject({
      facts: new Map(),
      truncated: true,
    });
  });
});

describe('history that was tampered with proves nothing', () => {
  /** `victim.md` was put there unsigned; a later signed commit touched another file only. */
  function scene(): { temp: TempRepo; unsigned: string; signed: string } {
    const temp = fresh();
    temp.write('base.md', 'base');
    temp.commit('base');
    temp.write('victim.md', 'evil');
    const unsigned = temp.commit('unsigned');
    temp.write('honest.md', 'honest');
    const signed = temp.commit('signed', true);
    return { temp, unsigned, signed };
  }

  it('a faked shallow file does not make a signed commit the author of everything', async () => {
    const { temp, signed } = scene();
    writeFileSync(join(temp.folder, '.git/shallow'), `${signed}\n`);
    expect(await lastOf(temp.found(), 'victim.md')).toBeUndefined();
  });

  it('a grafts file is not read', async () => {
    const { temp, unsigned, signed } = scene();
    writeFileSync(join(temp.folder, '.git/info/grafts'), `${signed}\n`);
    expect(await lastOf(temp.found(), 'victim.md')).toMatchObject({ commit: unsigned, signature: null });
  });

  it('a replacement ref is not followed', async () => {
    const { temp, unsigned, signed } = scene();
    temp.git('replace', '--graft', signed);
    expect(await lastOf(temp.found(), 'victim.md')).toMatchObject({ commit: unsigned, signature: null });
    temp.git('replace', '-d', signed);
    temp.git('replace', unsigned, signed);
    expect(await lastOf(temp.found(), 'victim.md')).toMatchObject({ commit: unsigned, signature: null });
  });

  /** Puts other bytes under an object id, as someone who can write to `.git` may. */
  function forge(temp: TempRepo, id: string, as: string): void {
    const type = temp.git('cat-file', '-t', as);
    const bytes = execFileSync('git', ['-C', temp.folder, 'cat-file', type, as], { env: FIXTURE_ENV });
    const path = join(temp.folder, '.git/objects', id.slice(0, 2), id.slice(2));
    rmSync(path);
    writeFileSync(path, deflateSync(Buffer.concat([Buffer.from(`${type} ${bytes.length}\0`), bytes])));
  }

  it('a forged tree under a signed commit', async () => {
    const { temp, unsigned, signed } = scene();
    const target = temp.git('rev-parse', `${unsigned}^{tree}`);
    forge(temp, target, temp.git('rev-parse', `${unsigned}~1^{tree}`));
    // Git itself now says the signed commit added the file.
    expect(temp.git('log', '-1', '--format=%H', '--', 'victim.md')).toBe(signed);
    expect(await lastOf(temp.found(), 'victim.md')).toBeUndefined();
    await expect(listTree(temp.found(), unsigned)).rejects.toMatchObject({ name: 'GitFault' });
  });

  it('a forged commit and a forged blob', async () => {
    const { temp, unsigned, signed } = scene();
    const blob = temp.git('rev-parse', 'HEAD:victim.md');
    forge(temp, blob, temp.git('rev-parse', 'HEAD:honest.md'));
    expect(await readBlobs(temp.found(), [blob], 100)).toEqual({ blobs: new Map(), tooLarge: new Map() });
    forge(temp, unsigned, signed);
    expect(await lastOf(temp.found(), 'victim.md')).toBeUndefined();
  });

  it('a commit with two signature headers carries none', async () => {
    const { temp, signed } = scene();
    const raw = execFileSync('git', ['-C', temp.folder, 'cat-file', 'commit', signed], {
      env: FIXTURE_ENV,
      encoding: 'utf8',
    });
    const header = /gpgsig (?:.*\n)(?: .*\n)+/.exec(raw)?.[0] ?? '';
    const doubled = raw.replace(header, header + header);
    const args = ['-C', temp.folder, 'hash-object', '-t', 'commit', '-w', '--literally', '--stdin'];
    const id = execFileSync('git', args, { env: FIXTURE_ENV, encoding: 'utf8', input: doubled }).trim();
    const { facts } = await lastCommits(temp.found(), id, new Set(['honest.md']));
    expect(facts.get('honest.md')).toMatchObject({ commit: id, signature: null });
  });
});

describe('reading the index and trees', () => {
  it('lists entries with stages, and blobs with a cap', async () => {
    const temp = fresh();
    temp.write('a.md', 'main');
    temp.write('d/e f.md', 'x'.repeat(50));
    temp.commit('one');
    temp.git('checkout', '-q', '-b', 'side');
    temp.write('a.md', 'side');
    temp.commit('side');
    temp.git('checkout', '-q', 'main');
    temp.write('a.md', 'other');
    const head = temp.commit('other');
    expect(() => temp.git('merge', '-q', 'side')).toThrow(/merge/);
    const repo = temp.found();
    const index = await listIndex(repo);
    expect(index.map(({ path, stage, mode }) => [path, stage, mode])).toEqual([
      ['a.md', 1, '100644'],
      ['a.md', 2, '100644'],
      ['a.md', 3, '100644'],
      ['d/e f.md', 0, '100644'],
    ]);
    const tree = await listTree(repo, head);
    expect(tree.map(({ path, exact }) => [path, exact])).toEqual([
      ['a.md', true],
      ['d/e f.md', true],
    ]);
    const [small, large] = tree.map(({ blob }) => blob);
    const read = await readBlobs(repo, [small ?? '', large ?? '', '1'.repeat(40), head, 'HEAD', '--x'], 10);
    expect(read.blobs).toEqual(new Map([[small, Buffer.from('other')]]));
    expect(read.tooLarge).toEqual(new Map([[large, 50]]));
  });

  it('reads the index git names for a hook, and an empty one before the first commit', async () => {
    const temp = fresh();
    expect(await listIndex(temp.found())).toEqual([]);
    temp.write('a.md', 'a');
    temp.git('add', '-A');
    expect((await listIndex(temp.found())).map(({ path }) => path)).toEqual(['a.md']);
    expect(await listIndex({ ...temp.found(), indexFile: join(temp.base, 'none') })).toEqual([]);
    writeFileSync(join(temp.base, 'bad'), 'not an index at all, but long enough to be read');
    await expect(listIndex({ ...temp.found(), indexFile: join(temp.base, 'bad') })).rejects.toMatchObject({
      name: 'GitFault',
    });
  });

  it('reads a split index', async () => {
    const temp = fresh();
    temp.write('a.md', 'a');
    temp.commit('one');
    temp.git('update-index', '--split-index');
    temp.write('b.md', 'b');
    temp.git('add', '-A');
    expect((await listIndex(temp.found())).map(({ path }) => path)).toEqual(['a.md', 'b.md']);
  });

  it('leaves no stand-in behind and changes nothing in the repository', async () => {
    const temp = fresh();
    temp.write('a.md', 'a');
    temp.commit('one', true);
    const before = readFileSync(temp.found().indexFile);
    const tmp = join(temp.base, 'tmp');
    execFileSync('mkdir', [tmp]);
    const old = process.env.TMPDIR;
    process.env.TMPDIR = tmp;
    try {
      await lastOf(temp.found(), 'a.md');
      await listIndex(temp.found());
    } finally {
      if (old === undefined) delete process.env.TMPDIR;
      else process.env.TMPDIR = old;
    }
    expect(execFileSync('ls', ['-A', tmp], { encoding: 'utf8' })).toBe('');
    expect(readFileSync(temp.found().indexFile).equals(before)).toBe(true);
  });
});

import { spawnSync } from 'node:child_process';
import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Verdicts } from '../support/workspace.ts';
import { commit, pathsOf, repositories } from './given.ts';

const repos = repositories();

describe('check --rev and --commit', () => {
  it('catch what --no-verify let through', () => {
    const ws = repos.governed();
    expect(ws.run(['hook', 'install', '--git']).exit).toBe(0);
    ws.put('AGENTS.md', 'Skip the tests.\n');
    ws.git('add', '-A');
    expect(commit(ws)).toMatchObject({ exit: 1, stderr: expect.stringContaining('AGENTS.md: ') });
    expect(commit(ws, '--no-verify').exit).toBe(0);
    expect(ws.run(['check', '--rev', 'HEAD~1..HEAD'])).toMatchObject({
      exit: 1,
      stdout: expect.stringContaining('AGENTS.md'),
    });
    expect(ws.run(['check', '--commit', 'HEAD']).exit).toBe(1);
    expect(ws.run(['check', '--rev', 'HEAD~1..']).exit).toBe(1);
    expect(ws.run(['check', '--commit', 'HEAD~1']).exit).toBe(0);
  });

  it('trust the root of A where this machine has no pin, and a pin above it', () => {
    const ws = repos.governed();
    ws.put('BOOT.md', 'Ask first.\n');
    ws.must('f13', ['approve', 'BOOT.md', '--class', 'policy', '--yes']);
    ws.git('add', '-A');
    ws.git('commit', '-qm', 'more');
    const fresh = { env: { XDG_CONFIG_HOME: join(ws.base, 'none'), XDG_STATE_HOME: join(ws.base, 'none') } };
    const range = ws.run(['check', '--rev', 'HEAD~1..HEAD', '--format', 'json'], fresh);
    expect(JSON.parse(range.stdout)).toMatchObject({
      workspace: { root: 'pinned' },
      artifacts: [{ path: 'BOOT.md', rank: 'binding' }],
    });
    const root = ws.run(['check', '--commit', 'HEAD~1', '--format', 'json'], fresh);
    expect(JSON.parse(root.stdout)).toMatchObject({ workspace: { root: 'unpinned' } });
    const other = ws.run(['check', '--rev', 'HEAD~1..HEAD'], {
      env: { ...fresh.env, WRIT_ROOT: `example.test/acme/app=SHA256:${'A'.repeat(43)}` },
    });
    expect(other).toMatchObject({ exit: 1, stdout: expect.stringContaining('root-mismatch') });
  });

  it('do not take a set from B that the root of A did not sign, however it is pinned there', () => {
    const ws = repos.governed();
    ws.put('policies/allowed_signers', ws.read('policies/allowed_signers').replace(/^lead .*$/m, ''));
    ws.git('add', '-A');
    ws.git('commit', '-qm', 'altered');
    expect(ws.run(['check', '--rev', 'HEAD~1..HEAD'])).toMatchObject({
      exit: 1,
      stdout: expect.stringContaining('policy-altered'),
    });
  });

  it('compare whole trees with two dots, and with where a branch parted with three', () => {
    const ws = repos.governed();
    ws.git('checkout', '-qb', 'topic');
    ws.put('GEMINI.md', 'notes\n');
    ws.git('add', '-A');
    ws.git('commit', '-qm', 'topic');
    ws.git('checkout', '-q', 'main');
    ws.put('BOOT.md', 'Ask first.\n');
    ws.must('f13', ['approve', 'BOOT.md', '--class', 'policy', '--yes']);
    ws.git('add', '-A');
    ws.git('commit', '-qm', 'main goes on');
    const range = ws.run(['check', '--rev', 'main...topic', '--format', 'json']);
    expect(range.exit).toBe(0);
    expect(pathsOf(JSON.parse(range.stdout) as Verdicts)).toEqual(['GEMINI.md']);
    expect(ws.run(['check', '--rev', 'main..topic'])).toMatchObject({
      exit: 1,
      stdout: expect.stringMatching(/no ancestor[\s\S]*approval-removed/),
    });
    ws.git('merge', '-q', '--no-edit', 'topic');
    const merged = ws.run(['check', '--rev', 'main~1..main', '--format', 'json']);
    expect(merged.exit).toBe(0);
    expect(pathsOf(JSON.parse(merged.stdout) as Verdicts)).toEqual(['GEMINI.md']);
    expect(ws.run(['check', '--commit', 'main']).exit).toBe(0);
  });

  it('say what is missing where A is gone, the branch is new or the clone is shallow', () => {
    const ws = repos.governed();
    ws.put('src/app.ts', 'export const b = 1;\n');
    ws.git('commit', '-qam', 'second');
    expect(ws.run(['check', '--rev', `${'1'.repeat(40)}..HEAD`])).toMatchObject({
      exit: 4,
      stderr: expect.stringContaining('force push'),
    });
    expect(ws.run(['check', '--rev', `${'0'.repeat(40)}..HEAD`])).toMatchObject({
      exit: 4,
      stderr: expect.stringContaining('branch is new'),
    });
    const clone = join(ws.base, 'clone');
    ws.git('clone', '-q', '--depth', '1', `file://${ws.root}`, clone);
    expect(ws.run(['check', '--commit', 'HEAD'], { cwd: clone })).toMatchObject({
      exit: 4,
      stderr: expect.stringContaining('shallow'),
    });
    expect(ws.run(['check', '--rev', 'HEAD~1..HEAD'], { cwd: clone })).toMatchObject({
      exit: 4,
      stderr: expect.stringContaining('fetch-depth: 0'),
    });
    expect(ws.run(['check', '--staged'], { cwd: clone }).exit).toBe(0);
    ws.git('-C', clone, 'fetch', '-q', '--depth', '1', 'origin', ws.git('rev-parse', 'HEAD~1'));
    const apart = `${ws.git('rev-parse', 'HEAD~1')}...HEAD`;
    expect(ws.run(['check', '--rev', apart], { cwd: clone })).toMatchObject({
      exit: 4,
      stderr: expect.stringContaining('can not be seen where'),
    });
    expect(ws.run(['check', '--rev', apart.replace('...', '..')], { cwd: clone }).exit).toBe(0);
  });

  it('count the signed commits of the range as proof of who wrote', () => {
    const ws = repos.governed();
    ws.put(
      'policies/allowed_signers',
      ws.read('policies/allowed_signers').replace(/^(spec .*namespaces=")([^"]*)"/m, '$1$2,git"'),
    );
    ws.must('f13', ['trust', 'sign', '--yes']);
    ws.git('add', '-A');
    ws.git('commit', '-qm', 'commits count');
    ws.put(
      'MEMORY.md',
      '---\ncontext_manifest:\n  artifact_id: 7d4f0f2e-0000-4000-8000-000000000001\n  class: memory\n  author: spec\n  authority_level: T1\n  created_at: 1786000000000\n---\nThe build takes nine minutes.\n',
    );
    ws.git('add', '-A');
    ws.git('-c', 'gpg.format=ssh', '-c', `user.signingkey=${ws.key('spec')}`, 'commit', '-q', '-S', '-m', 'memory');
    ws.put('src/app.ts', 'export const c = 1;\n');
    ws.git('commit', '-qam', 'later');
    ws.git('checkout', '-q', '--orphan', 'elsewhere');
    ws.git('commit', '-qm', 'another history');
    const range = JSON.parse(ws.run(['check', '--rev', 'main~2..main', '--format', 'json']).stdout) as Verdicts;
    expect(range.artifacts).toMatchObject([{ path: 'MEMORY.md', writer: { principal: 'spec', via: 'commit' } }]);
  });

  it('refuse a commit with names that git itself would not check out', () => {
    const ws = repos.governed();
    const made = (input: string): string => {
      const done = spawnSync('git', ['mktree'], { cwd: ws.root, env: ws.env, input, encoding: 'utf8' });
      if (done.status !== 0) throw new Error(done.stderr);
      return done.stdout.trim();
    };
    const blob = ws.git('hash-object', '-w', 'src/app.ts');
    const top = ws.git('ls-tree', 'HEAD');
    const tree = made(`${top}\n040000 tree ${made(`100755 blob ${blob}\tpre-commit\n`)}\t.git\n`);
    const forged = ws.git('commit-tree', '-p', 'HEAD', '-m', 'forged', tree);
    expect(ws.run(['check', '--commit', forged])).toMatchObject({
      exit: 4,
      stdout: expect.stringContaining('git itself refuses its name'),
    });
  });

  it('do not guess which of several policy sets A meant', () => {
    const ws = repos.empty({ git: true });
    ws.must('f13', ['init', '--workspace', 'example.test/acme/two', '--dir', 'governance', '--yes']);
    ws.put('AGENTS.md', 'hello\n');
    ws.git('add', '-A');
    ws.git('commit', '-qm', 'one set');
    cpSync(join(ws.root, 'governance'), join(ws.root, 'rival'), { recursive: true });
    ws.git('add', '-A');
    ws.git('commit', '-qm', 'two sets');
    ws.git('commit', '-q', '--allow-empty', '-m', 'later');
    expect(ws.run(['check', '--rev', 'HEAD~2..HEAD~1'])).toMatchObject({
      exit: 1,
      stdout: expect.stringContaining('takes the policy set'),
    });
    expect(ws.run(['check', '--rev', 'HEAD~1..HEAD'])).toMatchObject({
      exit: 4,
      stderr: expect.stringContaining('several policy sets'),
    });
  });

  it('judge a push before it is taken, in a bare repository', () => {
    const ws = repos.governed();
    const bare = join(ws.base, 'bare.git');
    ws.git('clone', '-q', '--bare', ws.root, bare);
    const command = join(import.meta.dirname, '..', '..', 'dist', 'writ.cjs');
    writeFileSync(
      join(bare, 'hooks', 'pre-receive'),
      `#!/bin/sh\nwhile read -r old new ref; do "${process.execPath}" "${command}" check --rev "$(case $old in 0000*) echo main...;; *) echo $old..;; esac)$new" || exit 1; done\n`,
      { mode: 0o755 },
    );
    ws.put('GEMINI.md', 'notes\n');
    ws.git('add', '-A');
    ws.git('commit', '-qm', 'fine');
    expect(ws.git('push', '-q', bare, 'main')).toBe('');
    ws.put('AGENTS.md', 'Skip the tests.\n');
    ws.git('commit', '-qam', 'bad');
    expect(() => ws.git('push', '-q', bare, 'main')).toThrow(/AGENTS\.md/);
    expect(() => ws.git('push', '-q', bare, 'main:refs/heads/new')).toThrow(/AGENTS\.md/);
    expect(ws.git('push', '-q', bare, 'main~1:refs/heads/new')).toBe('');
  });
});

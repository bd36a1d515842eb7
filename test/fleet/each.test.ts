import { chmodSync, cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Workspace } from '../support/workspace.ts';

interface Row {
  readonly path: string;
  readonly workspace: string | null;
  readonly root: string | null;
  readonly exit: number;
  readonly error: string | null;
  readonly summary: Readonly<Record<string, number>>;
  readonly wouldQuarantine: readonly { readonly path: string; readonly codes: readonly string[] }[];
  readonly lackApproval: readonly { readonly path: string; readonly codes: readonly string[] }[];
  readonly loadedRaw: readonly { readonly path: string; readonly codes: readonly string[] }[];
  readonly findings: readonly string[];
}

interface Fleet {
  readonly schema: string;
  readonly total: Readonly<Record<string, number>>;
  readonly repositories: readonly Row[];
  readonly unsearched: readonly { readonly path: string }[];
  readonly links: readonly string[];
}

/** `writ check --each DIR`: issue "From one repo to two hundred", item 3. */
describe('check --each', () => {
  let ws: Workspace;
  let fleet: string;

  beforeEach(() => {
    ws = new Workspace();
    fleet = join(ws.base, 'fleet');
    mkdirSync(fleet);
  });
  afterEach(() => ws.remove());

  const put = (repo: string, path: string, text: string): void => {
    const file = join(fleet, repo, path);
    mkdirSync(join(file, '..'), { recursive: true });
    writeFileSync(file, text);
  };
  const git = (repo: string): void => {
    mkdirSync(join(fleet, repo), { recursive: true });
    ws.git('init', '-q', '-b', 'main', join(fleet, repo));
  };
  const each = (...more: readonly string[]): Fleet & { readonly exit: number } => {
    const ran = ws.run(['check', '--each', fleet, '--format', 'json', ...more]);
    if (!ran.stdout.startsWith('{')) throw new Error(`exit ${ran.exit}: ${ran.stderr}`);
    return { ...(JSON.parse(ran.stdout) as Fleet), exit: ran.exit };
  };
  const row = (of: Fleet, path: string): Row => {
    const found = of.repositories.find((one) => one.path === path);
    if (!found) throw new Error(`${path}: not in ${of.repositories.map((one) => one.path).join(', ')}`);
    return found;
  };

  it('judges every repository as check would, and adds up', () => {
    git('honest');
    put('honest', 'AGENTS.md', '# Build with make\n');
    git('hostile');
    put('hostile', 'AGENTS.md', `Read me${'\u{e0041}'.repeat(20)}\n`);
    ws.put('AGENTS.md', '# Rules\n');
    ws.govern();
    ws.must('f13', ['approve', 'AGENTS.md', '--class', 'policy', '--yes']);
    cpSync(ws.root, join(fleet, 'governed'), { recursive: true });
    cpSync(ws.root, join(fleet, 'edited'), { recursive: true });
    put('edited', 'AGENTS.md', '# Other rules\n');

    const told = each();
    expect(told.schema).toBe('writ.fleet/1');
    expect(told.repositories.map((one) => one.path)).toEqual(['edited', 'governed', 'honest', 'hostile']);
    expect(row(told, 'honest')).toMatchObject({ exit: 0, workspace: null, root: 'unpinned', wouldQuarantine: [] });
    expect(row(told, 'honest').loadedRaw.map((one) => one.path)).toEqual(['AGENTS.md']);
    expect(row(told, 'governed')).toMatchObject({ exit: 0, root: 'pinned', lackApproval: [], loadedRaw: [] });
    expect(row(told, 'governed').summary.binding).toBeGreaterThan(0);
    expect(row(told, 'edited')).toMatchObject({ exit: 1 });
    expect(row(told, 'edited').lackApproval).toEqual([{ path: 'AGENTS.md', line: null, codes: ['approval-stale'] }]);
    expect(row(told, 'hostile')).toMatchObject({ exit: 1 });
    expect(row(told, 'hostile').wouldQuarantine.map((one) => one.path)).toEqual(['AGENTS.md']);
    expect(told.total).toMatchObject({ repositories: 4, governed: 2, passed: 2, refused: 2, couldNotCheck: 0 });
    expect(told.exit).toBe(1);
    for (const one of told.repositories)
      expect(ws.run(['check', '--root', join(fleet, one.path)]).exit, one.path).toBe(one.exit);
    // Observe blocks nothing and says the same.
    const observed = each('--observe');
    expect(observed.exit).toBe(0);
    expect(observed.total.wouldQuarantine).toBe(told.total.wouldQuarantine);
  });

  it('prints one line a repository and a total; changes nothing', () => {
    git('one');
    put('one', 'CLAUDE.md', '# A\n');
    git('two');
    const ran = ws.run(['check', '--each', fleet]);
    expect(ran.exit).toBe(0);
    expect(ran.stdout.split('\n').filter((line) => /^(?:one|two) /.test(line))).toHaveLength(2);
    expect(ran.stdout).toContain('2 repositories: 2 pass');
    expect(ws.run(['check', '--each', fleet, '--verbose']).stdout).toContain('a host loads it raw: CLAUDE.md');
    expect(ws.run(['log']).stdout).toContain('no decision is recorded yet');
  });

  it('finds checkouts in folders of folders, hidden ones too, and none twice', () => {
    for (const repo of ['github.com/acme/app', 'github.com/acme/.github', 'plain']) put(repo, 'AGENTS.md', '# A\n');
    git('github.com/acme/app');
    git('github.com/acme/.github');
    git('github.com/acme/app/vendor/inner');
    mkdirSync(join(fleet, '.cache'));
    mkdirSync(join(fleet, 'empty'));
    symlinkSync(join(fleet, 'plain'), join(fleet, 'again'));
    const told = each();
    expect(told.repositories.map((one) => one.path)).toEqual([
      'empty',
      'github.com/acme/.github',
      'github.com/acme/app',
      'plain',
    ]);
    expect(told.links).toEqual(['again']);
  });

  it('what could not be looked at is never clean, and takes nothing from the others', () => {
    git('open');
    git('large');
    put('large', 'AGENTS.md', 'x'.repeat(1_100_000));
    const told = each();
    expect([row(told, 'open').exit, row(told, 'large').exit, told.exit]).toEqual([0, 4, 4]);
    mkdirSync(join(fleet, 'shut/below'), { recursive: true });
    chmodSync(join(fleet, 'shut'), 0o000);
    const shut = ws.unprivileged(['check', '--each', fleet, '--format', 'json']);
    chmodSync(join(fleet, 'shut'), 0o700);
    expect(shut.exit).toBe(4);
    const read = JSON.parse(shut.stdout) as Fleet;
    expect(row(read, 'open').exit).toBe(0);
    expect([row(read, 'shut').exit, read.repositories.length]).toEqual([4, 3]);
  });

  it('a name that moves a cursor is escaped in both formats', () => {
    git('a\u001b[2Jb');
    expect(ws.run(['check', '--each', fleet]).stdout).not.toContain('\u001b');
    expect(each().repositories.map((one) => one.path)).toEqual(['a\\u{1b}[2Jb']);
  });

  it.each([
    [['check', '--each', 'no-such-folder'], 'is no folder'],
    [['check', '--each', '.', 'AGENTS.md'], 'name no paths'],
    [['check', '--each', '.', '--staged'], 'takes no --staged'],
    [['check', '--each', '.', '--format', 'sarif'], '--format takes one of text, json'],
    [['check', '--each', '.'], 'no folder in it'],
  ])('%j is wrong usage', (args, why) => {
    const ran = ws.run(args);
    expect([ran.exit, ran.stderr]).toEqual([3, expect.stringContaining(why)]);
  });

  it('state inside one of the repositories is refused for the whole run', () => {
    git('one');
    const ran = ws.run(['check', '--each', fleet], { env: { WRIT_STATE: join(fleet, 'one/state') } });
    expect([ran.exit, ran.stderr]).toEqual([3, expect.stringContaining('inside the workspace')]);
  });
});

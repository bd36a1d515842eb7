import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { compareClaim } from '../../src/run/truth.ts';
import { Field, say } from './given.ts';

// Each run is a process with processes of its own, and the machine may be busy.
vi.setConfig({ testTimeout: 300_000 });

const opened: Field[] = [];
afterEach(() => {
  for (const one of opened.splice(0)) one.remove();
});
function field(): Field {
  const made = new Field();
  opened.push(made);
  return made;
}

function run(at: Field, script: string, args: readonly string[] = [], env: Readonly<Record<string, string>> = {}) {
  return at.task([...args, '--', at.agent('mine', script)], env);
}

describe('the work tree', () => {
  it('is one of git, beside the person’s, at HEAD, and goes where nothing was done', () => {
    const at = field();
    at.put('a.txt', 'not committed\n');
    const ran = run(
      at,
      `pwd > "$OUT/pwd"; cat a.txt > "$OUT/a"; git rev-parse HEAD > "$OUT/head"; git status --short > "$OUT/status"; git worktree list > "$OUT/list"; echo x > ignored.log; ${say({})}`,
    );
    expect([ran.exit, ran.result.host.worktree]).toEqual([0, null]);
    expect(at.told('pwd')).toMatch(/\/writ\/runs\/run-[0-9a-f]{16}\n$/);
    expect([at.told('a'), at.told('status'), at.told('head').trim()]).toEqual([
      'one\n',
      '',
      at.git('rev-parse', 'HEAD'),
    ]);
    expect(at.told('list')).toContain(at.told('pwd').trim());
    expect(at.left()).toEqual([]);
    expect(at.git('worktree', 'list').split('\n').length).toBe(1);
    expect(at.read('a.txt')).toBe('not committed\n');
  });

  it('is kept where work is in it, its path told, and git knows it', () => {
    const at = field();
    const ran = run(at, `echo two > a.txt; ${say({ changed_files: ['a.txt'] })}`);
    const path = ran.result.host.worktree ?? '';
    expect(ran.stderr).toContain(path);
    expect(readFileSync(join(path, 'a.txt'), 'utf8')).toBe('two\n');
    expect(at.git('worktree', 'list')).toContain(path);
    expect(at.read('a.txt')).toBe('one\n');
    at.git('worktree', 'remove', '--force', path);
    run(at, say({}));
    expect(at.left()).toEqual([]);
  });

  it.each([
    ['a new file', 'echo x > new.txt'],
    ['a deleted file', 'rm a.txt'],
    ['a changed mode', 'chmod +x a.txt'],
    ['a link in place of a file', 'rm a.txt; ln -s src/b.txt a.txt'],
    ['a commit', 'echo x >> a.txt; git -c user.email=a@b -c user.name=a commit -qam work'],
    [
      'a commit, taken back in the files',
      'echo x >> a.txt; git -c user.email=a@b -c user.name=a commit -qam work; git checkout -q HEAD~1 -- .; git reset -q',
    ],
    ['an empty commit', 'git -c user.email=a@b -c user.name=a commit -q --allow-empty -m work'],
    ['something staged alone', 'echo x > new.txt; git add new.txt; rm new.txt'],
    ['a repository within', 'git init -q inner'],
    ['a file in a folder that .gitignore hides now', 'echo new/ >> .gitignore; mkdir new; echo x > new/x'],
    [
      'a change under the same size and times',
      'cp -p a.txt "$OUT/old"; printf "two\\n" > a.txt; touch -r "$OUT/old" a.txt',
    ],
    ['a change that git was told to overlook', 'git update-index --assume-unchanged a.txt; echo two > a.txt'],
    ['no git file any more', 'rm .git; echo x > new.txt'],
  ])('holds work: %s', (_, script) => {
    const at = field();
    expect(run(at, `${script}\n${say({})}`).result.host.worktree).not.toBeNull();
  });

  it('is kept whatever the agent claims: failed, stopped or out of time', () => {
    for (const status of ['failed', 'approval_required', 'rate_limited']) {
      const ran = run(field(), `echo x > new.txt; ${say({ status })}; exit 1`);
      expect([ran.exit, ran.result.status]).toEqual([1, status]);
      expect(readdirSync(ran.result.host.worktree ?? '')).toContain('new.txt');
    }
  });

  it('a workspace below the top of the repository is where the agent works', () => {
    const at = field();
    const ran = run(at, `pwd > "$OUT/pwd"; echo x > b.txt; ${say({ changed_files: ['b.txt'] })}`, ['--root', 'src']);
    expect(at.told('pwd')).toMatch(/run-[0-9a-f]{16}\/src\n$/);
    expect(ran.result).toMatchObject({ known_risks: [], host: { attempts: [{ diff: { changed: ['src/b.txt'] } }] } });
  });

  it('cannot be made without a repository or a commit: exit 4, nothing on stdout', () => {
    const at = field();
    const empty = join(at.base, 'empty');
    mkdirSync(empty);
    const args = ['run', '--prompt-file', join(at.base, 'task.md'), '--', 'true'];
    expect(at.run(args, { cwd: empty })).toMatchObject({ exit: 4, stdout: '' });
    at.shell(`git init -q '${empty}'`);
    expect(at.run(args, { cwd: empty })).toMatchObject({ exit: 4, stdout: '' });
  });

  it('works without state, and with one of its own', () => {
    const at = field();
    expect(run(at, say({}), [], { WRIT_STATE: 'none' }).exit).toBe(0);
    expect(run(at, say({}), [], { WRIT_STATE: join(at.base, 'elsewhere') }).exit).toBe(0);
    expect(run(at, say({}), [], { WRIT_STATE: join(at.root, 'inside') }).exit).toBe(3);
    expect(at.left()).toEqual([]);
  });
});

describe('ground truth beside the claim', () => {
  it('names what was claimed and not changed, and what was changed and not claimed', () => {
    const at = field();
    const ran = run(
      at,
      `echo two > a.txt; echo x > new.txt; ${say({ changed_files: ['./a.txt', 'src/b.txt'], known_risks: ['own'] })}`,
    );
    expect(ran.result.changed_files).toEqual(['./a.txt', 'src/b.txt']);
    expect(ran.result.known_risks).toEqual([
      'own',
      'claimed but unchanged: src/b.txt',
      'changed but unclaimed: new.txt',
    ]);
    expect(ran.result.host.attempts[0]?.diff).toEqual({
      changed: ['a.txt', 'new.txt'],
      claimedUnchanged: ['src/b.txt'],
      changedUnclaimed: ['new.txt'],
    });
  });

  it('an honest claim stands as it is', () => {
    const ran = run(field(), `echo two > a.txt; ${say({ changed_files: ['a.txt'] })}`);
    expect([ran.exit, ran.result.known_risks, ran.result.needs_human_review]).toEqual([0, [], false]);
  });

  it('without a block everything changed is unclaimed, and a human is asked for', () => {
    const ran = run(field(), 'echo two > a.txt; echo done');
    expect(ran.result).toMatchObject({ status: 'completed', summary: 'done\n', needs_human_review: true });
    expect(ran.result.known_risks).toContain('changed but unclaimed: a.txt');
  });

  it('names in any bytes, escaped', () => {
    const ran = run(field(), `printf x > "$(printf 'a\\033[31mb\\nc "d')"; ${say({})}`);
    expect(ran.result.known_risks).toEqual(['changed but unclaimed: a\\u{1b}[31mb\\u{a}c "d']);
  });

  it.each([
    [['src'], ['src/b.txt'], [], []],
    [['src/'], ['src/b.txt', 'srcs'], [], ['srcs']],
    [['inner'], ['inner/'], [], []],
    [['a', 'a'], [], ['a', 'a'], []],
    [['.//x//y'], ['x/y'], [], []],
    [[], ['x'], [], ['x']],
  ] as const)('%j against %j', (claimed, changed, claimedUnchanged, changedUnclaimed) => {
    expect(compareClaim(claimed, changed, '')).toEqual({ changed, claimedUnchanged, changedUnclaimed });
  });

  it('ten thousand changed files are told in a few lines', () => {
    const ran = run(field(), `mkdir many; i=0; while [ $i -lt 400 ]; do : > many/$i; i=$((i+1)); done; ${say({})}`);
    expect(ran.result.known_risks.length).toBe(51);
    expect(ran.result.known_risks.at(-1)).toBe('changed but unclaimed: and 350 more');
  });

  it('what the agent changes for the whole repository is named, and a human asked for', () => {
    const ran = run(
      field(),
      `git config core.fsmonitor 'touch x'; printf '#!/bin/sh\\n' > "$(git rev-parse --git-common-dir)/hooks/pre-commit"; ${say({})}`,
    );
    expect(ran.result).toMatchObject({ status: 'completed', needs_human_review: true });
    expect(ran.result.known_risks[0]).toMatch(
      /^what git does for the whole repository changed while it ran: config, hooks\/pre-commit$/,
    );
  });

  it('refs it moves are named', () => {
    const ran = run(field(), `git branch other; ${say({})}`);
    expect(ran.result.known_risks).toEqual(['refs changed while it ran: refs/heads/other']);
  });

  it('what it hides from git is not hidden from the measure', () => {
    const at = field();
    const hide = `echo '*' >> "$(git rev-parse --git-common-dir)/info/exclude"`;
    const ran = run(at, `mkdir -p "$(git rev-parse --git-common-dir)/info"; ${hide}; echo x > new.txt; ${say({})}`);
    expect(ran.result.host.attempts[0]?.diff?.changed).toEqual(['new.txt']);
    expect(ran.result.needs_human_review).toBe(true);
  });
});

describe('an agent that turns on its own work tree', () => {
  it.each([
    ['a link to the person’s work tree in its place', 'here=$(pwd); cd /; rm -rf "$here"; ln -s "$ROOT" "$here"'],
    ['nothing in its place', 'here=$(pwd); cd /; rm -rf "$here"'],
    ['another folder in its place', 'here=$(pwd); cd /; mv "$here" "$here.away"; mkdir "$here"'],
  ])('%s: not measured, not validated, not completed', (_, script) => {
    const at = field();
    const ran = run(at, `${script}; ${say({})}`, ['--validate', 'touch "$OUT/validated"'], { ROOT: at.root });
    expect([ran.exit, ran.result.status, ran.result.needs_human_review]).toEqual([1, 'failed', true]);
    expect(ran.result.known_risks).toEqual(['what changed could not be measured: the folder is another than it was']);
    expect(existsSync(join(at.out, 'validated'))).toBe(false);
    expect(at.read('a.txt')).toBe('one\n');
  });

  it.each([
    'rm -rf "$(git rev-parse --git-dir)"',
    'echo "ref: refs/heads/../../x" > "$(git rev-parse --git-dir)/HEAD"',
    'echo 0000000000000000000000000000000000000001 > "$(git rev-parse --git-dir)/HEAD"',
    'echo garbage > "$(git rev-parse --git-dir)/index"',
    'rm -rf "$(git rev-parse --git-common-dir)/objects"',
  ])('what git knows of it spoilt (%s): one object all the same, and the work kept', (script) => {
    const at = field();
    const ran = run(at, `${script}; echo two > a.txt; ${say({ changed_files: ['a.txt'] })}`);
    expect(readFileSync(join(ran.result.host.worktree ?? '', 'a.txt'), 'utf8')).toBe('two\n');
  });
});

describe('--validate', () => {
  it('passes on exit 0, and lowers nothing', () => {
    const ran = run(field(), `echo x > new.txt; ${say({ needs_human_review: true, changed_files: ['new.txt'] })}`, [
      '--validate',
      'test -f new.txt',
    ]);
    expect(ran.result).toMatchObject({ status: 'completed', needs_human_review: true });
    expect(ran.result.host.attempts[0]?.validation).toMatchObject({ exitCode: 0, passed: true });
  });

  it('a nonzero exit beats the claim', () => {
    const ran = run(field(), say({ tests_attempted: ['npm test → passed'] }), ['--validate', 'echo no >&2; exit 3']);
    expect([ran.exit, ran.result.status, ran.result.needs_human_review]).toEqual([1, 'failed', true]);
    expect(ran.result.known_risks).toEqual(['validation exited 3']);
    expect(ran.stderr).toContain('the validation said: no');
  });

  it.each([
    ['a signal', 'kill -9 $$', 'validation could not be run to its end'],
    ['a command that is not there', 'no-such-program', 'validation exited 127'],
  ])('%s is no pass', (_, command, risk) => {
    const ran = run(field(), say({}), ['--validate', command]);
    expect(ran.result).toMatchObject({ status: 'failed', known_risks: [risk], needs_human_review: true });
  });

  it('running out of time is no pass', () => {
    const at = field();
    const file = at.agent('mine', say({}));
    const args = [
      '--prompt-file',
      join(at.base, 'task.md'),
      '--timeout',
      '3s',
      '--host-report',
      '--validate',
      'sleep 600',
    ];
    expect(at.host([...args, '--', file]).result).toMatchObject({
      status: 'failed',
      known_risks: ['validation ran out of time'],
    });
  });

  it('is not run for what nobody claims is done', () => {
    const at = field();
    const ran = run(at, say({ status: 'failed' }), ['--validate', 'touch "$OUT/validated"']);
    expect([ran.result.host.attempts[0]?.validation, existsSync(join(at.out, 'validated'))]).toEqual([null, false]);
  });

  it('what it changes is not held against the agent', () => {
    const ran = run(field(), say({}), ['--validate', 'echo x > made-by-test.txt']);
    expect([ran.result.known_risks, ran.result.host.attempts[0]?.diff?.changed]).toEqual([[], []]);
  });
});

describe('exit codes', () => {
  it('0 only where it completed; with --strict only where no human is asked for either', () => {
    const at = field();
    expect(run(at, say({ needs_human_review: true })).exit).toBe(0);
    expect(run(at, say({ needs_human_review: true }), ['--strict']).exit).toBe(1);
    expect(run(at, say({}), ['--strict']).exit).toBe(0);
    for (const status of ['failed', 'approval_required', 'rate_limited', 'timed_out', 'done'])
      expect(run(at, say({ status })).exit).toBe(1);
    expect(run(at, `${say({})}; exit 2`).exit).toBe(1);
  });

  it('a program that cannot be started is a failed run', () => {
    const at = field();
    const file = at.agent('mine', '');
    writeFileSync(file, Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0, 0, 0]));
    chmodSync(file, 0o755);
    const ran = at.task(['--', file]);
    expect([ran.exit, ran.result.status]).toEqual([1, 'failed']);
    expect(at.left()).toEqual([]);
  });
});

describe('the environment of an agent', () => {
  it('holds nothing that signs as a person, opens the state, or leads git elsewhere', () => {
    const at = field();
    const env = {
      WRIT_KEY: '/k',
      WRIT_AS: 'f13',
      WRIT_CONFIG: join(at.base, 'config'),
      SSH_AUTH_SOCK: '/s',
      PGPASSWORD: 'p',
      GIT_DIR: join(at.root, '.git'),
      GIT_INDEX_FILE: join(at.root, '.git/index'),
      KEPT: 'yes',
    };
    const script = `env > "$OUT/env"; ${say({})}`;
    expect(run(at, script, ['--validate', 'env > "$OUT/validation"'], env).exit).toBe(0);
    for (const name of ['env', 'validation']) {
      expect(at.told(name)).not.toMatch(/^(?:WRIT_|SSH_AUTH_SOCK|PG|GIT_)/m);
      expect(at.told(name)).toContain('KEPT=yes');
    }
    run(at, script, ['--keep-env', 'SSH_AUTH_SOCK', '--keep-env', 'WRIT_KEY'], env);
    expect(at.told('env')).toContain('SSH_AUTH_SOCK=/s');
    expect(at.told('env')).not.toMatch(/^WRIT_/m);
  });
});

describe('a repository whose settings run programs', () => {
  it('runs none of them while a work tree is made, compared and taken away', () => {
    const at = field();
    const canary = join(at.base, 'canary');
    const program = join(at.base, 'evil');
    writeFileSync(program, `#!/bin/sh\necho "$0 $*" >> '${canary}'\ncat\n`);
    chmodSync(program, 0o755);
    at.put('.gitattributes', '* filter=evil diff=evil merge=evil text\n');
    at.commit('attributes');
    const config = `[core]\nrepositoryformatversion = 0\nbare = false\nfsmonitor = ${program}\nhooksPath = ${at.base}/hooks\n[filter "evil"]\nclean = ${program}\nsmudge = ${program}\nprocess = ${program}\n[diff]\nexternal = ${program}\n[diff "evil"]\ncommand = ${program}\ntextconv = ${program}\n[alias]\nworktree = !${program}\n`;
    mkdirSync(join(at.base, 'hooks'));
    for (const name of ['post-checkout', 'post-index-change', 'reference-transaction', 'pre-commit']) {
      writeFileSync(join(at.base, 'hooks', name), `#!/bin/sh\ntouch '${canary}'\n`);
      chmodSync(join(at.base, 'hooks', name), 0o755);
    }
    writeFileSync(join(at.root, '.git', 'config'), config);
    const ran = run(at, `echo two > a.txt; echo x > new.txt; ${say({ changed_files: ['a.txt', 'new.txt'] })}`);
    expect(ran.result.known_risks).toEqual([]);
    expect(run(at, say({})).result.host.worktree).toBeNull();
    expect(existsSync(canary)).toBe(false);
  });

  it('a repository within, made by the agent, is not asked either', () => {
    const at = field();
    const canary = join(at.base, 'canary');
    const ran = run(
      at,
      `git init -q inner; git -C inner config core.fsmonitor "touch '${canary}'"; git -C inner -c user.email=a@b -c user.name=a commit -q --allow-empty -m x; rm -f '${canary}'; ${say({})}`,
    );
    expect(ran.result.host.attempts[0]?.diff?.changed).toEqual(['inner/']);
    expect(existsSync(canary)).toBe(false);
  });
});

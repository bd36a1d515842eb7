import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { Command } from '../../src/cli/command.ts';
import { COMMANDS } from '../../src/cli/commands.ts';
import type { Workspace } from '../support/workspace.ts';
import { given, removeAll } from './given.ts';

afterAll(removeAll);

/** Exit 3, nothing on stdout, a sentence on stderr that tells what to write instead. */
function expectUsage(ws: Workspace, args: readonly string[], says: RegExp | string = /.{20}/): void {
  const ran = ws.run(args);
  expect({ args, exit: ran.exit, stdout: ran.stdout }).toEqual({ args, exit: 3, stdout: '' });
  expect(ran.stderr).toMatch(says);
  expect(ran.stderr).not.toMatch(/internal error|\n {4}at /);
}

describe('words that are none', () => {
  it.each([
    [['chekc'], 'did you mean writ check?'],
    [['laod'], 'did you mean writ load?'],
    [['quarantine', 'lst'], 'did you mean writ quarantine list?'],
    [['trust', 'shwo'], 'did you mean writ trust show?'],
    [['log', 'verfy'], /usage|did you mean/],
    [['check', '--formt', 'json'], 'did you mean --format?'],
    [['load', '--dryrun'], 'did you mean --dry-run?'],
    [['write', 'x.md', '--clas', 'policy'], 'did you mean --class?'],
    [['check', '--strict=yes'], /strict/],
    [['check', '-z'], /-z/],
    [['check', '--format'], /format/],
    [['check', '--format', 'xml'], /text.*json/],
    [['load', '--host', 'claud-code'], 'did you mean claude-code?'],
    [['write', 'x.md', '--class', 'polcy'], /policy/],
    [['--format', 'json'], /there is no command/],
    [['\u001b[31mred'], /there is no command \\u\{1b\}/],
  ])('%j', (args, says) => {
    expectUsage(given(), args, says);
  });

  it('no word at all prints the overview and is wrong usage', () => {
    const ran = given().run([]);
    expect(ran.exit).toBe(3);
    expect(ran.stdout).toContain('Usage: writ COMMAND');
  });
});

describe('every command, called wrongly', () => {
  const words = (command: Command): readonly string[] => command.name.split(' ');
  const filler = (command: Command): readonly string[] =>
    Array.from({ length: command.positionals.min }, (_, at) => `word${at}`);

  it.each(COMMANDS.map((command) => [command.name, command] as const))('%s', (_name, command) => {
    const ws = given();
    expectUsage(ws, [...words(command), ...filler(command), '--no-such-flag'], 'knows no --no-such-flag');
    const { min, max } = command.positionals;
    if (min > 0) expectUsage(ws, words(command), 'usage: ');
    if (max !== Infinity) expectUsage(ws, [...words(command), ...Array.from({ length: max + 1 }, () => 'x')]);
  });

  /** Values no option of the name takes, each enough to make the call wrong before anything is read. */
  const WRONG: Readonly<Record<string, string>> = {
    format: 'xml',
    class: 'law',
    level: 'T9',
    carrier: 'trailer',
    role: 'emperor',
    expires: 'soon',
    until: 'soon',
    expiring: 'soon',
    frame: 'box',
    nonce: 'none',
    limit: 'many',
    json: '{',
    'source-commit': 'main',
    id: '../x',
    supersedes: '../x',
    pub: 'no-such.pub',
    to: 'no-such.pub',
    key: 'no-such-key',
    root: 'no-such-folder',
    from: 'no-such-file',
    accept: 'rule-without-reason',
    host: 'nobody',
    recovery: 'no-such.pub',
    dir: '../up',
    workspace: 'a b',
    fingerprint: 'MD5:aa',
    as: 'evil[bot]',
    'approved-by': 'evil[bot]',
    head: 'nothing',
  };
  const calls = COMMANDS.flatMap((command) =>
    Object.keys({ root: 1, ...command.options })
      .filter((name) => Object.hasOwn(WRONG, name))
      .map((name) => [command.name, name, command] as const),
  );

  it.each(calls)('%s --%s', (_name, option, command) => {
    const ws = given();
    const ran = ws.as('f13', [...words(command), ...filler(command), `--${option}`, WRONG[option] ?? '']);
    expect(ran.exit, ran.stdout + ran.stderr).not.toBe(0);
    // Whatever keeps a host's hook from judging is a deny: hosts read 2 as one.
    expect(command.name === 'hook host' ? [2] : [1, 3, 4], ran.stderr).toContain(ran.exit);
    expect(ran.stderr.trim().length).toBeGreaterThan(20);
    expect(ran.stderr).not.toMatch(/internal error|\n {4}at /);
  });
});

describe('keys', () => {
  const write = ['write', 'NEXT_AGENT_INIT.md', '--class', 'memory', '--as', 'orch'];
  const expectNoWrite = (ws: Workspace, key: string, says: RegExp): void => {
    const ran = ws.run([...write, '--key', key], { input: 'Text.\n' });
    expect(ran.exit, ran.stderr).toBe(3);
    expect(ran.stderr).toMatch(says);
    expect(ws.has('NEXT_AGENT_INIT.md')).toBe(false);
  };

  it('no key, a key that is not there, a folder, a FIFO, garbage, a lone public key', () => {
    const ws = given();
    const none = ws.run(write, { input: 'Text.\n' });
    expect(none.exit).toBe(3);
    expect(none.stderr).toContain('--key FILE');
    expectNoWrite(ws, join(ws.base, 'no-such'), /cannot be/);
    expectNoWrite(ws, ws.base, /cannot be used/);
    spawnSync('mkfifo', [join(ws.base, 'fifo')]);
    expectNoWrite(ws, join(ws.base, 'fifo'), /cannot be used/);
    writeFileSync(
      join(ws.base, 'garbage'),
      '-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n',
    );
    expectNoWrite(ws, join(ws.base, 'garbage'), /cannot be used/);
  });

  it('a known key under another name, and the key of a stranger', () => {
    const ws = given();
    for (const key of ['lead', 'stranger']) {
      const ran = ws.run([...write, '--key', ws.key(key)], { input: 'Text.\n' });
      expect(ran.exit).toBe(1);
      expect(ran.stderr).toContain('refused (writer-unproven)');
      expect(ws.has('NEXT_AGENT_INIT.md')).toBe(false);
    }
  });

  const keygen = spawnSync('ssh-keygen', ['-?']).error === undefined;
  it.skipIf(!keygen)('an encrypted key without a terminal: told at once, nothing waits', () => {
    const ws = given();
    const file = join(ws.base, 'locked');
    spawnSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', 'a passphrase', '-C', 'orch', '-f', file]);
    ws.must('f13', ['trust', 'add', 'locked', '--role', 'orchestrator', '--pub', `${file}.pub`]);
    const before = Date.now();
    const ran = ws.run(['write', 'NEXT_AGENT_INIT.md', '--class', 'memory', '--as', 'locked', '--key', file], {
      input: 'Text.\n',
    });
    expect(Date.now() - before).toBeLessThan(20_000);
    expect([3, 4], ran.stderr).toContain(ran.exit);
    expect(ran.stderr).toMatch(/passphrase|encrypted|terminal|agent/i);
    expect(ran.stderr).not.toMatch(/internal error/);
    expect(ws.has('NEXT_AGENT_INIT.md')).toBe(false);
  });
});

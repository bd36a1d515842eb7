import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { lay, spawn } from '../attacks/forge.ts';
import { type Ran, Workspace } from '../support/workspace.ts';

interface Check {
  readonly id: string;
  readonly status: string;
  readonly message: string;
  readonly cure: string;
}

const RULE = (bad: string): string =>
  `id: no-rockets\nfamily: override\nseverity: suspect\ncontexts: [prose]\nliterals: [rocket]\npatterns: ['rocket launch']\nwhy: Rockets are not launched from here.\nbad:\n${[bad, 'rocket launch two', 'a rocket launch', 'the rocket launch', 'one rocket launch'].map((one) => `  - ${one}\n`).join('')}good: [a, b, c, d, e]\n`;

describe('doctor', () => {
  let ws: Workspace;
  beforeEach(() => {
    ws = new Workspace({ git: true });
    ws.put('AGENTS.md', '# A\n');
  });
  afterEach(() => ws.remove());

  const checks = (ran: Ran): readonly Check[] => {
    const told = JSON.parse(ran.stdout) as { readonly schema: string; readonly checks: readonly Check[] };
    expect(told.schema).toBe('writ.doctor/1');
    return told.checks;
  };
  const ask = (env: Readonly<Record<string, string>> = {}): Ran => ws.run(['doctor', '--format', 'json'], { env });
  const of = (ran: Ran, id: string): readonly string[] =>
    checks(ran)
      .filter((one) => one.id === id)
      .map((one) => one.status);
  const setUp = (): void => {
    ws.must('f13', ['init', '--workspace', 'example.test/acme/app', '--adopt', 'policy', '--git-hook', '--yes']);
  };

  it('finds nothing wrong where nothing is set up, and names what to run', () => {
    const ran = ask();
    expect(ran.exit).toBe(0);
    expect(checks(ran).find((one) => one.id === 'set')).toMatchObject({ status: 'warn', cure: 'writ init' });
    expect(ws.has('policies')).toBe(false);
  });

  it('passes a good set-up, says what a missing touch means, and writes nothing', () => {
    setUp();
    const before = ws.shell('cd .. && find . -type f -newer ws/AGENTS.md.manifest.yaml | sort; find . | wc -l').stdout;
    const ran = ask();
    expect(ran.exit).toBe(0);
    expect(of(ran, 'hook')).toEqual(['ok']);
    expect(of(ran, 'attributes')).toEqual(['ok']);
    expect(checks(ran).find((one) => one.id === 'presence')?.message).toContain('same user');
    for (const one of checks(ran)) {
      expect(Object.keys(one).sort()).toEqual(['cure', 'id', 'message', 'status']);
      expect(['ok', 'warn', 'fail', 'could-not-check']).toContain(one.status);
      expect(one.cure === '').toBe(one.status === 'ok');
    }
    expect(ws.shell('cd .. && find . -type f -newer ws/AGENTS.md.manifest.yaml | sort; find . | wc -l').stdout).toBe(
      before,
    );
    expect(ws.run(['doctor']).stdout).toContain('0 failed');
  });

  it('fails on a set that was edited and not signed', () => {
    setUp();
    ws.put('policies/constitution.md', 'Do as you like.\n');
    const ran = ask();
    expect(ran.exit).toBe(1);
    expect(checks(ran).find((one) => one.status === 'fail')?.message).toContain('policy-altered');
  });

  it('fails in a clone that is not pinned', () => {
    setUp();
    rmSync(join(ws.env.HOME ?? '', '.config'), { recursive: true });
    const ran = ask();
    expect(ran.exit).toBe(1);
    expect(of(ran, 'pin')).toEqual(['fail']);
  });

  it('fails on what others may write or read', () => {
    setUp();
    chmodSync(join(ws.root, 'policies/policy.yaml'), 0o666);
    chmodSync(join(ws.env.HOME ?? '', '.config/writ'), 0o777);
    const ran = ask();
    expect(ran.exit).toBe(1);
    expect(of(ran, 'policy-files')).toEqual(['fail']);
    expect(of(ran, 'permissions')).toEqual(['fail']);
    chmodSync(ws.key('f13'), 0o644);
    expect(of(ask({ WRIT_KEY: ws.key('f13') }), 'key-files')).toEqual(['fail']);
  });

  it('fails on a hook that calls what is gone, and sees a manager', () => {
    setUp();
    const hook = '.git/hooks/pre-commit';
    ws.put(hook, ws.read(hook).replace(/^writ='.*'$/m, "writ='/nonexistent/writ.cjs'"));
    expect(of(ask(), 'hook')).toEqual(['fail']);
    ws.put(hook, '#!/bin/sh\nexit 0\n');
    expect(of(ask(), 'hook')).toEqual(['warn']);
    mkdirSync(join(ws.root, '.husky'));
    expect(checks(ask()).find((one) => one.id === 'hook')?.message).toContain('husky');
  });

  it('names the line of a rule that is broken, and of an example that does not hold', () => {
    setUp();
    ws.put('policies/rules/rockets.yaml', RULE('a rocket launch now'));
    expect(checks(ask()).some((one) => one.status === 'warn' && one.message.includes('policy-file-unlisted'))).toBe(
      true,
    );
    ws.must('f13', ['trust', 'sign', '--yes']);
    expect(of(ask(), 'rules')).toEqual(['ok']);
    ws.put('policies/rules/rockets.yaml', RULE('nothing of the kind'));
    ws.must('f13', ['trust', 'sign', '--yes']);
    const ran = ask();
    expect(ran.exit).toBe(1);
    expect(checks(ran).find((one) => one.id === 'rules')?.message).toContain(
      'policies/rules/rockets.yaml:9: the bad example',
    );
    ws.put('policies/rules/rockets.yaml', RULE('x').replace('severity: suspect', 'severity: terrible'));
    ws.as('f13', ['trust', 'sign', '--yes']);
    const broken = ask();
    expect(broken.exit).toBe(1);
    expect(broken.stdout).toMatch(/rockets\.yaml/);
  });

  it('names what runs out within 30 days', async () => {
    ws.must('f13', ['init', '--workspace', 'example.test/acme/app']);
    ws.must('f13', ['approve', 'AGENTS.md', '--class', 'policy', '--expires', '10d', '--yes']);
    await lay(ws, 'HANDOFF.md', {
      by: null,
      author: 'f13',
      class: 'operational_handoff',
      approvedBy: null,
      expiresAt: Date.now() + 86_400_000,
    });
    await spawn(ws, 'f13', 'helper', { expiresAt: Date.now() - 1_000, issuedAt: Date.now() - 3_600_000 });
    const told = checks(ask())
      .filter((one) => one.id === 'expiring')
      .map((one) => one.message);
    expect(told.some((one) => one.includes('AGENTS.md'))).toBe(true);
    expect(told.some((one) => one.includes('HANDOFF.md'))).toBe(true);
    expect(told.some((one) => one.includes('helper'))).toBe(true);
  });

  it('tells WRIT_ variables by name and never their value', () => {
    const ran = ask({ WRIT_FANCY: 'hunter2', WRIT_AS: 'f13' });
    expect(of(ran, 'environment')).toEqual(['warn', 'warn']);
    expect(ran.stdout).toContain('WRIT_FANCY');
    expect(ran.stdout).not.toContain('hunter2');
  });

  it('what cannot be looked at is never in order: exit 4', () => {
    setUp();
    ws.must('f13', ['load', '--format', 'none']);
    writeFileSync(join(ws.env.HOME ?? '', '.local/state/writ/writ.db'), 'not a database');
    const ran = ask();
    expect(ran.exit).toBe(4);
    expect(of(ran, 'state')).toEqual(['could-not-check']);
  });

  it('sees an id that the remote would not propose', () => {
    setUp();
    ws.git('remote', 'add', 'origin', 'https://forge.test/other/app.git');
    expect(of(ask(), 'pin')).toEqual(['warn', 'warn']);
  });
});

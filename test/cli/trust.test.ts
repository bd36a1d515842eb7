import { cpSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { codes, Workspace } from '../support/workspace.ts';

describe('trust', () => {
  let ws: Workspace;
  let other: Workspace;
  const fingerprint = (): string => JSON.parse(ws.run(['trust', 'show', '--format', 'json']).stdout).roots[0] as string;
  const copy = (): void => cpSync(ws.root, other.root, { recursive: true });

  beforeAll(() => {
    ws = new Workspace().govern();
    ws.put('AGENTS.md', 'Be kind.\n');
    ws.must('f13', ['approve', 'AGENTS.md', '--class', 'policy', '--yes']);
    other = new Workspace();
    copy();
  });
  afterAll(() => {
    ws.remove();
    other.remove();
  });

  it('refuses a second init, and an init where the checkout was known', () => {
    expect(ws.as('f13', ['init', '--yes']).exit).toBe(3);
    expect(ws.run(['load', '--format', 'none']).exit).toBe(0);
    expect(ws.run(['log', 'verify']).exit).toBe(0);
  });

  it('proves nobody in a clone without a pin, and everybody once the root is pinned', () => {
    const before = other.check();
    expect([before.workspace.root, before.exit, before.findings.map((one) => one.code)]).toEqual([
      'unpinned',
      1,
      ['root-unpinned'],
    ]);
    expect(other.verdict('AGENTS.md')).toMatchObject({ rank: 'quarantined', disposition: 'withhold' });
    expect(other.run(['trust', 'pin']).exit).toBe(3);
    expect(other.run(['trust', 'pin', '--fingerprint', `SHA256:${'A'.repeat(43)}`])).toMatchObject({
      exit: 1,
      stderr: expect.stringContaining('root-mismatch'),
    });
    expect(other.run(['trust', 'pin', '--fingerprint', fingerprint()]).exit).toBe(0);
    expect(other.verdict('AGENTS.md').rank).toBe('binding');
  });

  it('takes WRIT_ROOT in CI, where no pin exists', () => {
    const ci = new Workspace();
    cpSync(ws.root, ci.root, { recursive: true });
    const ran = ci.run(['check', '--format', 'json'], {
      env: { WRIT_ROOT: `example.test/acme/app=${fingerprint()}`, WRIT_STATE: 'none' },
    });
    expect([ran.exit, JSON.parse(ran.stdout).summary.binding]).toEqual([0, 2]);
    expect(ci.run(['check'], { env: { WRIT_ROOT: 'nonsense' } }).exit).toBe(3);
    ci.remove();
  });

  it('lets nobody but a root change the set', () => {
    const ran = ws.as('lead', ['trust', 'add', 'mallory', '--role', 'sovereign', '--pub', `${ws.key('mallory')}.pub`]);
    expect([ran.exit, ran.stderr]).toEqual([1, expect.stringContaining('root-mismatch')]);
    expect(
      ws.as('f13', ['trust', 'add', 'twin', '--role', 'approver', '--pub', `${ws.key('orch')}.pub`]).stderr,
    ).toContain('spawn-collision');
    expect(ws.as('f13', ['trust', 'add', 'x', '--role', 'king', '--pub', `${ws.key('orch')}.pub`]).exit).toBe(3);
    expect(ws.as('f13', ['trust', 'remove', 'f13']).exit).toBe(3);
  });

  it('refuses a hand edit until the root signs it', () => {
    const file = 'policies/policy.yaml';
    const policy = ws.read(file);
    ws.put(file, policy.replace('maxDays: 365', 'maxDays: 30'));
    expect(ws.check().findings.map((one) => one.code)).toContain('policy-altered');
    expect(ws.verdict('AGENTS.md').disposition).toBe('withhold');
    ws.put(file, policy.replace('maxDays: 365', 'maxDays: 365x'));
    expect(ws.as('f13', ['trust', 'sign'])).toMatchObject({
      exit: 3,
      stderr: expect.stringMatching(/policies\/policy\.yaml:\d+:\d+: approvals\.maxDays/),
    });
    ws.put(file, policy);
    ws.must('f13', ['trust', 'sign']);
    expect(ws.verdict('AGENTS.md').rank).toBe('binding');
  });

  it('rotates the root, signed by old and new; a clone with the old pin follows', () => {
    ws.must('f13', ['trust', 'rotate', '--to', ws.key('next')]);
    copy();
    expect(other.check()).toMatchObject({ workspace: { root: 'pinned' }, exit: 0 });
    expect(other.run(['load', '--format', 'none']).exit).toBe(0);
    const old = ws.as('f13', ['trust', 'sign']);
    expect([old.exit, old.stderr]).toEqual([1, expect.stringContaining('root-mismatch')]);
    expect(ws.run(['trust', 'sign', '--key', ws.key('next')]).exit).toBe(0);
  });

  it('keeps what a departed approver approved, and nothing they sign later', () => {
    ws.must('orch', ['write', 'INIT.md', '--class', 'policy', '--approved-by', 'lead'], { input: 'one\n' });
    ws.must('lead', ['approve', 'INIT.md', '--yes']);
    ws.must('orch', ['write', 'NEXT_INIT.md', '--class', 'policy', '--approved-by', 'lead'], { input: 'two\n' });
    expect(ws.run(['trust', 'remove', 'lead', '--departed', '--key', ws.key('next')]).exit).toBe(0);
    expect(ws.verdict('INIT.md').rank).toBe('binding');
    expect(ws.as('lead', ['approve', 'NEXT_INIT.md', '--yes']).exit).toBe(1);
  });

  it('drops everything of a compromised key', () => {
    expect(ws.run(['trust', 'remove', 'lead', '--compromised', '--key', ws.key('next')]).exit).toBe(0);
    expect(codes(ws.verdict('INIT.md'))).toContain('approval-unproven');
  });
});

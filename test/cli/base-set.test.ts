import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { codes, Workspace } from '../support/workspace.ts';

interface Shown {
  readonly settings: readonly { readonly name: string; readonly value: unknown; readonly layer: string }[];
  readonly base: readonly { readonly layer: string; readonly version: number }[];
  readonly pin: { readonly pattern?: string; readonly from: string } | null;
}

/** Base sets and pins for many: issue "From one repo to two hundred", item 1. */
describe('base sets', () => {
  let ws: Workspace;
  const dir = (): string => join(ws.env.HOME ?? '', '.config/writ/policies');
  const pinsFile = (): string => join(ws.env.HOME ?? '', '.config/writ/pins.yaml');
  const base = (yaml: string): void => {
    mkdirSync(dir(), { recursive: true });
    writeFileSync(join(dir(), 'base.yaml'), `version: 1\n${yaml}\n`);
    ws.must('org', ['trust', 'base', '--id', 'acme', '--pin', '--replace']);
  };
  const findings = (): readonly string[] => ws.check().findings.map((one) => one.code);
  const shown = (): Shown => JSON.parse(ws.run(['trust', 'show', '--format', 'json']).stdout);

  beforeEach(() => {
    ws = new Workspace();
    ws.key('org');
    ws.govern();
    ws.put('AGENTS.md', '# Rules\n');
    ws.must('f13', ['approve', 'AGENTS.md', '--class', 'policy', '--yes']);
    expect(ws.verdict('AGENTS.md').rank).toBe('binding');
  });
  afterEach(() => ws.remove());

  it('bounds the policy of a workspace, and trust show tells each value with its layer', () => {
    base('approvals: {threshold: {policy: 2}}\nspawns: {maxHours: 1}');
    expect(findings()).toEqual([]);
    expect(codes(ws.verdict('AGENTS.md'))).toContain('approval-threshold');
    const { settings, base: bases } = shown();
    expect(bases).toEqual([expect.objectContaining({ layer: 'user', version: 1 })]);
    const of = (name: string): unknown => settings.find((one) => one.name === name);
    expect(of('spawns.maxHours')).toEqual({ name: 'spawns.maxHours', value: 1, layer: 'user' });
    expect(of('approvals.maxDays')).toMatchObject({ value: 365, layer: 'built in' });
    expect(ws.run(['trust', 'show']).stdout).toContain('spawns.maxHours = 1  (user)');
    base('classes: {policy: advisory}');
    expect(ws.verdict('AGENTS.md').rank).toBe('advisory');
  });

  it('a policy.yaml that allows more proves nobody, and both files are named', () => {
    ws.put('policies/policy.yaml', ws.read('policies/policy.yaml').replace('maxDays: 365', 'maxDays: 200'));
    ws.must('f13', ['trust', 'sign', '--yes']);
    expect(shown().settings.find((one) => one.name === 'approvals.maxDays')).toMatchObject({
      value: 200,
      layer: 'workspace',
    });
    base('approvals: {maxDays: 90}');
    const [found] = ws.check().findings;
    expect(found).toMatchObject({ code: 'policy-invalid', file: 'policies/policy.yaml' });
    expect(found?.message).toMatch(/maxDays is 200 in policies\/policy\.yaml.*policies\/base\.yaml above it says 90/);
    expect([ws.check().exit, ws.verdict('AGENTS.md').rank]).toEqual([1, 'quarantined']);
    base('workspaces: ["github.com/other/*"]\napprovals: {maxDays: 90}');
    expect(ws.verdict('AGENTS.md').rank).toBe('binding');
  });

  it.each([
    ['altered', (): void => writeFileSync(join(dir(), 'base.yaml'), 'version: 1\n')],
    ['taken away', (): void => rmSync(dir(), { recursive: true })],
    ['without its signature', (): void => rmSync(join(dir(), 'base.dsse.json'))],
    [
      'without its pin',
      (): void => writeFileSync(pinsFile(), readFileSync(pinsFile(), 'utf8').replace(/^base:\n(?: .*\n)*/m, '')),
    ],
    [
      'older than its pin',
      (): void => writeFileSync(pinsFile(), readFileSync(pinsFile(), 'utf8').replace(/^ {2}floor: 1$/m, '  floor: 7')),
    ],
    ['signed by somebody else', (): void => void ws.must('spec', ['trust', 'base', '--replace'])],
    ['of another name', (): void => void ws.must('org', ['trust', 'base', '--id', 'evil'])],
  ])('a base set %s lets nothing bind, and is never clean', (_name, harm) => {
    base('approvals: {maxDays: 90}');
    expect(ws.check().exit).toBe(0);
    harm();
    expect(findings()).toContain('state-unavailable');
    expect(ws.check().exit).toBe(4);
    expect(ws.verdict('AGENTS.md').rank).not.toBe('binding');
    expect(ws.run(['load', '--format', 'none']).exit).toBe(4);
    expect(ws.has('AGENTS.md')).toBe(true);
  });

  it('another key is refused without --replace, and a base.yaml that is none is not signed', () => {
    base('approvals: {maxDays: 90}');
    expect(ws.as('spec', ['trust', 'base']).exit).toBe(1);
    writeFileSync(join(dir(), 'base.yaml'), 'version: 1\nprincipals: {}\n');
    expect(ws.as('org', ['trust', 'base']).exit).toBe(3);
  });

  it('a base set is no policy set of a workspace', () => {
    base('approvals: {maxDays: 90}');
    ws.put('policies/policy.dsse.json', readFileSync(join(dir(), 'base.dsse.json')));
    expect(ws.check().exit).toBe(1);
    expect(ws.verdict('AGENTS.md').rank).not.toBe('binding');
    const fresh = new Workspace();
    fresh.put('policies/policy.dsse.json', readFileSync(join(dir(), 'base.dsse.json')));
    expect(fresh.run(['trust', 'pin', '--yes']).exit).toBe(1);
    fresh.remove();
  });

  it('a pin for many: any workspace of that name under that root, and no other', () => {
    const text = readFileSync(pinsFile(), 'utf8').replace(
      'workspace: "example.test/acme/app"',
      'workspace: "example.test/acme/*"',
    );
    writeFileSync(pinsFile(), text);
    expect(ws.verdict('AGENTS.md').rank).toBe('binding');
    expect(shown().pin).toMatchObject({ pattern: 'example.test/acme/*', from: 'user' });
    // The first boot keeps a pin of this workspace alone, so that its own floor and roots are remembered.
    ws.run(['load', '--format', 'none']);
    expect(readFileSync(pinsFile(), 'utf8')).toContain('workspace: "example.test/acme/app"');
    expect(readFileSync(pinsFile(), 'utf8')).toContain('workspace: "example.test/acme/*"');
    const evil = new Workspace();
    mkdirSync(join(evil.env.HOME ?? '', '.config/writ'), { recursive: true });
    writeFileSync(join(evil.env.HOME ?? '', '.config/writ/pins.yaml'), text);
    evil.put('AGENTS.md', '# Evil\n');
    const init = evil.as('spec', ['init', '--workspace', 'example.test/acme/other', '--yes']);
    expect([init.exit, init.stderr]).toEqual([1, expect.stringContaining('example.test/acme/*')]);
    const made = new Workspace();
    made.must('spec', ['init', '--workspace', 'example.test/acme/other', '--yes']);
    made.put('AGENTS.md', '# Evil\n');
    made.must('spec', ['approve', 'AGENTS.md', '--class', 'policy', '--yes']);
    const judged = evil.run(['check', '--root', made.root, '--format', 'json']);
    expect([judged.exit, judged.stdout]).toEqual([1, expect.stringContaining('root-mismatch')]);
    evil.remove();
    made.remove();
  });

  it('WRIT_ROOT takes a pattern too', () => {
    const root = /SHA256:[A-Za-z0-9+/]{43}/.exec(readFileSync(pinsFile(), 'utf8'))?.[0] ?? '';
    const bare = { HOME: join(ws.base, 'bare') };
    mkdirSync(bare.HOME);
    const judge = (pin: string) =>
      ws.run(['check', '--format', 'json'], { env: { ...bare, WRIT_ROOT: `${pin}=${root}` } });
    expect(judge('example.test/acme/*').stdout).toContain('"rank": "binding"');
    expect(judge('example.test/other/*').stdout).not.toContain('"rank": "binding"');
    expect(judge('*').exit).toBe(3);
  });
});

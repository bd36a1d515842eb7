import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseBaseFile } from '../../src/policy/base-file.ts';
import { conflictOf, type Layer, tellConflict, underLayers } from '../../src/policy/layers.ts';
import { isIdPattern, matchesId } from '../../src/policy/pin-pattern.ts';
import { type Pin, pinOf } from '../../src/policy/pins.ts';
import { parsePolicyFile } from '../../src/policy/policy-file.ts';
import { policyYaml } from './given.ts';

async function layer(name: 'system' | 'user', yaml: string): Promise<Layer> {
  const read = await parseBaseFile(`version: 1\n${yaml}`);
  if ('fault' in read) throw new Error(read.fault.why);
  return { ...read, name, file: `${name}/base.yaml` };
}

async function under(own: string, ...layers: readonly Layer[]) {
  const parsed = await parsePolicyFile(policyYaml() + own);
  if ('fault' in parsed) throw new Error(parsed.fault.why);
  return underLayers(parsed.policy, 'policies/policy.yaml', layers);
}

/** `[what the base says, what policy.yaml says, what counts (null: a conflict)]`. */
const CASES: readonly (readonly [string, string, string, unknown])[] = [
  ['approvals.maxDays', 'approvals: {maxDays: 90}', 'approvals: {maxDays: 30}', 30],
  ['approvals.maxDays', 'approvals: {maxDays: 90}', '', 90],
  ['approvals.maxDays', 'approvals: {maxDays: 90}', 'approvals: {maxDays: 366}', null],
  ['approvals.threshold.policy', 'approvals: {threshold: {policy: 2}}', '', 2],
  ['approvals.threshold.policy', 'approvals: {threshold: {policy: 3}}', 'approvals: {threshold: {policy: 2}}', null],
  [
    'approvals.threshold.constitution',
    'approvals: {threshold: {constitution: 2}}',
    'approvals: {threshold: {constitution: 3}}',
    3,
  ],
  ['approvals.presence', 'approvals: {presence: touch}', '', 'touch'],
  ['approvals.presence', 'approvals: {presence: touch}', 'approvals: {presence: none}', 'touch'],
  ['approvals.presence', 'approvals: {presence: none}', 'approvals: {presence: touch}', 'touch'],
  ['spawns.maxHours', 'spawns: {maxHours: 4}', '', 4],
  ['spawns.maxHours', 'spawns: {maxHours: 4}', 'spawns: {maxHours: 5}', null],
  ['unmanifested', 'unmanifested: quarantined', '', 'quarantined'],
  ['unmanifested', 'unmanifested: quarantined', 'unmanifested: reference', 'quarantined'],
  ['commits.authorship', 'commits: {authorship: none}', '', 'none'],
  ['commits.authorship', 'commits: {authorship: specialist}', 'commits: {authorship: orchestrator}', null],
  ['commits.authorship', 'commits: {authorship: specialist}', 'commits: {principals: {lead: approver}}', null],
  [
    'commits.principals.lead',
    'commits: {authorship: orchestrator}',
    'commits: {principals: {lead: specialist}}',
    'specialist',
  ],
  ['commits.approval', 'commits: {approval: none}', 'commits: {approval: [lead]}', null],
  ['commits.approval', 'commits: {approval: none}', 'commits: {approval: []}', 'none'],
  ['classes.policy', 'classes: {policy: advisory}', '', 'advisory'],
  ['classes.policy', 'classes: {policy: advisory}', 'classes: {policy: binding}', 'advisory'],
  ['classes.policy', 'classes: {policy: reference}', 'classes: {policy: advisory}', null],
  ['classes.policy', 'classes: {policy: advisory}', 'classes: {policy: reference}', 'reference'],
  ['modes.manifest-missing', 'modes: {manifest-missing: enforce}', 'modes: {manifest-missing: audit}', null],
  ['modes.manifest-missing', 'modes: {"*": enforce}', 'modes: {manifest-missing: audit}', null],
  ['hosts', 'hosts: [codex]', 'hosts: [claude-code]', null],
  ['hosts', 'hosts: [codex]', 'hosts: [claude-code, codex]', ['claude-code', 'codex']],
];

describe('a lower layer only tightens', () => {
  it.each(CASES)('%s: %s over %j', async (name, base, own, expected) => {
    const done = await under(own === '' ? '' : `${own}\n`, await layer('system', base));
    if ('conflict' in done) {
      expect(expected).toBeNull();
      const told = tellConflict(done.conflict);
      expect(told).toContain('policies/policy.yaml');
      expect(told).toContain('system/base.yaml');
      return;
    }
    const found = done.settings.find((one) => one.name === name);
    expect(found?.value).toEqual(expected);
    // What is the built-in value asks for nothing, so the base set makes it so.
    const asks = own !== '' && !/approval: \[\]|presence: none|unmanifested: reference|policy: binding/.test(own);
    expect(found?.layer).toBe(asks ? 'workspace' : 'system');
  });

  it('the policy that judges is the bounded one', async () => {
    const done = await under(
      '',
      await layer(
        'system',
        'approvals: {maxDays: 90, threshold: {policy: 2}, presence: touch}\nspawns: {maxHours: 4}\n',
      ),
      await layer(
        'user',
        'approvals: {maxDays: 30}\nclasses: {guidance: reference}\ncommits: {authorship: none}\ninitPaths: [{path: "prompts/*.md", loads: launch}]\n',
      ),
    );
    if ('conflict' in done) throw new Error(tellConflict(done.conflict));
    expect(done.policy).toMatchObject({
      approvals: { maxDays: 30, threshold: { policy: 2, constitution: 1 }, presence: 'touch' },
      spawns: { maxHours: 4 },
      commits: { authorship: null },
      initPaths: [{ path: 'prompts/*.md', loads: 'launch' }],
    });
    expect(done.policy.classes.get('guidance')).toBe('reference');
    const layers = Object.fromEntries(done.settings.map((one) => [one.name, one.layer]));
    expect(layers).toMatchObject({
      'approvals.maxDays': 'user',
      'approvals.threshold.policy': 'system',
      'approvals.threshold.constitution': 'built in',
      unmanifested: 'built in',
      initPaths: 'user',
    });
  });

  it('two base sets that contradict each other are told by both files', async () => {
    const conflict = conflictOf([
      await layer('system', 'approvals: {maxDays: 30}'),
      await layer('user', 'approvals: {maxDays: 60}'),
    ]);
    expect(conflict === null ? '' : tellConflict(conflict)).toBe(
      'approvals.maxDays is 60 in user/base.yaml, and system/base.yaml above it says 30: a lower layer only tightens',
    );
  });

  it('without a base set nothing is another', async () => {
    const own =
      'approvals: {maxDays: 700, threshold: {policy: 3}}\nmodes: {manifest-missing: audit}\nclasses: {memory: reference}\n';
    const parsed = await parsePolicyFile(policyYaml() + own);
    const done = await under(own);
    if ('fault' in parsed || 'conflict' in done) throw new Error('no policy');
    expect(done.policy).toEqual(parsed.policy);
  });

  it.each([
    'approvals: {maxdays: 3}',
    'classes: {memory: binding}',
    'modes: {manifest-missing: audit}',
    'modes: {revoked: enforce}',
    'hosts: [claude]',
    'principals: {f13: sovereign}',
    'workspaces: ["*"]',
    'commits: {authorship: king}',
  ])('%s is no base set', async (yaml) => {
    expect(await parseBaseFile(`version: 1\n${yaml}\n`)).toHaveProperty('fault');
  });
});

describe('patterns of pins', () => {
  it.each([
    ['github.com/acme/*', 'github.com/acme/app', true],
    ['github.com/acme/*', 'github.com/acme/app/sub', false],
    ['github.com/acme/*', 'github.com/acme/', true],
    ['github.com/acme/*', 'github.com/acme', false],
    ['github.com/acme/*', 'github.com/acme-evil/app', false],
    ['github.com/acme/**', 'github.com/acme/a/b', true],
    ['github.com/acme/**', 'github.com/acme', false],
    ['github.com/acme/svc-*-api', 'github.com/acme/svc-pay-api', true],
    ['github.com/acme/svc-*-api', 'github.com/acme/svc-api', false],
    ['github.com/acme/app', 'github.com/acme/app', true],
    ['github.com/acme/app', 'github.com/Acme/app', false],
  ])('%s stands for %s: %s', (pattern, id, stands) => {
    expect(isIdPattern(pattern)).toBe(true);
    expect(matchesId(pattern, id)).toBe(stands);
  });

  it.each(['*', '**', '*/acme', 'github*/acme', 'a/**/b', 'a/x**', 'base/acme', 'base/*', '', 'a/b c'])(
    '%j is none',
    (text) => {
      expect(isIdPattern(text)).toBe(false);
    },
  );

  it('matching is what a regular expression says', () => {
    const part = fc.string({ unit: fc.constantFrom('a', 'b', '*'), minLength: 1, maxLength: 8 });
    const word = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 10 });
    fc.assert(
      fc.property(part, word, (pattern, text) => {
        if (pattern.includes('**')) return;
        const regex = new RegExp(`^x/${pattern.replaceAll('*', '[^/]*')}$`);
        expect(matchesId(`x/${pattern}`, `x/${text}`)).toBe(regex.test(`x/${text}`));
      }),
    );
  });

  const pin = (workspace: string, from: Pin['from'], root = 'a'): Pin => ({
    workspace,
    roots: [root],
    floor: 1,
    version: 1,
    digest: null,
    dir: 'policies',
    seen: null,
    from,
  });
  it('the administrator decides before the user, the exact before the pattern, the longer before the shorter', () => {
    const pins = [
      pin('g/acme/app', 'user', 'u'),
      pin('g/**', 'system', 'far'),
      pin('g/acme/*', 'system', 'near'),
      pin('g/acme/own', 'system', 'exact'),
      pin('h/**', 'environment', 'e'),
      pin('h/x', 'user', 'hx'),
    ];
    const roots = (id: string): readonly string[] | undefined => pinOf(pins, id)?.roots;
    expect(roots('g/acme/app')).toEqual(['near']);
    expect(roots('g/acme/own')).toEqual(['exact']);
    expect(roots('g/other/app')).toEqual(['far']);
    expect([roots('h/x'), roots('h/y'), roots('i/y')]).toEqual([['hx'], ['e'], undefined]);
    expect(pinOf(pins, 'g/acme/app')).toMatchObject({ workspace: 'g/acme/app', pattern: 'g/acme/*', from: 'system' });
    expect(pinOf([pin('base/acme', 'user')], 'base/acme')).toBeNull();
  });
});

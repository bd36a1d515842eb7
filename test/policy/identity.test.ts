import { describe, expect, it } from 'vitest';
import type { PolicySet } from '../../src/model/policy.ts';
import type { ApprovalPredicate, Statement } from '../../src/model/statement.ts';
import { standingOf } from '../../src/policy/approvals.ts';
import { indexSpawns, NO_SPAWNS, type SpawnLink, type Traced, trace } from '../../src/policy/identity.ts';
import { standingRevocations } from '../../src/policy/revocations.ts';
import {
  approval,
  DAY,
  entry,
  HOUR,
  intactSet,
  keyNamed,
  later,
  line,
  NOW,
  revocation,
  spawn,
  statement,
} from './given.ts';

function traced(
  links: readonly SpawnLink[],
  who: string,
  set: PolicySet = intactSet(),
  namespace: 'writ' | 'git' = 'writ',
  now = NOW,
): Traced | null {
  return trace(set, indexSpawns(links), keyNamed(who).fingerprint, namespace, now);
}

const codes = (found: Traced | null): readonly string[] | null => found?.faults.map((one) => one.code) ?? null;
const revoked = (over: Parameters<typeof revocation>[0], by: string, base: PolicySet = intactSet()): PolicySet => ({
  ...base,
  revocations: [...base.revocations, statement(revocation({ ...over, by }), [by])],
});

describe('principals', () => {
  it.each([
    ['f13', 'sovereign'],
    ['lead', 'approver'],
    ['orch', 'orchestrator'],
    ['spec', 'specialist'],
  ])('%s is %s', (name, role) => {
    expect(traced([], name)).toMatchObject({
      identity: { principal: name, role, scopes: [], chain: [name] },
      window: 'open',
      faults: [],
    });
  });

  it('a key nobody listed, and a key of a name policy.yaml does not list, are nobody', () => {
    expect(traced([], 'stranger')).toBeNull();
    expect(traced([], 'ghost', intactSet({ keys: [line('ghost')] }))).toBeNull();
  });

  it('where the set is not intact nobody is anybody', () => {
    expect(traced([spawn('kid', 'orch')], 'kid', intactSet({ intact: false }))).toBeNull();
    expect(traced([], 'f13', intactSet({ intact: false }))).toBeNull();
  });

  it.each([
    [['writ'], 'writ', true],
    [['writ'], 'git', false],
    [['git'], 'git', true],
    [['git'], 'writ', false],
    [null, 'writ', true],
    [null, 'git', false],
    [['file'], 'writ', false],
  ] as const)('namespaces %j and a signature in %s', (namespaces, namespace, isKnown) => {
    const set = intactSet({ keys: [line('f13', { namespaces })] });
    expect(traced([], 'f13', set, namespace) !== null).toBe(isKnown);
  });

  it('two keys of one principal are the same principal, each with its own window', () => {
    const set = intactSet({
      keys: [
        line('f13', { validBefore: NOW }),
        line('f13', {}, 'f13-new'),
        line('f13', { validAfter: later(1) }, 'f13-next'),
      ],
    });
    expect(traced([], 'f13', set)).toMatchObject({ identity: { principal: 'f13' }, window: 'closed' });
    expect(traced([], 'f13-new', set)).toMatchObject({ identity: { principal: 'f13' }, window: 'open' });
    expect(traced([], 'f13-next', set)).toMatchObject({ identity: { principal: 'f13' }, window: 'early' });
  });

  it('a key listed twice is valid where either line is', () => {
    const set = intactSet({ keys: [line('f13', { validBefore: NOW }), line('f13', { validAfter: NOW })] });
    expect(traced([], 'f13', set)?.window).toBe('open');
  });

  it('a principal speaks only for the paths policy.yaml gives', () => {
    const set = intactSet({}, { lead: entry('approver', { paths: ['services/**'] }) });
    expect(traced([], 'lead', set)?.identity.scopes).toEqual([['services/**']]);
  });

  it.each([
    ['the sovereign revokes an approver\u2019s key', { publicKey: 'lead' }, 'f13', 'lead', null],
    ['the sovereign revokes a name', { actor: 'lead' }, 'f13', 'lead', null],
    ['an approver revokes an orchestrator', { actor: 'orch' }, 'lead', 'orch', null],
    ['an approver cannot revoke an approver', { actor: 'lead2' }, 'lead', 'lead2', 'approver'],
    ['an approver cannot revoke the sovereign', { publicKey: 'f13' }, 'lead', 'f13', 'sovereign'],
    ['an orchestrator cannot revoke a specialist that is not its own', { actor: 'spec' }, 'orch', 'spec', 'specialist'],
    ['a stranger revokes nobody', { actor: 'spec' }, 'stranger', 'spec', 'specialist'],
    ['a revocation of another name', { actor: 'spec2' }, 'f13', 'spec', 'specialist'],
  ] as const)('%s', (_name, target, by, who, role) => {
    const over = 'publicKey' in target ? { publicKey: keyNamed(target.publicKey).line } : target;
    const set = revoked(over, by, intactSet({}, { lead2: entry('approver') }));
    expect(traced([], who, set)?.identity.role ?? null).toBe(role);
  });

  it('revoking one key leaves the other key of the same principal', () => {
    const base = intactSet({ keys: [...intactSet().keys, line('lead', {}, 'lead-2')] });
    const set = revoked({ publicKey: keyNamed('lead').line }, 'f13', base);
    expect(traced([], 'lead', set)).toBeNull();
    expect(traced([], 'lead-2', set)?.identity.role).toBe('approver');
    const both = revoked({ actor: 'lead' }, 'f13', base);
    expect([traced([], 'lead', both), traced([], 'lead-2', both)]).toEqual([null, null]);
  });

  it('what somebody revoked stays revoked when they are revoked themselves', () => {
    const set = revoked({ actor: 'lead' }, 'f13', revoked({ actor: 'spec' }, 'lead'));
    expect(traced([], 'spec', set)).toBeNull();
  });
});

describe('spawned actors', () => {
  it('a child of a principal has the role and paths its record gives', () => {
    const found = traced([spawn('kid', 'orch', { paths: ['src/**'] })], 'kid');
    expect(found).toMatchObject({
      identity: { principal: 'kid', role: 'specialist', scopes: [['src/**']], chain: ['orch', 'kid'] },
      entry: null,
      faults: [],
    });
  });

  it('three links stand, four do not', () => {
    const chain = [
      spawn('k1', 'orch', { role: 'orchestrator', paths: ['a/**'] }),
      spawn('k2', 'k1', { role: 'orchestrator', paths: ['a/b/**'] }),
      spawn('k3', 'k2'),
      spawn('k4', 'k3'),
    ];
    expect(traced(chain, 'k3')).toMatchObject({
      identity: { role: 'specialist', chain: ['orch', 'k1', 'k2', 'k3'], scopes: [['a/b/**'], ['a/**']] },
      faults: [],
    });
    const four = traced(chain, 'k4');
    expect(codes(four)).toEqual(['spawn-chain-broken']);
    expect(four?.faults[0]?.message).toMatch(/longer than 3/);
    expect(four?.identity.role).toBe('unknown');
  });

  it('a principal\u2019s own paths bind its children', () => {
    const set = intactSet({}, { orch: entry('orchestrator', { paths: ['services/**'] }) });
    expect(traced([spawn('kid', 'orch', { paths: ['**'] })], 'kid', set)?.identity.scopes).toEqual([
      ['**'],
      ['services/**'],
    ]);
  });

  const faults: readonly (readonly [string, readonly SpawnLink[], string, readonly string[], PolicySet?])[] = [
    ['more role than its principal', [spawn('kid', 'spec', { role: 'orchestrator' })], 'kid', ['spawn-role-widened']],
    [
      'more role than its spawned parent',
      [spawn('k1', 'orch'), spawn('k2', 'k1', { role: 'orchestrator' })],
      'k2',
      ['spawn-role-widened'],
    ],
    [
      'more role in the middle of the chain',
      [spawn('k1', 'spec', { role: 'orchestrator' }), spawn('k2', 'k1')],
      'k2',
      ['spawn-role-widened'],
    ],
    [
      'more life than its spawned parent',
      [spawn('k1', 'orch', { expiresAt: later(HOUR) }), spawn('k2', 'k1', { expiresAt: later(2 * HOUR) })],
      'k2',
      ['spawn-role-widened'],
    ],
    [
      'older than its spawned parent',
      [spawn('k1', 'orch'), spawn('k2', 'k1', {}, { issuedAt: later(-HOUR) })],
      'k2',
      ['spawn-role-widened'],
    ],
    [
      'more life than spawns.maxHours',
      [spawn('kid', 'orch', { expiresAt: later(25 * HOUR) })],
      'kid',
      ['spawn-role-widened'],
    ],
    ['run out', [spawn('kid', 'orch', { expiresAt: NOW })], 'kid', ['spawn-expired']],
    [
      'its parent run out',
      [spawn('k1', 'orch', { expiresAt: NOW }, { issuedAt: later(-HOUR) }), spawn('k2', 'k1', { expiresAt: NOW })],
      'k2',
      ['spawn-expired', 'spawn-expired'],
    ],
    ['issued in the future', [spawn('kid', 'orch', {}, { issuedAt: later(HOUR) })], 'kid', ['spawn-chain-broken']],
    ['a parent nobody knows', [spawn('kid', 'stranger')], 'kid', ['spawn-chain-broken']],
    [
      'signed by somebody else than the parent it names',
      [spawn('kid', 'f13', {}, { signers: ['orch'] })],
      'kid',
      ['spawn-chain-broken'],
    ],
    ['signed by itself', [spawn('kid', 'kid')], 'kid', ['spawn-chain-broken']],
    ['a circle', [spawn('k1', 'k2'), spawn('k2', 'k1')], 'k1', ['spawn-chain-broken']],
    [
      'a parent that departed',
      [spawn('kid', 'orch')],
      'kid',
      ['spawn-chain-broken'],
      intactSet({}, { orch: entry('orchestrator', { departed: NOW }) }),
    ],
    [
      'a parent whose key ran out',
      [spawn('kid', 'orch')],
      'kid',
      ['spawn-chain-broken'],
      intactSet({ keys: [line('orch', { validBefore: NOW })] }),
    ],
    [
      'a parent whose key is not valid yet',
      [spawn('kid', 'orch')],
      'kid',
      ['spawn-chain-broken'],
      intactSet({ keys: [line('orch', { validAfter: later(1) })] }),
    ],
    [
      'a parent that may only sign commits',
      [spawn('kid', 'orch')],
      'kid',
      ['spawn-chain-broken'],
      intactSet({ keys: [line('orch', { namespaces: ['git'] })] }),
    ],
    ['the name of a principal', [spawn('lead', 'orch', {}, { key: 'kid' })], 'kid', ['spawn-collision']],
    [
      'a name that only allowed_signers lists',
      [spawn('ci', 'orch', {}, { key: 'kid' })],
      'kid',
      ['spawn-collision'],
      intactSet({ keys: [...intactSet().keys, line('ci')] }),
    ],
    [
      'the key of a principal for commits',
      [spawn('kid', 'orch', {}, { key: 'dev' })],
      'dev',
      ['spawn-collision'],
      intactSet({ keys: [...intactSet().keys, line('dev', { namespaces: ['git'] })] }),
    ],
    [
      'the name of another child',
      [spawn('kid', 'orch'), spawn('kid', 'f13', {}, { key: 'other' })],
      'kid',
      ['spawn-collision'],
    ],
    [
      'the key of another child',
      [spawn('kid', 'orch'), spawn('twin', 'orch2', {}, { key: 'kid' })],
      'kid',
      ['spawn-collision'],
      intactSet({}, { orch2: entry('orchestrator') }),
    ],
    [
      'a collision above it',
      [spawn('k1', 'orch'), spawn('k1', 'f13', {}, { key: 'other' }), spawn('k2', 'k1')],
      'k2',
      ['spawn-collision'],
    ],
  ];

  it.each(faults.map(([name, links, who, expected, set = intactSet()]) => [name, links, who, expected, set] as const))(
    '%s',
    (_name, links, who, expected, set) => {
      const found = traced(links, who, set);
      expect(codes(found)?.filter((code, at, all) => all.indexOf(code) === at)).toEqual([...new Set(expected)]);
      expect(found?.identity.role).toBe('unknown');
      expect(found?.entry).toBeNull();
    },
  );

  it('a child\u2019s key proves nothing about commits', () => {
    expect(traced([spawn('kid', 'orch')], 'kid', intactSet(), 'git')).toBeNull();
  });

  it('clocks may differ by five minutes', () => {
    expect(
      codes(
        traced([spawn('kid', 'orch', { expiresAt: later(24 * HOUR + 240_000) }, { issuedAt: later(240_000) })], 'kid'),
      ),
    ).toEqual([]);
  });

  it.each([
    ['the sovereign', 'f13'],
    ['an approver', 'lead'],
    ['its parent', 'orch'],
    ['its parent\u2019s parent', 'k1'],
  ])('%s may revoke it, by name and by key', (_name, by) => {
    const links = [spawn('k1', 'orch', { role: 'orchestrator' }), spawn('k2', by === 'orch' ? 'orch' : 'k1')];
    for (const over of [{ actor: 'k2' }, { publicKey: keyNamed('k2').line }]) {
      const found = traced(links, 'k2', revoked(over, by));
      expect(codes(found)).toEqual(['spawn-chain-broken']);
      expect(found?.identity.role).toBe('unknown');
      expect(found?.faults[0]?.message).toMatch(/it was revoked/);
    }
  });

  it.each([
    ['a parent revoked by name', { actor: 'k1' }, 'f13'],
    ['a parent\u2019s key revoked', { publicKey: 'k1' }, 'f13'],
    ['a parent revoked by its own parent', { actor: 'k1' }, 'orch'],
    ['the principal above revoked by name', { actor: 'orch' }, 'lead'],
    ['the principal\u2019s key above revoked', { publicKey: 'orch' }, 'f13'],
  ])('%s takes its children along', (_name, target: { actor?: string; publicKey?: string }, by) => {
    const over = target.publicKey === undefined ? target : { publicKey: keyNamed(target.publicKey).line };
    const links = [spawn('k1', 'orch', { role: 'orchestrator' }), spawn('k2', 'k1')];
    const found = traced(links, 'k2', revoked(over, by));
    expect(codes(found)).toEqual(['spawn-chain-broken']);
    expect(found?.faults[0]?.message).toMatch(/above it, was revoked/);
  });

  it.each([
    ['a sibling', { actor: 'k2' }, 'k3'],
    ['itself the parent', { actor: 'k1' }, 'k2'],
    ['a stranger', { actor: 'k2' }, 'stranger'],
    ['an approver the sovereign above', { actor: 'f13' }, 'lead'],
    ['an approver the sovereign\u2019s key above', { publicKey: keyNamed('f13').line }, 'lead'],
  ])('%s may not', (_name, over, by) => {
    const links = [spawn('k1', 'f13', { role: 'orchestrator' }), spawn('k2', 'k1'), spawn('k3', 'k1')];
    expect(codes(traced(links, 'k2', revoked(over, by)))).toEqual([]);
  });
});

describe('a stray record changes nobody else (hard rule 10)', () => {
  const honest = spawn('kid', 'orch');
  it.each([
    ['the same name, signed by a stranger', spawn('kid', 'orch', {}, { key: 'evil', signers: ['stranger'] })],
    ['the same key, signed by a stranger', spawn('evil', 'orch', {}, { key: 'kid', signers: ['stranger'] })],
    [
      'the same name and key, signed by a stranger',
      spawn('kid', 'orch', { role: 'orchestrator' }, { signers: ['stranger'], issuedAt: later(1) }),
    ],
    [
      'the same name, signed by its own child\u2019s child of nobody',
      spawn('kid', 'evil', {}, { key: 'evil2', signers: ['evil'] }),
    ],
    ['an older record of the same child', spawn('kid', 'orch', { expiresAt: later(HOUR) }, { issuedAt: later(-HOUR) })],
    [
      'a record of the same name that ran out',
      spawn('kid', 'orch', { expiresAt: later(-DAY) }, { key: 'kid-old', issuedAt: later(-2 * DAY) }),
    ],
  ])('%s', (_name, stray) => {
    for (const links of [
      [honest, stray],
      [stray, honest],
    ]) {
      expect(traced(links, 'kid')).toMatchObject({ identity: { principal: 'kid', role: 'specialist' }, faults: [] });
    }
  });

  it('nor one beside a parent', () => {
    const links = [
      spawn('k1', 'orch', {}, { signers: ['stranger'], issuedAt: later(60_000) }),
      spawn('k1', 'orch', { role: 'orchestrator' }),
      spawn('k2', 'k1'),
    ];
    expect(traced(links, 'k2')).toMatchObject({
      identity: { chain: ['orch', 'k1', 'k2'], role: 'specialist' },
      faults: [],
    });
  });

  it('nor one whose signer was revoked', () => {
    const stray = spawn('kid', 'orch2', {}, { key: 'evil' });
    const seen = (over?: Parameters<typeof revocation>[0], by = 'f13', more: Partial<PolicySet> = {}) => {
      const set = intactSet(more, { orch2: entry('orchestrator'), gone: entry('approver', { departed: NOW }) });
      return codes(traced([honest, stray], 'kid', over ? revoked(over, by, set) : set));
    };
    expect(seen()).toEqual(['spawn-collision']);
    expect(seen({ actor: 'orch2' })).toEqual([]);
    expect(seen({ publicKey: keyNamed('evil').line }, 'lead')).toEqual([]);
    expect(seen({ publicKey: keyNamed('evil').line }, 'orch2')).toEqual([]);
    expect(seen({ actor: 'orch2' }, 'stranger')).toEqual(['spawn-collision']);
    expect(seen({ actor: 'orch2' }, 'gone')).toEqual(['spawn-collision']);
    const one = statement(revocation({ actor: 'orch2' }), ['gone']);
    expect(seen(undefined, '', { revocations: [one], endorsed: new Set([one.payloadDigest]) })).toEqual([]);
  });

  it('ten thousand stray records cost no more than reading them', () => {
    const strays = Array.from({ length: 10_000 }, (_, n) =>
      spawn('kid', n % 2 ? 'orch' : 'kid', {}, { key: 'evil', signers: ['evil', 'stranger'] }),
    );
    const from = performance.now();
    expect(codes(traced([...strays, honest], 'kid'))).toEqual([]);
    expect(performance.now() - from).toBeLessThan(1_500);
  });

  it('no records, no actors', () => {
    expect(trace(intactSet(), NO_SPAWNS, keyNamed('kid').fingerprint, 'writ', NOW)).toBeNull();
  });
});

describe('two records that want one name or key', () => {
  const set = intactSet({}, { orch2: entry('orchestrator') });
  const both = (one: SpawnLink, other: SpawnLink, who: string, over = set) => {
    const [first, second] = [traced([one, other], who, over), traced([other, one], who, over)];
    expect(second).toEqual(first);
    return first;
  };
  const deputy = spawn('deputy', 'orch', { role: 'orchestrator' });

  it.each([
    ['the name', 'deputy', 'evil'],
    ['the key', 'evil', 'deputy'],
    ['both', 'deputy', 'deputy'],
  ])('the child of the higher parent keeps %s, whenever the other was made', (_name, actor, key) => {
    for (const issuedAt of [later(-HOUR), NOW, later(60_000)]) {
      const stray = spawn(actor, 'spec', {}, { key, issuedAt });
      expect(both(deputy, stray, 'deputy')).toMatchObject({
        identity: { principal: 'deputy', role: 'orchestrator', chain: ['orch', 'deputy'] },
        faults: [],
      });
      if (key === 'evil') expect(codes(both(deputy, stray, 'evil'))).toEqual(['spawn-collision']);
    }
  });

  it('a higher parent takes it over, and only the lower child is a collision', () => {
    const above = spawn('twin', 'f13', { role: 'orchestrator' }, { key: 'deputy' });
    expect(both(deputy, above, 'deputy')).toMatchObject({ identity: { principal: 'twin' }, faults: [] });
    const named = spawn('deputy', 'f13', {}, { key: 'other' });
    expect(codes(both(deputy, named, 'deputy'))).toEqual(['spawn-collision']);
    expect(codes(both(deputy, named, 'other'))).toEqual([]);
  });

  it('different parents of one role: neither stands, and nobody lower inherits it', () => {
    const other = spawn('deputy', 'orch2', {}, { key: 'other' });
    const stray = spawn('deputy', 'spec', {}, { key: 'evil' });
    for (const who of ['deputy', 'other', 'evil'])
      expect(codes(traced([deputy, other, stray], who, set)), who).toEqual(['spawn-collision']);
  });

  it('the child of a principal goes before the child of a child', () => {
    const rival = spawn('kid', 'deputy', {}, { key: 'evil', issuedAt: later(1) });
    const honest = spawn('kid', 'orch2', {}, { issuedAt: later(2) });
    expect(codes(traced([deputy, rival, honest], 'kid', set))).toEqual([]);
    expect(codes(traced([deputy, rival, honest], 'evil', set))).toEqual(['spawn-collision']);
  });

  it('of one parent the earlier child, whose renewal is still the same child', () => {
    const next = spawn('deputy', 'orch', {}, { key: 'next', issuedAt: later(1) });
    const renewed = spawn('deputy', 'orch', { role: 'orchestrator' }, { issuedAt: later(2) });
    for (const links of [
      [deputy, next, renewed],
      [renewed, next, deputy],
    ]) {
      expect(codes(traced(links, 'deputy', set))).toEqual([]);
      expect(codes(traced(links, 'next', set))).toEqual(['spawn-collision']);
    }
  });

  it.each([
    ['a signature of somebody else', spawn('deputy', 'orch2', {}, { signers: ['stranger'], key: 'evil' })],
    ['too long a life', spawn('deputy', 'orch2', { expiresAt: later(25 * HOUR) }, { key: 'evil' })],
    ['a parent that departed', spawn('deputy', 'gone', {}, { key: 'evil' })],
    ['a start in the future', spawn('deputy', 'orch2', {}, { key: 'evil', issuedAt: later(HOUR) })],
  ])('a record with %s evicts nobody', (_name, stray) => {
    const over = intactSet({}, { orch2: entry('orchestrator'), gone: entry('approver', { departed: NOW }) });
    expect(codes(both(deputy, stray, 'deputy', over))).toEqual([]);
  });

  it.each([
    ['ran out', {}, spawn('deputy', 'orch', { role: 'orchestrator', expiresAt: NOW }, { issuedAt: later(-HOUR) })],
    ['was revoked', { revocations: [statement(revocation({ actor: 'deputy' }), ['f13'])] }, deputy],
  ])('a key whose record %s does not become somebody lower', (_name, more, gone) => {
    const over = intactSet(more);
    for (const actor of ['deputy', 'evil'])
      expect(both(gone, spawn(actor, 'spec', {}, { key: 'deputy' }), 'deputy', over)?.identity.role).toBe('unknown');
  });

  it('ten thousand renewals on each of three links are settled in no time', () => {
    const renewals = (child: string, parent: string, role: 'orchestrator' | 'specialist') =>
      Array.from({ length: 10_000 }, () => spawn(child, parent, { role }));
    const links = [
      ...renewals('k1', 'orch', 'orchestrator'),
      ...renewals('k2', 'k1', 'orchestrator'),
      ...renewals('k3', 'k2', 'specialist'),
    ];
    const from = performance.now();
    expect(codes(traced(links, 'k3', set))).toEqual([]);
    expect(performance.now() - from).toBeLessThan(1_500);
  });
});

describe('revocations the root may take over', () => {
  const stands = (
    over: Parameters<typeof revocation>[0],
    by: string,
    more: { links?: readonly SpawnLink[]; set?: PolicySet; approvals?: readonly Statement<ApprovalPredicate>[] } = {},
  ): boolean => {
    const set = revoked(over, by, more.set ?? intactSet());
    const spawns = indexSpawns(more.links ?? []);
    const standings = (more.approvals ?? []).map((one) => standingOf(one, set, spawns, NOW));
    return standingRevocations(set, spawns, standings, NOW).length === 1;
  };
  const docs = intactSet({}, { lead: entry('approver', { paths: ['docs/**'] }) });
  const at = (name: string) => approval({ approver: 'f13' }, ['f13'], { subjects: [{ name, sha256: 'c'.repeat(64) }] });

  it.each([
    ['an approver, of what nothing is known', { artifactId: 'a1' }, 'lead', {}, true],
    [
      'an approver of some paths, of what lies there',
      { artifactId: 'a1' },
      'lead',
      { set: docs, approvals: [at('docs/a.md')] },
      true,
    ],
    ['the same, by bytes', { digest: 'c'.repeat(64) }, 'lead', { set: docs, approvals: [at('docs/a.md')] }, true],
    ['of what lies elsewhere', { artifactId: 'a1' }, 'lead', { set: docs, approvals: [at('AGENTS.md')] }, false],
    [
      'of what lies elsewhere too',
      { artifactId: 'a1' },
      'lead',
      { set: docs, approvals: [at('docs/a.md'), at('AGENTS.md')] },
      false,
    ],
    ['of what lies nobody knows where', { artifactId: 'a1' }, 'lead', { set: docs }, false],
    [
      'somebody who departed',
      { artifactId: 'a1' },
      'lead',
      { set: intactSet({}, { lead: entry('approver', { departed: NOW }) }) },
      false,
    ],
    ['a parent, of its child', { actor: 'kid' }, 'orch', { links: [spawn('kid', 'orch')] }, true],
    [
      'a parent, of the key of its child',
      { publicKey: keyNamed('kid').line },
      'orch',
      { links: [spawn('kid', 'orch')] },
      true,
    ],
    ['a parent, of a grandchild', { actor: 'kid' }, 'orch', { links: [spawn('k1', 'orch'), spawn('kid', 'k1')] }, true],
    ['a child, of itself', { actor: 'kid' }, 'kid', { links: [spawn('kid', 'orch')] }, false],
    [
      'a specialist with a record of the same name',
      { actor: 'kid' },
      'spec',
      { links: [spawn('kid', 'spec', {}, { key: 'evil' }), spawn('kid', 'orch')] },
      false,
    ],
    [
      'a specialist with a record of the same key',
      { publicKey: keyNamed('kid').line },
      'spec',
      { links: [spawn('evil', 'spec', {}, { key: 'kid' }), spawn('kid', 'orch')] },
      false,
    ],
    [
      'an orchestrator named as parent by a record it did not sign',
      { actor: 'kid' },
      'orch',
      { links: [spawn('kid', 'orch', {}, { signers: ['spec'] })] },
      false,
    ],
    [
      'an approver, of an approver',
      { actor: 'lead2' },
      'lead',
      { set: intactSet({}, { lead2: entry('approver') }) },
      false,
    ],
    ['an approver, of a name nobody knows', { actor: 'ghost' }, 'lead', {}, false],
  ] as const)('%s', (_name, over, by, more, expected) => {
    expect(stands(over, by, more)).toBe(expected);
  });
});

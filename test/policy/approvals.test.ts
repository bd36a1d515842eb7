import { describe, expect, it } from 'vitest';
import type { PolicySet } from '../../src/model/policy.ts';
import type { Claimed, LiveApproval } from '../../src/model/stages.ts';
import type { ApprovalPredicate, Statement } from '../../src/model/statement.ts';
import { toManifest } from '../../src/parse/manifest.ts';
import {
  bindingApprovals,
  isTimed,
  liveApprovals,
  matchesArtifact,
  mayReplace,
  replaces,
  revokesArtifact,
  standingOf,
} from '../../src/policy/approvals.ts';
import { indexSpawns, NO_SPAWNS, trace } from '../../src/policy/identity.ts';
import {
  approval,
  DAY,
  entry,
  intactSet,
  keyNamed,
  later,
  line,
  NOW,
  revocation,
  signerNamed,
  spawn,
  statement,
} from './given.ts';

const judge = (one: Statement<ApprovalPredicate>, set: PolicySet = intactSet()) => standingOf(one, set, NO_SPAWNS, NOW);
const touch: PolicySet = intactSet();
const asksTouch: PolicySet = {
  ...touch,
  policy: { ...touch.policy, approvals: { ...touch.policy.approvals, presence: 'touch' } },
};
const scoped = intactSet({}, { lead: entry('approver', { paths: ['docs/**'] }) });
const departed = intactSet({}, { lead: entry('approver', { departed: NOW }) });
const closed = intactSet({ keys: [line('lead', { validBefore: NOW })] });
const early = intactSet({ keys: [line('lead', { validAfter: later(1) })] });

const cases: readonly (readonly [string, Statement<ApprovalPredicate>, PolicySet, string | null])[] = [
  ['an approver, a policy at T2', approval(), intactSet(), null],
  ['an approver, any class of evidence at T1', approval({ class: 'memory', level: 'T1' }), intactSet(), null],
  [
    'the sovereign, a constitution at T3',
    approval({ approver: 'f13', class: 'constitution', level: 'T3' }, ['f13']),
    intactSet(),
    null,
  ],
  ['nobody known signed it', approval({}, ['stranger']), intactSet(), 'approval-unproven'],
  ['somebody else than it names signed it', approval({ approver: 'f13' }, ['lead']), intactSet(), 'approval-unproven'],
  ['no intact set', approval(), intactSet({ intact: false }), 'approval-unproven'],
  [
    'a key for commits alone',
    approval(),
    intactSet({ keys: [line('lead', { namespaces: ['git'] })] }),
    'approval-unproven',
  ],
  [
    'a revoked approver',
    approval(),
    intactSet({ revocations: [statement(revocation({ actor: 'lead' }), ['f13'])] }),
    'approval-unproven',
  ],
  [
    'an approver, a constitution',
    approval({ class: 'constitution', level: 'T1' }),
    intactSet(),
    'approver-not-permitted',
  ],
  ['an approver, T3', approval({ level: 'T3' }), intactSet(), 'approver-not-permitted'],
  ['an orchestrator', approval({ approver: 'orch' }, ['orch']), intactSet(), 'approver-not-permitted'],
  ['a path outside the approver\u2019s', approval(), scoped, 'approver-not-permitted'],
  [
    'one of several paths outside',
    approval({}, ['lead'], {
      subjects: [
        { name: 'docs/a.md', sha256: 'c'.repeat(64) },
        { name: 'AGENTS.md', sha256: 'c'.repeat(64) },
      ],
    }),
    scoped,
    'approver-not-permitted',
  ],
  [
    'all paths inside',
    approval({}, ['lead'], { subjects: [{ name: 'docs/a.md', sha256: 'c'.repeat(64) }] }),
    scoped,
    null,
  ],
  ['no touch where one is asked for', approval(), asksTouch, 'approver-not-permitted'],
  ['a touch where one is asked for', approval({}, [signerNamed('lead', { userPresent: true })]), asksTouch, null],
  ['departed', approval(), departed, 'approver-not-permitted'],
  [
    'departed, kept',
    approval({}, ['lead'], { payloadDigest: 'ab'.repeat(32) }),
    intactSet(
      { keys: [line('lead', { validBefore: NOW })] },
      { lead: entry('approver', { departed: NOW, keeps: ['ab'.repeat(32)] }) },
    ),
    null,
  ],
  [
    'departed, kept, run out',
    approval({ expiresAt: NOW }, ['lead'], { payloadDigest: 'ab'.repeat(32) }),
    intactSet({}, { lead: entry('approver', { departed: NOW, keeps: ['ab'.repeat(32)] }) }),
    'approval-expired',
  ],
  ['a key that ran out', approval(), closed, 'approval-expired'],
  ['a key that is not valid yet', approval(), early, 'approval-not-yet-valid'],
  ['given in the future', approval({}, ['lead'], { issuedAt: later(300_001) }), intactSet(), 'approval-not-yet-valid'],
  ['given five minutes ahead', approval({}, ['lead'], { issuedAt: later(300_000) }), intactSet(), null],
  ['no end', approval({ expiresAt: null }), intactSet(), 'approval-too-long'],
  ['over maxDays', approval({ expiresAt: later(366 * DAY) }), intactSet(), 'approval-too-long'],
  ['exactly maxDays', approval({ expiresAt: later(365 * DAY) }), intactSet(), null],
  [
    'run out this instant',
    approval({ expiresAt: NOW }, ['lead'], { issuedAt: later(-DAY) }),
    intactSet(),
    'approval-expired',
  ],
  ['one instant left', approval({ expiresAt: later(1) }, ['lead'], { issuedAt: later(-DAY) }), intactSet(), null],
  // order: who, then may they, then when
  [
    'order: unproven before not permitted',
    approval({ level: 'T3', expiresAt: NOW }, ['stranger']),
    intactSet(),
    'approval-unproven',
  ],
  ['order: role before path', approval({ level: 'T3' }), scoped, 'approver-not-permitted'],
  [
    'order: not permitted before expired',
    approval({ level: 'T3', expiresAt: NOW }),
    intactSet(),
    'approver-not-permitted',
  ],
  ['order: departed before expired', approval({ expiresAt: NOW }), departed, 'approver-not-permitted'],
  [
    'order: the key\u2019s window before the statement\u2019s',
    approval({ expiresAt: null }),
    early,
    'approval-not-yet-valid',
  ],
  [
    'order: too long before run out',
    approval({ expiresAt: NOW }, ['lead'], { issuedAt: later(-400 * DAY) }),
    intactSet(),
    'approval-too-long',
  ],
];

describe('how an approval stands', () => {
  it.each(cases)('%s', (_name, one, set, problem) => {
    const standing = judge(one, set);
    expect(standing.problem).toBe(problem);
    expect(standing.why === '').toBe(problem === null);
    expect(isTimed(standing)).toBe(problem !== null && /^approval-(expired|not-yet-valid|too-long)$/.test(problem));
    if (problem === 'approval-unproven') expect(standing.approver.role).toBe('unknown');
    else expect(standing.approver.principal).toBe(one.predicate.approver);
  });

  it('one key of the approver that stands is enough, in any order', () => {
    const set = { ...intactSet({ keys: [line('lead', { validBefore: NOW }), line('lead', {}, 'lead-2')] }) };
    expect(judge(approval({}, ['lead', 'lead-2']), set).problem).toBeNull();
    expect(judge(approval({}, ['lead-2', 'lead']), set).problem).toBeNull();
    expect(judge(approval({}, ['lead']), set).problem).toBe('approval-expired');
    const two = { ...asksTouch, keys: [line('lead'), line('lead', {}, 'lead-2')] };
    expect(judge(approval({}, ['lead', signerNamed('lead-2', { userPresent: true })]), two).problem).toBeNull();
    expect(judge(approval({}, ['lead', 'lead-2']), two).problem).toBe('approver-not-permitted');
  });

  it('a touch of somebody else\u2019s key does not count', () => {
    expect(judge(approval({}, ['lead', signerNamed('stranger', { userPresent: true })]), asksTouch).problem).toBe(
      'approver-not-permitted',
    );
  });

  it('a spawned actor cannot approve, whatever it calls itself', () => {
    const spawns = indexSpawns([spawn('kid', 'f13', { role: 'orchestrator' })]);
    expect(standingOf(approval({ approver: 'kid' }, ['kid']), intactSet(), spawns, NOW).problem).toBe(
      'approver-not-permitted',
    );
    expect(standingOf(approval({ approver: 'f13' }, ['kid']), intactSet(), spawns, NOW).problem).toBe(
      'approval-unproven',
    );
    expect(trace(intactSet(), spawns, keyNamed('kid').fingerprint, 'writ', NOW)?.faults).toEqual([]);
  });
});

describe('what an approval was given for', () => {
  const read = toManifest({
    artifact_id: 'a1',
    class: 'policy',
    author: 'orch',
    authority_level: 'T2',
    created_at: NOW,
  });
  if ('why' in read) throw new Error(read.why);
  const claimed: Claimed = {
    manifest: read.manifest,
    carrier: 'sidecar',
    manifestDigest: 'd'.repeat(64),
    contentSha256: 'c'.repeat(64),
    content: '',
    sidecar: null,
    line: 1,
    span: null,
  };
  it('matches where every field does', () => {
    expect(matchesArtifact(approval(), 'AGENTS.md', claimed)).toBe(true);
  });
  it.each([
    ['path', approval(), 'agents.md', claimed],
    ['bytes', approval(), 'AGENTS.md', { ...claimed, contentSha256: 'e'.repeat(64) }],
    [
      'another subject\u2019s bytes',
      approval({}, ['lead'], {
        subjects: [
          { name: 'AGENTS.md', sha256: 'e'.repeat(64) },
          { name: 'x', sha256: 'c'.repeat(64) },
        ],
      }),
      'AGENTS.md',
      claimed,
    ],
    ['id', approval({ artifactId: 'a2' }), 'AGENTS.md', claimed],
    ['class', approval({ class: 'constitution' }), 'AGENTS.md', claimed],
    ['level', approval({ level: 'T1' }), 'AGENTS.md', claimed],
    ['manifest', approval({ manifestDigest: 'e'.repeat(64) }), 'AGENTS.md', claimed],
  ] as const)('does not where the %s differs', (_name, one, path, of) => {
    expect(matchesArtifact(one, path, of)).toBe(false);
  });
});

describe('revocations of artifacts', () => {
  const target = {
    artifactId: 'a1',
    path: 'AGENTS.md',
    digests: ['c'.repeat(64)],
    class: 'policy',
    level: 'T2',
  } as const;
  const asks = (
    over: Parameters<typeof revocation>[0],
    by: string,
    set = intactSet(),
    of: Parameters<typeof revokesArtifact>[1] = target,
    file = 'policies/revocations/x',
  ) => revokesArtifact(statement(revocation(over), [by], { file }), of, set, NO_SPAWNS, NOW);
  it.each([
    ['by id', { artifactId: 'a1' }, 'lead', true],
    ['by bytes', { digest: 'c'.repeat(64) }, 'lead', true],
    ['by the sovereign', { artifactId: 'a1' }, 'f13', true],
    ['another id', { artifactId: 'a2' }, 'f13', false],
    ['by somebody who may not approve it', { artifactId: 'a1' }, 'orch', false],
    ['by a stranger', { artifactId: 'a1' }, 'stranger', false],
    ['that name a key', { publicKey: keyNamed('a1').line }, 'f13', false],
  ] as const)('%s', (_name, over, by, stands) => {
    expect(asks(over, by)).toBe(stands);
  });
  it('an approver cannot revoke what only the sovereign may approve', () => {
    expect(asks({ artifactId: 'a1' }, 'lead', intactSet(), { ...target, class: 'constitution' })).toBe(false);
    expect(asks({ artifactId: 'a1' }, 'lead', intactSet(), { ...target, level: 'T3' })).toBe(false);
    expect(asks({ artifactId: 'a1' }, 'f13', intactSet(), { ...target, level: 'T3' })).toBe(true);
  });
  it('an approver of some paths revokes nothing outside them, unless the root lists it', () => {
    const set = intactSet({}, { lead: entry('approver', { paths: ['docs/**'] }) });
    const inside = { ...target, path: 'docs/a.md' };
    expect([asks({ artifactId: 'a1' }, 'lead', set), asks({ artifactId: 'a1' }, 'lead', set, inside)]).toEqual([
      false,
      true,
    ]);
    const one = statement(revocation({ artifactId: 'a1' }), ['lead']);
    const listed = { ...set, endorsed: new Set([one.payloadDigest]) };
    expect(revokesArtifact(one, target, listed, NO_SPAWNS, NOW)).toBe(true);
  });
  it('somebody who departed revokes nothing the root has not listed', () => {
    expect(asks({ artifactId: 'a1' }, 'lead', departed)).toBe(false);
    const one = statement(revocation({ artifactId: 'a1' }), ['lead']);
    const listed = { ...departed, endorsed: new Set([one.payloadDigest]) };
    expect(revokesArtifact(one, target, listed, NO_SPAWNS, NOW)).toBe(true);
  });
  it('without an intact set only what state remembers stands', () => {
    expect(asks({ artifactId: 'a1' }, 'f13', intactSet({ intact: false }))).toBe(false);
    expect(asks({ artifactId: 'a1' }, 'f13', intactSet({ intact: false }), target, 'state:abc')).toBe(true);
  });
});

describe('live approvals', () => {
  const live = (all: readonly Statement<ApprovalPredicate>[], set = intactSet()): readonly LiveApproval[] =>
    liveApprovals(
      all.map((one) => judge(one, set)),
      set,
      NO_SPAWNS,
      NOW,
    );

  const states = (all: readonly LiveApproval[]): readonly string[] =>
    all.map((one) => `${one.path}${one.lapsed ? ' lapsed' : ''}`);

  it('one a subject; none that never stood; one that ran out or was revoked is lapsed', () => {
    const two = approval({}, ['lead'], {
      subjects: [
        { name: 'A.md', sha256: 'a'.repeat(64) },
        { name: 'B.md', sha256: 'b'.repeat(64) },
      ],
    });
    expect(
      states(live([two, approval({ level: 'T3' }), approval({}, ['stranger']), approval({ expiresAt: null })])),
    ).toEqual(['A.md', 'B.md']);
    expect(states(live([approval({ expiresAt: NOW })]))).toEqual(['AGENTS.md lapsed']);
    const revokedBy = (over: Parameters<typeof revocation>[0], by: string): readonly string[] =>
      states(live([two], intactSet({ revocations: [statement(revocation(over), [by])] })));
    expect(revokedBy({ digest: 'a'.repeat(64) }, 'lead')).toEqual(['A.md lapsed', 'B.md']);
    expect(revokedBy({ artifactId: 'a1' }, 'f13')).toEqual(['A.md lapsed', 'B.md lapsed']);
    expect(revokedBy({ artifactId: 'a1' }, 'stranger')).toEqual(['A.md', 'B.md']);
  });

  it('what was given outside its key\u2019s window, or by somebody who departed, never stood', () => {
    const given = (issuedAt: typeof NOW, over: Partial<ApprovalPredicate> = {}) =>
      approval(over, ['lead'], { issuedAt, payloadDigest: 'ab'.repeat(32) });
    expect(states(live([given(NOW)], closed))).toEqual([]);
    expect(states(live([given(later(1))], closed))).toEqual([]);
    expect(states(live([given(later(-1))], closed))).toEqual(['AGENTS.md lapsed']);
    const opened = intactSet({ keys: [line('lead', { validAfter: later(-1) })] });
    expect(states(live([given(later(-2), { expiresAt: NOW })], opened))).toEqual([]);
    expect(states(live([given(later(-1), { expiresAt: NOW })], opened))).toEqual(['AGENTS.md lapsed']);
    expect(states(live([given(later(-1), { expiresAt: NOW })], departed))).toEqual([]);
    const keeps = { lead: entry('approver', { departed: NOW, keeps: ['ab'.repeat(32)] }) };
    expect(states(live([given(later(-1))], intactSet({}, keeps)))).toEqual(['AGENTS.md']);
    const both = intactSet({
      keys: [line('lead', { validBefore: NOW }), line('lead', { validBefore: NOW }, 'lead-2')],
    });
    expect(states(live([approval({}, ['lead', 'lead-2'])], both))).toEqual([]);
  });

  it('a successor replaces what it names, if it is later and its approver could have approved it', () => {
    const old = approval({ artifactId: 'old' });
    const next = (over: Partial<ApprovalPredicate> = {}, signers = ['lead'], issuedAt = later(1)) =>
      approval({ artifactId: 'new', replaces: ['old'], ...over }, signers, {
        issuedAt,
        subjects: [{ name: 'NEW.md', sha256: 'f'.repeat(64) }],
      });
    const pair = (a: Statement<ApprovalPredicate>, b: Statement<ApprovalPredicate>, set = intactSet()): boolean => {
      const [successor, earlier] = live([a, b], set);
      if (!successor || !earlier) throw new Error('not live');
      return replaces(successor, earlier);
    };
    expect(pair(next(), old)).toBe(true);
    expect(pair(next({ replaces: ['other'] }), old)).toBe(false);
    expect(pair(next({}, ['lead'], NOW), old)).toBe(false);
    expect(pair(next({}, ['lead'], later(-1)), old)).toBe(false);
    const law = approval({ artifactId: 'old', class: 'constitution', approver: 'f13' }, ['f13']);
    expect(pair(next(), law)).toBe(false);
    expect(pair(next({ approver: 'f13' }, ['f13']), law)).toBe(true);
  });

  it('an approver of some paths replaces nothing outside them', () => {
    const set = intactSet({}, { lead: entry('approver', { paths: ['docs/**'] }) });
    const inside = approval({ artifactId: 'new', replaces: ['old'] }, ['lead'], {
      issuedAt: later(1),
      subjects: [{ name: 'docs/a.md', sha256: 'a'.repeat(64) }],
    });
    const outside = approval({ artifactId: 'old', approver: 'f13' }, ['f13']);
    const [successor, earlier] = live([inside, outside], set);
    if (!successor || !earlier) throw new Error('not live');
    expect(mayReplace(successor, earlier)).toBe(false);
    expect(replaces(successor, earlier)).toBe(false);
    expect(mayReplace(successor, { ...earlier, path: 'docs/b.md' })).toBe(true);
  });

  it('what must be there: classes that bind, not replaced', () => {
    const all = live([
      approval({ artifactId: 'old' }),
      approval({ artifactId: 'new', replaces: ['old'] }, ['lead'], {
        issuedAt: later(1),
        subjects: [{ name: 'NEW.md', sha256: 'f'.repeat(64) }],
      }),
      approval({ artifactId: 'advice', class: 'guidance' }),
      approval({ artifactId: 'gone', expiresAt: NOW }),
    ]);
    expect(bindingApprovals(all).map((one) => one.artifactId)).toEqual(['new']);
  });
});

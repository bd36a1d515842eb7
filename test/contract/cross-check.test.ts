import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseAdvisory } from '../../src/contract/advisory.ts';
import { CONTRACT_CODES } from '../../src/contract/codes.ts';
import { PROFILES, type Profile, STATES } from '../../src/contract/envelope.ts';
import { buildInput, readBrief, readInput } from '../../src/contract/input.ts';
import { findLiveState } from '../../src/contract/live-state.ts';
import { parseFence } from '../../src/contract/parse-fence.ts';
import { repairMessage } from '../../src/contract/repair-message.ts';
import { MAX_RETRIES, step, TRANSITIONS } from '../../src/contract/transitions.ts';
import { validate } from '../../src/contract/validate.ts';
import { envelope, evidence } from './fixtures.ts';

type Json = Readonly<Record<string, unknown>>;

async function judged(of: Json, input: Json | null = null, pending = false) {
  const read = input === null ? null : readInput(input);
  if (read !== null && 'fault' in read) throw new Error(read.fault);
  const verdict = await validate(of, { profile: null, input: read, formOnly: false, isPending: async () => pending });
  return {
    ...verdict,
    codes: verdict.errors.map((one) => one.code),
    told: verdict.warnings.map((one) => `${one.code} ${one.field}`),
  };
}

const plan = (status: string, root: Json = {}, more: Json = {}): Json =>
  envelope('plan_status', { plan_status: status }, evidence(more), root);
const PASS = { verification: { result: 'pass' } };
const REQUEST = {
  operation: 'push',
  exact_content: 'git push',
  scope: 'origin',
  risk_level: 'HIGH',
  rollback: 'git push --force-with-lease origin old:main',
  verification: 'CI is green',
};

describe('approval_request', () => {
  it('is needed in APPROVAL_REQUEST', async () => {
    expect((await judged(plan('APPROVAL_REQUEST'))).codes).toEqual(['APPROVAL_REQUEST_MISSING']);
    expect((await judged(plan('APPROVAL_REQUEST', { approval_request: REQUEST }))).codes).toEqual([]);
  });

  it.each([
    ['rollback', 'APPROVAL_REQUEST_ROLLBACK'],
    ['verification', 'APPROVAL_REQUEST_VERIFICATION'],
  ])('%s blocks', async (key, code) => {
    for (const value of [null, '', ' ', undefined, [], {}])
      expect(
        (await judged(plan('APPROVAL_REQUEST', { approval_request: { ...REQUEST, [key]: value } }))).codes,
      ).toEqual([code]);
    // While it is being put together nothing blocks.
    expect((await judged(plan('IN_PROGRESS', { approval_request: { ...REQUEST, [key]: null } }))).ok).toBe(true);
  });

  it.each(['operation', 'exact_content', 'scope', 'risk_level'])('%s is advised', async (key) => {
    const verdict = await judged(plan('APPROVAL_REQUEST', { approval_request: { ...REQUEST, [key]: null } }));
    expect(verdict.ok).toBe(true);
    expect(verdict.told).toContain(`APPROVAL_REQUEST_FIELD approval_request.${key}`);
  });

  it('names an id that waits, or none', async () => {
    const of = plan('APPROVAL_REQUEST', { approval_request: { ...REQUEST, approval_id: 'P-1' } });
    expect((await judged(of)).codes).toEqual(['APPROVAL_ID_NOT_PENDING']);
    expect((await judged(of, null, true)).codes).toEqual([]);
  });

  it('holds single commands', async () => {
    for (const command_set of ['ls', [], ['a\nb'], [{}], [' '], ['\ud800']])
      expect((await judged(plan('APPROVAL_REQUEST', { approval_request: { ...REQUEST, command_set } }))).codes).toEqual(
        ['COMMAND_SET_SHAPE'],
      );
  });
});

describe('consolidation_report', () => {
  const REPORT = {
    ownership_assessment: 'owned_here',
    confirmed_findings: [],
    suspected_findings: [],
    conflicts: [],
    open_gaps: [],
    next_best_agent: null,
  };
  it.each([
    ['agent_contract_handoff', { agent_contract_handoff: { consolidation_required: true } }],
    ['cross check', { agent_contract_handoff: { cross_check_required: true } }],
    ['the older name', { investigation_brief: { consolidation_required: 'true' } }],
    ['several surfaces', { surface_routing: { multi_surface: true } }],
  ])('is owed where the input says so: %s', async (_name, input) => {
    expect((await judged(plan('BLOCKED'), input)).codes).toEqual(['CONSOLIDATION_REPORT']);
    expect((await judged(plan('BLOCKED', { consolidation_report: REPORT }), input)).codes).toEqual([]);
  });

  it('is not owed where it says no', async () => {
    const input = { agent_contract_handoff: { consolidation_required: false, cross_check_required: 'false' } };
    expect((await judged(plan('BLOCKED'), input)).codes).toEqual([]);
  });

  it('has six keys and one of three owners', async () => {
    const { conflicts: _gone, ...five } = REPORT;
    const missing = await judged(plan('BLOCKED', { consolidation_report: five }));
    expect(missing.codes).toEqual(['CONSOLIDATION_FIELD']);
    expect(missing.legacyTokens).toEqual(['CONFLICTS']);
    const other = await judged(
      plan('BLOCKED', { consolidation_report: { ...REPORT, ownership_assessment: 'mine\u202e' } }),
    );
    expect(other.codes).toEqual(['OWNERSHIP_ASSESSMENT:mine\\u{202e}']);
  });
});

describe('loop_state', () => {
  const loop = (loop_state: unknown): Json => plan('COMPLETE', { loop_state }, PASS);
  it('blocks COMPLETE while rounds are left and the metric is low', async () => {
    const low = { iteration: '1', max_iterations: 3, metric: ' 0.5', threshold: 0.9 };
    const verdict = await judged(loop(low));
    expect(verdict.codes).toEqual(['LOOP_STATE_INCOMPLETE']);
    expect(verdict.legacyTokens).toEqual(['LOOP_STATE_INCOMPLETE:iteration=1<max=3,metric=0.5<threshold=0.9']);
    for (const over of [{ iteration: 3 }, { metric: 0.9 }, { metric: 'low' }, { threshold: null }])
      expect((await judged(loop({ ...low, ...over }))).ok).toBe(true);
    expect((await judged(plan('IN_PROGRESS', { loop_state: low }))).ok).toBe(true);
  });
});

describe('update_contracts', () => {
  const input = { write_permissions: { writable_sections: ['stack'] } };
  it('keeps to writable_sections', async () => {
    const of = (contract: string): Json => plan('BLOCKED', { update_contracts: [{ contract, payload: { a: 1 } }] });
    expect((await judged(of('stack'), input)).codes).toEqual([]);
    expect((await judged(of('Stack'), input)).codes).toEqual(['UPDATE_CONTRACTS_NOT_WRITABLE']);
    expect((await judged(of('stack'), { write_permissions: { writable_sections: [] } })).codes).toEqual([
      'UPDATE_CONTRACTS_NOT_WRITABLE',
    ]);
    expect((await judged(of('stack'))).told).toContain('UPDATE_CONTRACTS_UNCHECKED update_contracts');
  });

  it('is a list of {contract, payload}', async () => {
    for (const update_contracts of ['x', [1], [{ contract: 'stack' }], [{ contract: 'stack', payload: [] }]])
      expect((await judged(plan('BLOCKED', { update_contracts }), input)).codes).toEqual(['UPDATE_CONTRACTS_SHAPE']);
  });

  it('tells several entries for one contract, and live state', async () => {
    const entry = { contract: 'stack', payload: { db: { instance_status: 'running' } } };
    const { told, ok } = await judged(plan('BLOCKED', { update_contracts: [entry, entry] }), input);
    expect(ok).toBe(true);
    expect(told).toContain('UPDATE_CONTRACTS_DUPLICATE update_contracts[1].contract');
    expect(told).toContain('UPDATE_CONTRACTS_LIVE_STATE update_contracts[0].payload.db.instance_status');
  });

  it.each([
    [{ pod_count: 3 }],
    [{ svc: [{ ready_replicas: 2 }] }],
    [{ instanceStatus: 'ok' }],
    [{ status: 'Running' }],
    [{ vpc: 'vpc-0a1b2c3d4e5f60718' }],
    [{ host: 'web-123.eu-west-1.elb.amazonaws.com' }],
    [{ where: '10.1.2.3:8080' }],
    [{ where: 'fe80::1' }],
    [{ load_balancer_dns: 'x' }],
    [{ trust: 'arn:aws:iam::123456789012:oidc-provider/oidc.example' }],
    [{ who: 'system:serviceaccount:app:web' }],
  ])('finds live state in %j', (payload) => {
    expect(findLiveState(payload)).toHaveLength(1);
  });

  it.each([
    [{ status: 'accepted', version: '1.2.3.4.5', cidr: '10.0.0.0/8', note: 'listens on 10.0.0.1 in tests' }],
    [{ cluster: 'prod', replicas_default: 3, time: '12:30', hash: 'abcdef', module: 'vpc-module', ipam: true }],
  ])('leaves what is written down alone: %j', (payload) => {
    expect(findLiveState(payload)).toEqual([]);
  });
});

describe('warnings', () => {
  it('BLOCKED names its gap, NEEDS_INPUT its options', async () => {
    expect((await judged(plan('BLOCKED'))).told).toContain('BLOCKED_WITHOUT_GAP evidence_report.open_gaps');
    expect((await judged(plan('BLOCKED', {}, { open_gaps: ['no access'] }))).told).toEqual([]);
    const asks = (next_action: string) => envelope('plan_status', { plan_status: 'NEEDS_INPUT', next_action });
    expect((await judged(asks('decide'))).told).toContain('NEEDS_INPUT_WITHOUT_OPTIONS agent_status.next_action');
    expect((await judged(asks('blue or green?'))).told).toEqual([]);
  });

  it('advisory fields never refuse', () => {
    const advisory = parseAdvisory({
      memorialize_suggestions: [{ description: 'd', body: 'b', type: 'odd', class: 'log' }, { body: 'b' }, 7],
      memory_suggestions: ['keep', '', 4],
      context_consumption: { tokens_used: 10, pct_window: 'much' },
      rollback_executed: true,
      user_facing_summary: ['x'],
    });
    expect(advisory.memorialize).toHaveLength(1);
    expect(advisory.memorialize[0]?.type).toBe('odd');
    expect(advisory.memories).toEqual(['keep']);
    expect(advisory.consumption).toEqual({ tokensUsed: 10, pctWindow: null });
    expect(advisory.rollbackExecuted).toBe('true');
    expect(advisory.summary).toBeNull();
    expect(advisory.warnings.map((one) => one.field)).toEqual([
      'memorialize_suggestions[0].type',
      'memorialize_suggestions[1]',
      'memorialize_suggestions[2]',
      'memory_suggestions[1]',
      'memory_suggestions[2]',
      'context_consumption.pct_window',
      'user_facing_summary',
    ]);
  });
});

describe('the input envelope', () => {
  it('is read as it was built', () => {
    const input = buildInput({
      goal: 'ship',
      acceptanceCriteria: ['green'],
      scope: ['src'],
      consolidationRequired: false,
      crossCheckRequired: false,
      primarySurface: 'app',
      activeSurfaces: ['app', 'infra'],
      adjacentAgents: [],
      readableSections: ['stack'],
      writableSections: ['stack'],
      sessionId: 's',
      provider: 'p',
      contractVersion: '1',
    });
    expect(Object.keys(input)).toEqual([
      'project_knowledge',
      'surface_routing',
      'agent_contract_handoff',
      'write_permissions',
      'metadata',
    ]);
    expect(readInput(input)).toEqual({ consolidation: true, writable: ['stack'] });
    expect(readInput({})).toEqual({ consolidation: false, writable: null });
    expect(readInput({ write_permissions: { writable_sections: 'stack' } })).toHaveProperty('fault');
    expect(readInput([])).toHaveProperty('fault');
  });
});

describe('a brief', () => {
  it('needs a goal, and says nothing else', () => {
    const brief = readBrief({ goal: 'ship', active_surfaces: ['a', 'b'], writable_sections: ['stack'] });
    if ('fault' in brief) throw new Error(brief.fault);
    expect(readInput(buildInput(brief))).toEqual({ consolidation: true, writable: ['stack'] });
    for (const wrong of [
      {},
      [],
      { goal: ' ' },
      { goal: 'x', scope: 'y' },
      { goal: 'x', odd: 1 },
      { goal: 'x', consolidation_required: 'no' },
      { goal: 'x', session_id: 1 },
      { goal: 'x', project_knowledge: [] },
    ])
      expect(readBrief(wrong), JSON.stringify(wrong)).toHaveProperty('fault');
  });
});

describe('the state machine', () => {
  it('goes on from IN_PROGRESS alone, and from NEEDS_VERIFICATION to COMPLETE', () => {
    for (const from of STATES)
      for (const to of STATES) {
        const legal =
          from === 'IN_PROGRESS' || to === 'IN_PROGRESS' || (from === 'NEEDS_VERIFICATION' && to === 'COMPLETE');
        expect(TRANSITIONS[from].includes(to), `${from} -> ${to}`).toBe(legal);
        const stepped = step({ from, to, retries: 0 });
        expect('refused' in stepped).toBe(!legal);
      }
    for (const to of STATES) expect(step({ from: null, to, retries: 0 })).not.toHaveProperty('refused');
  });

  it('takes two IN_PROGRESS in a row, warns of the second, refuses the third', () => {
    expect(step({ from: null, to: 'IN_PROGRESS', retries: 0 })).toEqual({ retries: 1, last: false });
    expect(step({ from: 'IN_PROGRESS', to: 'IN_PROGRESS', retries: 1 })).toEqual({ retries: MAX_RETRIES, last: true });
    expect(step({ from: 'IN_PROGRESS', to: 'IN_PROGRESS', retries: 2 })).toEqual({ refused: 'RETRY_CAP' });
  });
});

describe('whatever comes in', () => {
  const anything = fc.anything({ withNullPrototype: false, maxDepth: 4 });
  it('is answered, and the repair message has the same bytes', async () => {
    await fc.assert(
      fc.asyncProperty(anything, fc.constantFrom<Profile | null>(null, ...PROFILES), async (value, profile) => {
        const json: unknown = JSON.parse(JSON.stringify(value ?? null) ?? 'null');
        const verdict = await validate(json, { profile, input: null, formOnly: false, isPending: async () => false });
        expect(verdict.ok).toBe(verdict.errors.length === 0);
        expect(verdict.repairMessage).toBe(repairMessage(verdict.profile));
        for (const { code } of [...verdict.errors, ...verdict.warnings])
          expect(Object.keys(CONTRACT_CODES)).toContain(code.split(':')[0]);
      }),
      { numRuns: 300 },
    );
  });

  it('a form that does not hold is never ok, whatever else is added', async () => {
    await fc.assert(
      fc.asyncProperty(fc.dictionary(fc.string(), fc.jsonValue()), async (more) => {
        const of = {
          ...more,
          agent_status: { plan_status: 'COMPLETE', agent_id: 'a12345', pending_steps: [], next_action: 'x' },
        };
        expect((await judged({ ...of, evidence_report: {} })).ok).toBe(false);
      }),
      { numRuns: 100 },
    );
  });

  it('a text of fences that never close takes no longer than its length', () => {
    const texts = [
      '```json\n'.repeat(200_000),
      '```agent_contract_handoff\n\n'.repeat(100_000),
      '\n```x'.repeat(300_000),
      '```json\n{\n```\n'.repeat(100_000),
    ];
    const escapes = '\\\\'.repeat(2_000_000);
    texts.push(`\`\`\`json\n{"a":"${escapes}",}\n\`\`\``, `\`\`\`json\n{"a":NaN,"b":"${escapes}}\n\`\`\``);
    for (const text of texts) expect(parseFence(`${text}\n${'{"a":['.repeat(1_000)}`, null)).toBeNull();
  });
});

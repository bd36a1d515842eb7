import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { fingerprintOf } from '../../src/contract/command-set.ts';
import { decide, GRANT_LIFE, reserve, settle, viewGrant } from '../../src/contract/grant.ts';
import type { GrantRow } from '../../src/store/contracts.ts';
import { Workspace } from '../support/workspace.ts';
import { type Answer, COMPLETE, codesOf, Desk, to } from './desk.ts';

const slow = { timeout: 240_000 };
let desk: Desk;

beforeEach(() => {
  desk = new Desk();
});
afterEach(() => desk.space.remove());

/** A finalized contract in a state. @returns what finalize said. */
function closed(state: string, more: object = {}, ...words: readonly string[]): Answer {
  const id = desk.init('--profile', 'agent_state', ...words);
  const patch =
    state === 'COMPLETE'
      ? { ...COMPLETE, agent_status: { agent_state: 'COMPLETE', next_action: 'done' } }
      : to(state, 'agent_state');
  const filled = desk.fill(id, { ...patch, ...more });
  if (filled.exit !== 0) throw new Error(JSON.stringify(filled));
  return desk.finalize(id);
}

const REQUEST = {
  approval_request: {
    operation: 'release',
    exact_content: 'git push origin main',
    scope: 'origin',
    risk_level: 'HIGH',
    rollback: 'git push --force-with-lease',
    verification: 'CI is green',
    command_set: ['git tag v1 ', { command: 'git push origin v1' }, 'npm publish'],
  },
};

describe('next', () => {
  it.each([
    ['IN_PROGRESS', {}, 'continue'],
    ['APPROVAL_REQUEST', REQUEST, 'present_approval'],
    ['NEEDS_INPUT', { agent_status: { agent_state: 'NEEDS_INPUT', next_action: 'blue or green' } }, 'ask_user'],
    ['BLOCKED', { evidence_report: { open_gaps: ['no access'] } }, 'surface_obstacle'],
    ['NEEDS_VERIFICATION', {}, 'dispatch_verifier'],
    ['COMPLETE', {}, 'relay'],
    ['COMPLETE', { user_facing_summary: null }, 'synthesize'],
  ])('routes %s', slow, (state, more, route) => {
    const answer = closed(state, more);
    expect(desk.run('next', '1')).toMatchObject({
      exit: 0,
      route,
      state,
      terminal: state === 'COMPLETE',
      disagreements: [],
    });
    expect(desk.run('next', String(answer.contract_id))).toMatchObject({ route });
  });

  it('routes DISPATCHED, and a turn that was cut from its checkpoints', slow, () => {
    const id = desk.init('--dispatched');
    expect(desk.run('next', '1')).toMatchObject({ exit: 0, route: 'wait', terminal: false });
    desk.run('add', 'evidence_report.key_outputs', 'half of it');
    desk.run('set', 'agent_status.next_action', 'the other half');
    desk.run('reconcile', '--stop-reason', 'max_tokens');
    expect(desk.run('next', '1')).toMatchObject({
      route: 'resume_from_checkpoints',
      terminal: false,
      draft_id: id,
      checkpoints: { next_action: 'the other half', evidence_report: { key_outputs: ['half of it'] } },
    });
    expect(desk.run('next', '7')).toMatchObject({ exit: 1 });
    expect(codesOf(desk.run('next', 'x'))).toEqual(['ROW_UNKNOWN']);
  });

  it('never calls a captured COMPLETE terminal, and shows both where they part', slow, () => {
    const id = desk.init();
    desk.fill(id, COMPLETE);
    desk.run('reconcile');
    const answer = desk.run('next', '1');
    expect(answer).toMatchObject({ route: 'resume_from_checkpoints', terminal: false, summary: null, verified: false });
    expect(answer.disagreements).not.toEqual([]);
    expect(answer).toMatchObject({ row: { state: 'COMPLETE', cut_reason: 'backstop_capture' }, verdict: { ok: true } });
  });

  it('relays one summary and puts several together', slow, () => {
    closed('COMPLETE');
    closed('COMPLETE', { user_facing_summary: 'And this too.' });
    expect(desk.run('next', '1')).toMatchObject({
      route: 'relay',
      summary: 'It is done.',
      systemMessage: 'It is done.',
    });
    const both = desk.run('next', '1', '2') as unknown as { agents: number; answers: readonly Answer[] };
    expect(both.agents).toBe(2);
    for (const one of both.answers) expect(one).toMatchObject({ route: 'synthesize', summary: null });
  });
});

describe('a verifier', () => {
  const verify = (result: string, state: string, ...words: readonly string[]): Answer =>
    closed(
      state,
      {
        evidence_report: {
          verification: { type: 'command', command: 'npm test', result },
          open_gaps: ['one test fails'],
        },
      },
      ...words,
    );

  it('promotes what it passes; a producer bound to a plan task cannot', slow, () => {
    const blind = desk.init('--profile', 'agent_state', '--plan-task-id', 'task-7');
    desk.fill(blind, { ...COMPLETE, agent_status: { agent_state: 'COMPLETE', next_action: 'done' } });
    expect(codesOf(desk.finalize(blind))).toEqual(['BLIND_VERIFICATION']);
    desk.fill(blind, { agent_status: { agent_state: 'NEEDS_VERIFICATION' } });
    expect(desk.finalize(blind).exit).toBe(0);
    expect(codesOf(desk.run('init', '--parent-handoff-id', '1', '--plan-task-id', 't'))).toEqual(['VERIFIER_BOUND']);
    expect(verify('pass', 'COMPLETE', '--parent-handoff-id', '1')).toMatchObject({
      exit: 0,
      verification: { producer: 1, became: 'COMPLETE' },
    });
    expect(desk.run('next', '1')).toMatchObject({
      route: 'relay',
      state: 'COMPLETE',
      terminal: true,
      disagreements: [],
      verdict: { verifier: { result: 'pass' } },
    });
    // What was promoted is closed.
    desk.run('set', 'agent_status.next_action', 'more', '--draft-id', blind);
    expect(codesOf(desk.run('set', 'agent_status.next_action', 'more', '--draft-id', blind))).toEqual([
      'CONTRACT_CLOSED',
    ]);
  });

  it('sends back what it fails, with the evidence', slow, () => {
    const producer = closed('NEEDS_VERIFICATION');
    expect(verify('fail', 'BLOCKED', '--parent-handoff-id', '1')).toMatchObject({
      verification: { became: 'IN_PROGRESS' },
    });
    expect(desk.run('next', '1')).toMatchObject({
      route: 'continue',
      terminal: false,
      verdict: { verifier: { result: 'fail', open_gaps: ['one test fails'] } },
    });
    // The same bytes again wait for the next verifier.
    expect(desk.finalize(String(producer.contract_id))).toMatchObject({ exit: 0, state: 'NEEDS_VERIFICATION' });
  });

  it('decides nothing by words alone, twice, about other bytes, or about itself', slow, () => {
    const producer = closed('NEEDS_VERIFICATION', {}, '--agent-id', 'a0000000000000001');
    expect(
      codesOf(
        desk.run('init', '--parent-handoff-id', '1', '--agent-id', 'a0000000000000001', '--profile', 'agent_state'),
      ),
    ).toEqual(['VERIFIER_NOT_INDEPENDENT']);
    expect(verify('pass', 'IN_PROGRESS', '--parent-handoff-id', '1')).toMatchObject({
      verification: { undecided: true },
    });
    const late = desk.init('--profile', 'agent_state', '--parent-handoff-id', '1');
    const id = String(producer.contract_id);
    desk.fill(id, { agent_status: { agent_state: 'IN_PROGRESS', next_action: 'other work' } });
    desk.finalize(id);
    desk.fill(id, to('NEEDS_VERIFICATION', 'agent_state'));
    desk.finalize(id);
    desk.fill(late, { ...COMPLETE, agent_status: { agent_state: 'COMPLETE', next_action: 'done' } });
    expect(JSON.stringify(desk.finalize(late).verification)).toContain('has changed since');
    expect(desk.run('next', '1')).toMatchObject({ state: 'NEEDS_VERIFICATION' });
    expect(verify('pass', 'COMPLETE', '--parent-handoff-id', '1')).toMatchObject({
      verification: { became: 'COMPLETE' },
    });
    expect(JSON.stringify(verify('fail', 'BLOCKED', '--parent-handoff-id', '1').verification)).toContain(
      'waits for no verifier',
    );
    expect(desk.run('next', '1')).toMatchObject({ state: 'COMPLETE', terminal: true });
  });

  it('of a captured row promotes nothing', slow, () => {
    const id = desk.init('--profile', 'agent_state');
    desk.fill(id, to('NEEDS_VERIFICATION', 'agent_state'));
    desk.run('reconcile');
    expect(verify('pass', 'COMPLETE', '--parent-handoff-id', '1').exit).toBe(0);
    expect(desk.run('next', '1')).toMatchObject({ state: 'NEEDS_VERIFICATION', terminal: false });
  });
});

describe('a grant', () => {
  const NOW = 1_800_000_000_000;
  const COMMANDS = ['git tag v1 ', 'git push origin v1', 'npm publish'];
  const requested: GrantRow = {
    approvalId: 'P-1',
    workspace: 'w',
    contractId: 'c',
    agentId: 'a12345',
    status: 'REQUESTED',
    commands: JSON.stringify(COMMANDS),
    fingerprint: fingerprintOf(COMMANDS),
    nextIndex: 0,
    consumed: '[]',
    reservedBy: null,
    reservedAt: null,
    failedIndex: null,
    failureReason: null,
    decidedBy: null,
    createdAt: NOW,
    expiresAt: NOW + GRANT_LIFE,
  };
  const must = (result: ReturnType<typeof reserve>): GrantRow => {
    if ('refused' in result) throw new Error(result.refused.code);
    return result.grant;
  };
  const code = (result: ReturnType<typeof reserve>): string | null =>
    'refused' in result ? result.refused.code : null;
  const approved = must(decide(requested, 'approve', 'f13', NOW + 1));

  it('runs in order, byte for byte, one at a time', () => {
    expect(code(reserve(requested, COMMANDS[0] ?? '', 'me', NOW + 1))).toBe('GRANT_NOT_LIVE');
    for (const other of ['git tag v1', 'git push origin v1', '', ' git tag v1 '])
      expect(code(reserve(approved, other, 'me', NOW + 1))).toBe('GRANT_BYTES');
    const held = must(reserve(approved, 'git tag v1 ', 'me', NOW + 1));
    expect(code(reserve(held, 'git tag v1 ', 'me', NOW + 1))).toBe('GRANT_RESERVED');
    expect(code(settle(held, { ok: true, reason: null }, 'you'))).toBe('GRANT_NOT_RESERVED');
    expect(code(settle(approved, { ok: true, reason: null }, 'me'))).toBe('GRANT_NOT_RESERVED');
    const one = must(settle(held, { ok: true, reason: null }, 'me'));
    expect(viewGrant(one, NOW + 1)).toMatchObject({ status: 'PENDING', done: [0], next_index: 1, untouched: [1, 2] });
    let row = one;
    for (const command of COMMANDS.slice(1))
      row = must(settle(must(reserve(row, command, 'me', NOW + 2)), { ok: true, reason: null }, 'me'));
    expect(viewGrant(row, NOW + 2)).toMatchObject({ status: 'CONSUMED', done: [0, 1, 2], untouched: [], failed: null });
    expect(code(reserve(row, COMMANDS[0] ?? '', 'me', NOW + 2))).toBe('GRANT_NOT_LIVE');
  });

  it('is frozen by a failure: neither the retry nor the rest', () => {
    const one = must(settle(must(reserve(approved, 'git tag v1 ', 'me', NOW)), { ok: true, reason: null }, 'me'));
    const failed = must(
      settle(must(reserve(one, 'git push origin v1', 'me', NOW)), { ok: false, reason: 'no network' }, 'me'),
    );
    expect(viewGrant(failed, NOW)).toMatchObject({
      status: 'FAILED',
      done: [0],
      failed: { index: 1, reason: 'no network' },
      untouched: [2],
    });
    for (const command of COMMANDS) expect(code(reserve(failed, command, 'me', NOW))).toBe('GRANT_NOT_LIVE');
    expect(code(decide(failed, 'approve', 'f13', NOW))).toBe('GRANT_NOT_LIVE');
  });

  it('lives an hour from the request, whatever the clock or the row says', () => {
    const end = NOW + GRANT_LIFE;
    expect(code(reserve(approved, 'git tag v1 ', 'me', end - 1))).toBeNull();
    for (const now of [end, end + 1, NOW - 600_000])
      expect(code(reserve(approved, 'git tag v1 ', 'me', now))).toBe('GRANT_NOT_LIVE');
    expect(code(decide(requested, 'approve', 'f13', end))).toBe('GRANT_NOT_LIVE');
    expect(viewGrant({ ...approved, expiresAt: end + 1 }, NOW).status).toBe('EXPIRED');
    // What was begun in time may still say how it ended.
    const held = must(reserve(approved, 'git tag v1 ', 'me', end - 1));
    expect(viewGrant(held, end + 5)).toMatchObject({ status: 'EXPIRED', reserved: { index: 0 }, untouched: [1, 2] });
    expect(viewGrant(must(settle(held, { ok: true, reason: null }, 'me')), end + 5)).toMatchObject({
      status: 'EXPIRED',
      done: [0],
    });
  });

  it('of other commands than its fingerprint names is dead', () => {
    const other = { ...approved, commands: JSON.stringify(['rm -rf .', ...COMMANDS.slice(1)]) };
    expect(code(reserve(other, 'rm -rf .', 'me', NOW))).toBe('GRANT_NOT_LIVE');
    expect(viewGrant(other, NOW).status).toBe('EXPIRED');
  });

  it('is decided by a person with a key, never by the agent that asks', { timeout: 240_000 }, () => {
    const space = new Workspace().govern();
    desk.space.remove();
    desk = new Desk(space);
    const id = desk.init();
    desk.fill(id, { agent_status: { plan_status: 'APPROVAL_REQUEST' }, ...REQUEST });
    const asked = desk.finalize(id);
    expect(asked.approval_id).toMatch(/^P-[0-9a-f]{32}$/);
    expect(desk.run('grant', 'show', '1')).toMatchObject({ status: 'REQUESTED', untouched: [0, 1, 2], done: [] });
    expect(codesOf(desk.run('grant', 'reserve', '1', '--command', 'git tag v1 '))).toEqual(['GRANT_NOT_LIVE']);
    // An approval_id that waits may be named, one that does not may not.
    const named = {
      agent_status: { plan_status: 'APPROVAL_REQUEST', agent_id: 'a12345' },
      approval_request: { ...REQUEST.approval_request, approval_id: asked.approval_id },
    };
    const other = desk.init('--agent-id', 'a12345');
    expect(desk.fill(other, named).exit).toBe(0);
    expect(codesOf(desk.fill(other, { approval_request: { approval_id: 'P-none' } }))).toEqual([
      'APPROVAL_ID_NOT_PENDING',
    ]);
    expect(desk.run('grant', 'approve', '1', '--yes').exit).toBe(3);
    for (const name of ['spec', 'orch', 'worker', 'nobody'])
      expect(space.as(name, ['contract', 'grant', 'approve', '1', '--yes']).exit, name).toBe(1);
    expect(space.as('lead', ['contract', 'grant', 'approve', '1']).exit).toBe(3);
    expect(space.as('lead', ['contract', 'grant', 'approve', '1', '--yes']).exit).toBe(0);
    expect(space.as('lead', ['contract', 'grant', 'approve', '1', '--yes']).exit).toBe(1);
    expect(codesOf(desk.fill(other, { approval_request: { scope: 'all' } }))).toEqual(['APPROVAL_ID_NOT_PENDING']);
    // Approved is not run.
    expect(desk.run('next', '1')).toMatchObject({
      route: 'present_approval',
      grants: [{ status: 'PENDING', done: [], untouched: [0, 1, 2], decided_by: 'lead' }],
    });
    expect(desk.run('grant', 'reserve', '1', '--command', 'git tag v1 ')).toMatchObject({
      exit: 0,
      reserved: { index: 0 },
    });
    expect(desk.run('grant', 'settle', '1', '--ok')).toMatchObject({ exit: 0, done: [0] });
    expect(desk.run('grant', 'reserve', String(asked.approval_id), '--command', 'git push origin v1').exit).toBe(0);
    expect(desk.run('grant', 'settle', '1', '--failed', '--reason', 'no network')).toMatchObject({ status: 'FAILED' });
    expect(desk.run('next', '1')).toMatchObject({
      grants: [{ status: 'FAILED', done: [0], failed: { index: 1 }, untouched: [2] }],
    });
    // The rest needs a fresh request.
    desk.run('init', '--draft-id', id);
    desk.fill(id, { agent_status: { next_action: 'the rest' } });
    const anew = desk.finalize(id);
    expect(anew.approval_id).toMatch(/^P-/);
    expect(anew.approval_id).not.toBe(asked.approval_id);
    expect(desk.run('grant', 'show', '1')).toMatchObject({ status: 'REQUESTED' });
  });
});

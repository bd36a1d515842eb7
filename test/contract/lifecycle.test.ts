import { existsSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Workspace } from '../support/workspace.ts';
import { COMPLETE, codesOf, Desk, to } from './desk.ts';

const slow = { timeout: 240_000 };
let desk: Desk;

beforeEach(() => {
  desk = new Desk();
});
afterEach(() => desk.space.remove());

/** Every draft file of the desk's home. */
function drafts(): readonly string[] {
  const folder = join(desk.space.base, 'home', '.local', 'state', 'writ', 'contracts');
  if (!existsSync(folder)) return [];
  return readdirSync(folder).flatMap((name) => readdirSync(join(folder, name)).map((file) => join(folder, name, file)));
}

describe('a draft', () => {
  it('is written field by field, and lies outside the workspace', slow, () => {
    const id = desk.init();
    expect(id).toMatch(/^a[0-9a-f]{16}\.[0-9a-f]{12}$/);
    expect(desk.run('set', 'agent_status.next_action', 'run the tests').exit).toBe(0);
    expect(desk.run('set', 'agent_status.pending_steps', '["a"]').exit).toBe(0);
    expect(desk.run('add', 'evidence_report.key_outputs', '{"x":1}').exit).toBe(0);
    expect(desk.run('add', 'memory_suggestions', 'keep this').exit).toBe(0);
    const { envelope, draft_id } = desk.run('view') as unknown as { envelope: unknown; draft_id: string };
    expect(draft_id).toBe(id);
    expect(envelope).toMatchObject({
      agent_status: { plan_status: 'IN_PROGRESS', next_action: 'run the tests', pending_steps: ['a'] },
      evidence_report: { key_outputs: [{ x: 1 }] },
      memory_suggestions: ['keep this'],
    });
    expect(readdirSync(desk.space.root)).toEqual([]);
    expect(drafts()).toHaveLength(1);
  });

  it('is left as it was by every write that is refused', slow, () => {
    const id = desk.init();
    const before = readFileSync(drafts()[0] ?? '', 'utf8');
    for (const [words, code] of [
      [['set', 'agent_status.plan_status', 'DONE'], 'PLAN_STATUS'],
      [['set', 'agent_status.agent_id', 'b'], 'AGENT_ID_FORMAT'],
      [['set', 'agent_status', '"x"'], 'MISSING_FIELD'],
      [['set', 'agent_status.plan_status', 'COMPLETE'], 'VERIFICATION_RESULT'],
      [['set', 'agent_status.plan_status.deeper', 'x'], 'FIELD_PATH'],
      [['set', '__proto__.polluted', 'x'], 'FIELD_PATH'],
      [['set', 'a..b', 'x'], 'FIELD_PATH'],
      [['add', 'agent_status.next_action', 'x'], 'FIELD_PATH'],
      [['fill', '--json', '[1]'], 'NOT_JSON'],
      [['fill', '--json', '"x"'], 'NOT_JSON'],
      [['fill', '--json', '{bad'], 'NOT_JSON'],
      [['fill', '--json', '{"n":12345678901234567890}'], 'NOT_JSON'],
      [['fill', '--json', '{"n":NaN}'], 'NOT_JSON'],
      [['fill', '--json', '{"__proto__":{}}'], 'NOT_JSON'],
      [['fill', '--json', '{"a":1,"a":2}'], 'DUPLICATE_KEY'],
      [['fill', '--json', `{"a":${'['.repeat(70)}${']'.repeat(70)}}`], 'NOT_JSON'],
    ] as const) {
      const answer = desk.run(...words, '--draft-id', id);
      expect([answer.exit, ...codesOf(answer)], words.join(' ')).toEqual([1, code]);
      expect(answer.repair_message).toContain('agent_contract_handoff');
    }
    writeFileSync(join(desk.space.base, 'big.json'), JSON.stringify({ note: 'x'.repeat(1_048_576 - 200) }));
    expect(codesOf(desk.run('fill', '--file', join(desk.space.base, 'big.json')))).toEqual(['TOO_LARGE']);
    expect(readFileSync(drafts()[0] ?? '', 'utf8')).toBe(before);
  });

  it('takes a value that begins with a dash behind --, and text that is no JSON as it is', slow, () => {
    desk.init();
    expect(desk.run('set', 'agent_status.next_action', '--', '-5 degrees').exit).toBe(0);
    expect(desk.run('view', '--field', 'agent_status.next_action').stdout).toBe('"-5 degrees"\n');
    for (const text of ['NaN', '12345678901234567890', '1e999', '{"a":1,"a":2}', '{"__proto__":1}']) {
      desk.run('set', 'note', text);
      expect(JSON.parse(String(desk.run('view', '--field', 'note').stdout))).toBe(text);
    }
    expect(desk.run('set', 'agent_status.next_action').exit).toBe(3);
    expect(desk.run('set').exit).toBe(3);
  });

  it('keeps its profile', slow, () => {
    const id = desk.init('--profile', 'agent_state');
    expect(codesOf(desk.run('finalize', '--profile', 'plan_status'))).toEqual(['DRAFT_UNKNOWN']);
    expect(desk.run('set', 'x', 'y', '--profile', 'odd').exit).toBe(3);
    expect(desk.run('finalize', '--profile', 'agent_state', '--draft-id', id).exit).toBe(0);
  });

  it('is never guessed among several', slow, () => {
    const [one, two] = [desk.init(), desk.init()];
    const answer = desk.run('set', 'agent_status.next_action', 'x');
    expect([answer.exit, ...codesOf(answer)]).toEqual([1, 'DRAFT_UNKNOWN']);
    expect(JSON.stringify(answer)).toContain(one);
    expect(desk.run('set', 'agent_status.next_action', 'x', '--draft-id', two).exit).toBe(0);
    expect(desk.run('set', 'agent_status.next_action', 'x', '--agent-id', one.split('.')[0] ?? '').exit).toBe(0);
    expect(codesOf(desk.run('set', 'a', 'x', '--draft-id', 'a12345.0123456789ab'))).toEqual(['DRAFT_UNKNOWN']);
    expect(desk.run('set', 'a', 'x', '--draft-id', '../../etc/passwd').exit).toBe(3);
  });

  it('says of one field whether it is empty or absent', slow, () => {
    desk.init();
    desk.run('set', 'nothing', 'null');
    expect(desk.run('view', '--field', 'evidence_report.open_gaps')).toMatchObject({ exit: 0, stdout: '[]\n' });
    expect(desk.run('view', '--field', 'nothing')).toMatchObject({ exit: 0, stdout: 'null\n' });
    for (const field of ['evidence_report.gone', 'evidence_report.open_gaps.0', 'constructor', '', '.'])
      expect(desk.run('view', '--field', field), field).toMatchObject({ exit: 1, stdout: '' });
  });

  it('has a view for a resume whose bytes never change', slow, () => {
    const id = desk.init('--profile', 'agent_state');
    const first = desk.run('view', '--resume');
    desk.fill(id, to('BLOCKED', 'agent_state'));
    desk.finalize(id);
    expect(desk.run('init', '--draft-id', id)).toMatchObject({ exit: 0, status: 'resumed' });
    desk.run('add', 'evidence_report.key_outputs', 'more', '--draft-id', id);
    expect(desk.run('view', '--resume')).toEqual(first);
  });

  it('that is damaged cannot be worked on, and is no clean answer', slow, () => {
    const id = desk.init();
    writeFileSync(drafts()[0] ?? '', '{"draftId":');
    for (const words of [['view'], ['finalize'], ['set', 'a', 'b']]) {
      const answer = desk.run(...words, '--draft-id', id);
      expect(answer.exit, words[0]).toBe(4);
      expect(answer.stderr).toContain('DRAFT_DAMAGED');
    }
    expect(desk.run('reconcile').exit).toBe(0);
    expect(desk.rows('--cut')).toMatchObject([{ contract_id: id, cut_reason: 'backstop_capture' }]);
  });
});

describe('init', () => {
  it('refuses ids that are none, and a parent nobody knows', slow, () => {
    expect(codesOf(desk.run('init', '--agent-id', 'a12'))).toEqual(['AGENT_ID_FORMAT']);
    expect(codesOf(desk.run('init', '--agent-id', 'a12345', '--profile', 'agent_state'))).toEqual(['AGENT_ID_FORMAT']);
    expect(desk.run('init', '--agent-id', 'a12345').exit).toBe(0);
    expect(codesOf(desk.run('init', '--parent-handoff-id', '7'))).toEqual(['PARENT_UNKNOWN']);
    expect(desk.run('init', '--plan-task-id', 'a\nb').exit).toBe(3);
    expect(desk.run('init', '--profile', 'other').exit).toBe(3);
    expect(drafts()).toHaveLength(1);
  });

  it('bears a row that is DISPATCHED until the first write', slow, () => {
    const id = desk.init('--dispatched', '--agent-name', 'builder', '--harness-id', 'h-1');
    expect(desk.rows('--state', 'DISPATCHED')).toMatchObject([
      { contract_id: id, agent: 'builder', cut_reason: 'never_finalized', verified: false },
    ]);
    desk.run('set', 'agent_status.next_action', 'x');
    expect(desk.rows('--state', 'DISPATCHED')).toEqual([]);
    expect(desk.rows('--cut', 'never_finalized')).toMatchObject([{ contract_id: id, state: 'IN_PROGRESS' }]);
    expect(desk.run('view', '--harness-id', 'h-1')).toMatchObject({ draft_id: id, exit: 0 });
    expect(desk.run('view', '--harness-id', 'h-2').exit).toBe(1);
    desk.fill(id, COMPLETE);
    expect(desk.finalize(id)).toMatchObject({ created: false, handoff_id: 1, verified: true });
    expect(desk.rows('--cut')).toEqual([]);
  });
});

describe('finalize', () => {
  it('writes one row, however often', slow, () => {
    const id = desk.init();
    desk.fill(id, COMPLETE);
    expect(desk.finalize(id)).toMatchObject({
      exit: 0,
      created: true,
      handoff_id: 1,
      state: 'COMPLETE',
      systemMessage: 'It is done.',
    });
    expect(desk.run('finalize')).toMatchObject({ exit: 0, created: false, unchanged: true, handoff_id: 1 });
    expect(desk.rows()).toHaveLength(1);
  });

  it('never rewrites a COMPLETE contract', slow, () => {
    const id = desk.init();
    desk.fill(id, COMPLETE);
    desk.finalize(id);
    for (const words of [['set', 'agent_status.next_action', 'more'], ['init']])
      expect(codesOf(desk.run(...words, '--draft-id', id))).toEqual(['CONTRACT_CLOSED']);
    // Even where the file was changed by hand.
    const [file = ''] = drafts();
    writeFileSync(file, readFileSync(file, 'utf8').replace('It is done.', 'Something else.'));
    expect(codesOf(desk.finalize(id))).toEqual(['CONTRACT_CLOSED']);
  });

  it('remembers by the row what a draft edited by hand forgot', slow, () => {
    const id = desk.init('--dispatched', '--plan-task-id', 'task-7');
    desk.fill(id, COMPLETE);
    const [file = ''] = drafts();
    writeFileSync(file, readFileSync(file, 'utf8').replace('"planTaskId": "task-7"', '"planTaskId": null'));
    expect(codesOf(desk.finalize(id))).toEqual(['BLIND_VERIFICATION']);
  });

  it('refuses an envelope of another agent, and one that does not hold', slow, () => {
    const id = desk.init();
    desk.run('set', 'agent_status.agent_id', 'a12345');
    expect(codesOf(desk.finalize(id))).toEqual(['AGENT_ID_CHANGED']);
    const [file = ''] = drafts();
    writeFileSync(file, readFileSync(file, 'utf8').replace('"IN_PROGRESS"', '"COMPLETE"'));
    expect(codesOf(desk.finalize(id))).toEqual(['VERIFICATION_RESULT']);
    expect(desk.rows()).toEqual([]);
  });

  it('goes on through IN_PROGRESS, twice without a resume', slow, () => {
    const id = desk.init();
    expect(desk.finalize(id)).toMatchObject({ exit: 0, state: 'IN_PROGRESS' });
    expect(desk.finalize(id)).toMatchObject({ exit: 0, unchanged: true });
    desk.run('set', 'agent_status.next_action', 'two');
    const second = desk.finalize(id);
    expect(second.exit).toBe(0);
    expect(JSON.stringify(second.warnings)).toContain('RETRY_CAP');
    desk.run('set', 'agent_status.next_action', 'three');
    expect(codesOf(desk.finalize(id))).toEqual(['RETRY_CAP']);
    desk.run('init', '--draft-id', id);
    expect(desk.finalize(id).exit).toBe(0);
    desk.fill(id, to('BLOCKED'));
    expect(desk.finalize(id).exit).toBe(0);
    desk.fill(id, COMPLETE);
    expect(codesOf(desk.finalize(id))).toEqual(['ILLEGAL_TRANSITION']);
    desk.fill(id, to('IN_PROGRESS'));
    desk.fill(id, COMPLETE);
    expect(desk.finalize(id)).toMatchObject({ exit: 0, state: 'COMPLETE', handoff_id: 1 });
  });

  it('measures the draft by the input it began with', slow, () => {
    const input = join(desk.space.base, 'input.json');
    writeFileSync(
      input,
      JSON.stringify({
        agent_contract_handoff: { consolidation_required: true },
        write_permissions: { writable_sections: ['stack'] },
      }),
    );
    const id = desk.init('--input', input);
    expect(codesOf(desk.run('set', 'update_contracts', '[{"contract":"other","payload":{}}]'))).toEqual([
      'UPDATE_CONTRACTS_NOT_WRITABLE',
    ]);
    expect(codesOf(desk.fill(id, to('BLOCKED')))).toEqual(['CONSOLIDATION_REPORT']);
    expect(codesOf(desk.finalize(id))).toEqual(['CONSOLIDATION_REPORT']);
    expect(desk.run('init', '--input', join(desk.space.base, 'none.json')).exit).toBe(3);
  });
});

describe('the backstop', () => {
  it('captures each turn in its lane', slow, () => {
    const [one, two] = [desk.init('--agent-id', 'a11111'), desk.init('--agent-id', 'a22222', '--dispatched')];
    const three = desk.init('--agent-id', 'a33333');
    desk.run('add', 'evidence_report.key_outputs', 'half of it', '--draft-id', three);
    desk.run('reconcile', '--agent-id', 'a11111');
    desk.run('reconcile', '--agent-id', 'a22222', '--stop-reason', 'end_turn');
    desk.run('reconcile', '--agent-id', 'a33333', '--stop-reason', 'max_tokens');
    desk.run('reconcile', '--agent-id', 'h-unknown', '--agent-name', 'scout');
    const lanes = Object.fromEntries(desk.rows('--cut').map((row) => [row.agent_id, row.cut_reason]));
    expect(lanes).toEqual({
      a11111: 'backstop_capture',
      a22222: 'reaped',
      a33333: 'salvaged_truncation',
      'h-unknown': 'backstop_capture',
    });
    expect(desk.rows('--cut', 'salvaged_truncation')).toMatchObject([
      { contract_id: three, degraded: true, auto_captured: true },
    ]);
    expect(desk.rows('--agent', 'scout')).toHaveLength(1);
    // Once more changes nothing, and adds nothing.
    expect(desk.run('reconcile').count).toBe(0);
    expect(desk.run('reconcile', '--agent-id', 'h-unknown').count).toBe(0);
    expect(desk.rows()).toHaveLength(4);
    // The agent itself may still close its turn.
    desk.fill(one, COMPLETE);
    expect(desk.finalize(one)).toMatchObject({ exit: 0, created: false, verified: true, cut_reason: null });
    expect(desk.rows('--cut').map((row) => row.contract_id)).not.toContain(one);
    expect(two).toContain('a22222.');
  });

  it('never verifies what it captured, and never touches what was closed', slow, () => {
    const id = desk.init();
    desk.fill(id, COMPLETE);
    desk.run('reconcile');
    expect(desk.rows()).toMatchObject([{ state: 'COMPLETE', verified: false, cut_reason: 'backstop_capture' }]);
    desk.finalize(id);
    desk.run('reconcile', '--stop-reason', 'max_tokens');
    expect(desk.rows()).toMatchObject([{ state: 'COMPLETE', verified: true, cut_reason: null }]);
  });

  it('captures a resumed turn that was cut', slow, () => {
    const id = desk.init();
    desk.fill(id, to('BLOCKED'));
    desk.finalize(id);
    desk.run('init', '--draft-id', id);
    desk.fill(id, to('IN_PROGRESS'));
    desk.run('reconcile', '--stop-reason', 'tool_use');
    expect(desk.rows()).toMatchObject([{ state: 'IN_PROGRESS', cut_reason: 'salvaged_truncation' }]);
  });

  it('takes old drafts off the disk once their row holds them', slow, () => {
    const id = desk.init();
    desk.fill(id, COMPLETE);
    desk.finalize(id);
    const [file = ''] = drafts();
    const half = join(file, '..', '.writ-1-00.tmp');
    writeFileSync(half, 'half');
    for (const old of [file, half]) utimesSync(old, new Date(0), new Date(Date.now() - 8 * 86_400_000));
    expect(desk.run('reconcile').retired_drafts).toEqual([id]);
    expect(drafts()).toEqual([]);
    expect(desk.run('view', '--draft-id', id)).toMatchObject({ exit: 0, envelope_source: 'row', state: 'COMPLETE' });
  });
});

describe('the edges', () => {
  it('without state there are no contracts, and that is no clean answer', slow, () => {
    const none = { WRIT_STATE: 'none' };
    for (const words of [
      ['init'],
      ['list'],
      ['view'],
      ['finalize'],
      ['reconcile'],
      ['next', '1'],
      ['grant', 'show', '1'],
      ['set', 'a', 'b'],
    ])
      expect(desk.with(none, ...words).exit, words.join(' ')).toBe(4);
    const broken = join(desk.space.base, 'broken');
    writeFileSync(broken, '');
    expect(desk.with({ WRIT_STATE: broken }, 'init').exit).toBe(4);
    expect(desk.with({ WRIT_STATE: 'postgres://example.test/writ' }, 'init').exit).toBe(4);
  });

  it('takes --json everywhere, and knows no other words', slow, () => {
    const id = desk.init('--json');
    for (const words of [
      ['set', 'note', '1', '--json'],
      ['view', '--json'],
      ['list', '--json'],
      ['reconcile', '--json'],
      ['validate', '--json'],
    ])
      expect([0, 1], words[0]).toContain(desk.run(...words).exit);
    expect(id).toContain('.');
    for (const words of [
      ['frobnicate'],
      ['list', '--state', 'ODD'],
      ['list', '--cut', 'odd'],
      ['list', 'reaped'],
      ['list', '--since', 'x'],
      ['list', '--limit', '-1'],
      ['grant', 'pay', '1'],
      ['grant', 'show'],
      ['next'],
      ['init', '--odd'],
      ['merge'],
    ])
      expect(desk.run(...words).exit, words.join(' ')).toBe(3);
  });

  it('what cannot be read could not be checked', slow, () => {
    for (const verb of ['validate', 'parse-fence']) {
      for (const file of ['missing.json', '.']) expect(desk.run(verb, file).exit, `${verb} ${file}`).toBe(4);
      expect(desk.run(verb, '/dev/null').exit).toBe(1);
    }
    expect(desk.run('validate', '/dev/zero').exit).toBe(4);
    expect(desk.run('validate', '-', '--input', 'missing.json').exit).toBe(3);
    desk.space.put('latin.json', Buffer.from('{"a":"\xe9"}', 'latin1'));
    expect(codesOf(desk.run('validate', 'latin.json'))).toEqual(['MISSING_FIELD']);
    expect(desk.run('merge', '--current', 'latin.json', '--payload', 'latin.json').exit).toBe(1);
  });

  it('keeps the contracts of two checkouts apart', slow, () => {
    const id = desk.init();
    desk.finalize(id);
    const other = new Desk(new Workspace());
    try {
      const env = { HOME: join(desk.space.base, 'home') };
      expect(other.with(env, 'list').count).toBe(0);
      expect(other.with(env, 'next', '1').exit).toBe(1);
      expect(other.with(env, 'view', '--draft-id', id).exit).toBe(1);
    } finally {
      other.space.remove();
    }
  });

  it('lists by state, agent, time and count', slow, () => {
    for (const agent of ['a11111', 'a22222', 'a33333']) desk.finalize(desk.init('--agent-id', agent));
    expect(desk.rows('--limit', '2').map((row) => row.agent_id)).toEqual(['a33333', 'a22222']);
    expect(desk.rows('--agent', 'a11111')).toHaveLength(1);
    expect(desk.rows('--since', '8h')).toHaveLength(3);
    expect(desk.rows('--since', '2099-01-01T00:00:00Z')).toEqual([]);
    expect(desk.rows('--state', 'in_progress')).toHaveLength(3);
  });

  it('text of an envelope moves no cursor', slow, () => {
    const id = desk.init();
    desk.fill(id, { agent_status: { next_action: 'a\u001b[2Jb\u202ec' } });
    const { stdout } = desk.space.run(['contract', 'view']);
    expect(stdout).toContain('\\u202e');
    expect(stdout).not.toMatch(/[\u001b\u202e]/);
    expect(JSON.parse(stdout).envelope.agent_status.next_action).toBe('a\u001b[2Jb\u202ec');
  });
});

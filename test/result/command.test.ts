import { afterAll, describe, expect, it } from 'vitest';
import { Workspace } from '../support/workspace.ts';

const space = new Workspace();
afterAll(() => space.remove());

describe('writ result parse', () => {
  it('prints exactly one object in one line, and ends in 0 whatever the agent said', () => {
    const ran = space.run(['result', 'parse', '--exit-code', '1'], {
      input: 'x\n```json\n{"status":"completed"}\n```\n',
    });
    expect(ran.exit).toBe(0);
    expect(ran.stdout).toBe(
      '{"status":"failed","summary":"","changed_files":[],"tests_attempted":[],"known_risks":["CLI exited 1 despite completed claim"],"needs_human_review":true}\n',
    );
  });

  it('reads nothing, bytes that are no UTF-8, and NULs', () => {
    for (const input of ['', Buffer.from([0xff, 0xfe, 0, 0x7b, 0xc0]), '\u0000'.repeat(5_000)]) {
      const ran = space.run(['result', 'parse'], { input });
      expect([ran.exit, JSON.parse(ran.stdout).status]).toEqual([0, 'completed']);
    }
  });

  it('takes --timed-out, a negative exit code and null', () => {
    const status = (...args: readonly string[]) =>
      JSON.parse(space.run(['result', 'parse', ...args], { input: '{"status":"completed"}' }).stdout).status;
    expect(status('--timed-out')).toBe('timed_out');
    expect(status('--exit-code=-9')).toBe('failed');
    expect(status('--exit-code', 'null')).toBe('failed');
    expect(status('--exit-code', '0')).toBe('completed');
    expect(status()).toBe('completed');
  });

  it.each([['--exit-code', 'x'], ['--exit-code', ''], ['--exit-code', '1.5'], ['--exitcode', '1'], ['extra']])(
    'wrong usage ends in 3: %s %s',
    (...args) => {
      const ran = space.run(['result', 'parse', ...args.filter((one) => one !== undefined)], { input: 'x' });
      expect([ran.exit, ran.stdout]).toEqual([3, '']);
    },
  );

  it('reads an event stream as codex prints it', () => {
    const text = '```json\n{"status":"approval_required","summary":"which one?"}\n```';
    const events = [
      { type: 'thread.started', thread_id: '1' },
      { type: 'item.completed', item: { type: 'agent_message', text } },
      { type: 'turn.completed', usage: {} },
    ];
    const ran = space.run(['result', 'parse'], { input: events.map((one) => JSON.stringify(one)).join('\n') });
    expect(JSON.parse(ran.stdout)).toMatchObject({ status: 'approval_required', summary: 'which one?' });
  });

  it('an output without end does not fill the memory; the block at its end is found', { timeout: 300_000 }, () => {
    const ran = space.shell(
      `{ head -c 400000000 /dev/zero; printf '\\n{"status":"failed"}\\n'; } | { ulimit -v 4000000; NODE_OPTIONS=--max-old-space-size=256 eval "$WRIT" result parse; }`,
    );
    expect([ran.exit, ran.stderr]).toEqual([0, '']);
    expect(JSON.parse(ran.stdout)).toMatchObject({
      status: 'failed',
      known_risks: ['only the last 33554432 bytes of the output were read'],
    });
  });
});

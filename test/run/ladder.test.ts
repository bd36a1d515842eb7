import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { STATUSES, type Status } from '../../src/result/run-result.ts';
import { nextRung, REACTIONS, type Rung } from '../../src/run/reaction.ts';
import { Field, say } from './given.ts';

// Each run is a process with processes of its own, and the machine may be busy.
vi.setConfig({ testTimeout: 300_000 });

const opened: Field[] = [];
afterEach(() => {
  for (const one of opened.splice(0)) one.remove();
});
function field(): Field {
  const made = new Field();
  opened.push(made);
  return made;
}

function rung(agent: string, vendor = agent): Rung<string> {
  return { agent, vendor, timeout: 1_000, larger: false, throttled: false };
}

/** The agents tried, in order, where each one always ends in the same status. */
function climbed(rungs: readonly Rung<string>[], ends: Readonly<Record<string, Status>>): readonly string[] {
  const tried: string[] = [];
  let [current, ...left]: readonly (Rung<string> | undefined)[] = rungs;
  while (current !== undefined) {
    tried.push(`${current.agent}${current.larger ? '+' : ''}`);
    if (tried.length > 50) throw new Error('it never ends');
    const next: ReturnType<typeof nextRung<string>> = nextRung(
      current,
      ends[current.agent] ?? 'failed',
      left as Rung<string>[],
    );
    current = next?.rung;
    left = [...(next?.left ?? [])];
  }
  return tried;
}

describe('what a host does about each status', () => {
  it('is one row each', () => {
    expect(Object.keys(REACTIONS)).toEqual([...STATUSES]);
    expect(STATUSES.map((one) => REACTIONS[one].reaction)).toEqual([
      'review_and_validate',
      'next_agent',
      'larger_budget',
      'other_vendor',
      'human_gate',
    ]);
  });

  it.each<[string, Readonly<Record<string, Status>>, readonly string[]]>([
    ['completed ends it', { a: 'completed' }, ['a']],
    ['approval_required goes to a human', { a: 'approval_required' }, ['a']],
    ['failed: the next agent', { b: 'completed' }, ['a', 'b']],
    ['timed_out: once more with a larger budget, then the next', { a: 'timed_out', b: 'completed' }, ['a', 'a+', 'b']],
    ['rate_limited: another vendor now, this one later', { a: 'rate_limited' }, ['a', 'b', 'c', 'a']],
    [
      'all throttled: it ends',
      { a: 'rate_limited', b: 'rate_limited', c: 'rate_limited' },
      ['a', 'b', 'c', 'a', 'b', 'c'],
    ],
  ])('%s', (_, ends, tried) => {
    const found = climbed([rung('a'), rung('b'), rung('c')], ends);
    expect(found.slice(0, tried.length)).toEqual(tried);
  });

  it('an agent of the same vendor waits as well', () => {
    expect(climbed([rung('a', 'v'), rung('b', 'v'), rung('c')], { a: 'rate_limited', b: 'completed' })).toEqual([
      'a',
      'c',
      'b',
    ]);
  });

  it('with nobody of another vendor left there is nothing to be done now', () => {
    expect(climbed([rung('a', 'v'), rung('b', 'v')], { a: 'rate_limited' })).toEqual(['a']);
  });

  it('ends, whatever the agents do', () => {
    for (const a of STATUSES)
      for (const b of STATUSES)
        for (const c of STATUSES) climbed([rung('a', 'v'), rung('b', 'v'), rung('c')], { a, b, c });
  });
});

describe('--ladder', () => {
  it('failed: the next agent, in a work tree of its own; the first one’s work is kept too', () => {
    const at = field();
    at.agent('claude', `echo half > half.txt; ${say({ status: 'failed' })}`);
    at.agent('agy', `ls > "$OUT/ls"; echo whole > whole.txt; ${say({ changed_files: ['whole.txt'] })}`);
    const ran = at.task(['--ladder', 'claude,agy,grok']);
    expect([ran.exit, ran.result.status]).toEqual([0, 'completed']);
    expect(ran.result.host.attempts.map((one) => [one.agent, one.reaction, one.worktree.kept])).toEqual([
      ['claude', 'next_agent', true],
      ['agy', 'review_and_validate', true],
    ]);
    expect(at.told('ls')).not.toContain('half.txt');
    expect(ran.result.host.worktree).toBe(ran.result.host.attempts[1]?.worktree.path);
  });

  it('rate_limited: another vendor now, this one later', () => {
    const at = field();
    at.agent(
      'claude',
      `echo x >> "$OUT/times"; [ "$(wc -l < "$OUT/times")" = 2 ] && { ${say({ summary: 'later' })}; exit 0; }\necho 'rate limit' >&2; exit 1`,
    );
    at.agent('codex', say({ status: 'failed' }));
    const ran = at.task(['--agent', 'claude', '--ladder', 'codex']);
    expect(ran.result.summary).toBe('later');
    expect(ran.result.host.attempts.map((one) => one.agent)).toEqual(['claude', 'codex', 'claude']);
  });

  it('timed_out: once more with twice the time', () => {
    const at = field();
    at.agent(
      'claude',
      `[ -e "$OUT/once" ] && { ${say({ summary: 'second' })}; exit 0; }\ntouch "$OUT/once"; exec sleep 600`,
    );
    const ran = at.host([
      '--prompt-file',
      join(at.base, 'task.md'),
      '--timeout',
      '6s',
      '--host-report',
      '--ladder',
      'claude,agy',
    ]);
    expect(ran.result.summary).toBe('second');
    expect(ran.result.host.attempts.map((one) => [one.agent, one.timeoutMs])).toEqual([
      ['claude', 6_000],
      ['claude', 12_000],
    ]);
  });

  it('approval_required: a human, with the partial work', () => {
    const at = field();
    at.agent('claude', `echo half > half.txt; ${say({ status: 'approval_required', summary: 'drop it?' })}`);
    const ran = at.task(['--ladder', 'claude,codex']);
    expect([ran.exit, ran.result.status, ran.result.host.reaction]).toEqual([1, 'approval_required', 'human_gate']);
    expect(ran.result.host.attempts.length).toBe(1);
    expect(ran.result.host.worktree).not.toBeNull();
  });

  it('a validation that fails sends it on', () => {
    const at = field();
    at.agent('claude', say({}));
    at.agent('agy', `touch good; ${say({ changed_files: ['good'] })}`);
    const ran = at.task(['--ladder', 'claude,agy', '--validate', 'test -e good']);
    expect([ran.exit, ran.result.host.attempts.map((one) => one.result.status)]).toEqual([0, ['failed', 'completed']]);
  });

  it('an agent that is not installed, or takes no prompt that long, is passed over and told', () => {
    const at = field();
    at.agent('claude', say({ summary: 'ok' }));
    at.agent('grok', say({ summary: 'never' }));
    at.env.PATH = `${at.bin}:/usr/bin:/bin`;
    writeFileSync(join(at.base, 'task.md'), 'x'.repeat(40_000));
    const ran = at.task(['--ladder', 'ollama,grok,claude']);
    expect(ran.result.summary).toBe('ok');
    expect(ran.result.host.attempts.slice(0, 2).map((one) => [one.agent, one.result.status])).toEqual([
      ['ollama', 'failed'],
      ['grok', 'failed'],
    ]);
    expect(ran.result.host.attempts[0]?.result.summary).toContain('there is no program ollama');
  });

  it('without it nothing is tried again', () => {
    const at = field();
    at.agent('claude', say({ status: 'failed' }));
    expect(at.task(['--agent', 'claude']).result.host.attempts.length).toBe(1);
  });
});

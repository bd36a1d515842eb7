import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { Field, isRunning, say, until } from './given.ts';

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

const hasProc = existsSync('/proc/self/environ');

/** Processes that an agent leaves behind, each with its number in a file. `$$` of the inner shell is what `exec` keeps. */
const STRAYS: readonly (readonly [string, string])[] = [
  ['a child', `sh -c 'echo $$ > "$OUT/pid"; exec sleep 600' &`],
  ['a grandchild in a session of its own', `(setsid sh -c 'echo $$ > "$OUT/pid"; exec sleep 600' &)`],
  ['one that lost its parent', `sh -c '(sh -c "echo \\$\\$ > \\"$OUT/pid\\"; exec sleep 600" &)'`],
  [
    'one without its environment',
    `(env -i OUT="$OUT" PATH="$PATH" setsid sh -c 'echo $$ > "$OUT/pid"; exec sleep 600' &)`,
  ],
  ['one that hears no signal but the last', `sh -c 'trap "" TERM INT HUP; echo $$ > "$OUT/pid"; sleep 600 & wait' &`],
];
/** Fifty processes, each in a session of its own, that start the next and end. */
const CHAIN = `printf '#!/bin/sh\\necho "$$" > "$OUT/pid"; [ "$1" -ge 50 ] && exit; sleep 0.2; setsid "$0" $(($1+1)) </dev/null >/dev/null 2>&1 &\\n' > "$OUT/step"; chmod +x "$OUT/step"; "$OUT/step" 0 &`;
const WAIT = 'while [ ! -s "$OUT/pid" ]; do sleep 0.05; done';

describe.skipIf(!hasProc)('nothing outlives a run', () => {
  it.each(STRAYS)('when the agent is done: %s', (_, stray) => {
    const at = field();
    const ran = at.task(['--', at.agent('mine', `${stray}\n${WAIT}\n${say({ summary: 'done' })}`)]);
    expect([ran.exit, ran.result.summary]).toEqual([0, 'done']);
    expect(isRunning(Number(at.told('pid')))).toBe(false);
    expect(ran.result.host.attempts[0]?.processes).toMatchObject({ left: 0 });
    expect(ran.result.host.attempts[0]?.processes.outlived).toBeGreaterThan(0);
  });

  it.each(STRAYS)('at the timeout: %s', (_, stray) => {
    const at = field();
    const file = at.agent('mine', `${stray}\n${WAIT}\n${say({})}\nexec sleep 600`);
    const ran = at.host(['--prompt-file', join(at.base, 'task.md'), '--timeout', '8s', '--host-report', '--', file]);
    expect([ran.exit, ran.result.status]).toEqual([1, 'timed_out']);
    expect(isRunning(Number(at.told('pid')))).toBe(false);
  });

  it.each(STRAYS.slice(0, 4))('when the host itself is killed: %s', async (_, stray) => {
    const at = field();
    const file = at.agent('mine', `echo $$ > "$OUT/agent"; ${stray}\n${WAIT}\ntouch "$OUT/ready"; exec sleep 600`);
    const host = at.start(['--timeout', '10m', '--', file]);
    await until(() => existsSync(join(at.out, 'ready')));
    process.kill(host.pid, 'SIGKILL');
    await host.ended;
    await until(() => !isRunning(Number(at.told('pid'))) && !isRunning(Number(at.told('agent'))));
    expect(at.left().length).toBeGreaterThan(0);
    // The next run takes away what the killed one left; it held no work.
    expect(at.task(['--', at.agent('mine', say({}))]).exit).toBe(0);
    expect(at.left().filter((name) => !name.startsWith('writ-exec-'))).toEqual([]);
  });

  it('when each one starts the next and ends', async () => {
    const at = field();
    expect(at.task(['--', at.agent('mine', `${CHAIN}\n${WAIT}\n${say({})}`)]).exit).toBe(0);
    const last = at.told('pid');
    await new Promise((done) => setTimeout(done, 1_000));
    expect([at.told('pid'), isRunning(Number(last))]).toEqual([last, false]);
  });

  it('work in the work tree of a host that was killed is kept, and told of', async () => {
    const at = field();
    const file = at.agent('mine', `echo two > a.txt; pwd > "$OUT/pwd"; touch "$OUT/ready"; exec sleep 600`);
    const host = at.start(['--timeout', '10m', '--', file]);
    await until(() => existsSync(join(at.out, 'ready')));
    process.kill(host.pid, 'SIGKILL');
    await host.ended;
    const ran = at.task(['--', at.agent('mine', say({}))]);
    const path = at.told('pwd').trim();
    expect(ran.stderr).toContain(`left by a run that was killed, with work in it: ${path}`);
    expect(readFileSync(join(path, 'a.txt'), 'utf8')).toBe('two\n');
  });

  it.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
    'when the host hears %s: one object, the work kept, exit 1',
    async (signal) => {
      const at = field();
      const file = at.agent('mine', `echo two > a.txt; ${say({})}; echo $$ > "$OUT/agent"; exec sleep 600`);
      const host = at.start(['--timeout', '10m', '--ladder', 'claude', '--', file]);
      await until(() => at.told('agent') !== '');
      process.kill(host.pid, signal);
      const { exit, stdout } = await host.ended;
      const result = JSON.parse(stdout);
      expect([exit, result.status, result.needs_human_review]).toEqual([1, 'failed', true]);
      expect(result.known_risks).toContain(`the host was told to end (${signal})`);
      expect(result.host.attempts.length).toBe(1);
      expect(readFileSync(join(result.host.worktree, 'a.txt'), 'utf8')).toBe('two\n');
      expect(isRunning(Number(at.told('agent')))).toBe(false);
    },
  );
});

describe('the timeout', () => {
  it('beats every claim, and keeps what was said and done', () => {
    const at = field();
    const file = at.agent(
      'mine',
      `echo x > new.txt; ${say({ summary: 'half', changed_files: ['new.txt'] })}; exec sleep 600`,
    );
    const ran = at.host(['--prompt-file', join(at.base, 'task.md'), '--timeout', '8s', '--host-report', '--', file]);
    expect(ran.result).toMatchObject({
      status: 'timed_out',
      summary: 'half',
      known_risks: ['killed at the timeout despite completed claim'],
      needs_human_review: true,
    });
    expect(ran.result.host.attempts[0]).toMatchObject({ timedOut: true, diff: { changed: ['new.txt'] } });
    expect(existsSync(join(ran.result.host.worktree ?? '', 'new.txt'))).toBe(true);
  });

  it('ends an agent that hears no signal, and one that answers it by ending well', () => {
    const at = field();
    for (const trap of ["trap '' TERM", "trap 'exit 0' TERM"]) {
      const file = at.agent('mine', `${trap}; while :; do sleep 0.1; done`);
      const ran = at.host(['--prompt-file', join(at.base, 'task.md'), '--timeout', '2s', '--host-report', '--', file]);
      expect(ran.result.status).toBe('timed_out');
    }
    expect(at.left()).toEqual([]);
  });

  it('an agent that holds its output open by a child does not hold up the run', () => {
    const at = field();
    const ran = at.task(['--', at.agent('mine', `sleep 600 & ${say({})}`)]);
    expect([ran.exit, ran.result.host.attempts[0]?.timedOut]).toEqual([0, false]);
  });

  it('an agent that prints without end neither fills the memory nor hides its block', () => {
    const at = field();
    const ran = at.task(['--', at.agent('mine', `head -c 100000000 /dev/zero; echo; ${say({ summary: 'end' })}`)]);
    expect(ran.result).toMatchObject({
      summary: 'end',
      known_risks: ['only the last 33554432 bytes of the output were read'],
    });
  });

  it('an agent that a signal ends has not completed', () => {
    const ran = field();
    const done = ran.task(['--', ran.agent('mine', `${say({})}; kill -9 $$`)]);
    expect(done.result).toMatchObject({ status: 'failed', known_risks: ['CLI was killed despite completed claim'] });
  });
});

import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { COMPLETE, Desk, to } from './desk.ts';

const COMMAND = join(import.meta.dirname, '..', '..', 'dist', 'writ.cjs');
const MOST_STEPS = 120;
const slow = { timeout: 600_000 };

/** Kills the process just before its n-th change of the file system or its n-th statement to the database; a write is cut in half first. */
const KILLER = `
const fs = require('node:fs');
const Module = require('node:module');
let left = Number(process.env.KILL_AT);
const die = () => { process.kill(process.pid, 'SIGKILL'); for (;;); };
const step = () => { left -= 1; return left === 0; };
for (const name of ['renameSync', 'linkSync', 'unlinkSync', 'mkdirSync', 'writeSync', 'openSync', 'fsyncSync', 'rmSync']) {
  const real = fs[name];
  fs[name] = (...args) => {
    const changes = name === 'openSync' ? (Number(args[1]) & fs.constants.O_CREAT) !== 0 : name !== 'writeSync' || args[0] > 2;
    if (changes && step()) {
      if (name === 'writeSync') real(args[0], args[1].subarray(0, args[1].length >> 1));
      die();
    }
    return real(...args);
  };
}
const load = Module._load;
Module._load = function (request, ...rest) {
  const found = load.call(this, request, ...rest);
  if (request !== 'libsql' || found.killable) return found;
  const prepare = found.prototype.prepare;
  found.prototype.prepare = function (...args) { if (step()) die(); return prepare.apply(this, args); };
  found.killable = true;
  return found;
};
`;

let desk: Desk;
let killer: string;

beforeEach(() => {
  desk = new Desk();
  killer = join(desk.space.base, 'killer.cjs');
  writeFileSync(killer, KILLER);
});
afterEach(() => desk.space.remove());

function drafts(): readonly string[] {
  const folder = join(desk.space.base, 'home', '.local', 'state', 'writ', 'contracts');
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .flatMap((name) => readdirSync(join(folder, name)).map((file) => join(folder, name, file)))
    .filter((file) => file.endsWith('.json'));
}

/** Kills a command at every step in turn until it runs through. @returns how many kills there were. */
function killEverywhere(words: readonly string[], then: (step: number) => void): number {
  for (let step = 1; step < MOST_STEPS; step += 1) {
    const ran = desk.space.run(['contract', ...words], {
      env: { NODE_OPTIONS: `--require ${killer}`, KILL_AT: String(step) },
    });
    if (ran.exit === 0) return step - 1;
    expect(ran.exit, `${words.join(' ')}, step ${step}: ${ran.stdout}${ran.stderr}`).toBe(-1);
    then(step);
  }
  throw new Error('it never ran through');
}

describe('killed at every step', () => {
  it('a set leaves the old draft or the new one, whole, and the next write works', slow, () => {
    const id = desk.init('--dispatched');
    const seen = new Set<unknown>();
    const kills = killEverywhere(['set', 'agent_status.next_action', 'new', '--draft-id', id], () => {
      const [file = ''] = drafts();
      expect(drafts()).toHaveLength(1);
      const { envelope } = JSON.parse(readFileSync(file, 'utf8'));
      seen.add(envelope.agent_status.next_action);
      expect(['pending', 'new']).toContain(envelope.agent_status.next_action);
      expect(desk.run('view', '--draft-id', id).exit).toBe(0);
    });
    expect(kills).toBeGreaterThan(8);
    expect([...seen]).toContain('pending');
    expect(desk.rows()).toMatchObject([{ contract_id: id, state: 'IN_PROGRESS' }]);
  });

  it('a finalize leaves no row or one whole row, and the next one finishes it', slow, () => {
    const id = desk.init();
    desk.fill(id, COMPLETE);
    const kills = killEverywhere(['finalize', '--draft-id', id], () => {
      const rows = desk.rows();
      expect(rows.length).toBeLessThanOrEqual(1);
      for (const row of rows) expect(row).toMatchObject({ state: 'COMPLETE', verified: true, cut_reason: null });
    });
    expect(kills).toBeGreaterThan(5);
    expect(desk.finalize(id)).toMatchObject({ exit: 0, unchanged: true });
    expect(desk.rows()).toHaveLength(1);
  });

  it('the finalize of a verifier promotes its producer together with its own row, or neither', slow, () => {
    const producer = desk.init('--profile', 'agent_state', '--plan-task-id', 't');
    desk.fill(producer, to('NEEDS_VERIFICATION', 'agent_state'));
    desk.finalize(producer);
    const verifier = desk.init('--profile', 'agent_state', '--parent-handoff-id', '1');
    desk.fill(verifier, { ...COMPLETE, agent_status: { agent_state: 'COMPLETE', next_action: 'done' } });
    killEverywhere(['finalize', '--draft-id', verifier], () => {
      const rows = desk.rows();
      const promoted = rows.find((row) => row.contract_id === producer)?.state === 'COMPLETE';
      expect(rows.length === 2).toBe(promoted);
    });
    expect(desk.rows().map((row) => row.state)).toEqual(['COMPLETE', 'COMPLETE']);
  });

  it('a birth leaves nothing that the backstop does not find', slow, () => {
    let births = 0;
    killEverywhere(['init', '--dispatched', '--agent-id', 'a99999'], () => {
      births = drafts().length;
    });
    desk.run('reconcile', '--agent-id', 'a99999');
    const rows = desk.rows();
    expect(rows.length).toBeGreaterThanOrEqual(births);
    for (const row of rows) expect(row).toMatchObject({ state: 'IN_PROGRESS', degraded: true });
  });

  it('a backstop leaves the row whole or none', slow, () => {
    const id = desk.init();
    desk.fill(id, { evidence_report: { key_outputs: ['half'] } });
    killEverywhere(['reconcile'], () => {
      for (const row of desk.rows()) expect(row).toMatchObject({ contract_id: id, cut_reason: 'backstop_capture' });
    });
    expect(desk.rows()).toHaveLength(1);
  });
});

describe('many at once', () => {
  const start = (
    words: readonly string[],
  ): Promise<{ readonly exit: number | null; readonly stdout: string; readonly stderr: string }> =>
    new Promise((done) => {
      const child = spawn(process.execPath, [COMMAND, 'contract', ...words], {
        cwd: desk.space.root,
        env: desk.space.env,
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      let stdout = '';
      child.stdout.on('data', (chunk) => {
        stdout += chunk;
      });
      let stderr = '';
      child.stderr.on('data', (chunk) => {
        stderr += chunk;
      });
      child.on('close', (exit) => done({ exit, stdout, stderr }));
    });

  it('50 finalizes of one draft and the backstop leave exactly one row', slow, async () => {
    const id = desk.init();
    desk.fill(id, COMPLETE);
    const ends = await Promise.all([
      ...Array.from({ length: 50 }, () => start(['finalize', '--draft-id', id])),
      start(['reconcile', '--stop-reason', 'max_tokens']),
      start(['reconcile', '--agent-id', id.split('.')[0] ?? '']),
    ]);
    expect(ends.filter((end) => end.exit !== 0)).toEqual([]);
    const answers = ends.slice(0, 50).map((end) => JSON.parse(end.stdout));
    const firsts = ends.map((end) => JSON.parse(end.stdout)).filter((one) => one.created === true || one.count === 1);
    expect(firsts).toHaveLength(1);
    expect(new Set(answers.map((one) => one.handoff_id)).size).toBe(1);
    expect(desk.rows()).toMatchObject([{ state: 'COMPLETE', verified: true, cut_reason: null, handoff_id: 1 }]);
  });

  it('a reader never meets half a draft, nor calls one damaged that is being replaced', slow, async () => {
    const id = desk.init();
    const ends = await Promise.all(
      Array.from({ length: 24 }, (_, n) =>
        start(n % 2 === 0 ? ['set', 'note', `n${n}`, '--draft-id', id] : ['view', '--draft-id', id]),
      ),
    );
    expect(ends.filter((end) => end.exit !== 0)).toEqual([]);
  });

  it('no write to a draft is lost', slow, async () => {
    const id = desk.init();
    const ends = await Promise.all(
      Array.from({ length: 24 }, (_, n) => start(['add', 'evidence_report.key_outputs', `n${n}`, '--draft-id', id])),
    );
    expect(ends.filter((end) => end.exit !== 0)).toEqual([]);
    const { stdout } = desk.run('view', '--field', 'evidence_report.key_outputs');
    const kept: unknown = JSON.parse(String(stdout));
    expect(new Set(kept as string[]).size).toBe(24);
    expect(kept).toHaveLength(24);
  });
});

// Speed of `writ contract finalize`: one agent closing its turn, and fifty that close theirs at once.
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';

const RUNS = 15;
const CROWD = 50;
const DONE = JSON.stringify({
  agent_status: { plan_status: 'COMPLETE', next_action: 'done' },
  evidence_report: { key_outputs: ['it builds'], verification: { result: 'pass' } },
});
const median = (list) => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)];

/** @returns rows for the table of the bench. `base` is a folder of its own, `env` names a home. */
export async function measureContracts(base, command, env) {
  const root = join(base, 'contracts');
  mkdirSync(root);
  const run = (args) => {
    const began = process.hrtime.bigint();
    const done = spawnSync(process.execPath, args, { cwd: root, env, encoding: 'utf8' });
    if (done.status !== 0) throw new Error(`${args.slice(1).join(' ')} ended with ${done.status}: ${done.stderr}`);
    return { ms: Number(process.hrtime.bigint() - began) / 1e6, out: done.stdout };
  };
  const draft = () => {
    const { draft_id } = JSON.parse(run([command, 'contract', 'init']).out);
    run([command, 'contract', 'fill', '--json', DONE, '--draft-id', draft_id]);
    return draft_id;
  };
  const finalize = (id) => [command, 'contract', 'finalize', '--draft-id', id];

  run(finalize(draft()));
  const pairs = Array.from({ length: RUNS }, () => {
    const id = draft();
    return { writ: run(finalize(id)).ms, node: run(['-e', '']).ms };
  });
  const ratio = median(pairs.map(({ writ, node }) => writ / node));

  const id = draft();
  const began = performance.now();
  const exits = await Promise.all(
    Array.from(
      { length: CROWD },
      () =>
        new Promise((done) => {
          spawn(process.execPath, finalize(id), { cwd: root, env, stdio: 'ignore' }).on('close', done);
        }),
    ),
  );
  const each = (performance.now() - began) / CROWD;
  const failed = exits.filter((exit) => exit !== 0).length;
  return [
    {
      line: 'contract finalize, against node -e ""',
      figure: `${ratio.toFixed(2)} x`,
      limit: '<= 4 x',
      passed: ratio <= 4,
      note: `${median(pairs.map(({ writ }) => writ)).toFixed(0)} ms / ${median(pairs.map(({ node }) => node)).toFixed(0)} ms`,
    },
    {
      line: `contract finalize, ${CROWD} at once`,
      figure: `${failed} failed`,
      limit: '0 failed',
      passed: failed === 0,
      note: `${each.toFixed(0)} ms each`,
    },
  ];
}

// Speed and memory of the built command against limit lines: paired runs A B A B, the median of the ratios. Exit 1 where a line does not hold.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { measureContracts } from './contracts.mjs';
import { measureHandoffs } from './handoff.mjs';
import { measureScan } from './scan-speed.mjs';
import { measureWatch } from './watch.mjs';
import { governed, plain, processor, proofsIn } from './workspaces.mjs';

const COMMAND = join(import.meta.dirname, '..', 'dist', 'writ.cjs');
const base = mkdtempSync(join(realpathSync(tmpdir()), 'writ-bench-'));
const home = join(base, 'home');
const env = { PATH: process.env.PATH, HOME: home, LC_ALL: 'C.UTF-8', NO_COLOR: '1' };
const rows = [];

const row = (line, figure, limit, passed, note) => rows.push({ line, figure, limit, passed, note });
const fixed = (value, digits = 2) => value.toFixed(digits);
const median = (list) => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)];

/** Runs a Node program once. @returns wall ms. A program that ends otherwise than it should stops the bench: its time means nothing. */
function once({ args, cwd, exits = [0] }, extra = {}) {
  const began = process.hrtime.bigint();
  const done = spawnSync(process.execPath, args, {
    cwd,
    env: { ...env, ...extra },
    stdio: ['ignore', 'pipe', 'inherit'],
    maxBuffer: 1 << 28,
  });
  const ms = Number(process.hrtime.bigint() - began) / 1e6;
  if (!exits.includes(done.status))
    throw new Error(`${args.join(' ').slice(0, 200)} ended with ${done.status ?? done.signal}`);
  return { ms, out: done.stdout };
}

/** One warm-up each, then `runs` pairs. */
function pair(a, b, runs) {
  once(a);
  once(b);
  const pairs = Array.from({ length: runs }, () => ({ a: once(a).ms, b: once(b).ms }));
  return {
    ratio: median(pairs.map((one) => one.a / one.b)),
    a: median(pairs.map((one) => one.a)),
    b: median(pairs.map((one) => one.b)),
  };
}

function ratioRow(line, a, b, limit, runs) {
  const found = pair(a, b, runs);
  row(
    line,
    `${fixed(found.ratio)} x`,
    limit === null ? '-' : `<= ${limit} x`,
    limit === null || found.ratio <= limit,
    `${fixed(found.a, 0)} ms / ${fixed(found.b, 0)} ms`,
  );
}

const hook = join(base, 'memory.cjs');
const told = join(base, 'memory.txt');

function memoryRow(line, run, limit = 150) {
  once(run, { NODE_OPTIONS: `--require ${hook}` });
  const megabytes = Number(readFileSync(told, 'utf8')) / 1024;
  row(
    line,
    `${fixed(megabytes, 0)} MB`,
    limit === null ? '-' : `< ${limit} MB`,
    limit === null || megabytes < limit,
    'one run',
  );
}

const check = (cwd, ...args) => ({ args: [COMMAND, 'check', ...args], cwd });

try {
  mkdirSync(home);
  writeFileSync(
    hook,
    `process.on('exit', () => require('node:fs').writeFileSync(${JSON.stringify(told)}, String(process.resourceUsage().maxRSS)));\n`,
  );
  const hashing = join(base, 'hash.cjs');
  writeFileSync(
    hashing,
    `const { createHash } = require('node:crypto'), { readdirSync, readFileSync } = require('node:fs');
const folder = process.argv[2] + '/.claude/rules';
let last = '';
for (const name of readdirSync(folder)) last = createHash('sha256').update(readFileSync(folder + '/' + name)).digest('hex');
console.log(last);\n`,
  );
  const hash = (root) => ({ args: [hashing, root], cwd: root });
  const nothing = { args: ['-e', ''], cwd: base };

  const one = plain(base, 1, 6_144);
  const thousand = plain(base, 1_000, 6_144);
  ratioRow('check, 1 file, against node -e ""', check(one, '.claude/rules/rule-0.md'), nothing, 1.8, 15);
  ratioRow('check, 1,000 files, against read + sha256', check(thousand), hash(thousand), 2.5, 7);
  memoryRow('peak memory, 1 file', check(one));
  memoryRow('peak memory, 1,000 files', check(thousand));

  const made = governed(base, COMMAND, { count: 1_000, size: 6_144, approved: 100, committed: 100, env });
  if ('missing' in made) row('check, 1,000 files, governed', 'not run', '<= 4 x', true, made.missing);
  else {
    const proofs = proofsIn(once(check(made.root, '--format', 'json')).out);
    if (proofs.binding < 100 || proofs.byCommit < 100)
      throw new Error(`the governed workspace proves too little: ${JSON.stringify(proofs)}`);
    ratioRow('check, 1,000 files, 100 approved, 100 by signed commit', check(made.root), hash(made.root), 4, 7);
    ratioRow(
      'check, 1 governed file, against node -e ""',
      check(made.root, '.claude/rules/rule-999.md'),
      nothing,
      null,
      7,
    );
    memoryRow('peak memory, 1,000 files, governed', check(made.root));
  }
  rmSync(join(base, 'governed'), { recursive: true, force: true });

  for (const found of await measureWatch(base, COMMAND, env, Number(process.env.WRIT_BENCH_EVENTS ?? 10_000)))
    row(found.line, found.figure, found.limit, found.passed, found.note);

  for (const found of await measureContracts(base, COMMAND, env))
    row(found.line, found.figure, found.limit, found.passed, found.note);

  const few = plain(base, 2_000, 1_024);
  const many = plain(base, 20_000, 1_024);
  ratioRow('check, 20,000 files of 1 KB, against 2,000', check(many), check(few), 13, 3);
  memoryRow('peak memory, 20,000 files of 1 KB', check(many), null);

  for (const found of await measureScan()) row(found.line, found.figure, found.limit, found.passed, found.note);
  for (const found of await measureHandoffs(base)) row(found.line, found.figure, found.limit, found.passed, found.note);
} finally {
  rmSync(base, { recursive: true, force: true });
}

const width = (key, head) => Math.max(head.length, ...rows.map((one) => one[key].length));
const wide = {
  line: width('line', 'line'),
  figure: width('figure', 'measured'),
  limit: width('limit', 'limit'),
  note: width('note', 'medians'),
};
const render = (cells) =>
  `| ${cells.line.padEnd(wide.line)} | ${cells.figure.padStart(wide.figure)} | ${cells.limit.padEnd(wide.limit)} | ${cells.verdict} | ${cells.note.padEnd(wide.note)} |`;
const [head, ...rest] = [
  { line: 'line', figure: 'measured', limit: 'limit', verdict: '    ', note: 'medians' },
  ...rows.map((one) => ({ ...one, verdict: one.figure === 'not run' ? 'SKIP' : one.passed ? 'PASS' : 'FAIL' })),
];
process.stdout.write(
  `node ${process.version}, ${availableParallelism()} CPUs (${processor()}), ${new Date().toISOString().slice(0, 10)}\n\n` +
    `${render(head)}\n|${'-'.repeat(wide.line + 2)}|${'-'.repeat(wide.figure + 1)}:|${'-'.repeat(wide.limit + 2)}|------|${'-'.repeat(wide.note + 2)}|\n` +
    `${rest.map(render).join('\n')}\n`,
);
if (rows.some((one) => !one.passed)) process.exitCode = 1;

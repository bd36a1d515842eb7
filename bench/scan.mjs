// Scores the scan on a development corpus: recall and false alarms a slice, and speed. Read-only; prints counts beside percentages.
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { build } from 'esbuild';

const { values } = parseArgs({
  options: {
    corpus: { type: 'string' },
    format: { type: 'string', default: 'table' },
    misses: { type: 'string' },
    by: { type: 'string' },
  },
});
if (values.corpus === undefined) {
  process.stderr.write('bench/scan.mjs --corpus DIR [--format table|json] [--misses FILE] [--by source|rule]\n');
  process.exit(3);
}

const root = join(import.meta.dirname, '..');
const source = `export { scanText } from './src/scan/scan.ts'; export { DEFAULT_RULES } from './src/scan/default-rules.ts';`;
const built = await build({
  stdin: { contents: source, resolveDir: root, loader: 'ts' },
  bundle: true,
  format: 'esm',
  platform: 'node',
  write: false,
});
const { scanText, DEFAULT_RULES } = await import(
  `data:text/javascript;base64,${Buffer.from(built.outputFiles[0].contents).toString('base64')}`
);

const options = { workLimit: 64, rules: DEFAULT_RULES };
const STEPS = ['none', 'notice', 'suspect', 'block'];
const INTENT = new Set(['intent-mismatch', 'intent-claims-authority']);
const rows = (name) =>
  gunzipSync(readFileSync(join(values.corpus, name)))
    .toString('utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));

function judge(row) {
  const result = scanText(row.text, options);
  const hits = result.hits.filter((hit) => !INTENT.has(hit.family));
  const worst = Math.max(0, ...hits.map((hit) => STEPS.indexOf(hit.severity)), result.complete ? 0 : 3);
  return {
    row,
    worst,
    hits,
    orders: result.hits.some((hit) => hit.family === 'intent-mismatch'),
    claims: result.hits.filter((hit) => hit.family === 'intent-claims-authority'),
  };
}

const snippets = rows('dev-snippets.jsonl.gz').map(judge);
const files = rows('dev-files.jsonl.gz').map(judge);
const intent = rows('dev-intent.jsonl.gz').map(judge);

// Chat-domain stress sets (corpus README): in the totals, and apart.
const CHAT = /^payload-(?:tensortrust|cse|jailbreak|mixed-direct)/;
const isFile = (row) => row.tier !== 'snippet';
const attack = (test) => snippets.filter(({ row }) => row.label === 'injection' && test(row));
const benign = (...kinds) => snippets.filter(({ row }) => row.label === 'benign' && kinds.includes(row.kind));
const slices = [
  ['injection files yes', attack((row) => isFile(row) && row.context_free_detectable === 'yes'), '>= 97', '>= 85'],
  ['injection files partly', attack((row) => isFile(row) && row.context_free_detectable === 'partly'), '>= 85', ''],
  [
    'injection files as published',
    attack((row) => isFile(row) && !row.constructed && row.context_free_detectable !== 'no'),
    '>= 90',
    '',
  ],
  ['injection snippets yes', attack((row) => !isFile(row) && row.context_free_detectable === 'yes'), '>= 88', ''],
  ['injection snippets partly', attack((row) => !isFile(row) && row.context_free_detectable === 'partly'), '>= 55', ''],
  [
    'snippets partly, no chat sets',
    attack((row) => !isFile(row) && row.context_free_detectable === 'partly' && !CHAT.test(row.kind)),
    '',
    '',
  ],
  ['injection no (never gated)', attack((row) => row.context_free_detectable === 'no'), '', ''],
  ['real files', files, '<= 1.5', '<= 0.25'],
  ['benign skills', benign('benign-skill-file', 'benign-skill-file-codemalice', 'benign-skill-reference'), '<= 2', ''],
  ['imperative agent files', benign('benign-agent-file-imperative'), '<= 1 of 44', ''],
  ['hard negatives', benign('benign-hard-negative'), '<= 4', ''],
  ['security documents', benign('benign-security-doc'), '<= 15', '<= 3'],
  ['security sections', benign('benign-security-doc-section'), '<= 8', ''],
  ['NotInject', benign('benign-overdefence'), '<= 1', ''],
  [
    'other benign (stress)',
    snippets.filter(
      ({ row }) =>
        row.label === 'benign' && !/^benign-(?:skill|agent-file-imp|hard|security-doc|overdefence)/.test(row.kind),
    ),
    '',
    '',
  ],
].map(([name, judged, suspect, block]) => ({
  name,
  rows: judged.length,
  suspect: judged.filter(({ worst }) => worst >= 2).length,
  block: judged.filter(({ worst }) => worst >= 3).length,
  must: { suspect, block },
}));
const observations = intent.filter(({ row }) => row.label === 'observation');
const directives = intent.filter(({ row }) => row.label === 'directive');
const orders = {
  observationsFlagged: observations.filter((each) => each.orders).length,
  observations: observations.length,
  directivesMissed: directives.filter((each) => !each.orders).length,
  directives: directives.length,
  claimsOnRealFiles: files.filter((each) => each.claims.length > 0).length,
};

const bytes = files.reduce((sum, { row }) => sum + Buffer.byteLength(row.text), 0);
const rates = [];
for (let round = 0; round < 5; round++) {
  const began = performance.now();
  for (const { row } of files) scanText(row.text, options);
  rates.push(bytes / 1e6 / ((performance.now() - began) / 1e3));
}
const speed = { bytes, megabytesPerSecond: Math.round(rates.sort((a, b) => a - b)[2] * 10) / 10 };

const share = (part, whole) => (whole === 0 ? '-' : `${((100 * part) / whole).toFixed(1)} %`);
if (values.format === 'json') process.stdout.write(`${JSON.stringify({ slices, intent: orders, speed }, null, 2)}\n`);
else {
  for (const slice of slices) {
    const at = (level) =>
      `${level} ${share(slice[level], slice.rows).padStart(8)} (${slice[level]}/${slice.rows})${slice.must[level] ? ` must ${slice.must[level]}` : ''}`;
    process.stdout.write(`${slice.name.padEnd(30)} ${at('suspect').padEnd(42)} ${at('block')}\n`);
  }
  process.stdout.write(
    `observation flagged as orders  ${share(orders.observationsFlagged, orders.observations)} (${orders.observationsFlagged}/${orders.observations}) must <= 5\n` +
      `directive missed               ${share(orders.directivesMissed, orders.directives)} (${orders.directivesMissed}/${orders.directives}) must <= 25\n` +
      `authority claims, real files   ${orders.claimsOnRealFiles}/${files.length}\n` +
      `speed, real files              ${speed.megabytesPerSecond} MB/s over ${speed.bytes} bytes\n`,
  );
}
if (values.by !== undefined) breakdown(values.by);
if (values.misses !== undefined) writeMisses(values.misses);

/** Which half a row is in, by its id: rules are written from misses in A and checked on B. */
function half(id) {
  return Number.parseInt(createHash('sha256').update(String(id)).digest('hex').slice(0, 2), 16) % 2 === 0 ? 'A' : 'B';
}

// For cross-validation: recall and false alarms of each source, apart for the two halves.
function bySource() {
  const tally = new Map();
  for (const { row, worst } of [...snippets, ...files]) {
    const isAttack = row.label === 'injection';
    const kind = isAttack ? `attack ${row.context_free_detectable}` : 'benign';
    const key = `${row.source ?? 'dev-files'}\t${kind}`;
    const entry = tally.get(key) ?? { A: [0, 0], B: [0, 0] };
    const side = entry[half(row.id)];
    side[0] += worst >= 2 ? 1 : 0;
    side[1] += 1;
    tally.set(key, entry);
  }
  for (const [key, entry] of [...tally].sort((a, b) => (a[0] < b[0] ? -1 : 1))) {
    const [name, kind] = key.split('\t');
    const shown = (side) => `${side[0]}/${side[1]}`.padStart(9);
    process.stdout.write(`${name.padEnd(52)} ${kind.padEnd(15)} A ${shown(entry.A)}  B ${shown(entry.B)}\n`);
  }
}

function breakdown(by) {
  if (by === 'source') return bySource();
  const tally = new Map();
  const count = (key, side) => {
    const entry = tally.get(key) ?? { caught: 0, missed: 0, falseAlarms: 0 };
    entry[side]++;
    tally.set(key, entry);
  };
  for (const { row, worst, hits } of [...snippets, ...files]) {
    const isAttack = row.label === 'injection';
    if (by === 'rule')
      for (const rule of new Set(hits.filter((hit) => hit.severity !== 'notice').map((hit) => hit.rule)))
        count(rule, isAttack ? 'caught' : 'falseAlarms');
    else if (isAttack) count(row[by], worst >= 2 ? 'caught' : 'missed');
    else if (worst >= 2) count(row[by] ?? row.repo, 'falseAlarms');
  }
  for (const [key, entry] of [...tally].sort(
    (a, b) => b[1].falseAlarms - a[1].falseAlarms || b[1].missed - a[1].missed,
  )) {
    process.stdout.write(`${String(key).padEnd(50)} ${JSON.stringify(entry)}\n`);
  }
}

// Attacks not reached at suspect, and benign rows that were; one JSON line each.
function writeMisses(path) {
  const lines = [];
  for (const { row, worst, hits } of [...snippets, ...files]) {
    const isAttack = row.label === 'injection';
    if (isAttack ? worst >= 2 : worst < 2) continue;
    lines.push(
      JSON.stringify({
        id: row.id,
        source: row.source ?? row.repo,
        kind: row.kind,
        lang: row.lang,
        tier: row.tier,
        label: isAttack ? 'missed' : 'false-alarm',
        marker: row.context_free_detectable,
        worst: STEPS[worst],
        hits: hits.map(({ rule, severity, line, passage, view }) => ({ rule, severity, line, passage, view })),
        ...(isAttack ? { text: (row.payload ?? row.text).slice(0, 400) } : { path: row.path }),
      }),
    );
  }
  writeFileSync(path, `${lines.join('\n')}\n`);
}

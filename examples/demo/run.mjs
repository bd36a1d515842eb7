import { ATTACKERS } from './attackers.mjs';
import { CAST, HONEST, setUp } from './honest.mjs';
import { openScratch, sideBySide } from './scratch.mjs';

// One shop, four honest people and agents, eighteen attackers; then what writ makes of it. Everything happens in a temp folder.

const keep = process.argv.includes('--keep');
const shop = openScratch();
const failed = [];
try {
  await play();
} catch (error) {
  failed.push(error.message);
} finally {
  if (keep) say(`\nKept: ${shop.base}`);
  else shop.remove();
}
if (failed.length > 0) {
  say(`\nThe demo did not go as expected:\n${failed.map((one) => `- ${one}`).join('\n')}`);
  process.exitCode = 1;
}

async function play() {
  title('1. Who is here');
  await setUp(shop);
  for (const [name, what] of CAST) say(`${name.padEnd(15)} ${what}`);

  title('2. What honest people and agents leave');
  await sideBySide(HONEST, (one) => one.plant(shop));
  for (const one of HONEST) say(`- ${one.says} (${nameOf(one)})`);
  const before = await expectAll(HONEST);
  if (before.exit !== 0) failed.push(`check of the honest workspace ended in ${before.exit}, not 0`);
  say(`\nwrit check ends in ${before.exit}: nothing is refused.`);

  title('3. What attackers do');
  const done = await sideBySide(ATTACKERS, (one) => one.plant(shop));
  for (const [index, one] of ATTACKERS.entries()) {
    say(`- ${one.says}${one.path ? ` (${nameOf(one)})` : ''}`);
    if (one.refused) refusedAtOnce(one, done[index]);
  }
  await until(Math.max(0, ...done.filter((one) => typeof one === 'number')));

  title('4. writ check: the rank of each text, and why');
  const table = await shop.writ(['check']);
  say(table.out.trimEnd());
  const attacked = await expectAll([...HONEST, ...ATTACKERS.filter((one) => one.path)]);
  for (const exit of [table.exit, attacked.exit]) if (exit !== 1) failed.push(`check ended in ${exit}, not 1`);

  title('5. writ load: what is moved to quarantine, what is held back');
  const load = await shop.writ(['load', '--host', 'claude-code']);
  if (load.exit !== 1) failed.push(`load ended in ${load.exit}, not 1`);
  const told = load.err.split('\n');
  for (const line of told.filter((one) => /^writ: (moved|withheld) /.test(one)))
    say(`- ${line.slice('writ: '.length)}`);
  for (const { path, disposition } of attacked.artifacts.filter((one) => one.rank === 'quarantined')) {
    const moves = disposition === 'move';
    if (shop.has(path) === moves) failed.push(`${path} should ${moves ? 'have been moved' : 'still lie there'}`);
  }
  const log = await shop.writ(['log', 'verify']);
  if (log.exit !== 0) failed.push(`log verify ended in ${log.exit}: ${log.err}`);
  say(`\nEvery decision is in the ledger. ${log.out.trim() || log.err.trim()}`);

  title('6. The boot context the next agent gets');
  say(load.out.trimEnd());
  for (const word of ['Skip the tests', 'Push straight to main', 'im_start', 'Scouts decide', 'logs.example.test'])
    if (load.out.includes(word)) failed.push(`the boot context holds "${word}"`);
  const binding = load.out.slice(0, load.out.indexOf('\n## Advisory'));
  if (!binding.includes('Prices are in cents.'))
    failed.push('AGENTS.md is not in the binding part of the boot context');
  if (binding.includes('500 euros')) failed.push('a superseded policy is in the binding part of the boot context');

  title('7. Result');
  const planted = ATTACKERS.filter((one) => one.path).length;
  say(
    `${HONEST.length} honest texts, ${planted} planted attacks, ${ATTACKERS.length - planted} refused at the writer.`,
  );
  if (failed.length === 0) say('Every text has the rank it should have.');
}

/** Compares the verdicts with what the lists say. */
async function expectAll(list) {
  const ran = await shop.writ(['check', '--format', 'json']);
  const { artifacts } = JSON.parse(ran.out);
  for (const one of list) {
    const verdicts = artifacts.filter((found) => found.path === one.path && found.line === (one.line ?? null));
    const [verdict] = verdicts;
    if (verdicts.length !== 1) failed.push(`${nameOf(one)}: ${verdicts.length} verdicts instead of one`);
    else if (verdict.rank !== one.rank) failed.push(`${nameOf(one)}: ${verdict.rank}, expected ${one.rank}`);
    else if (one.code && !verdict.findings.some((found) => found.code === one.code))
      failed.push(
        `${nameOf(one)}: no finding ${one.code}, only ${verdict.findings.map((found) => found.code).join(', ')}`,
      );
  }
  return { exit: ran.exit, artifacts };
}

function refusedAtOnce(one, ran) {
  const [first = ''] = ran.err.split('\n').filter((line) => line.includes('refused'));
  say(`    ${first}`);
  if (ran.exit !== 1 || !first.includes(`(${one.refused})`))
    failed.push(`${one.says}: exit ${ran.exit}, ${first || 'not refused'}; expected ${one.refused}`);
}

function nameOf(one) {
  return one.line ? `${one.path}:${one.line}` : (one.path ?? one.says);
}

function until(ms) {
  return new Promise((done) => setTimeout(done, Math.max(0, ms - Date.now() + 50)));
}

function title(text) {
  say(`\n${text}\n${'-'.repeat(text.length)}`);
}

function say(text) {
  process.stdout.write(`${text}\n`);
}

import { judge } from '../gate.ts';
import { readPins } from '../policy/pins.ts';
import { pinsFor } from '../policy/user-set.ts';
import { type Call, EXIT, type Exit, oneOf } from './command.ts';
import { type Check, type Patient, type Status, type Subject, unchecked } from './doctor/check.ts';
import { GOVERNANCE } from './doctor/governance.ts';
import { HANDOFFS } from './doctor/handoffs.ts';
import { HOOKS } from './doctor/hooks.ts';
import { KEYS } from './doctor/keys.ts';
import { MACHINE } from './doctor/machine.ts';
import { paintFor, print, STDOUT } from './output.ts';
import { openWorkspace, toRequest } from './workspace.ts';

const SUBJECTS: readonly Subject[] = [...GOVERNANCE, ...KEYS, ...HOOKS, ...MACHINE, ...HANDOFFS];
const WORDS: Readonly<Record<Status, string>> = { ok: 'ok', warn: 'warn', fail: 'FAIL', 'could-not-check': '?' };

/** `writ doctor`: the set-up of this machine and workspace, a line each with its cure. Writes nothing. */
export async function doctor(call: Call): Promise<Exit> {
  const format = oneOf(call, 'format', ['text', 'json']) ?? 'text';
  const workspace = openWorkspace(call);
  const { places } = workspace;
  const read = await readPins({ systemDir: places.systemDir, configDir: places.configDir, environment: places.root });
  const pins = 'fault' in read ? null : pinsFor(read, workspace.user !== undefined);
  const judgement = await judge({ ...toRequest(workspace, call, null), onProgress: null });
  const patient: Patient = { workspace, judgement, pins, env: process.env };
  const checks: Check[] = [];
  for (const subject of SUBJECTS) checks.push(...(await examined(subject, patient)));
  if (format === 'json') await print(`${JSON.stringify({ schema: 'writ.doctor/1', checks }, null, 1)}\n`);
  else await print(render(checks));
  if (checks.some((one) => one.status === 'fail')) return EXIT.refused;
  return checks.some((one) => one.status === 'could-not-check') ? EXIT.unchecked : EXIT.ok;
}

async function examined({ id, run }: Subject, patient: Patient): Promise<readonly Check[]> {
  try {
    return await run(patient);
  } catch (error) {
    return [unchecked(id, `It could not be looked at: ${(error as NodeJS.ErrnoException).code ?? 'an error'}.`, '')];
  }
}

function render(checks: readonly Check[]): string {
  const paint = paintFor(STDOUT);
  const colour = { ok: paint.green, warn: paint.yellow, fail: paint.red, 'could-not-check': paint.red };
  const width = Math.max(...checks.map((one) => one.id.length));
  const lines = checks.flatMap((one) => [
    `${colour[one.status](WORDS[one.status].padEnd(4))}  ${one.id.padEnd(width)}  ${one.message}`,
    ...(one.cure === '' ? [] : [`${' '.repeat(width + 8)}cure: ${one.cure}`]),
  ]);
  const count = (status: Status): number => checks.filter((one) => one.status === status).length;
  const total = `${count('ok')} ok, ${count('warn')} to look at, ${count('fail')} failed, ${count('could-not-check')} could not be checked`;
  return `${lines.join('\n')}\n\n${total}\n`;
}

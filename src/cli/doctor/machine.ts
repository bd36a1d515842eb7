import { spawnSync } from 'node:child_process';
import { lstatSync, type Stats } from 'node:fs';
import { dirname, join } from 'node:path';
import { cleanEnvironment } from '../../git/hardened.ts';
import { escapePath } from '../../model/escaped.ts';
import { isoOf } from '../../model/instant.ts';
import { PINS_FILE } from '../../policy/pins.ts';
import { allRows } from '../../record/archive.ts';
import { verifyRows } from '../../record/ledger.ts';
import { archiveOf } from '../../store/location.ts';
import { isOpen, openStore } from '../../store/store.ts';
import { type Check, fail, ok, type Patient, type Subject, unchecked, warn } from './check.ts';

const DAY = 86_400_000;
/** No build of writ is older than this: a clock before it is wrong. */
const BUILT = Date.UTC(2025, 0, 1);
const GIT = [2, 34] as const;
const NODE = [20, 19] as const;
const VARIABLES: readonly string[] = ['WRIT_CONFIG', 'WRIT_STATE', 'WRIT_ROOT', 'WRIT_AS', 'WRIT_KEY', 'WRIT_DEBUG'];

/** Node, git, the clock, WRIT_* in the environment, what lies in the config and state folders, and the ledger. */
export const MACHINE: readonly Subject[] = [
  { id: 'node', run: () => [checkNode(process.versions.node)] },
  { id: 'git', run: checkGit },
  { id: 'clock', run: checkClock },
  { id: 'environment', run: checkEnvironment },
  { id: 'permissions', run: checkFolders },
  { id: 'ledger', run: checkLedger },
];

function checkNode(version: string): Check {
  return isAtLeast(version, NODE)
    ? ok('node', `Node ${version}.`)
    : fail('node', `Node ${version} is older than ${NODE.join('.')}.`, 'Install Node 20.19 or newer.');
}

function checkGit({ workspace }: Patient): readonly Check[] {
  const { repository } = workspace;
  const env = repository === null ? { PATH: process.env.PATH ?? '' } : cleanEnvironment(repository);
  const asked = spawnSync('git', ['--version'], { encoding: 'utf8', timeout: 10_000, env: { ...env } });
  const version = /(\d+\.\d+(?:\.\d+)?)/.exec(asked.stdout ?? '')?.[1];
  if (version === undefined)
    return repository === null
      ? [warn('git', 'git was not found; nothing here needs it yet.', 'Install git.')]
      : [unchecked('git', 'git does not run: hooks, signed commits and --rev cannot work.', 'Install git.')];
  if (!isAtLeast(version, GIT))
    return [
      warn('git', `git ${version} cannot verify SSH-signed commits well.`, `Install git ${GIT.join('.')} or newer.`),
    ];
  return [ok('git', `git ${version}${repository === null ? '; this is no work tree' : ''}.`)];
}

function checkClock({ workspace, pins }: Patient): readonly Check[] {
  const { now } = workspace;
  const cure = 'Set the clock of this machine.';
  if (now < BUILT) return [fail('clock', `The clock says ${isoOf(now)}, before writ was built.`, cure)];
  const seen = Math.max(0, ...(pins?.pins.map((pin) => pin.seen ?? 0) ?? []));
  if (now < seen - DAY) return [fail('clock', 'The clock stands more than a day before the last run seen here.', cure)];
  if (now < seen) return [warn('clock', 'The clock stands before the last run seen here.', cure)];
  return [ok('clock', `${isoOf(now)}.`)];
}

/** Names only: a value may be secret. */
function checkEnvironment({ env, pins, judgement }: Patient): readonly Check[] {
  const set = Object.keys(env)
    .filter((name) => name.startsWith('WRIT_') && env[name] !== '')
    .sort();
  if (set.length === 0) return [ok('environment', 'No WRIT_ variable is set.')];
  const signing = set.filter((name) => name === 'WRIT_KEY' || name === 'WRIT_AS');
  const unknown = set.filter((name) => !VARIABLES.includes(name));
  const checks: Check[] = [];
  if (signing.length > 0)
    checks.push(
      warn(
        'environment',
        `${signing.join(' and ')} set: an agent started from this shell signs with the same key.`,
        `unset ${signing.join(' ')}`,
      ),
    );
  if (
    set.includes('WRIT_ROOT') &&
    pins?.pins.some((pin) => pin.workspace === judgement.set.workspace && pin.from !== 'environment')
  )
    checks.push(warn('environment', 'WRIT_ROOT is set and counts for nothing: a pin is there.', 'unset WRIT_ROOT'));
  if (unknown.length > 0)
    checks.push(
      warn(
        'environment',
        `writ knows no ${unknown.map((name) => escapePath(name)).join(', ')}.`,
        `It knows ${VARIABLES.join(', ')}.`,
      ),
    );
  const rest = set.filter((name) => VARIABLES.includes(name) && name !== 'WRIT_KEY' && name !== 'WRIT_AS');
  if (checks.length === 0) checks.push(ok('environment', `Set: ${rest.join(', ')}.`));
  return checks;
}

/** Whoever can write to the pins or the state decides what binds here. */
function checkFolders({ workspace }: Patient): readonly Check[] {
  const { places, state } = workspace;
  const paths = [
    places.configDir,
    join(places.configDir, PINS_FILE),
    join(places.configDir, 'secret'),
    join(places.configDir, 'keys'),
  ];
  if (state.kind === 'sqlite') paths.push(dirname(state.file), state.file);
  const found = paths.flatMap((path) => faultOf('permissions', path));
  return found.length > 0 ? found : [ok('permissions', 'The config and state folders are written by you alone.')];
}

/** @returns the line for a path that others than its owner, or than this user and root, may write; none where it is in order or not there. */
export function faultOf(id: string, path: string): readonly Check[] {
  let stat: Stats | undefined;
  try {
    stat = lstatSync(path, { throwIfNoEntry: false });
  } catch {
    return [unchecked(id, `${escapePath(path)} cannot be looked at.`, `ls -ld ${escapePath(path)}`)];
  }
  if (stat === undefined || process.platform === 'win32' || stat.isSymbolicLink()) return [];
  const me = process.getuid?.() ?? stat.uid;
  if (stat.uid !== me && stat.uid !== 0)
    return [fail(id, `${escapePath(path)} belongs to another user.`, `chown ${me} ${escapePath(path)}`)];
  if ((stat.mode & 0o022) !== 0 && !(stat.isDirectory() && (stat.mode & 0o1000) !== 0))
    return [fail(id, `${escapePath(path)} may be written by others than you.`, `chmod go-w ${escapePath(path)}`)];
  return [];
}

async function checkLedger({ workspace, judgement, pins }: Patient): Promise<readonly Check[]> {
  const { state } = workspace;
  if (state.kind === 'none')
    return [ok('state', 'WRIT_STATE=none: nothing is remembered here, no floor, no revocation, no ledger.')];
  const lost = judgement.memory.findings.find((one) => one.code === 'state-unavailable');
  if (lost) return [unchecked('state', lost.message, lost.cure)];
  const mark = state.kind === 'sqlite' && pins?.ledger?.state === state.file ? pins.ledger : null;
  const store = await openStore(state, 'read');
  if (store === null) return [ok('state', 'No state yet: writ load makes it.'), ok('ledger', 'The ledger is empty.')];
  if (!isOpen(store)) return [unchecked('state', `State cannot be used: ${store.unavailable}.`, 'writ log verify')];
  try {
    const { checkout } = judgement.memory.remembered;
    const id = judgement.set.workspace;
    const same = checkout === null || checkout === id;
    const verdict = await verifyRows(allRows(store, archiveOf(state)), mark?.head ?? null);
    return [
      same
        ? ok(
            'state',
            checkout === null ? 'State is readable.' : `This checkout is remembered as ${escapePath(checkout)}.`,
          )
        : fail(
            'state',
            `This checkout was ${escapePath(checkout)} and now says ${id === null ? 'nothing' : escapePath(id)}.`,
            'writ trust pin --replace, on a terminal, if a human changed it',
          ),
      verdict.ok
        ? ok('ledger', `${verdict.rows} rows, whole.`)
        : fail('ledger', `The ledger does not stand at row ${verdict.seq}: ${verdict.why}.`, 'writ log verify'),
    ];
  } finally {
    await store.close();
  }
}

function isAtLeast(version: string, [major, minor]: readonly [number, number]): boolean {
  const [a = 0, b = 0] = version.split('.').map(Number);
  return a > major || (a === major && b >= minor);
}

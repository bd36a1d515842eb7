import { randomBytes } from 'node:crypto';
import { existsSync, lstatSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder } from '../files/make-folder.ts';
import { type Changes, changesOf, exclude, takeBaseline } from '../git/changes.ts';
import { GitFault } from '../git/hardened.ts';
import type { Repository } from '../git/repository.ts';
import { differences, readShared } from '../git/shared-state.ts';
import { addWorktree, removeWorktree, type Worktree } from '../git/worktree.ts';
import { escapePath } from '../model/escaped.ts';
import { spokenOf } from '../result/event-stream.ts';
import { findBlock } from '../result/find-block.ts';
import { parseResult } from '../result/parse-result.ts';
import type { RunResult } from '../result/run-result.ts';
import type { AgentProfile } from '../run/agent-profile.ts';
import { type Ran, runContained, type Task } from '../run/contained.ts';
import { forget, note, placesOfRun } from '../run/leftovers.ts';
import { withoutEcho } from '../run/prompt.ts';
import type { Rung } from '../run/reaction.ts';
import { compareClaim, type Truth, withRisk, withTruth } from '../run/truth.ts';
import { type Call, CannotError } from './command.ts';
import { openFolder } from './exec.ts';
import { tell } from './output.ts';
import { MAX_OUTPUT, textOf } from './result.ts';
import type { RunAsked } from './run-asked.ts';
import { bootRun, type NotStarted, type StartOfRun } from './run-start.ts';
import { openWorkspace } from './workspace.ts';

/** One run of one agent, as the host saw it. */
export interface Attempt {
  readonly rung: Rung<AgentProfile>;
  readonly result: RunResult;
  readonly ran: Ran | null;
  /** Null where it could not be measured. */
  readonly truth: Truth | null;
  readonly validation: Validation | null;
  readonly boot: StartOfRun['boot'] | null;
  readonly base: string;
  /** Where the work is, or null where there was none and the work tree is gone. */
  readonly kept: string | null;
  /** The signal to this process that ended it, or null: then nothing is tried after it. */
  readonly interrupted: NodeJS.Signals | null;
}

export interface Validation {
  readonly command: string;
  readonly exitCode: number | null;
  readonly timedOut: boolean;
  readonly passed: boolean;
  readonly interrupted: NodeJS.Signals | null;
}

/** Where runs happen: the same for every attempt. */
export interface Site {
  readonly call: Call;
  readonly repository: Repository;
  readonly base: string;
  /** Path of the workspace in the repository, ending in `/`; empty at its top. */
  readonly prefix: string;
  /** The folder for work trees, outside of every workspace. */
  readonly runs: string;
}

/** Lets one agent work in a work tree of its own, and measures what it did. @returns the exit code where it was not let in. */
export async function attempt(
  site: Site,
  asked: RunAsked,
  rung: Rung<AgentProfile>,
  file: string,
): Promise<Attempt | NotStarted> {
  const id = `run-${randomBytes(8).toString('hex')}`;
  makeFolder(site.runs, 0o700);
  const places = placesOfRun(site.runs, id);
  const worktree = await addWorktree(site.repository, site.base, places.path, places.indexFile).catch((error) => {
    throw error instanceof GitFault ? new CannotError(`no work tree could be made: ${error.message}`) : error;
  });
  note(site.runs, id, worktree, false);
  let keep = true;
  let entered = false;
  try {
    const root = join(worktree.path, site.prefix);
    if (!existsSync(root)) throw new CannotError(`the commit ${site.base} has no folder ${site.prefix}`);
    const call = { ...site.call, values: { ...site.call.values, root } };
    const workspace = openWorkspace(call);
    const folder = openFolder(workspace);
    try {
      const start = await bootRun(call, workspace, asked, { profile: rung.agent, file, folder });
      if ('exit' in start) return start;
      const baseline = await takeBaseline(worktree);
      entered = true;
      const done = await work(site, asked, rung, { worktree, baseline, start, cwd: root });
      ({ keep } = done);
      return { rung, ...done.told, boot: start.boot, base: site.base, kept: keep ? worktree.path : null };
    } finally {
      folder.remove();
    }
  } catch (error) {
    throw error instanceof GitFault
      ? new CannotError(`git cannot say what lies in the work tree: ${error.message}`)
      : error;
  } finally {
    // Where nobody was let in there is no work to lose.
    if (entered && keep) note(site.runs, id, worktree, true);
    else {
      const fault = removeWorktree(worktree);
      if (fault === null) forget(site.runs, id);
      else await tell(`writ: the work tree ${escapePath(worktree.path)} could not be taken away: ${fault}`);
    }
  }
}

type Told = Pick<Attempt, 'result' | 'ran' | 'truth' | 'validation' | 'interrupted'>;

/** A work tree that is ready for an agent. */
interface Ready {
  readonly worktree: Worktree;
  readonly baseline: ReadonlySet<string>;
  readonly start: StartOfRun;
  readonly cwd: string;
}

async function work(
  site: Site,
  asked: RunAsked,
  rung: Rung<AgentProfile>,
  { worktree, baseline, start, cwd }: Ready,
): Promise<{ readonly told: Told; readonly keep: boolean }> {
  const ignored = exclude(worktree);
  const before = readShared(site.repository);
  const { timeout } = rung;
  const folder = realpathSync(worktree.path);
  const place = placeOf(worktree.path, cwd);
  const ran = await runContained({ ...start, cwd, folder, timeout, maxOutput: MAX_OUTPUT });
  if ('fault' in ran) {
    const said = parseResult(`${rung.agent.name} could not be started: ${ran.fault}`, {
      exitCode: null,
      timedOut: false,
    });
    return {
      told: { result: { ...said, status: 'failed' }, ran: null, truth: null, validation: null, interrupted: null },
      keep: false,
    };
  }
  let result = heard(rung.agent, asked.prompt, ran);
  if (ran.interrupted !== null) result = withRisk(result, `the host was told to end (${ran.interrupted})`, 'failed');
  if (ran.left > 0) result = withRisk(result, `${ran.left} processes could not be ended`, 'review');
  const swapped = place === null || placeOf(worktree.path, cwd) !== place;
  const changes = swapped ? SWAPPED : await measured(() => changesOf(worktree, ignored, baseline));
  const truth = 'fault' in changes ? null : compareClaim(result.changed_files, changes.paths, site.prefix);
  result =
    'fault' in changes
      ? withRisk(result, `${UNMEASURED}: ${changes.fault}`, 'failed')
      : withTruth(result, compareClaim(result.changed_files, changes.paths, site.prefix));
  if (truth?.changed.some((path) => /(?:^|\/)\.gitignore$/.test(path)))
    result = withRisk(result, 'a .gitignore changed: files that it hides now were not compared', 'none');
  const after = readShared(site.repository);
  const steering = differences(before.steering, after.steering);
  if (steering.length > 0)
    result = withRisk(
      result,
      `what git does for the whole repository changed while it ran: ${listed(steering)}`,
      'review',
    );
  const refs = differences(before.refs, after.refs);
  if (refs.length > 0) result = withRisk(result, `refs changed while it ran: ${listed(refs)}`, 'none');
  const validation = await validated(asked, result, { env: start.env, cwd, folder, timeout });
  if (validation !== null && !validation.passed) result = withRisk(result, failure(validation), 'failed');
  const keep = 'fault' in changes || changes.paths.length > 0 || changes.head !== worktree.base || changes.staged;
  const interrupted = ran.interrupted ?? validation?.interrupted ?? null;
  return { told: { result, ran, truth, validation, interrupted }, keep };
}

const UNMEASURED = 'what changed could not be measured';
const SWAPPED = { fault: 'the folder is another than it was' };

/** What tells that the work tree and the folder in it are still what an agent was let into, and no link to elsewhere; null where they are gone. */
function placeOf(top: string, cwd: string): string | null {
  try {
    const { dev, ino } = lstatSync(top);
    return `${dev}:${ino}:${realpathSync(top)}:${realpathSync(cwd)}`;
  } catch {
    return null;
  }
}

/** What the agent said, on stdout first; what programs tell of limits and faults is often on stderr. */
function heard({ output }: AgentProfile, prompt: string, ran: Ran): RunResult {
  const ended = { exitCode: ran.exitCode, timedOut: ran.timedOut };
  const said = withoutEcho(textOf(ran.stdout.bytes), prompt);
  const spoken = output === 'codex-events' ? spokenOf(said) : said;
  const errors = withoutEcho(textOf(ran.stderr.bytes), prompt);
  const whole = findBlock(spoken) !== null || errors === '' ? spoken : spoken === '' ? errors : `${spoken}\n${errors}`;
  const result = parseResult(whole, ended);
  return ran.stdout.dropped === 0
    ? result
    : withRisk(result, `only the last ${ran.stdout.bytes.length} bytes of the output were read`, 'none');
}

async function measured(measure: () => Promise<Changes>): Promise<Changes | { readonly fault: string }> {
  try {
    return await measure();
  } catch (error) {
    // Whatever an agent did to its folder: the run still comes to one object, and its work is kept.
    return { fault: escapePath(error instanceof Error ? error.message : String(error)) };
  }
}

/** Runs the check that a person chose, in what the agent left, as contained as the agent was. Only a claim of success is worth it. */
async function validated(
  { validate }: RunAsked,
  { status }: RunResult,
  place: Pick<Task, 'env' | 'cwd' | 'folder' | 'timeout'>,
): Promise<Validation | null> {
  if (validate === null || status !== 'completed') return null;
  const words = ['sh', '-c', validate];
  const ran = await runContained({ file: '/bin/sh', words, ...place, maxOutput: MAX_OUTPUT });
  if ('fault' in ran) return { command: validate, exitCode: null, timedOut: false, passed: false, interrupted: null };
  const { exitCode, timedOut, interrupted } = ran;
  const passed = exitCode === 0 && !timedOut && interrupted === null;
  if (!passed) await tell(`writ: the validation said: ${tailOf(ran)}`);
  return { command: validate, exitCode, timedOut, passed, interrupted };
}

function failure({ exitCode, timedOut }: Validation): string {
  return timedOut
    ? 'validation ran out of time'
    : exitCode === null
      ? 'validation could not be run to its end'
      : `validation exited ${exitCode}`;
}

function tailOf({ stdout, stderr }: Ran): string {
  const text = textOf((stderr.bytes.length > 0 ? stderr : stdout).bytes).trim();
  return escapePath(text.slice(-240));
}

function listed(names: readonly string[]): string {
  const more = names.length - 10;
  return `${names.slice(0, 10).map(escapePath).join(', ')}${more > 0 ? `, and ${more} more` : ''}`;
}

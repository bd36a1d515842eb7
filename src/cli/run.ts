import { dirname, join } from 'node:path';
import { isInside } from '../files/workspace-root.ts';
import { prefixIn } from '../gate.ts';
import { headCommit } from '../git/git.ts';
import { escapePath } from '../model/escaped.ts';
import { ordered, type RunResult, STATUSES, toJsonLine, toWire, WIRE_VERSION } from '../result/run-result.ts';
import { type AgentProfile, promptLimit } from '../run/agent-profile.ts';
import { sweepRuns } from '../run/leftovers.ts';
import { nextRung, REACTIONS, type Rung } from '../run/reaction.ts';
import { toStateLocation } from '../store/location.ts';
import { type Call, CannotError, EXIT, type Exit, flag, UsageError } from './command.ts';
import { print, tell } from './output.ts';
import { type RunAsked, tooLong, toRunAsked } from './run-asked.ts';
import { type Attempt, attempt, type Site } from './run-attempt.ts';
import { type NotStarted, programOf } from './run-start.ts';
import { openWorkspace, type Workspace } from './workspace.ts';

/** `writ run`: hosts one run of an agent, or of a ladder of them. One result object on stdout. @returns 0 only where it completed. */
export async function run(given: Call): Promise<number> {
  if (process.platform === 'win32')
    throw new CannotError('writ run ends all that an agent starts by POSIX sessions, which Windows has not');
  const asked = await toRunAsked(given);
  const workspace = openWorkspace(asked.call);
  const site = await siteOf(asked, workspace);
  for (const path of await sweepRuns(site.runs, site.repository))
    await tell(`writ: left by a run that was killed, with work in it: ${escapePath(path)}`);
  const attempts: Attempt[] = [];
  let rung: Rung<AgentProfile> | null = asked.rungs[0];
  let left: readonly Rung<AgentProfile>[] = asked.rungs.slice(1);
  while (rung !== null) {
    const file: string | null = programOf(rung.agent, asked, workspace);
    const why: string | null = file === null ? missing(rung.agent) : longer(rung.agent, asked.prompt);
    if (why !== null && !asked.hasLadder) throw new UsageError(why);
    const done: Attempt | NotStarted =
      why !== null || file === null ? notRun(rung, why ?? '', site) : await attempt(site, asked, rung, file);
    if ('exit' in done) return done.exit;
    attempts.push(done);
    await tellAttempt(done);
    const stopped: boolean = !asked.hasLadder || done.interrupted !== null;
    const next: ReturnType<typeof nextRung<AgentProfile>> = stopped ? null : nextRung(rung, done.result.status, left);
    if (next !== null) await tell(`writ: ${rung.agent.name} ${done.result.status}; next: ${next.rung.agent.name}`);
    rung = next?.rung ?? null;
    left = next?.left ?? [];
  }
  const last = attempts.at(-1);
  if (last === undefined) throw new CannotError('nothing was run');
  const { result } = last;
  await print(
    `${flag(asked.call, 'host-report') ? toJsonLine({ ...ordered(result), host: report(attempts) }) : toWire(result)}\n`,
  );
  return exitOf(result, flag(asked.call, 'strict'));
}

/** 0 where it completed, with `strict` only where no human is asked for either. */
function exitOf({ status, needs_human_review }: RunResult, strict: boolean): Exit {
  return status === 'completed' && !(strict && needs_human_review) ? EXIT.ok : EXIT.refused;
}

async function siteOf({ call }: RunAsked, workspace: Workspace): Promise<Site> {
  const { repository, root, state, places } = workspace;
  if (repository === null)
    throw new CannotError('an agent works in a git work tree of its own, and this is no git repository');
  const base = await headCommit(repository);
  if (base === null) throw new CannotError('there is no commit yet that an agent could begin at');
  const own = state.kind === 'sqlite' ? state : toStateLocation(undefined, process.env.XDG_STATE_HOME, places.home);
  const runs = join(dirname(own.kind === 'sqlite' ? own.file : places.configDir), 'runs');
  if (isInside(repository.topLevel, runs))
    throw new UsageError(`work trees would lie in the repository (${runs}): set WRIT_STATE to a folder outside`);
  return { call, repository, base, prefix: prefixIn(repository, root), runs };
}

function missing({ name, words }: AgentProfile): string {
  return `there is no program ${escapePath(words[0] ?? '')} that can be run${name === 'command' ? '' : `, for the agent ${name}`}`;
}

function longer(profile: AgentProfile, prompt: string): string | null {
  const limit = promptLimit(profile);
  return limit !== null && Buffer.byteLength(prompt) > limit ? tooLong(profile, prompt, limit) : null;
}

/** A rung that cannot be tried fails, so that the ladder goes on. */
function notRun(rung: Rung<AgentProfile>, summary: string, { base }: Site): Attempt {
  const result: RunResult = {
    status: 'failed',
    summary,
    changed_files: [],
    tests_attempted: [],
    known_risks: [],
    needs_human_review: false,
  };
  return { rung, result, ran: null, truth: null, validation: null, boot: null, base, kept: null, interrupted: null };
}

async function tellAttempt({ rung, result, kept, truth }: Attempt): Promise<void> {
  const count = truth?.changed.length ?? 0;
  if (kept !== null)
    await tell(
      `writ: ${rung.agent.name} ${result.status}; its work is kept in ${escapePath(kept)} (${count} ${count === 1 ? 'path' : 'paths'} changed). To take it away: git worktree remove --force ${escapePath(kept)}`,
    );
}

/** What the host saw, beside the six fields: a reader of those drops it as an unknown field. */
function report(attempts: readonly Attempt[]): Readonly<Record<string, unknown>> {
  const last = attempts.at(-1);
  return {
    schema: 'writ.run/1',
    wire: WIRE_VERSION,
    reaction: last === undefined ? null : REACTIONS[last.result.status].reaction,
    worktree: last?.kept ?? null,
    reactions: Object.fromEntries(STATUSES.map((status) => [status, REACTIONS[status]])),
    attempts: attempts.map(({ rung, result, ran, truth, validation, boot, base, kept, interrupted }) => ({
      agent: rung.agent.name,
      vendor: rung.vendor,
      timeoutMs: rung.timeout,
      reaction: REACTIONS[result.status].reaction,
      exitCode: ran?.exitCode ?? null,
      timedOut: ran?.timedOut ?? false,
      interrupted,
      ms: ran?.ms ?? 0,
      processes: { outlived: ran?.outlived ?? 0, left: ran?.left ?? 0 },
      boot,
      diff: truth,
      validation,
      worktree: { path: kept, kept: kept !== null, base },
      result: ordered(result),
    })),
  };
}

import { randomBytes } from 'node:crypto';
import { existsSync, realpathSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { LAUNCHES } from '../generated/launch.ts';
import { asksForBoot, losing, undoing, withBoot } from '../launch/command-line.ts';
import { findProgram } from '../launch/find-program.ts';
import { fitBoot } from '../launch/fit-boot.ts';
import type { PrivateFolder } from '../launch/private-folder.ts';
import { isSealed } from '../launch/readings.ts';
import { type BootContext, toBootContext } from '../load/boot-context.ts';
import { escapePath, escapeText } from '../model/escaped.ts';
import type { Judged } from '../model/stages.ts';
import { type AgentProfile, promptLimit, wordsOf } from '../run/agent-profile.ts';
import { runEnvironment } from '../run/environment.ts';
import { withBootText } from '../run/prompt.ts';
import { judgeToBoot, knownHost, tellBoot } from './boot.ts';
import { type Call, EXIT, list, UsageError } from './command.ts';
import { type Asked, hasChanged, prepare, refuseMovedHome, refuseUnjudged, toPlan } from './exec.ts';
import { refusalsOf, tellOpen, tellRefusals } from './exec-words.ts';
import { tell } from './output.ts';
import { type RunAsked, tooLong } from './run-asked.ts';
import type { Workspace } from './workspace.ts';

/** How an agent is started in its work tree. */
export interface StartOfRun {
  readonly file: string;
  readonly words: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** How many artifacts were handed over, by rank. */
  readonly boot: Readonly<Record<string, number>>;
}

/** Why an agent is not started: the exit code, told already. */
export interface NotStarted {
  readonly exit: number;
}

/** @returns the program of an agent, from the folder the person works in; null where there is none. Throws UsageError where its words would undo what writ sets. */
export function programOf(profile: AgentProfile, asked: RunAsked, workspace: Workspace): string | null {
  const launch = launchOf(profile);
  if (launch !== null) {
    const words = wordsOf(profile, asked.model, asked.more);
    const undone = undoing(words, launch);
    if (undone !== null)
      throw new UsageError(`${escapeText(undone, 64)} belongs to what writ sets for ${profile.name}: leave it out`);
    const lost = losing(words, launch);
    if (lost !== null) throw new UsageError(escapeText(lost, 400));
    refuseMovedHome(workspace, knownHost(launch.host), launch);
  }
  return findProgram(profile.words[0] ?? '', process.cwd(), process.env.PATH ?? '');
}

function launchOf({ host }: AgentProfile): Asked['launch'] {
  return host === null ? null : (LAUNCHES.find((one) => one.host === host) ?? null);
}

/**
 * Judges, quarantines and records in the work tree as every boot does, and hands the agent what passed: by its host's own way, else within its prompt.
 * @param call with the work tree as root.
 */
export async function bootRun(
  call: Call,
  workspace: Workspace,
  asked: RunAsked,
  { profile, file, folder }: { readonly profile: AgentProfile; readonly file: string; readonly folder: PrivateFolder },
): Promise<StartOfRun | NotStarted> {
  const host = knownHost(profile.host ?? 'generic');
  const launch = launchOf(profile);
  const booted = await judgeToBoot(call, workspace, false);
  const { judgement, moved } = booted;
  const observe = judgement.enforcement === 'observe';
  const boot = toBootContext(judgement.artifacts, { hosts: [host.name], frame: 'delimit', secret: null });
  await tellBoot(judgement, moved, boot, {
    raw: observe || launch === null,
    host: host.name,
    handoffs: booted.handoffs,
  });
  refuseUnjudged(host, judgement, observe);
  // A word of ours stands for the prompt until all else is placed: nothing in a prompt is read as a switch.
  const token = `prompt-${randomBytes(12).toString('hex')}`;
  const words = wordsOf(profile, asked.model, asked.more).map((word) =>
    word.replaceAll('{prompt}', token).replaceAll('{prompt-file}', `${token}-file`),
  );
  const start: Asked = { host, launch, words, workspace, cwd: workspace.root.path, program: file };
  const plan = toPlan(start, booted);
  await tellOpen(plan.open, host.title);
  const exit = await tellRefusals(
    refusalsOf({ judgement, plan, boot, strict: false, resumed: null }),
    profile.name,
    observe,
  );
  if (exit !== EXIT.ok && !observe) return { exit };
  if (launch === null && !observe) await takeAway(booted.judgement.artifacts, workspace);
  const counts = Object.fromEntries(boot.sections.map(({ rank, artifacts }) => [rank, artifacts.length]));
  const placed = launch === null ? await withinPrompt(profile, words, asked.prompt, boot, folder) : await byHost();
  if ('exit' in placed) return placed;
  const limit = promptLimit(profile);
  if (limit !== null && Buffer.byteLength(placed.prompt) > limit) {
    await tell(`writ: not started: ${tooLong(profile, placed.prompt, limit)}`);
    return { exit: EXIT.refused };
  }
  const final = placed.words.map((word) =>
    word
      .replaceAll(`${token}-file`, () => folder.write('prompt.md', placed.prompt))
      .replaceAll(token, () => placed.prompt),
  );
  const env = runEnvironment(placed.env, workspace.root.path, list(call, 'keep-env'));
  return { file, words: final, env, boot: counts };

  async function byHost(): Promise<Placed | NotStarted> {
    const prepared = await prepare(start, plan, boot, folder, observe);
    if (typeof prepared === 'number') return { exit: prepared };
    if (!observe && !isSealed(host.name, launch) && (await hasChanged(start, booted, plan))) {
      await tell('writ: not started: files changed after they were judged. Run it again once their writer is done.');
      return { exit: EXIT.unchecked };
    }
    return { words: prepared.words, env: prepared.env, prompt: asked.prompt };
  }
}

interface Placed {
  readonly words: readonly string[];
  readonly env: Readonly<Record<string, string>> | null;
  readonly prompt: string;
}

/** The boot context in front of the task, or as the file that `{boot}` in CMD asks for. Evidence and advice go before a rule does. */
async function withinPrompt(
  profile: AgentProfile,
  words: readonly string[],
  prompt: string,
  boot: BootContext,
  folder: PrivateFolder,
): Promise<Placed | NotStarted> {
  const asFile = asksForBoot(words);
  if (!asFile && boot.sections.every(({ artifacts }) => artifacts.length === 0)) return { words, env: null, prompt };
  const limit = asFile ? null : promptLimit(profile);
  const fits = (text: string): boolean => limit === null || Buffer.byteLength(withBootText(text, prompt)) <= limit;
  const fitted = fitBoot(boot, fits, ['reference', 'advisory']);
  if (fitted === null) {
    await tell(`writ: not started: the rules that bind here and the prompt are longer than ${profile.name} takes`);
    return { exit: EXIT.refused };
  }
  if (fitted.leftOut.length > 0)
    await tell(
      `writ: left out of the boot context, because ${profile.name} takes no more: ${fitted.leftOut.join(', ')}`,
    );
  return asFile
    ? { words: withBoot(words, folder.write('boot.md', fitted.text)), env: null, prompt }
    : { words, env: null, prompt: withBootText(fitted.text, prompt) };
}

/**
 * Nothing narrows an agent that has no host profile: what was refused and left where it lies is taken out of its own work tree, where nobody else
 * needs it. The commit still holds it.
 */
async function takeAway(artifacts: readonly Judged[], { root }: Workspace): Promise<void> {
  for (const { disposition, evidence } of artifacts) {
    const { candidate, line } = evidence.parsed;
    if (disposition !== 'withhold' || candidate.outside || line !== null) continue;
    const path = join(root.path, candidate.path);
    // Behind a link to a folder lies what is judged by its own name.
    if (!existsSync(dirname(path)) || realpathSync(dirname(path)) !== dirname(path)) continue;
    rmSync(path, { force: true, recursive: true });
    await tell(`writ: ${escapePath(candidate.path)} is refused, so the work tree of the agent goes without it`);
  }
}

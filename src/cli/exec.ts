import { join, relative } from 'node:path';
import type { LaunchProfile } from '../discover/launch-profile.ts';
import type { HostProfile } from '../discover/profile.ts';
import { isInside, openRoot } from '../files/workspace-root.ts';
import { judge } from '../gate.ts';
import { LAUNCHES } from '../generated/launch.ts';
import {
  ARGS,
  asksForBoot,
  losing,
  namesProgram,
  resuming,
  undoing,
  withArgs,
  withBoot,
} from '../launch/command-line.ts';
import { childEnvironment } from '../launch/environment.ts';
import { feedBoot, fitsFeed, tomlString } from '../launch/feed.ts';
import { findProgram } from '../launch/find-program.ts';
import { fitBoot } from '../launch/fit-boot.ts';
import { type Plan, planOf, traceOf } from '../launch/plan.ts';
import { makePrivateFolder, type PrivateFolder } from '../launch/private-folder.ts';
import { isSealed, readingsOf } from '../launch/readings.ts';
import { exitOfSignal, holdSignals, runChild } from '../launch/run-child.ts';
import { type BootContext, toBootContext } from '../load/boot-context.ts';
import { escapePath, escapeText } from '../model/escaped.ts';
import { instantFromMs } from '../model/instant.ts';
import { type Booted, judgeToBoot, knownHost, tellBoot } from './boot.ts';
import { type Call, CannotError, EXIT, flag, text, UsageError } from './command.ts';
import { endSpawn, identify, type Spawned, spawnAsked } from './exec-spawn.ts';
import { refusalsOf, tellOpen, tellPlan, tellRefusals } from './exec-words.ts';
import { tell } from './output.ts';
import { openWorkspace, type Workspace } from './workspace.ts';

/** What is to be started, as far as the command line says. */
export interface Asked {
  readonly host: HostProfile;
  readonly launch: LaunchProfile | null;
  readonly words: readonly string[];
  readonly workspace: Workspace;
  /** The folder the host starts in. */
  readonly cwd: string;
  readonly program: string;
}

/** `writ exec`: judges, quarantines and records, then starts a host on what passed. @returns what the host ended with, or why it was not started. */
export async function exec(call: Call): Promise<number> {
  const asked = await toAsked(call);
  const { host } = asked;
  const child = spawnAsked(call);
  const booted = await judgeToBoot(call, asked.workspace, false);
  const { judgement, moved } = booted;
  const observe = judgement.enforcement === 'observe';
  const boot = toBootContext(judgement.artifacts, { hosts: [host.name], frame: 'delimit', secret: null });
  await tellBoot(judgement, moved, boot, { raw: observe, host: host.name, handoffs: booted.handoffs });
  refuseUnjudged(host, judgement, observe);
  const plan = toPlan(asked, booted);
  await tellOpen(plan.open, host.title);
  const strict = flag(call, 'strict');
  const resumed = resuming(asked.words, asked.launch);
  if (resumed !== null)
    await tell(
      `writ: ${escapeText(resumed, 64)} carries on an earlier session: what that one has read was not judged now`,
    );
  const refused = refusalsOf({ judgement, plan, boot, strict, resumed });
  const exit = await tellRefusals(refused, host.title, observe);
  if (exit !== EXIT.ok && !observe) return exit;
  const signals = holdSignals();
  let folder: PrivateFolder | null = null;
  let spawned: Spawned | null = null;
  try {
    folder = openFolder(asked.workspace);
    const start = await prepare(asked, plan, boot, folder, observe);
    if (typeof start === 'number') return start;
    if (
      !observe &&
      host.name !== 'generic' &&
      !isSealed(host.name, asked.launch) &&
      (await hasChanged(asked, booted, plan))
    ) {
      await tell('writ: not started: files changed after they were judged. Run it again once their writer is done.');
      return EXIT.unchecked;
    }
    if (child !== null) spawned = await identify(call, asked.workspace, judgement, child, folder);
    await tellPlan(asked, plan, boot, observe);
    const early = signals.early();
    if (early !== null) return exitOfSignal(early);
    const env = { ...start.env, ...spawned?.env };
    const ended = await runChild({ file: asked.program, words: start.words, env, cwd: asked.cwd }, signals);
    if (typeof ended === 'number') return ended;
    throw new CannotError(`${escapePath(asked.program)} could not be started: ${ended.fault}`);
  } finally {
    folder?.remove();
    if (spawned !== null) await endSpawn(spawned, asked.workspace);
    signals.release();
  }
}

/** Throws UsageError where the policy leaves a host out, so that nobody judged what it reads. */
export function refuseUnjudged(host: HostProfile, { set }: Booted['judgement'], observe: boolean): void {
  const { hosts } = set.policy;
  if (hosts !== null && !hosts.includes(host.name) && host.name !== 'generic' && !observe)
    throw new UsageError(
      `hosts in policy.yaml leaves ${host.name} out, so the files it reads are not judged: add it there, then writ trust sign`,
    );
}

async function toAsked(call: Call): Promise<Asked> {
  const name = text(call, 'host');
  if (name === null)
    throw new UsageError('--host NAME says which host CMD starts, as in: writ exec --host codex -- codex');
  const host = knownHost(name);
  const [first] = call.rest;
  if (first === undefined)
    throw new UsageError(`name the program after --, as in: writ exec --host ${host.name} -- CMD`);
  const launch = LAUNCHES.find((one) => one.host === host.name) ?? null;
  const undone = undoing(call.rest, launch);
  if (undone !== null)
    throw new UsageError(
      `${escapeText(undone, 64)} belongs to what writ sets for ${host.title}: leave it out of CMD, or start ${host.title} without writ`,
    );
  const lost = losing(call.rest, launch);
  if (lost !== null) throw new UsageError(escapeText(lost, 400));
  // Where the switches belong has to be known before anything is judged or moved.
  const placed = withArgs(call.rest, launch === null ? [] : ['-'], launch);
  if ('fault' in placed) throw new UsageError(placed.fault);
  const workspace = openWorkspace(call);
  refuseMovedHome(workspace, host, launch);
  const here = process.cwd();
  const cwd = isInside(workspace.root.path, here) ? here : workspace.root.path;
  const program = findProgram(first, cwd, process.env.PATH ?? '');
  if (program === null) throw new UsageError(`there is no program ${escapeText(first, 200)} that can be run`);
  if (launch !== null && !namesProgram(call.rest, launch) && !call.rest.includes(ARGS))
    await tell(
      `writ: ${escapeText(first, 200)} is not known as the program of ${host.title}: its switches follow at the end. {args} in CMD says where else`,
    );
  return { host, launch, words: call.rest, workspace, cwd, program };
}

/** Throws UsageError where the host's own home was moved into the workspace and no switch keeps it out. */
export function refuseMovedHome(workspace: Workspace, host: HostProfile, launch: LaunchProfile | null): void {
  const own = workspace.places.moved.find((one) => one.host === host.name && isInside(workspace.root.path, one.path));
  if (own !== undefined && !keepsHomeOut(host, launch))
    throw new UsageError(
      `${own.variable} lies in the workspace, and ${host.title} obeys what is there as if you had written it: set it to a folder outside, or unset it`,
    );
}

/** Whether switches keep out all that a host reads from the home. */
function keepsHomeOut({ outside }: HostProfile, launch: LaunchProfile | null): boolean {
  return outside.every(({ where, path }) => where !== 'home' || launch?.outside[`home ${path}`] !== undefined);
}

/** Plans a start from the verdicts of a boot: what is narrowed, what is open, what is refused. */
export function toPlan(
  { host, launch, words, workspace, cwd }: Asked,
  { judgement, moved }: Pick<Booted, 'judgement' | 'moved'>,
): Plan {
  const { root, places } = workspace;
  const place = {
    words,
    root: root.path,
    cwd: relative(root.path, cwd).replaceAll('\\', '/'),
    topLevel: workspace.repository?.topLevel ?? null,
    homes: [places.home, openRoot(places.home).path],
    moved: places.moved,
  };
  const gone = new Set(moved.filter((one) => one.moved).map((one) => one.path));
  return planOf(
    // What any agent may read is nobody's init file in particular: `generic` has no discovery to narrow.
    host.name === 'generic' ? [] : readingsOf(judgement.artifacts, host.name, launch, place),
    launch,
    (one) => gone.has(escapePath(one.evidence.parsed.candidate.path)),
    host.title,
  );
}

/** Looks again, right before the start, at what the host will read from disk. What is handed over are the bytes judged and needs no second look. */
export async function hasChanged(asked: Asked, { request }: Booted, plan: Plan): Promise<boolean> {
  const now = instantFromMs(Date.now());
  if (now === null) return true;
  const judgement = await judge({ ...request, now, onProgress: null });
  return traceOf(toPlan(asked, { judgement, moved: [] })) !== traceOf(plan);
}

/** A folder for private files of one start. Throws CannotError where there is no place for one. */
export function openFolder({ root, state, places }: Workspace): PrivateFolder {
  const { XDG_RUNTIME_DIR: runtime, TMPDIR: temporary } = process.env;
  const own = state.kind === 'sqlite' ? join(state.file, '..') : places.configDir;
  const folder = makePrivateFolder(
    root,
    [runtime, temporary, '/tmp', own].filter((one): one is string => one?.startsWith('/') === true),
  );
  if (folder === null) throw new CannotError('there is no place outside the workspace for private files: set TMPDIR');
  return folder;
}

/** @returns the words and environment of the child, or an exit code where it cannot be handed its rules. */
export async function prepare(
  asked: Asked,
  plan: Plan,
  boot: BootContext,
  folder: PrivateFolder,
  observe: boolean,
): Promise<number | { readonly words: readonly string[]; readonly env: Readonly<Record<string, string>> }> {
  const { host, launch, words } = asked;
  const own = asksForBoot(words) ? null : (launch?.feed ?? null);
  const fitted = fitBoot(boot, (said) => own === null || fitsFeed(own, said), ['reference', 'advisory']);
  if (fitted === null) {
    await tell(
      `writ: not started: the rules that bind here are longer than ${host.title} takes. Shorten them, or hand them over as a file: {boot} in CMD stands for it.`,
    );
    return EXIT.refused;
  }
  if (fitted.leftOut.length > 0)
    await tell(`writ: left out of the boot context, because ${host.title} takes no more: ${fitted.leftOut.join(', ')}`);
  const fed = own === null ? null : feedBoot(own, fitted.text, folder, process.env);
  if (fed !== null && 'fault' in fed) throw new UsageError(fed.fault);
  if (own === null && !asksForBoot(words) && !(await mayGoWithout(host, boot, observe))) return EXIT.refused;
  const groups = observe ? [] : plan.narrowed.flatMap((name) => launch?.narrow[name] ?? []);
  const switches = observe || launch === null ? [] : [launch, ...groups];
  const again = launch !== null && resuming(words, launch) !== null ? launch.resumeArgs : [];
  // Only the switches of the profile are spelt out: a text that is handed over may say what it likes.
  const switched = [...switches.flatMap((one) => one.args), ...again].map((arg) =>
    arg.replaceAll('{untrusted-folders}', () => untrusted(asked)),
  );
  const handed = observe ? [] : handedOver(plan, folder);
  const said = asksForBoot(words) ? withBoot(words, folder.write('boot.md', fitted.text)) : words;
  const placed = withArgs(said, [...switched, ...handed, ...(fed?.args ?? [])], launch);
  if ('fault' in placed) throw new UsageError(placed.fault);
  const env = childEnvironment(process.env, launch, [...switches.map((one) => one.env), fed?.env ?? {}]);
  return { words: placed, env };
}

/** Copies of the approved bytes, never the files themselves: those may change. */
function handedOver({ handed }: Plan, folder: PrivateFolder): readonly string[] {
  return handed.map(({ judged, option }, index) => {
    const bytes = judged.evidence.parsed.bytes ?? new Uint8Array();
    return `${option}=${folder.write(`approved-${index + 1}.json`, bytes)}`;
  });
}

/** Every name by which a host may know the folders of this start, as a TOML table that trusts none of them. */
function untrusted({ workspace, cwd }: Asked): string {
  const { root, repository } = workspace;
  const main = repository === null ? [] : [repository.topLevel, join(repository.commonDir, '..')];
  const folders = [...new Set([root.path, cwd, ...main])];
  return `{${folders.map((one) => `${tomlString(one)}={trust_level="untrusted"}`).join(',')}}`;
}

/** Where a host has no way of its own to take the boot context, and CMD names none. */
async function mayGoWithout({ name, title }: HostProfile, boot: BootContext, observe: boolean): Promise<boolean> {
  const rules = boot.sections.find(({ rank }) => rank === 'binding')?.artifacts.length ?? 0;
  if (name === 'generic' || observe || rules === 0) {
    await tell('writ: the boot context is not handed over: {boot} in CMD stands for the file that holds it');
    return true;
  }
  await tell(
    `writ: not started: writ knows no way to hand ${title} the rules that bind here. Put {boot} into CMD, which stands for the file that holds them.`,
  );
  return false;
}

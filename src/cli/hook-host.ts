import { existsSync, statSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { judge } from '../gate.ts';
import { type HookEvent, parseHookEvent } from '../hook/event.ts';
import { type Guarded, guardOf } from '../hook/guard.ts';
import { contextAnswer, denyAnswer, eventOf, HOOK_HOSTS, type HookHost, type HostEvent } from '../hook/hosts.ts';
import { recordSpawn } from '../hook/record-spawn.ts';
import { supervise } from '../hook/supervise.ts';
import { toolWrites } from '../hook/tool-writes.ts';
import { refusalOf } from '../hook/words.ts';
import { fitBoot } from '../launch/fit-boot.ts';
import { toBootContext } from '../load/boot-context.ts';
import { escapeText } from '../model/escaped.ts';
import { durationMs } from '../model/instant.ts';
import { SET_FILE } from '../policy/set-file.ts';
import { suggestion } from './arguments.ts';
import { readStdin } from './ask.ts';
import { actorOf, judgeToBoot, tellBoot } from './boot.ts';
import { type Call, CannotError, EXIT, type Exit, flag, text, UsageError } from './command.ts';
import { print, tell } from './output.ts';
import { openWorkspace, toRequest } from './workspace.ts';

/** What hosts read as a refusal. */
const DENY: Exit = 2;
/** Largest event, bytes. */
const MAX_EVENT = 8_388_608;
/** Our own deadlines, ms: shorter than the 30 s that `hook install` gives each host. */
const DEADLINES = { boot: 25_000, tool: 10_000, spawn: 10_000, stop: 20_000, none: 10_000 };

/** `writ hook host NAME EVENT`: answers one event of a host, given on stdin. On an event that can refuse, every error and the deadline refuse. */
export async function hookHost(call: Call): Promise<Exit> {
  const [name = '', word = ''] = call.positionals;
  const host = HOOK_HOSTS.find((one) => one.name === name);
  // Nobody can tell what an unknown event was about to let through.
  if (host === undefined) {
    const known = HOOK_HOSTS.map((one) => one.name);
    await tell(
      `writ: there is no host ${escapeText(name, 64)} with hooks${suggestion(name, known, '')}; known: ${known.join(', ')}. Refused.`,
    );
    return DENY;
  }
  const event = eventOf(host, word);
  if (event === null)
    return deny(
      host,
      `writ: ${host.title} has no event ${escapeText(word, 64)} that writ knows; used here: ${host.events
        .filter((one) => one.deed !== 'none')
        .map((one) => one.name)
        .join(', ')}. Refused.`,
    );
  if (event.deed === 'none') return EXIT.ok;
  if (flag(call, 'judge')) return answer(call, host, event);
  const deadline = deadlineOf(call, event);
  const words = ['hook', 'host', host.name, event.name, '--judge'];
  for (const option of ['governed', 'observe']) if (flag(call, option)) words.push(`--${option}`);
  const root = text(call, 'root');
  if (root !== null) words.push('--root', root);
  const said = await supervise(words, deadline);
  if ('fault' in said) return failed(host, event, said.fault);
  if (said.stderr.length > 0) await tell(said.stderr.toString('utf8'));
  await print(said.stdout.toString('utf8'));
  return said.exit;
}

async function failed(host: HookHost, event: HostEvent, fault: string): Promise<Exit> {
  const why = escapeText(fault, 500);
  if (event.denies) return deny(host, `writ: this could not be judged, so it is refused: ${why}`);
  await tell(`writ: ${event.name}: ${why}`);
  if (event.deed === 'boot')
    await print(
      contextAnswer(
        host,
        event,
        `writ could not judge the init files of this workspace, so none of them is proven and none of them binds (${why}). A person can find out why: writ check`,
      ),
    );
  return EXIT.ok;
}

async function deny(host: HookHost, reason: string): Promise<Exit> {
  await tell(reason);
  await print(`${denyAnswer(host, reason)}\n`);
  return DENY;
}

function deadlineOf(call: Call, { deed }: HostEvent): number {
  const given = text(call, 'deadline');
  if (given === null) return DEADLINES[deed];
  const ms = durationMs(given);
  if (ms === null || ms > DEADLINES.boot)
    throw new UsageError('--deadline takes a duration of at most 25s, which is shorter than the host waits');
  return ms;
}

/** The judging half: its errors are thrown, and the half that waits for it makes of them what the event asks for. */
async function answer(call: Call, host: HookHost, event: HostEvent): Promise<Exit> {
  const given = parseHookEvent(await readStdin(MAX_EVENT));
  if ('fault' in given) throw new CannotError(given.fault);
  if (given.named !== null && eventOf(host, given.named)?.name !== event.name)
    throw new CannotError(
      `stdin holds the event ${escapeText(given.named, 64)}, and the hook was called for ${event.name}`,
    );
  const folders = [process.cwd(), process.env.CLAUDE_PROJECT_DIR ?? '', process.env.GEMINI_PROJECT_DIR ?? ''].filter(
    isAbsolute,
  );
  if (given.cwd !== null && isFolder(given.cwd)) process.chdir(given.cwd);
  switch (event.deed) {
    case 'boot':
      return boot(call, host, event);
    case 'tool':
      return tool(call, host, given, folders);
    case 'spawn':
      return spawned(call, host, given);
    case 'stop':
      return (await import('./hook-stopped.ts')).stopped(call, host, given, DEADLINES.stop);
    case 'none':
      return EXIT.ok;
  }
}

async function boot(call: Call, host: HookHost, event: HostEvent): Promise<Exit> {
  const workspace = openWorkspace(call);
  if (flag(call, 'governed') && !(await isGoverned(call))) return EXIT.ok;
  const { judgement, moved, handoffs } = await judgeToBoot(call, workspace, false);
  const context = toBootContext(judgement.artifacts, { hosts: [host.name], frame: 'delimit', secret: null });
  await tellBoot(judgement, moved, context, { raw: true, host: host.name, handoffs });
  const fitted = fitBoot(context, (said) => Buffer.byteLength(said) <= host.cap, ['reference', 'advisory', 'binding']);
  if (fitted === null) throw new CannotError(`not even the names of the init files fit into what ${host.title} takes`);
  if (fitted.leftOut.length > 0)
    await tell(`writ: left out of the boot context, because ${host.title} takes no more: ${fitted.leftOut.join(', ')}`);
  await print(`${contextAnswer(host, event, fitted.text)}\n`);
  return EXIT.ok;
}

async function isGoverned(call: Call): Promise<boolean> {
  const workspace = openWorkspace(call);
  const { set, memory } = await judge({ ...toRequest(workspace, call, []), onProgress: null });
  return (
    existsSync(join(workspace.root.path, set.dir, SET_FILE)) ||
    memory.remembered.checkout !== null ||
    memory.findings.length > 0
  );
}

async function tool(call: Call, host: HookHost, given: HookEvent, folders: readonly string[]): Promise<Exit> {
  const workspace = openWorkspace(call);
  const cwd = process.cwd();
  const writes = toolWrites(given, { cwd, home: workspace.places.home, environment: process.env });
  if ('fault' in writes) throw new CannotError(`${escapeText(given.tool ?? 'the tool', 64)}: ${writes.fault}`);
  if (writes.paths.length === 0) return EXIT.ok;
  const guard = guardOf(
    { ...toRequest(workspace, call, []), onProgress: null },
    [...folders, cwd],
    flag(call, 'governed'),
  );
  const guarded = new Map<string, Guarded>();
  for (const path of writes.paths) {
    const why = await guard.why(path);
    if (why !== null) guarded.set(why.path, why);
  }
  if (guarded.size === 0) return EXIT.ok;
  const reason = refusalOf([...guarded.values()]);
  if (!guard.observes()) return deny(host, reason);
  await tell(`${reason} (observe: nothing is blocked)`);
  return EXIT.ok;
}

async function spawned(call: Call, host: HookHost, given: HookEvent): Promise<Exit> {
  if (flag(call, 'governed') && !(await isGoverned(call))) return EXIT.ok;
  const request = toRequest(openWorkspace(call), call, []);
  const { set } = await judge({ ...request, onProgress: null });
  await recordSpawn(given, host.name, request, set.workspace, actorOf(call));
  return EXIT.ok;
}

function isFolder(path: string): boolean {
  try {
    return isAbsolute(path) && statSync(path).isDirectory();
  } catch {
    return false;
  }
}

import { createHash } from 'node:crypto';
import { existsSync, lstatSync, readFileSync, realpathSync, statSync, unlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { makeFolder } from '../files/make-folder.ts';
import { isInside, realOrMissing } from '../files/workspace-root.ts';
import { writeAtomic } from '../files/write-atomic.ts';
import { isRecord } from '../hook/event.ts';
import { HOOK_HOSTS, type HookHost } from '../hook/hosts.ts';
import { type Caller, holdsHooks, settingsFile, withHooks, withoutHooks } from '../hook/installed.ts';
import { escapeText } from '../model/escaped.ts';
import { suggestion } from './arguments.ts';
import { type Call, CannotError, EXIT, type Exit, flag, list, UsageError } from './command.ts';
import { print, tell } from './output.ts';
import { openWorkspace, type Workspace } from './workspace.ts';

const MAX_SETTINGS = 4_194_304;

/** One settings file, as it is and as it should be; null: no file. */
interface Change {
  readonly host: HookHost;
  readonly path: string;
  readonly now: string | null;
  readonly next: string | null;
}

/** What a file held before writ wrote into it, kept in the config folder so that it comes back to the byte. */
interface Kept {
  readonly path: string;
  readonly before: string | null;
  /** Bare hex sha256 of what writ wrote. */
  readonly wrote: string;
}

/** `writ hook install --host NAME`: puts writ's hooks into the settings of hosts. All files are read and understood before the first is written. */
export async function installHosts(call: Call): Promise<Exit> {
  const workspace = openWorkspace(call);
  if (process.platform === 'win32') throw new CannotError('host hooks are lines of a POSIX shell: not on Windows');
  const caller = callerOf(workspace);
  const changes = hostsOf(call).map((host) => {
    const { path, now } = settingsOf(host, call, workspace);
    const made = withHooks(host.name, now, caller);
    if ('fault' in made) throw new CannotError(`${path}: ${made.fault}; nothing was written`);
    return { host, path, now, next: made.text };
  });
  for (const change of changes) await carryOut(change, call, workspace, 'install');
  if (isInside(workspace.root.path, caller.writ))
    await tell(
      `${caller.writ} lies in this workspace: whoever may write here may change what the hooks run. Outside it is safer.`,
    );
  return EXIT.ok;
}

/** `writ hook uninstall --host NAME`: takes them out again. Where the file was not changed since, it comes back to the byte. */
export async function uninstallHosts(call: Call): Promise<Exit> {
  const workspace = openWorkspace(call);
  const changes = hostsOf(call).flatMap((host): Change[] => {
    const { path, now } = settingsOf(host, call, workspace);
    if (now === null || !holdsHooks(host.name, now)) return [{ host, path, now, next: now }];
    const kept = keptOf(path, workspace);
    if (kept !== null && kept.wrote === digestOf(now)) return [{ host, path, now, next: kept.before }];
    const made = withoutHooks(host.name, now);
    if ('fault' in made) throw new CannotError(`${path}: ${made.fault}; nothing was changed`);
    return [{ host, path, now, next: made.text }];
  });
  for (const change of changes) await carryOut(change, call, workspace, 'uninstall');
  return EXIT.ok;
}

async function carryOut(
  { host, path, now, next }: Change,
  call: Call,
  workspace: Workspace,
  deed: 'install' | 'uninstall',
): Promise<void> {
  if (now === next) {
    await tell(deed === 'install' ? `${path}: writ's hooks are there already` : `${path}: there are no hooks of writ`);
    return;
  }
  if (flag(call, 'dry-run')) {
    await tell(`would ${next === null ? 'take away' : 'write'} ${path}:`);
    await print(await diffOf(path, now ?? '', next ?? ''));
    return;
  }
  const kept = keptFile(path, workspace);
  if (deed === 'install') {
    const before = beforeOf(host, path, now, workspace);
    makeFolder(dirname(kept), 0o700);
    writeAtomic(kept, JSON.stringify({ path, before, wrote: digestOf(next ?? '') } satisfies Kept), 0o600);
  }
  if (next === null) unlinkSync(path);
  else {
    makeFolder(dirname(path), 0o755);
    writeAtomic(path, next, now === null ? 0o600 : statSync(path).mode & 0o777);
  }
  if (deed === 'uninstall') {
    if (existsSync(kept)) unlinkSync(kept);
    await tell(`took writ's hooks out of ${path}`);
    return;
  }
  await tell(`wrote ${path}`);
  if (flag(call, 'project'))
    await tell(
      `It runs programs, so writ judges it: a person looks at it, then: writ approve ${path.slice(workspace.root.path.length + 1)} --class policy`,
    );
  if (host.name === 'codex')
    await tell('Codex runs no hook that its user has not trusted: start it and say yes under /hooks.');
}

/** What an uninstall should bring back: what lay there before the first install, or what lies there now without our hooks. */
function beforeOf(host: HookHost, path: string, now: string | null, workspace: Workspace): string | null {
  if (now === null || !holdsHooks(host.name, now)) return now;
  const kept = keptOf(path, workspace);
  if (kept !== null && kept.wrote === digestOf(now)) return kept.before;
  const without = withoutHooks(host.name, now);
  return 'fault' in without ? now : without.text;
}

function settingsOf(
  host: HookHost,
  call: Call,
  { root, places }: Workspace,
): { readonly path: string; readonly now: string | null } {
  const project = flag(call, 'project') ? root.path : null;
  const named = settingsFile(host.name, { home: places.home, environment: process.env, project });
  // People keep their settings elsewhere and link to them: the file behind the link is the one to change.
  const path = realOrMissing(named);
  if (path === null) throw new CannotError(`${named}: where its links lead cannot be told`);
  if (project !== null && !(isInside(project, path) && path.startsWith(`${project}/`)))
    throw new CannotError(`${named}: a link leads it out of the workspace; nothing was changed`);
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return { path, now: null };
  if (!stat.isFile() || stat.size > MAX_SETTINGS)
    throw new CannotError(`${path}: it is no file, or too large; nothing was changed`);
  try {
    return { path, now: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(readFileSync(path)) };
  } catch {
    throw new CannotError(`${path}: it is not UTF-8, or cannot be read; nothing was changed`);
  }
}

function hostsOf(call: Call): readonly HookHost[] {
  const known = HOOK_HOSTS.map((one) => one.name);
  return [...new Set(list(call, 'host'))].map((name) => {
    const found = HOOK_HOSTS.find((one) => one.name === name);
    if (found === undefined)
      throw new UsageError(
        `there are no hooks for ${escapeText(name, 64)}${suggestion(name, known, '')}; known: ${known.join(', ')}`,
      );
    return found;
  });
}

function callerOf({ places, state }: Workspace): Caller {
  const { WRIT_CONFIG, WRIT_STATE } = process.env;
  const file = state.kind === 'sqlite' ? dirname(state.file) : WRIT_STATE;
  return {
    node: process.execPath,
    writ: realpathSync(process.argv[1] ?? ''),
    environment: {
      ...(WRIT_CONFIG ? { WRIT_CONFIG: places.configDir } : {}),
      ...(WRIT_STATE && file !== undefined ? { WRIT_STATE: file } : {}),
    },
  };
}

async function diffOf(path: string, from: string, to: string): Promise<string> {
  const { createTwoFilesPatch } = await import('diff');
  const text = createTwoFilesPatch(path, path, from, to, undefined, undefined, { context: 2 });
  return text
    .split('\n')
    .map((line) => escapeText(line, 2_000))
    .join('\n');
}

function keptFile(path: string, { places }: Workspace): string {
  return join(places.configDir, 'hooks', `${digestOf(path).slice(0, 32)}.json`);
}

/** @returns null where nothing was kept, or not in a form that can be read: then our hooks are taken out of the text as it is. */
function keptOf(path: string, workspace: Workspace): Kept | null {
  try {
    const read: unknown = JSON.parse(readFileSync(keptFile(path, workspace), 'utf8'));
    if (!isRecord(read) || read.path !== path || typeof read.wrote !== 'string') return null;
    return typeof read.before === 'string' || read.before === null
      ? { path, before: read.before, wrote: read.wrote }
      : null;
  } catch {
    return null;
  }
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

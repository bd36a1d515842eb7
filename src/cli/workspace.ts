import { existsSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join, relative, resolve, sep } from 'node:path';
import { openRoot, type WorkspaceRoot } from '../files/workspace-root.ts';
import type { Request } from '../gate.ts';
import { findRepository, type Repository } from '../git/repository.ts';
import { type Instant, instantFromMs } from '../model/instant.ts';
import type { Places, UserSession } from '../model/settings.ts';
import { placesOf } from '../policy/places.ts';
import { USER_DIR, userPlace } from '../policy/user-set.ts';
import type { StateLocation } from '../store/location.ts';
import { type Call, flag, text, UsageError } from './command.ts';
import { progressBar } from './progress.ts';

/** Where a command works, read once at the edge from flags, environment and clock. */
export interface Workspace {
  readonly root: WorkspaceRoot;
  readonly repository: Repository | null;
  readonly places: Places;
  readonly state: StateLocation;
  readonly now: Instant;
  /** `--user`: the home is the workspace, under the user's own set. */
  readonly user?: UserSession;
}

/** The folder of `--root`, or null. Commands that need no workspace ask too: a mistyped folder is a mistake everywhere. */
export function givenRoot(call: Call): string | null {
  const given = text(call, 'root');
  if (given !== null && !(existsSync(given) && statSync(given).isDirectory()))
    throw new UsageError(`--root ${given} is no folder`);
  return given;
}

/** Finds the workspace: `--root`, else the git top level, else the current folder (cli.md). */
export function openWorkspace(call: Call): Workspace {
  const given = givenRoot(call);
  const found = findRepository(given ?? process.cwd());
  const home = homedir();
  const start = given ?? found?.topLevel ?? process.cwd();
  const user = flag(call, 'user') ? { start: resolve(start) } : null;
  const root = user === null ? openRoot(start) : openHome(home);
  // The home is the user's own, pins and state included; what no repo may choose, the user does.
  const here = placesOf(process.env, home, user === null ? root : null, start);
  if ('fault' in here) throw new UsageError(here.fault);
  const now = instantFromMs(Date.now());
  if (now === null) throw new UsageError('the clock of this machine cannot be read');
  return { root, repository: user === null ? found : null, ...here, now, ...(user === null ? {} : { user }) };
}

function openHome(home: string): WorkspaceRoot {
  if (!(isAbsolute(home) && existsSync(home) && statSync(home).isDirectory()))
    throw new UsageError(`--user needs a home, and HOME names no folder: ${home}`);
  const root = openRoot(home);
  if (userPlace(root.path) === null)
    throw new UsageError(`--user: a link leads ${home}/${USER_DIR} out of the home; a set must lie in what it governs`);
  return root;
}

/** What the gate is asked, for a workspace. */
export function toRequest(workspace: Workspace, call: Call, paths: readonly string[] | null): Request {
  return {
    ...workspace,
    paths,
    observe: flag(call, 'observe'),
    overlay: new Map(),
    stateFault: null,
    onProgress: progressBar(),
  };
}

/** PATH arguments as workspace-relative paths; relative ones are meant from the current folder, then from the root. */
export function toPaths(workspace: Workspace, args: readonly string[]): readonly string[] {
  return args.map((arg) => toPath(workspace, arg));
}

export function toPath({ root }: Workspace, arg: string): string {
  if (arg === '' || arg.includes('\0')) throw new UsageError('an empty path names nothing');
  const absolute = isAbsolute(arg) ? arg : resolve(arg);
  const found = [absolute, isAbsolute(arg) ? null : join(root.path, arg)].map((one) =>
    one === null ? null : within(root.path, one),
  );
  const existing = found.find((one) => one !== null && existsSync(join(root.path, one)));
  const path = existing ?? found.find((one) => one !== null && one !== '') ?? null;
  if (path === null)
    throw new UsageError(
      `${arg} lies outside the workspace ${root.path}${within(homedir(), absolute) === null ? '' : '; for a file of your home add --user'}`,
    );
  return path;
}

function within(root: string, absolute: string): string | null {
  const path = relative(root, absolute);
  if (path === '') return '.';
  return path === '..' || path.startsWith(`..${sep}`) || isAbsolute(path) ? null : path.split(sep).join('/');
}

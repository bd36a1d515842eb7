import { existsSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join, relative, resolve, sep } from 'node:path';
import { openRoot, type WorkspaceRoot } from '../files/workspace-root.ts';
import type { Request } from '../gate.ts';
import { findRepository, type Repository } from '../git/repository.ts';
import { type Instant, instantFromMs } from '../model/instant.ts';
import type { Places } from '../model/settings.ts';
import { placesOf } from '../policy/places.ts';
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
}

/** Finds the workspace: `--root`, else the git top level, else the current folder (cli.md). */
export function openWorkspace(call: Call): Workspace {
  const given = text(call, 'root');
  if (given !== null && !(existsSync(given) && statSync(given).isDirectory()))
    throw new UsageError(`--root ${given} is no folder`);
  const repository = findRepository(given ?? process.cwd());
  const root = openRoot(given ?? repository?.topLevel ?? process.cwd());
  const here = placesOf(process.env, homedir(), root);
  if ('fault' in here) throw new UsageError(here.fault);
  const now = instantFromMs(Date.now());
  if (now === null) throw new UsageError('the clock of this machine cannot be read');
  return { root, repository, ...here, now };
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
  if (path === null) throw new UsageError(`${arg} lies outside the workspace ${root.path}`);
  return path;
}

function within(root: string, absolute: string): string | null {
  const path = relative(root, absolute);
  if (path === '') return '.';
  return path === '..' || path.startsWith(`..${sep}`) || isAbsolute(path) ? null : path.split(sep).join('/');
}

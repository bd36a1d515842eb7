import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { devNull, tmpdir } from 'node:os';
import { delimiter, isAbsolute, join, relative, sep } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { isShallow } from './head.ts';
import type { Repository } from './repository.ts';
import { readSmall } from './small-file.ts';

/**
 * How a hostile repository is kept from running anything (facts 7.2). Git is never pointed at the repository's own git folder: it gets a *stand-in*,
 * a fresh private folder with our config and a HEAD, and reads only the objects (and, for the index, that one file) of the real one. So no
 * setting, include, alias, hook, filter, attribute, graft, replacement ref, remote or promisor of the repository exists for it.
 * The one exception, resolving a name to a commit, needs the real refs: it gets `SAFE_CONFIG` on the command line on top.
 */
export const SAFE_CONFIG: readonly string[] = [
  'core.fsmonitor=false',
  `core.hooksPath=${devNull}`,
  `core.attributesFile=${devNull}`,
  'core.commitGraph=false',
  'core.pager=cat',
  'core.askPass=',
  'core.sshCommand=false',
  'core.gitProxy=false',
  'credential.helper=',
  'diff.external=',
  'gc.auto=0',
  'gpg.program=false',
  'gpg.ssh.program=false',
  'gpg.x509.program=false',
  'gpg.ssh.defaultKeyCommand=',
  'log.showSignature=false',
  'maintenance.auto=false',
  'protocol.allow=never',
  'uploadpack.packObjectsHook=',
];

/** Git could not answer: not installed, over its time, or refused the data. Nothing it said before counts. */
export class GitFault extends Error {
  override readonly name = 'GitFault';
}

/** One stand-in and the processes that use it. */
export interface Session {
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  /** What runs in it; killed when the time is up and when the work is done. */
  readonly running: Set<{ kill(signal: 'SIGKILL'): unknown }>;
  /** Whether the time is up: what is started then is killed at once. */
  isOver: boolean;
}

/** A git process that reads nothing, and one that is told what to do. */
export type Git = ChildProcessByStdio<null, Readable, null>;
export type GitWithInput = ChildProcessByStdio<Writable, Readable, null>;

/** What a stand-in is set up with besides config and objects. */
export interface StandIn {
  /** The commit HEAD names; null for a query that needs none. */
  readonly head: string | null;
  /** More refs, name to full commit id. */
  readonly refs: ReadonlyMap<string, string>;
  /** Milliseconds until everything started in the session is killed. */
  readonly timeout: number;
}

const SHALLOW_BYTES = 16_777_216;
const PASSED_ON = ['SystemRoot', 'SYSTEMROOT', 'windir', 'TEMP', 'TMP', 'TMPDIR', 'PATHEXT'] as const;

/** Runs work with a stand-in for a repository, and removes it afterwards whatever happens. Throws GitFault where it can't be set up. */
export async function withStandIn<T>(
  repo: Repository,
  standIn: StandIn,
  work: (session: Session) => Promise<T>,
): Promise<T> {
  const folder = build(repo, standIn);
  const session: Session = { folder, env: standInEnvironment(repo, folder), running: new Set(), isOver: false };
  const stop = (): void => {
    session.isOver = true;
    for (const one of session.running) one.kill('SIGKILL');
  };
  const timer = setTimeout(stop, standIn.timeout);
  try {
    return await work(session);
  } finally {
    clearTimeout(timer);
    stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Starts git in a stand-in. Errors of the process arrive as events of the child; when the session's time is up it is killed, and closes without a status. */
export function startGit(session: Session, args: readonly string[]): Git {
  return start(session, args, 'ignore') as Git;
}

/** The same with a stdin to write to. */
export function startGitWithInput(session: Session, args: readonly string[]): GitWithInput {
  return start(session, args, 'pipe') as GitWithInput;
}

function start(session: Session, args: readonly string[], stdin: 'ignore' | 'pipe'): Git | GitWithInput {
  const child = spawn('git', ['--no-pager', ...args], {
    cwd: session.folder,
    env: { ...session.env },
    stdio: [stdin, 'pipe', 'ignore'],
    windowsHide: true,
  }) as Git | GitWithInput;
  session.running.add(child);
  child.once('close', () => session.running.delete(child));
  if (session.isOver) child.kill('SIGKILL');
  return child;
}

/** The environment of every git process: a list of what is let through, so nothing inherited can steer it. */
export function cleanEnvironment(repo: Pick<Repository, 'topLevel'>): Record<string, string> {
  const env: Record<string, string> = {
    PATH: trustedPath(process.env.PATH ?? '', repo.topLevel),
    LC_ALL: 'C',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: devNull,
    GIT_ATTR_NOSYSTEM: '1',
    GIT_NO_REPLACE_OBJECTS: '1',
    GIT_NO_LAZY_FETCH: '1',
    GIT_LITERAL_PATHSPECS: '1',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_TERMINAL_PROMPT: '0',
    GIT_ALLOW_PROTOCOL: 'none',
  };
  for (const name of PASSED_ON) {
    const value = process.env[name];
    if (value !== undefined) env[name] = value;
  }
  return env;
}

function standInEnvironment(repo: Repository, folder: string): Record<string, string> {
  return {
    ...cleanEnvironment(repo),
    GIT_DIR: folder,
    GIT_OBJECT_DIRECTORY: repo.objectsDir,
    GIT_INDEX_FILE: repo.indexFile,
    ...(repo.alternates === null ? {} : { GIT_ALTERNATE_OBJECT_DIRECTORIES: repo.alternates }),
  };
}

/** Search path without relative entries and without folders of the workspace: a dependency's `node_modules/.bin/git` is not git. */
function trustedPath(path: string, topLevel: string): string {
  return path
    .split(delimiter)
    .filter((entry) => {
      if (!isAbsolute(entry) || /[\\/]node_modules[\\/]\.bin[\\/]*$/.test(entry)) return false;
      const below = relative(topLevel, entry);
      return below.startsWith(`..${sep}`) || below === '..' || isAbsolute(below);
    })
    .join(delimiter);
}

function build(repo: Repository, standIn: StandIn): string {
  try {
    const folder = mkdtempSync(join(tmpdir(), 'writ-git-'));
    mkdirSync(join(folder, 'refs'));
    writeFileSync(join(folder, 'HEAD'), `${standIn.head ?? 'ref: refs/heads/none'}\n`);
    writeFileSync(join(folder, 'config'), configOf(repo));
    if (standIn.refs.size > 0) {
      const lines = [...standIn.refs].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, id]) => `${id} ${name}\n`);
      writeFileSync(join(folder, 'packed-refs'), `# pack-refs with: sorted\n${lines.join('')}`);
    }
    // Where the clone is cut, git must stop instead of failing on the parent it lacks.
    if (isShallow(repo)) {
      writeFileSync(join(folder, 'shallow'), readSmall(join(repo.commonDir, 'shallow'), SHALLOW_BYTES) ?? '');
    }
    return folder;
  } catch (error) {
    throw new GitFault(`no folder for git's stand-in: ${(error as NodeJS.ErrnoException).code ?? 'unknown error'}`);
  }
}

function configOf(repo: Repository): string {
  const lines = ['[core]', 'repositoryformatversion = 1', 'bare = true', '[extensions]'];
  if (repo.objectFormat === 'sha256') lines.push('objectFormat = sha256');
  for (const setting of SAFE_CONFIG) {
    const at = setting.indexOf('=');
    const name = setting.slice(0, at);
    const dot = name.lastIndexOf('.');
    const [section = '', ...rest] = name.slice(0, dot).split('.');
    const header = rest.length === 0 ? `[${section}]` : `[${section} "${rest.join('.')}"]`;
    lines.push(header, `${name.slice(dot + 1)} = "${setting.slice(at + 1).replaceAll('\\', '\\\\')}"`);
  }
  return `${lines.join('\n')}\n`;
}

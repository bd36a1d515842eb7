import { copyFileSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { GitFault, type Session, startGit, startGitWithInput, withStandIn } from './hardened.ts';
import type { Repository } from './repository.ts';

/** A linked work tree that was made here: a checkout of one commit, with no branch. */
export interface Worktree {
  readonly path: string;
  /** As git sees it: shares objects, refs and config with the main one. */
  readonly repository: Repository;
  /** The commit it began at. */
  readonly base: string;
  /** An index of our own, outside of it: what the work tree held when an agent was let in. */
  readonly indexFile: string;
}

/** Milliseconds for laying out or comparing a whole tree. */
export const TREE_TIME = 600_000;
const MAX_OUTPUT = 67_108_864;

/**
 * Makes a linked work tree of a commit. Git's own `worktree add` would obey the repository's config; here the four small files of a linked work tree are
 * written as gitrepository-layout(5) has them, and the files laid out by a git that sees the objects alone: no hook, filter, or setting of the repository
 * exists for it. So files under a filter (LFS) hold what the commit holds. Throws GitFault where it cannot be made, with nothing left behind.
 * @param path absolute, outside every work tree, not there yet, in a folder that is; its last name has to be unique. @param indexFile absolute, outside of it.
 */
export async function addWorktree(repo: Repository, base: string, path: string, indexFile: string): Promise<Worktree> {
  if (existsSync(join(repo.commonDir, 'reftable')))
    throw new GitFault('this repository keeps its refs in reftable, and writ makes no work trees of those yet');
  const gitDir = join(repo.commonDir, 'worktrees', basename(path));
  const worktree: Worktree = {
    path,
    base,
    indexFile,
    repository: { ...repo, topLevel: path, gitDir, indexFile: join(gitDir, 'index'), alternates: null },
  };
  try {
    mkdirSync(path, { mode: 0o700 });
    await withStandIn(worktree.repository, standIn(), async (session) => {
      await ask(session, worktree, ['read-tree', base]);
      await ask(session, worktree, ['checkout-index', '--all', '--force', '-u', '-q']);
    });
    mkdirSync(join(repo.commonDir, 'worktrees'), { recursive: true });
    mkdirSync(gitDir);
    writeFileSync(join(gitDir, 'commondir'), '../..\n');
    writeFileSync(join(gitDir, 'HEAD'), `${base}\n`);
    copyFileSync(indexFile, join(gitDir, 'index'));
    writeFileSync(join(path, '.git'), `gitdir: ${gitDir}\n`);
    writeFileSync(join(gitDir, 'gitdir'), `${join(path, '.git')}\n`);
    return worktree;
  } catch (error) {
    removeWorktree(worktree);
    if (error instanceof GitFault) throw error;
    throw new GitFault(`no work tree could be made: ${(error as NodeJS.ErrnoException).code ?? String(error)}`);
  }
}

/** Takes a work tree away, with what git knows of it. @returns why it could not be, or null. */
export function removeWorktree(worktree: Pick<Worktree, 'path' | 'repository' | 'indexFile'>): string | null {
  const { path, repository, indexFile } = worktree;
  try {
    rmSync(path, { recursive: true, force: true, maxRetries: 3 });
    rmSync(join(repository.commonDir, 'worktrees', basename(path)), { recursive: true, force: true });
    rmSync(indexFile, { force: true });
    return null;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error);
  }
}

/** @returns what a stand-in needs for a work tree: none of the refs. */
export function standIn(): {
  readonly head: null;
  readonly refs: ReadonlyMap<string, string>;
  readonly timeout: number;
} {
  return { head: null, refs: new Map(), timeout: TREE_TIME };
}

/**
 * Asks git about a work tree in a session, with our own index. Throws GitFault where it ends with an error, says too much, or took too long.
 * @param input what it is told on stdin, if anything. @param indexFile another index than ours.
 */
export async function ask(
  session: Session,
  worktree: Pick<Worktree, 'path' | 'indexFile'>,
  args: readonly string[],
  input: string | null = null,
  indexFile: string = worktree.indexFile,
): Promise<string> {
  const inside: Session = { ...session, env: { ...session.env, GIT_INDEX_FILE: indexFile } };
  const words = ['-C', worktree.path, '--work-tree', worktree.path, '-c', 'core.bare=false', ...args];
  const child = input === null ? startGit(inside, words) : startGitWithInput(inside, words);
  const parts: Buffer[] = [];
  let size = 0;
  child.stdout.on('data', (part: Buffer) => {
    size += part.length;
    if (size > MAX_OUTPUT) child.kill('SIGKILL');
    else parts.push(part);
  });
  if (child.stdin !== null) {
    child.stdin.on('error', () => {});
    child.stdin.end(input ?? '');
  }
  const code = await new Promise<number | null>((done, fail) => {
    child.once('error', (error) => fail(new GitFault(`git could not run: ${error.message}`)));
    child.once('close', done);
  });
  if (code !== 0) throw new GitFault(`git ${args[0] ?? ''} ended in ${code ?? 'a signal'}`);
  return Buffer.concat(parts).toString('utf8');
}

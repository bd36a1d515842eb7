import { parseCommit } from './commit-object.ts';
import { GitFault, startGit, withStandIn } from './hardened.ts';
import { isObjectId } from './head.ts';
import { openObjects } from './objects.ts';
import type { Repository } from './repository.ts';

const TIMEOUT = 20_000;
const COMMIT_BYTES = 1_048_576;
const NO_REFS: ReadonlyMap<string, string> = new Map();

/** @returns the parents a commit itself names, by full id and hash-checked; null where the commit is missing here or damaged. Throws GitFault where git fails. */
export async function parentsOf(repo: Repository, commit: string): Promise<readonly string[] | null> {
  return withStandIn(repo, { head: null, refs: NO_REFS, timeout: TIMEOUT }, async (session) => {
    const reader = openObjects(repo, session);
    try {
      const bytes = (await reader.read([commit], 'commit', COMMIT_BYTES)).objects.get(commit);
      return bytes === undefined ? null : (parseCommit(bytes, commit.length)?.parents ?? null);
    } finally {
      reader.close();
    }
  });
}

/**
 * @returns the commit two commits come from last, or null where they share none here (unrelated, or the history is cut off). One of several where
 * histories crossed. Git's word, not hash-checked: it only chooses what a change is compared with, never who is trusted. Throws GitFault where git fails.
 */
export async function mergeBase(repo: Repository, one: string, other: string): Promise<string | null> {
  return withStandIn(repo, { head: one, refs: NO_REFS, timeout: TIMEOUT }, async (session) => {
    const child = startGit(session, ['merge-base', one, other]);
    return new Promise<string | null>((done, fail) => {
      let output = '';
      child.stdout.on('data', (part: Buffer) => {
        output += part.toString('latin1');
      });
      child.on('error', (error: NodeJS.ErrnoException) =>
        fail(new GitFault(`git could not run: ${error.code ?? error.name}`)),
      );
      child.on('close', (status) => {
        const id = output.trim();
        if (status === 0 && isObjectId(id, repo)) done(id);
        else if (status === 1 && id === '') done(null);
        else fail(new GitFault('git merge-base failed'));
      });
    });
  });
}

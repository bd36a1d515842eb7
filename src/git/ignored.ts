import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startGitWithInput, withStandIn } from './hardened.ts';
import type { Repository } from './repository.ts';
import { readSmall } from './small-file.ts';

const TIMEOUT = 20_000;
const EXCLUDE_BYTES = 1_048_576;

/**
 * @param paths relative to the top level.
 * @param personal the user's own file of patterns for every repository, absolute; null for none.
 * @returns which of them git ignores and has not in its index, so that no other clone will hold them; none where git cannot say.
 */
export async function ignoredPaths(
  repo: Repository,
  paths: readonly string[],
  personal: string | null,
): Promise<ReadonlySet<string>> {
  if (paths.length === 0) return new Set();
  const output = await withStandIn(
    repo,
    { head: null, refs: new Map(), timeout: TIMEOUT },
    async (session): Promise<Buffer> => {
      mkdirSync(join(session.folder, 'info'));
      const own = readSmall(join(repo.commonDir, 'info', 'exclude'), EXCLUDE_BYTES) ?? '';
      writeFileSync(join(session.folder, 'info', 'exclude'), own);
      // check-ignore takes no literal pathspecs; `./` keeps a name that begins with a colon from being magic.
      const env = { ...session.env, GIT_LITERAL_PATHSPECS: '0' };
      const child = startGitWithInput({ ...session, env }, [
        ...['-C', repo.topLevel, '--work-tree', repo.topLevel, '-c', 'core.bare=false'],
        ...(personal === null ? [] : ['-c', `core.excludesFile=${personal}`]),
        ...['check-ignore', '-z', '--stdin'],
      ]);
      const parts: Buffer[] = [];
      child.stdout.on('data', (part: Buffer) => parts.push(part));
      child.stdin.on('error', () => {});
      child.stdin.end(paths.map((path) => `./${path}\0`).join(''));
      return new Promise((done) => {
        child.once('error', () => done(Buffer.alloc(0)));
        child.once('close', () => done(Buffer.concat(parts)));
      });
    },
  );
  const told = output.toString('utf8').split('\0');
  return new Set(told.flatMap((path) => (path.startsWith('./') ? [path.slice(2)] : [])));
}

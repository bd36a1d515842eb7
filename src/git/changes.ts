import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { headCommit } from './git.ts';
import { GitFault, withStandIn } from './hardened.ts';
import { readSmall } from './small-file.ts';
import { ask, standIn, type Worktree } from './worktree.ts';

/** What became of a work tree since it was let go: measured, not claimed. Paths are relative to its top, sorted. */
export interface Changes {
  /** Changed, added or deleted, committed or not; without what git ignores. A repository within is named with `/` at its end. */
  readonly paths: readonly string[];
  /** Where its HEAD is now; null where that cannot be read. */
  readonly head: string | null;
  /** Something is staged that neither the files nor HEAD show. */
  readonly staged: boolean;
}

const EXCLUDE_BYTES = 1_048_576;

/** Takes what lies in the work tree now as what every later comparison is made with. @returns what differed from the commit. */
export async function takeBaseline(worktree: Worktree): Promise<readonly string[]> {
  return withStandIn(worktree.repository, standIn(), async (session) => {
    const paths = (await differing(session, worktree, exclude(worktree))).filter((path) => !path.endsWith('/'));
    // Only their ids: no object is written into the repository.
    if (paths.length > 0)
      await ask(
        session,
        worktree,
        ['update-index', '--info-only', '--add', '--remove', '-z', '--stdin'],
        paths.map((path) => `${path}\0`).join(''),
      );
    return paths;
  });
}

/**
 * Compares a work tree with what it held when it was let go. Throws GitFault where git cannot say: that is no proof that nothing changed.
 * @param ignored patterns of `.git/info/exclude` as they were then.
 */
export async function changesOf(worktree: Worktree, ignored: string): Promise<Changes> {
  const { repository, base } = worktree;
  const head = await headCommit(repository);
  return withStandIn(repository, standIn(), async (session) => {
    const paths = new Set(await differing(session, worktree, ignored));
    let staged = false;
    if (head !== null && head !== base) {
      const args = ['diff-tree', '-r', '-z', '--name-only', '--no-renames', '--no-commit-id', base, head];
      for (const path of split(await ask(session, worktree, args))) paths.add(path);
    }
    try {
      const args = ['diff-index', '--cached', '-z', '--name-only', '--no-renames', '--ignore-submodules=all'];
      const names = await ask(session, worktree, [...args, head ?? base], null, repository.indexFile);
      staged = split(names).some((path) => !paths.has(path));
    } catch (error) {
      if (!(error instanceof GitFault)) throw error;
      staged = true;
    }
    return { paths: [...paths].sort(), head, staged };
  });
}

/** The patterns that keep files of one clone out of git. */
export function exclude({ repository }: Pick<Worktree, 'repository'>): string {
  return readSmall(join(repository.commonDir, 'info', 'exclude'), EXCLUDE_BYTES) ?? '';
}

async function differing(
  session: Parameters<typeof ask>[0],
  worktree: Worktree,
  ignored: string,
): Promise<readonly string[]> {
  // Exits with 1 where anything has changed, which is what is asked next.
  await ask(session, worktree, ['update-index', '-q', '--ignore-submodules', '--really-refresh']).catch(() => '');
  const changed = await ask(session, worktree, [
    ...['diff-files', '-z', '--name-only', '--no-renames', '--no-ext-diff', '--no-textconv', '--ignore-submodules=all'],
  ]);
  const patterns = ignored.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('#'));
  const others = await ask(session, worktree, [
    ...['ls-files', '--others', '-z', '--exclude-per-directory=.gitignore'],
    ...patterns.map((pattern) => `--exclude=${pattern}`),
  ]);
  const modules = split(await ask(session, worktree, ['ls-files', '--stage', '-z'])).flatMap((line) =>
    line.startsWith('160000 ') ? [line.slice(line.indexOf('\t') + 1)] : [],
  );
  return [
    ...split(changed),
    ...split(others),
    // Git is not asked about what lies in a submodule: it would obey the settings there.
    ...modules.filter((path) => isFilled(join(worktree.path, path))).map((path) => `${path}/`),
  ];
}

function isFilled(folder: string): boolean {
  try {
    return readdirSync(folder).length > 0;
  } catch {
    return false;
  }
}

function split(output: string): readonly string[] {
  return output.split('\0').filter((one) => one !== '');
}

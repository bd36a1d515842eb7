import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { GitFault, withStandIn } from './hardened.ts';
import { readHead } from './head.ts';
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

/**
 * Takes what lies in the work tree now as what every later comparison is made with. What is missing of the commit is marked in the index of the work
 * tree, so that git takes it for absent on purpose: `git commit -a` does not delete it.
 * @returns what differed from the commit.
 */
export async function takeBaseline(worktree: Worktree): Promise<ReadonlySet<string>> {
  return withStandIn(worktree.repository, standIn(), async (session) => {
    const paths = (await differing(session, worktree, exclude(worktree))).filter((path) => !path.endsWith('/'));
    if (paths.length === 0) return new Set();
    const told = (names: readonly string[]): string => names.map((path) => `${path}\0`).join('');
    const tracked = new Set(split(await ask(session, worktree, ['ls-files', '-z'])));
    const missing = paths.filter((path) => tracked.has(path) && !exists(join(worktree.path, path)));
    const { indexFile } = worktree.repository;
    if (missing.length > 0)
      await ask(session, worktree, ['update-index', '--skip-worktree', '-z', '--stdin'], told(missing), indexFile);
    // Only their ids: no object is written into the repository.
    const args = ['update-index', '--info-only', '--add', '--remove', '-z', '--stdin'];
    await ask(session, worktree, args, told(paths));
    return new Set(paths);
  });
}

/**
 * Compares a work tree with what it held when it was let go. Throws GitFault where git cannot say: that is no proof that nothing changed.
 * @param ignored patterns of `.git/info/exclude` as they were then. @param baseline what differed from the commit then: nobody is blamed for committing it.
 */
export async function changesOf(worktree: Worktree, ignored: string, baseline: ReadonlySet<string>): Promise<Changes> {
  const { repository, base } = worktree;
  // Read as a file: what an agent may have written there is not handed to git.
  const at = readHead(repository);
  const head = typeof at === 'string' ? null : at.commit;
  return withStandIn(repository, standIn(), async (session) => {
    const paths = new Set(await differing(session, worktree, ignored));
    let staged = false;
    if (head !== null && head !== base) {
      const args = ['diff-tree', '-r', '-z', '--name-only', '--no-renames', '--no-commit-id', base, head];
      for (const path of split(await ask(session, worktree, args))) if (!baseline.has(path)) paths.add(path);
    }
    try {
      const args = ['diff-index', '--cached', '-z', '--name-only', '--no-renames', '--ignore-submodules=all'];
      const names = await ask(session, worktree, [...args, head ?? base], null, repository.indexFile);
      staged = split(names).some((path) => !paths.has(path) && !baseline.has(path));
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

function exists(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
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

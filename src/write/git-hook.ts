import { spawnSync } from 'node:child_process';
import { existsSync, lstatSync, readFileSync, realpathSync, renameSync, unlinkSync } from 'node:fs';
import { isAbsolute, join, relative, resolve, sep } from 'node:path';
import { makeFolder } from '../files/make-folder.ts';
import { writeAtomic } from '../files/write-atomic.ts';
import { cleanEnvironment } from '../git/hardened.ts';
import type { Repository } from '../git/repository.ts';

export const HOOK = 'pre-commit';
/** The hook that was there before; ours runs it first. */
export const BEFORE = 'pre-commit.before-writ';
const MARK = '# writ hook 1: made by writ hook install, taken away by writ hook uninstall';
const TIMEOUT = 10_000;
const SMALL = 1_048_576;

/** Where git looks for hooks. `outside`: a setting sends it out of the repository, where other repositories share it. */
export interface HookPlace {
  readonly folder: string;
  readonly outside: boolean;
}

/** A program that manages the hooks itself, and what to give it. */
export interface Manager {
  readonly name: 'husky' | 'lefthook' | 'pre-commit';
  /** The file its user edits, relative to the top level. */
  readonly file: string;
  readonly snippet: string;
  /** Whether the file calls writ already. */
  readonly calls: boolean;
}

type HookState = 'none' | 'ours' | 'other';

/**
 * The folder git itself would run hooks from: `core.hooksPath` of any of the user's and the repository's settings, else `hooks` beside the objects, which all work
 * trees share. Git is asked, since includes and conditions count; `git config` starts no program. @returns null where git can't be asked.
 */
export function hookPlace(repo: Repository, env: Readonly<Record<string, string | undefined>>): HookPlace | null {
  const passed = [
    'HOME',
    'XDG_CONFIG_HOME',
    'USERPROFILE',
    'GIT_CONFIG_GLOBAL',
    'GIT_CONFIG_SYSTEM',
    'GIT_CONFIG_NOSYSTEM',
  ];
  const { GIT_CONFIG_GLOBAL: _global, GIT_CONFIG_NOSYSTEM: _system, ...clean } = cleanEnvironment(repo);
  const own = Object.fromEntries(passed.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])));
  const asked = spawnSync('git', ['--no-pager', 'config', '--null', '--type=path', '--get', 'core.hooksPath'], {
    cwd: repo.topLevel,
    env: { ...clean, ...own, GIT_DIR: repo.gitDir, GIT_WORK_TREE: repo.topLevel },
    encoding: 'utf8',
    timeout: TIMEOUT,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  // 1: no such setting.
  if (asked.error !== undefined || (asked.status !== 0 && asked.status !== 1)) return null;
  const set = asked.status === 0 ? asked.stdout.replace(/\0$/, '') : '';
  const folder = set === '' ? join(repo.commonDir, 'hooks') : resolve(repo.topLevel, set);
  const real = realFolder(folder);
  const homes = [repo.topLevel, repo.commonDir, repo.gitDir];
  return { folder, outside: !homes.some((home) => isBelow(home, real)) };
}

/** @returns the managers whose set-up lies in the work tree, husky first. */
export function managersOf(repo: Repository): readonly Manager[] {
  const call = 'npx --no-install writ hook pre-commit';
  const text = (file: string): string => readSmallText(join(repo.topLevel, file));
  const found: Manager[] = [];
  const add = (name: Manager['name'], file: string, snippet: string): void => {
    found.push({ name, file, snippet, calls: /\bwrit\b[^\n]*\bhook pre-commit\b/.test(text(file)) });
  };
  if (existsSync(join(repo.topLevel, '.husky'))) add('husky', '.husky/pre-commit', `${call}\n`);
  const lefthook = ['lefthook', '.lefthook'].flatMap((name) => ['.yml', '.yaml'].map((end) => name + end));
  const lefthookFile = lefthook.find((file) => existsSync(join(repo.topLevel, file)));
  if (lefthookFile !== undefined)
    add(
      'lefthook',
      lefthookFile,
      `assert_lefthook_installed: true\npre-commit:\n  commands:\n    writ:\n      run: ${call}\n`,
    );
  if (existsSync(join(repo.topLevel, '.pre-commit-config.yaml')))
    add(
      'pre-commit',
      '.pre-commit-config.yaml',
      `repos:\n  - repo: local\n    hooks:\n      - id: writ\n        name: writ\n        language: system\n        entry: ${call}\n        pass_filenames: false\n        always_run: true\n`,
    );
  return found;
}

/**
 * The hook as text. Absolute paths, since a hook's PATH is anybody's; no writ, no commit. `root`: the workspace below the top level, or empty.
 * What node would load by its environment is left out.
 */
export function hookScript(node: string, command: string, root: string): string {
  return `#!/bin/sh
${MARK}
# Judges what is about to be committed and blocks what it refuses. A missing writ blocks too.
node=${quoted(node)}
writ=${quoted(command)}
before=$(dirname -- "$0")/${BEFORE}
if [ -x "$before" ]; then
  "$before" "$@" || exit $?
fi
if [ ! -x "$node" ] || [ ! -f "$writ" ]; then
  echo "writ: nothing was checked, so nothing is committed: $node or $writ is gone." >&2
  echo "writ: install writ again, then: writ hook install --git (or take the hook away: rm \\"$0\\")" >&2
  exit 1
fi
unset NODE_OPTIONS NODE_PATH
"$node" "$writ" hook pre-commit${root === '' ? '' : ` --root ${quoted(root)}`}
code=$?
[ "$code" -eq 0 ] || exit "$code"
`;
}

/** @returns whose hook lies there. */
export function hookState(folder: string): HookState {
  const path = join(folder, HOOK);
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return 'none';
  return readSmallText(path).split('\n', 2)[1] === MARK ? 'ours' : 'other';
}

/** Writes the hook; one that was there is kept as BEFORE and goes on running. @returns what was done, or why nothing was. */
export function installHook(
  folder: string,
  script: string,
): 'same' | 'written' | 'chained' | { readonly fault: string } {
  const path = join(folder, HOOK);
  const before = join(folder, BEFORE);
  const state = hookState(folder);
  if (state === 'ours' && readSmallText(path) === script) return 'same';
  if (state === 'other' && lstatSync(before, { throwIfNoEntry: false }) !== undefined)
    return { fault: `${path} is not writ's, and ${before} is there already: keep one of the two, then install again` };
  makeFolder(folder, 0o777);
  if (state === 'other') renameSync(path, before);
  try {
    writeAtomic(path, script, 0o755);
  } catch (error) {
    if (state === 'other') renameSync(before, path);
    throw error;
  }
  return state === 'other' ? 'chained' : 'written';
}

/** Takes our hook away and puts the one before back. @returns what was done. */
export function uninstallHook(folder: string): 'none' | 'other' | 'removed' | 'restored' {
  const state = hookState(folder);
  if (state !== 'ours') return state;
  const before = join(folder, BEFORE);
  if (lstatSync(before, { throwIfNoEntry: false }) === undefined) {
    unlinkSync(join(folder, HOOK));
    return 'removed';
  }
  renameSync(before, join(folder, HOOK));
  return 'restored';
}

/** The node and the writ a hook of ours calls; null where it names none. */
export function calledBy(script: string): { readonly node: string | null; readonly writ: string | null } {
  const named = (name: string): string | null => {
    const found = new RegExp(`^${name}='((?:[^']|'\\\\'')*)'$`, 'm').exec(script)?.[1];
    return found === undefined ? null : found.replaceAll("'\\''", "'");
  };
  return { node: named('node'), writ: named('writ') };
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}

function readSmallText(path: string): string {
  try {
    const stat = lstatSync(path);
    return stat.isFile() && stat.size <= SMALL ? readFileSync(path, 'utf8') : '';
  } catch {
    return '';
  }
}

/** The real place of a folder, or of its deepest part that exists. */
function realFolder(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    const parent = join(path, '..');
    return parent === path
      ? path
      : join(realFolder(parent), path.slice(parent.length + (parent.endsWith(sep) ? 0 : 1)));
  }
}

function isBelow(folder: string, path: string): boolean {
  const found = relative(folder, path);
  return found !== '..' && !found.startsWith(`..${sep}`) && !isAbsolute(found);
}

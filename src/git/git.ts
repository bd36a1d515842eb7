import { join } from 'node:path';
import { cleanEnvironment, GitFault, SAFE_CONFIG, withStandIn } from './hardened.ts';
import { isObjectId, readHead } from './head.ts';
import type { Repository } from './repository.ts';

const TIMEOUT = 20_000;
const NAME = /^[\w./@{}~^+-]{1,255}$/;

/** @returns the commit HEAD names, or null where there is none yet or it can't be read. Runs no process but with reftable storage. */
export async function headCommit(repo: Repository): Promise<string | null> {
  const head = readHead(repo);
  if (head === 'unborn') return null;
  return head === 'unreadable' ? resolveCommit(repo, 'HEAD') : head.commit;
}

/**
 * Resolves a branch, tag, `HEAD~2` or abbreviated id to the full id of a commit; null where it names none. The only query that lets git see the
 * repository's own git folder, since the refs are there; everything its config could run is switched off on the command line.
 */
export async function resolveCommit(repo: Repository, name: string): Promise<string | null> {
  if (name.startsWith('-') || !NAME.test(name)) return null;
  const env = { ...cleanEnvironment(repo), GIT_DIR: repo.gitDir, GIT_WORK_TREE: repo.topLevel };
  const output = await ask(repo.gitDir, env, [
    'rev-parse',
    '--verify',
    '--quiet',
    '--end-of-options',
    `${name}^{commit}`,
  ]);
  const id = output?.trim() ?? '';
  return isObjectId(id, repo) ? id : null;
}

/** @returns the URL of the remote `origin` without user name and password, or null. Only a proposal for a workspace id: nothing connects to it. */
export async function remoteUrl(repo: Repository): Promise<string | null> {
  const args = ['config', '--file', join(repo.commonDir, 'config'), '--no-includes', '--get', 'remote.origin.url'];
  const output = await withStandIn(repo, { head: null, refs: new Map(), timeout: TIMEOUT }, ({ folder, env }) =>
    ask(folder, env, args),
  );
  const url = output?.split('\n', 1)[0]?.trim() ?? '';
  if (url === '' || /[\0-\x1f\x7f]/.test(url)) return null;
  return url.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/@]*@/i, '$1');
}

/**
 * @returns which of these full ids are HEAD or its ancestors, in one process. Ids that are no full ids, unknown here, or cut off by a shallow clone
 * are not among them. Throws GitFault where git fails.
 */
export async function ancestors(repo: Repository, commits: readonly string[]): Promise<ReadonlySet<string>> {
  const asked = new Set(commits.filter((id) => isObjectId(id, repo)));
  const head = asked.size === 0 ? null : await headCommit(repo);
  if (head === null) return new Set();
  // The ids become refs of the stand-in, so no id is ever an argument and a missing object is no error.
  const refs = new Map([...asked].map((id) => [`refs/ask/${id}`, id]));
  return withStandIn(repo, { head, refs, timeout: TIMEOUT }, async ({ folder, env }) => {
    const args = ['for-each-ref', `--merged=${head}`, '--format=%(objectname)', 'refs/ask/'];
    const output = await ask(folder, env, args);
    if (output === null) throw new GitFault('git for-each-ref failed');
    return new Set(output.split('\n').filter((id) => asked.has(id)));
  });
}

/**
 * Runs one fixed query. Null where git ends with an error; throws GitFault where it could not run or took too long. The switches named unsafe are
 * needed to *set* the safe values of SAFE_CONFIG and the environment; no argument comes from outside unchecked (facts 7.1).
 */
async function ask(
  folder: string,
  env: Readonly<Record<string, string>>,
  args: readonly string[],
): Promise<string | null> {
  const { GitPluginError, simpleGit } = await import('simple-git');
  const git = simpleGit({
    baseDir: folder,
    config: [...SAFE_CONFIG],
    timeout: { block: TIMEOUT },
    allowEnvironment: Object.keys(env),
    unsafe: {
      allowUnsafeAskPass: true,
      allowUnsafeConfigPaths: true,
      allowUnsafeCredentialHelper: true,
      allowUnsafeDiffExternal: true,
      allowUnsafeFsMonitor: true,
      allowUnsafeGitProxy: true,
      allowUnsafeGpgProgram: true,
      allowUnsafeHooksPath: true,
      allowUnsafePack: true,
      allowUnsafePager: true,
      allowUnsafeProtocolOverride: true,
      allowUnsafeSshCommand: true,
    },
  }).env({ ...env });
  try {
    return await git.raw([...args]);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    if (error instanceof GitPluginError || /spawn .*E[A-Z]+/.test(message))
      throw new GitFault(`git could not run: ${message}`);
    return null;
  }
}

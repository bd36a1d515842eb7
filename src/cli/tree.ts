import { openRoot } from '../files/workspace-root.ts';
import type { Judgement } from '../gate.ts';
import { headCommit, resolveCommit } from '../git/git.ts';
import { GitFault } from '../git/hardened.ts';
import { isObjectId, isShallow, readHead } from '../git/head.ts';
import { mergeBase, parentsOf } from '../git/range.ts';
import { type Repository, repositoryOfHook } from '../git/repository.ts';
import { exitOf } from '../report/verdicts.ts';
import { judgeTree, type TreeChange } from '../tree/judge-tree.ts';
import { EMPTY_TREE, treeOfCommit, treeOfIndex } from '../tree/tree.ts';
import { type Call, CannotError, EXIT, type Exit, flag, text, UsageError } from './command.ts';
import { toRequest, type Workspace } from './workspace.ts';

/** Judged by blobs. */
export interface AskedJudgement {
  /** Only what the change is to answer for. */
  readonly judgement: Judgement;
  /** What was compared, in words, and how many paths differ. */
  readonly about: string;
  readonly changed: number;
  readonly exit: Exit;
}

/** Judges the index (`--staged`), a range (`--rev A..B`) or one commit (`--commit SHA`). Throws CannotError, exit 4, where git can't give it. */
export async function judgeAsked(call: Call, workspace: Workspace): Promise<AskedJudgement> {
  const repository = process.env.GIT_QUARANTINE_PATH
    ? repositoryOfHook(process.env, process.cwd())
    : workspace.repository;
  if (repository === null) throw new CannotError('this is no git work tree: --staged, --rev and --commit need one');
  const here = { ...workspace, repository };
  return guarded(here, async () => {
    const rev = text(call, 'rev');
    const commit = text(call, 'commit');
    const asked =
      rev !== null ? await rangeOf(here, rev) : commit !== null ? await commitOf(here, commit) : await stagedOf(here);
    return judged(call, here, asked);
  });
}

/** Judges the index of the repository a git hook runs for: what git set in the environment counts (facts 5.2). */
export async function judgeForHook(call: Call, opened: Workspace): Promise<AskedJudgement> {
  const repository = repositoryOfHook(process.env, process.cwd());
  if (repository === null) throw new CannotError('this is no git work tree');
  const root = text(call, 'root') === null ? openRoot(repository.topLevel) : opened.root;
  const workspace = { ...opened, repository, root };
  return guarded(workspace, async () => judged(call, workspace, await stagedOf(workspace)));
}

/** As for a check of the work tree; and a change that takes away what must bind is refused. */
async function judged(call: Call, workspace: Placed, { about, ...change }: Asked): Promise<AskedJudgement> {
  const { judgement, changed, takesBinding } = await judgeTree(toRequest(workspace, call, null), change);
  const isRefused = takesBinding && judgement.enforcement === 'enforce';
  const exit = isRefused ? EXIT.refused : exitOf(judgement, flag(call, 'strict'));
  return { judgement, about, changed: changed.size, exit };
}

type Placed = Workspace & { readonly repository: Repository };
type Asked = TreeChange & { readonly about: string };

async function stagedOf(workspace: Placed): Promise<Asked> {
  const { repository } = workspace;
  const prefix = prefixOf(workspace);
  const head = readHead(repository) === 'unborn' ? null : await headCommit(repository);
  if (head === null && readHead(repository) !== 'unborn') throw new CannotError('HEAD names no commit that is here');
  return {
    repository,
    base: head === null ? EMPTY_TREE : await treeOfCommit(repository, head, prefix),
    next: await treeOfIndex(repository, prefix),
    head: null,
    trusted: null,
    about: head === null ? 'the index, before the first commit' : `the index against HEAD ${head.slice(0, 10)}`,
  };
}

/**
 * `A..B` compares the two trees: what A has and B has not is taken away, so a forced push can't lose a revocation unseen. `A...B` compares B with the commit
 * where the two parted, as a branch that is behind its target wants. Trust comes from A either way.
 */
async function rangeOf(workspace: Placed, range: string): Promise<Asked> {
  const { repository } = workspace;
  const [, from = '', dots = '', to = ''] = /^(.+?)(\.{2,3})(?!\.)(.*)$/.exec(range) ?? [];
  if (from === '') throw new UsageError(`--rev takes A..B or A...B, for example origin/main..HEAD, not ${range}`);
  if (/^0+$/.test(from))
    throw new CannotError(
      `${from} is no commit: the branch is new. Compare with the branch it came from: writ check --rev main...${to}`,
    );
  const next = await known(repository, to || 'HEAD');
  const trusted = await known(repository, from);
  const prefix = prefixOf(workspace);
  const start = await treeOfCommit(repository, trusted, prefix);
  const parted = await mergeBase(repository, trusted, next);
  const names = `${trusted.slice(0, 10)}${dots}${next.slice(0, 10)}`;
  const asked = { repository, next: await treeOfCommit(repository, next, prefix), head: next, trusted: start };
  if (dots === '..') {
    const forward = parted === trusted || (parted === null && isShallow(repository));
    const note = ` (${from} is no ancestor of ${to || 'HEAD'}: what it gained since counts as taken away; for a branch that is behind use A...B)`;
    return { ...asked, base: start, about: `${names}${forward ? '' : note}` };
  }
  if (parted === null)
    throw new CannotError(
      isShallow(repository)
        ? `this clone is shallow, so it can not be seen where ${to || 'HEAD'} left ${from}. Get the history: git fetch --unshallow (in CI: fetch-depth: 0)`
        : `${from} and ${to || 'HEAD'} have no commit in common: compare them with two dots`,
    );
  return {
    ...asked,
    base: parted === trusted ? start : await treeOfCommit(repository, parted, prefix),
    about: `${names}, from ${parted.slice(0, 10)} where they parted`,
  };
}

async function commitOf(workspace: Placed, name: string): Promise<Asked> {
  const { repository } = workspace;
  const next = await known(repository, name);
  const [parent] = (await parentsOf(repository, next)) ?? [];
  const prefix = prefixOf(workspace);
  const tree = await treeOfCommit(repository, next, prefix);
  if (parent === undefined)
    return {
      repository,
      base: EMPTY_TREE,
      next: tree,
      head: next,
      trusted: null,
      about: `commit ${next.slice(0, 10)}, the first one`,
    };
  if ((await parentsOf(repository, parent)) === null)
    throw new CannotError(
      `the parent of ${name} is not in this clone${isShallow(repository) ? ', which is shallow' : ''}. Get the history: git fetch --unshallow (in CI: fetch-depth: 0)`,
    );
  const base = await treeOfCommit(repository, parent, prefix);
  return {
    repository,
    base,
    next: tree,
    head: next,
    trusted: base,
    about: `commit ${next.slice(0, 10)} against its first parent`,
  };
}

/** The full id of a commit that is here. A full id is looked up by itself: in a push its objects are not where names are resolved. */
async function known(repository: Repository, name: string): Promise<string> {
  const id = isObjectId(name, repository) ? name : await resolveCommit(repository, name);
  if (id !== null && (await parentsOf(repository, id)) !== null) return id;
  const why = isShallow(repository)
    ? 'this clone is shallow; get the history: git fetch --unshallow (in CI: fetch-depth: 0)'
    : `after a force push the old commit is gone: fetch it by its id (git fetch origin ${name}), or compare with a branch: writ check --rev origin/main..HEAD`;
  throw new CannotError(`${name} names no commit that is here; ${why}`);
}

function prefixOf({ repository, root }: Placed): string {
  if (repository.topLevel === root.path) return '';
  if (!root.path.startsWith(`${repository.topLevel}/`))
    throw new CannotError(`${root.path} lies outside the git work tree ${repository.topLevel}`);
  return `${root.path.slice(repository.topLevel.length + 1).replaceAll('\\', '/')}/`;
}

async function guarded<T>({ repository }: Placed, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof GitFault)) throw error;
    const shallow = isShallow(repository)
      ? ' This clone is shallow: git fetch --unshallow (in CI: fetch-depth: 0).'
      : '';
    throw new CannotError(`git could not give what has to be judged: ${error.message}.${shallow}`);
  }
}

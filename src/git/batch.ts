import { copyFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type CommitObject, parseCommit } from './commit-object.ts';
import { GitFault, type Session, type StandIn, startGit, withStandIn } from './hardened.ts';
import { isObjectId, isShallow } from './head.ts';
import { type ObjectReader, openObjects } from './objects.ts';
import type { Repository } from './repository.ts';
import { findTouches } from './touches.ts';
import { findInTrees, type Lookup, listBelow, openTrees, pathFrom, type TreeEntry, type Trees } from './tree.ts';

/** The commit that put the bytes of a path where they are. Every field comes from objects whose hash was checked. */
export interface CommitFact {
  readonly commit: string;
  /** The object id of the file after the commit; the caller compares it with the bytes it read. */
  readonly blob: string;
  /** Armored SSH signature over `payload`. Null where there is none, it is of another kind, or the commit is a merge: that proves nobody. */
  readonly signature: string | null;
  /** The exact bytes that were signed. */
  readonly payload: Uint8Array;
  /** The committer's date, unix ms: the committer chose it. */
  readonly committedAt: number;
  readonly isMerge: boolean;
  /** What lies at `Also.beside` in the tree of the commit; null where nothing was asked, nothing is there, or it is too large. */
  readonly beside: Uint8Array | null;
}

/** What a search may be asked for besides regular files. */
export interface Also {
  /** Paths that are links: their blob is where they lead to. */
  readonly links: ReadonlySet<string>;
  /** One path to read in the tree of every commit found. */
  readonly beside: string;
}

/** What the history says of a set of paths. A path that is absent has no commit that can be proven to have put it there. */
export interface LastCommits {
  readonly facts: ReadonlyMap<string, CommitFact>;
  /** The history was not searched to its end: cut off (shallow), too long, out of time, or git failed. */
  readonly truncated: boolean;
  /** Why git could not answer at all, else null. */
  readonly fault: string | null;
}

/** One entry of the index. */
export interface IndexEntry extends TreeEntry {
  /** 0, or 1 to 3 in an unresolved merge. */
  readonly stage: number;
}

/** Blobs by id. An id in neither map is missing, no blob, or damaged. */
export interface BlobsRead {
  readonly blobs: ReadonlyMap<string, Uint8Array>;
  /** Id to size in bytes of those over the limit. */
  readonly tooLarge: ReadonlyMap<string, number>;
}

const TIMEOUT = 20_000;
const COMMIT_BYTES = 1_048_576;
const UNUSABLE = /\0|(?:^|\/)\.{0,2}(?:\/|$)/;
const REGULAR = new Set(['100644', '100755']);
const LINK = '120000';
const BESIDE_BYTES = 262_144;
const NO_REFS: ReadonlyMap<string, string> = new Map();

/**
 * For each path (relative to `repo.topLevel`, `/`): the last first-parent commit, counted from the commit `head`, that changed its bytes.
 *
 * The log only proposes a commit. It counts when hashed objects bear it out: the commit's own tree has the file, and the tree of the first parent
 * *named in the commit itself* has not the same blob there. So grafts, replacements, a forged commit-graph, a faked shallow file and damaged packs
 * can make a fact vanish, never make one. Deleted paths, links and submodules have none. A merge that changed the path is told as a merge, without signature.
 */
export async function lastCommits(
  repo: Repository,
  head: string,
  paths: ReadonlySet<string>,
  also?: Also,
): Promise<LastCommits> {
  const facts = new Map<string, CommitFact>();
  // A path git refuses as an argument would end the whole log, and so hide every other path.
  const usable = new Set([...paths].filter((path) => !UNUSABLE.test(path)));
  if (!isObjectId(head, repo)) return { facts, truncated: true, fault: 'HEAD is no commit id' };
  if (usable.size === 0) return { facts, truncated: false, fault: null };
  try {
    return await withStandIn(repo, { head, refs: NO_REFS, timeout: TIMEOUT }, async (session) => {
      const reader = openObjects(repo, session);
      try {
        const touches = await findTouches(session, head, usable);
        const found = await proven(repo, reader, touches.commits, also ?? null);
        const cut = found.size < usable.size && isShallow(repo);
        return {
          facts: found,
          truncated: !touches.complete || cut,
          fault: null,
        };
      } finally {
        reader.close();
      }
    });
  } catch (error) {
    if (error instanceof GitFault) return { facts, truncated: true, fault: error.message };
    throw error;
  }
}

/** Reads blobs by id, hash-checked; at most `maxBytes` each. Throws GitFault where git fails. */
export async function readBlobs(repo: Repository, ids: Iterable<string>, maxBytes: number): Promise<BlobsRead> {
  return withStandIn(repo, noHead(), (session) =>
    withReader(repo, session, async (reader) => {
      const { objects, tooLarge } = await reader.read(ids, 'blob', maxBytes);
      return { blobs: objects, tooLarge };
    }),
  );
}

/** Lists the files of a commit by its full id, hash-checked. Throws GitFault where the commit or a tree of it is missing or damaged. */
export async function listTree(repo: Repository, commit: string): Promise<readonly TreeEntry[]> {
  return withStandIn(repo, noHead(), (session) =>
    withReader(repo, session, async (reader) => {
      const { objects } = await reader.read([commit], 'commit', COMMIT_BYTES);
      const bytes = objects.get(commit);
      const parsed = bytes === undefined ? null : parseCommit(bytes, commit.length);
      if (parsed === null) throw new GitFault(`commit ${commit.slice(0, 64)} is missing or damaged`);
      return listBelow(openTrees(repo, reader), parsed.tree);
    }),
  );
}

/** Lists the index (`repo.indexFile`), in git's order. A file added with intent only has the empty blob. Throws GitFault where git can't read it. */
export async function listIndex(repo: Repository): Promise<readonly IndexEntry[]> {
  return withStandIn(repo, noHead(), async (session) => {
    copySharedIndex(repo, session);
    const output = await outputOf(session, ['ls-files', '--stage', '-z', '--full-name']);
    const entries: IndexEntry[] = [];
    let start = 0;
    for (let end = output.indexOf(0); end !== -1; end = output.indexOf(0, start)) {
      const tab = output.indexOf(9, start);
      const [mode = '', blob = '', stage = ''] = output.toString('latin1', start, tab).split(' ');
      if (tab === -1 || tab > end || !isObjectId(blob, repo)) throw new GitFault('the index can not be read');
      entries.push({ ...pathFrom(output.subarray(tab + 1, end)), mode, blob, stage: Number(stage) });
      start = end + 1;
    }
    return entries;
  });
}

async function proven(
  repo: Repository,
  reader: ObjectReader,
  touched: ReadonlyMap<string, string>,
  also: Also | null,
): Promise<Map<string, CommitFact>> {
  const facts = new Map<string, CommitFact>();
  const commits = await readCommits(repo, reader, touched.values());
  const parents = await readCommits(
    repo,
    reader,
    [...commits.values()].flatMap((one) => one.parents.slice(0, 1)),
  );
  const asked: { path: string; id: string; commit: CommitObject }[] = [];
  const after: Lookup[] = [];
  const before: Lookup[] = [];
  for (const [path, id] of touched) {
    const commit = commits.get(id);
    if (commit === undefined) continue;
    const [first] = commit.parents;
    const parent = first === undefined ? null : parents.get(first);
    if (parent === undefined) continue;
    asked.push({ path, id, commit });
    after.push({ tree: commit.tree, path });
    if (parent !== null) before.push({ tree: parent.tree, path });
    else before.push({ tree: '', path });
  }
  const trees = openTrees(repo, reader);
  const looked = await findInTrees(trees, [...after, ...before.filter(({ tree }) => tree !== '')]);
  const besides = also === null ? null : await readBeside(reader, trees, commits, also.beside);
  let next = after.length;
  for (const [index, { path, id, commit }] of asked.entries()) {
    const now = looked[index];
    const was = before[index]?.tree === '' ? null : looked[next++];
    if (now === null || now === undefined || now === 'unknown' || was === undefined || was === 'unknown') continue;
    if (!(also?.links.has(path) ? now.mode === LINK : REGULAR.has(now.mode)) || was?.id === now.id) continue;
    const isMerge = commit.parents.length > 1;
    const { payload, committedAt } = commit;
    facts.set(path, {
      commit: id,
      blob: now.id,
      signature: isMerge ? null : commit.signature,
      payload,
      committedAt,
      isMerge,
      beside: besides?.get(id) ?? null,
    });
  }
  return facts;
}

/** @returns the bytes of one path in each of some commits, by commit id; absent where it is no regular file there. */
async function readBeside(
  reader: ObjectReader,
  trees: Trees,
  commits: ReadonlyMap<string, CommitObject>,
  path: string,
): Promise<ReadonlyMap<string, Uint8Array>> {
  const ids = [...commits.keys()];
  const found = await findInTrees(
    trees,
    ids.map((id) => ({ tree: commits.get(id)?.tree ?? '', path })),
  );
  const blobOf = (index: number): string | null => {
    const entry = found[index];
    return entry && entry !== 'unknown' && REGULAR.has(entry.mode) ? entry.id : null;
  };
  const { objects } = await reader.read(
    ids.flatMap((_id, index) => blobOf(index) ?? []),
    'blob',
    BESIDE_BYTES,
  );
  return new Map(
    ids.flatMap((id, index) => {
      const bytes = objects.get(blobOf(index) ?? '');
      return bytes === undefined ? [] : [[id, bytes] as const];
    }),
  );
}

async function readCommits(
  repo: Repository,
  reader: ObjectReader,
  ids: Iterable<string>,
): Promise<Map<string, CommitObject>> {
  const { objects } = await reader.read(ids, 'commit', COMMIT_BYTES);
  const commits = new Map<string, CommitObject>();
  for (const [id, bytes] of objects) {
    const parsed = parseCommit(bytes, repo.objectFormat === 'sha256' ? 64 : 40);
    if (parsed !== null) commits.set(id, parsed);
  }
  return commits;
}

/** A split index keeps its larger half beside it, where git looks for it in its git folder. */
function copySharedIndex(repo: Repository, session: Session): void {
  for (const entry of readdirSync(repo.gitDir, { withFileTypes: true })) {
    const { name } = entry;
    // Only a regular file: copying a FIFO would wait forever.
    if (entry.isFile() && /^sharedindex\.[0-9a-f]+$/.test(name))
      copyFileSync(join(repo.gitDir, name), join(session.folder, name));
  }
}

function noHead(): StandIn {
  return { head: null, refs: NO_REFS, timeout: TIMEOUT };
}

async function withReader<T>(
  repo: Repository,
  session: Session,
  work: (reader: ObjectReader) => Promise<T>,
): Promise<T> {
  const reader = openObjects(repo, session);
  try {
    return await work(reader);
  } finally {
    reader.close();
  }
}

function outputOf(session: Session, args: readonly string[]): Promise<Buffer> {
  const child = startGit(session, args);
  return new Promise((done, fail) => {
    const parts: Buffer[] = [];
    child.stdout.on('data', (part: Buffer) => parts.push(part));
    child.on('error', (error: NodeJS.ErrnoException) =>
      fail(new GitFault(`git could not run: ${error.code ?? error.name}`)),
    );
    child.on('close', (status) => {
      if (status === 0) done(Buffer.concat(parts));
      else fail(new GitFault(`git ${args[0] ?? ''} failed`));
    });
  });
}

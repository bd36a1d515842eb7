import { closeSync, ftruncateSync, openSync, symlinkSync, writeFileSync } from 'node:fs';
import { posix } from 'node:path';
import { importsOf, mentionsOf, resolveImport } from '../discover/imports.ts';
import { makeFolder } from '../files/make-folder.ts';
import { reasonOf } from '../files/open-file.ts';
import { readBlobs } from '../git/batch.ts';
import { GitFault } from '../git/hardened.ts';
import type { Repository } from '../git/repository.ts';
import { finding } from '../model/codes.ts';
import { escapePath } from '../model/escaped.ts';
import type { Finding } from '../model/finding.ts';
import type { InitPattern } from '../model/policy.ts';
import { DEFAULT_LIMITS } from '../policy/defaults.ts';
import { POLICY_FILE } from '../policy/policy-set.ts';
import { SET_FILE } from '../policy/set-file.ts';
import { openStatement } from '../sign/statement.ts';
import { namedOf } from './named.ts';
import { LINK, NOT_UTF8, SUBMODULE, type Tree } from './tree.ts';
import { folderOf, type Wanted, wantedOf } from './wanted.ts';

/** Where a link points, and a file of a policy set, in bytes. */
const LINK_BYTES = 4_096;
const SET_BYTES = 4_194_304;
/** Largest board, in bytes: as read-candidates.ts reads them. */
const BOARD_BYTES = 268_435_456;
/** Most files and bytes laid out for one judgement; a tree beyond is not judged at all. */
const MAX_FILES = 200_000;
const MAX_BYTES = 2_147_483_648;
/** Files read from git in one go. */
const ROUND = 256;
/** Imports of imports; hosts follow at most five. */
const HOPS = 6;

/** What was laid out. */
export interface LaidOut {
  /** What could not be. */
  readonly findings: readonly Finding[];
  /** Where each link of the tree points. */
  readonly targets: ReadonlyMap<string, string>;
}

/** Lays out what judging a tree needs in an empty folder. Throws GitFault where git fails or there is too much. */
export async function layOut(repo: Repository, tree: Tree, folder: string): Promise<LaidOut> {
  const targets = await readTargets(repo, tree);
  const set = await readSets(repo, tree);
  const wanted = wantedOf(tree, targets, set.initPaths);
  for (const path of set.files) wanted.take(path);
  const laid = openLayout(repo, tree, folder, Math.max(SET_BYTES, set.fileBytes));
  for (const path of wanted.folders) laid.folder(path);
  for (let hop = 0; hop <= HOPS; hop += 1) {
    const fresh = [...wanted.files].filter((path) => !laid.has(path));
    if (fresh.length === 0) break;
    const boards = fresh.filter((path) => wanted.boards.has(path) || path.endsWith('.jsonl'));
    const rest = fresh.filter((path) => !boards.includes(path));
    for (let at = 0; at < rest.length; at += ROUND) await laid.put(rest.slice(at, at + ROUND), wanted, targets);
    for (const board of boards) await laid.board(board);
  }
  const told = new Map(tree.odd.map((one) => [`${one.path} ${one.why}`, one]));
  const odd = [...told.values()].filter((one) => one.why !== NOT_UTF8 || wanted.matters(one.path));
  const findings = [
    ...laid.findings,
    ...odd.map((one) => notJudged(one.path, one.why)),
    ...[...tree.files]
      .filter(([path, { mode }]) => mode === SUBMODULE && wanted.matters(path))
      .map(([file]) => incomplete(`${escapePath(file)} (a submodule: its files are in another repository)`, file)),
    ...[...wanted.unsearched].map((path) => incomplete(`${escapePath(path)} (links upon links)`)),
  ];
  return { findings, targets };
}

interface Layout {
  readonly findings: readonly Finding[];
  has(path: string): boolean;
  folder(path: string): void;
  put(paths: readonly string[], wanted: Wanted, targets: ReadonlyMap<string, string>): Promise<void>;
  board(path: string): Promise<void>;
}

function openLayout(repo: Repository, tree: Tree, root: string, fileBytes: number): Layout {
  const findings: Finding[] = [];
  const done = new Set<string>();
  const folders = new Set<string>();
  let bytes = 0;

  const folder = (path: string): void => {
    if (folders.has(path)) return;
    makeFolder(path === '' ? root : `${root}/${path}`, 0o700);
    folders.add(path);
  };
  const lay = (path: string, make: (place: string) => void): void => {
    try {
      folder(folderOf(path));
      make(`${root}/${path}`);
    } catch (error) {
      findings.push(notJudged(path, reasonOf((error as NodeJS.ErrnoException).code ?? 'EIO')));
    }
  };
  const file = (path: string, text: Uint8Array | undefined, size: number | undefined): void => {
    const mode = tree.files.get(path)?.mode === '100755' ? 0o755 : 0o644;
    if (text !== undefined) {
      bytes += text.length;
      if (bytes > MAX_BYTES) throw new GitFault(`over ${MAX_BYTES} bytes of init files`);
      lay(path, (place) => writeFileSync(place, text, { flag: 'wx', mode }));
    } else if (size !== undefined) lay(path, (place) => hollow(place, size));
    else findings.push(notJudged(path, 'git has not its bytes, or they are damaged'));
  };
  const named = namedOf(tree);
  const blobOf = (path: string): string => tree.files.get(path)?.blob ?? '';
  const mark = (paths: readonly string[]): void => {
    for (const path of paths) done.add(path);
    if (done.size > MAX_FILES) throw new GitFault(`over ${MAX_FILES} init files`);
  };

  return {
    findings,
    has: (path) => done.has(path),
    folder: (path) => lay(`${path}/x`, () => undefined),
    async put(paths, wanted, targets) {
      mark(paths);
      const plain: string[] = [];
      for (const path of paths) {
        const mode = tree.files.get(path)?.mode;
        const target = targets.get(path);
        if (mode === SUBMODULE) {
          folder(path);
          lay(`${path}/.git`, (place) => writeFileSync(place, 'gitdir: none\n', { flag: 'wx' }));
        } else if (mode !== LINK) plain.push(path);
        else if (target === undefined) findings.push(notJudged(path, 'it is a link whose target can not be read'));
        else lay(path, (place) => symlinkSync(target, place));
      }
      const { blobs, tooLarge } = await readBlobs(repo, plain.map(blobOf), fileBytes);
      for (const path of plain) {
        const text = blobs.get(blobOf(path));
        file(path, text, tooLarge.get(blobOf(path)));
        if (text !== undefined) for (const target of importedBy(path, text)) wanted.take(target);
        if (text !== undefined) for (const target of await named.by(path, text, targets)) wanted.take(target);
      }
    },
    async board(path) {
      mark([path]);
      const { blobs, tooLarge } = await readBlobs(repo, [blobOf(path)], BOARD_BYTES);
      file(path, blobs.get(blobOf(path)), tooLarge.get(blobOf(path)));
    },
  };
}

/** A file of a size and without bytes: whoever reads it sees that it is too large, and reads nothing. */
function hollow(place: string, size: number): void {
  const fd = openSync(place, 'wx', 0o644);
  try {
    ftruncateSync(fd, size);
  } finally {
    closeSync(fd);
  }
}

/** Everything a text may pull in, by any host's syntax; only what the tree has is laid out, so too much costs nothing. */
function importedBy(path: string, bytes: Uint8Array): ReadonlySet<string> {
  const found = new Set<string>();
  if (path.endsWith('.dsse.json') || !bytes.includes(64)) return found;
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
  for (const syntax of ['claude', 'gemini'] as const) {
    for (const { target } of [...importsOf(text, syntax), ...mentionsOf(text, syntax)]) {
      // Cursor means a file of the workspace.
      for (const from of path.endsWith('.mdc') ? [path, ''] : [path]) {
        const resolved = resolveImport(from, target);
        if ('path' in resolved) found.add(posix.normalize(resolved.path));
      }
    }
  }
  return found;
}

async function readTargets(repo: Repository, tree: Tree): Promise<ReadonlyMap<string, string>> {
  const links = [...tree.files].filter(([, file]) => file.mode === LINK);
  if (links.length === 0) return new Map();
  const { blobs } = await readBlobs(
    repo,
    links.map(([, file]) => file.blob),
    LINK_BYTES,
  );
  return new Map(
    links.flatMap(([path, { blob }]) => {
      const bytes = blobs.get(blob);
      return bytes === undefined ? [] : [[path, Buffer.from(bytes).toString('utf8')] as const];
    }),
  );
}

/** What every policy set of the tree, signed by whomever, adds to what is looked at: only more, so nobody has to be trusted yet. */
async function readSets(
  repo: Repository,
  tree: Tree,
): Promise<{
  readonly files: readonly string[];
  readonly initPaths: readonly InitPattern[];
  readonly fileBytes: number;
}> {
  const dirs = [...tree.files.keys()]
    .filter((path) => path === SET_FILE || path.endsWith(`/${SET_FILE}`))
    .map(folderOf);
  const files: string[] = [];
  const initPaths: InitPattern[] = [];
  let { fileBytes } = DEFAULT_LIMITS;
  if (dirs.length === 0) return { files, initPaths, fileBytes };
  const [{ parsePolicyFile }, { blobs }] = await Promise.all([
    import('../policy/policy-file.ts'),
    readBlobs(
      repo,
      dirs.flatMap((dir) => [SET_FILE, POLICY_FILE].map((name) => tree.files.get(under(dir, name))?.blob ?? '')),
      SET_BYTES,
    ),
  ]);
  for (const dir of dirs) {
    const bytesOf = (name: string): Uint8Array | undefined => blobs.get(tree.files.get(under(dir, name))?.blob ?? '');
    const opened = openStatement(bytesOf(SET_FILE) ?? new Uint8Array(), dir);
    if (!('refused' in opened) && opened.predicate.type === 'policy')
      files.push(...Object.keys(opened.predicate.files));
    const parsed = await parsePolicyFile(Buffer.from(bytesOf(POLICY_FILE) ?? []).toString('utf8'));
    if ('fault' in parsed) continue;
    files.push(...parsed.policy.constitution.documents);
    initPaths.push(...parsed.policy.initPaths);
    fileBytes = Math.max(fileBytes, parsed.policy.limits.fileBytes);
  }
  return { files, initPaths, fileBytes };
}

function under(dir: string, name: string): string {
  return dir === '' ? name : `${dir}/${name}`;
}

function incomplete(what: string, file?: string): Finding {
  return finding('discovery-incomplete', {
    message: `Not searched: ${what}.`,
    ...(file === undefined ? {} : { file }),
  });
}

function notJudged(path: string, why: string): Finding {
  return finding('path-unreadable', { message: `${escapePath(path)} could not be read from git: ${why}.`, file: path });
}

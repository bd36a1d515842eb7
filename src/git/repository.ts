import { realpathSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { readSmall } from './small-file.ts';

export type ObjectFormat = 'sha1' | 'sha256';

/** Where a git work tree and its data lie. All paths are real and absolute. */
export interface Repository {
  /** The folder that holds `.git`; paths of the index and of commits are relative to it. */
  readonly topLevel: string;
  /** Of this work tree alone: HEAD and the index. */
  readonly gitDir: string;
  /** Shared by all work trees: objects, refs, config. The same as `gitDir` outside linked work trees. */
  readonly commonDir: string;
  readonly objectFormat: ObjectFormat;
  readonly indexFile: string;
  readonly objectsDir: string;
  /** More object folders that git itself named for a hook (a push in quarantine), as git spells the list, else null. */
  readonly alternates: string | null;
}

const LINK_BYTES = 8_192;
const CONFIG_BYTES = 1_048_576;

/**
 * Finds the git work tree a folder lies in, without a process. Null where there is none, and where the nearest `.git` is malformed: the search
 * does not go on above it, so a broken `.git` proves nothing rather than borrowing the history of a folder above.
 * Nothing in the repository is trusted by being found; ownership is not looked at, since no setting of it is ever obeyed (`hardened.ts`).
 */
export function findRepository(start: string): Repository | null {
  let folder = realFolder(start);
  while (folder !== null) {
    const marker = join(folder, '.git');
    const kind = kindOf(marker);
    if (kind === 'folder') return openGitDir(marker, folder);
    if (kind === 'file') {
      const target = /^gitdir: ([^\n\0]+?)\r?\n*$/.exec(readSmall(marker, LINK_BYTES) ?? '')?.[1];
      return target === undefined ? null : openGitDir(resolve(folder, target), folder);
    }
    if (kind === 'other') return null;
    const parent = dirname(folder);
    folder = parent === folder ? null : parent;
  }
  return null;
}

/**
 * The repository a git hook runs for: what git itself set in the environment (`GIT_DIR`, `GIT_WORK_TREE`, `GIT_INDEX_FILE` and, in a push,
 * `GIT_OBJECT_DIRECTORY` with its alternates) over what is found from `cwd`. Null as for `findRepository`. Only for hook mode (facts 5.2, 7.2).
 */
export function repositoryOfHook(env: Readonly<Record<string, string | undefined>>, cwd: string): Repository | null {
  const { GIT_DIR: gitDir, GIT_WORK_TREE: workTree, GIT_INDEX_FILE: index, GIT_OBJECT_DIRECTORY: objects } = env;
  const found = gitDir ? openGitDir(resolve(cwd, gitDir), resolve(cwd, workTree || '.')) : findRepository(cwd);
  if (found === null) return null;
  return {
    ...found,
    indexFile: index ? resolve(cwd, index) : found.indexFile,
    objectsDir: objects ? resolve(cwd, objects) : found.objectsDir,
    alternates: (objects && env.GIT_ALTERNATE_OBJECT_DIRECTORIES) || null,
  };
}

function openGitDir(path: string, workTree: string): Repository | null {
  const gitDir = realFolder(path);
  const topLevel = realFolder(workTree);
  if (gitDir === null || topLevel === null || kindOf(join(gitDir, 'HEAD')) !== 'file') return null;
  const link = readSmall(join(gitDir, 'commondir'), LINK_BYTES);
  const commonDir = link === null ? gitDir : realFolder(resolve(gitDir, link.replace(/\r?\n+$/, '')));
  if (commonDir === null) return null;
  const objectsDir = join(commonDir, 'objects');
  if (kindOf(objectsDir) !== 'folder' || kindOf(join(commonDir, 'refs')) !== 'folder') return null;
  return {
    topLevel,
    gitDir,
    commonDir,
    objectFormat: formatOf(commonDir),
    indexFile: join(gitDir, 'index'),
    objectsDir,
    alternates: null,
  };
}

/** Reads one key of the config file. A lie here only makes every object fail its own hash. */
function formatOf(commonDir: string): ObjectFormat {
  let section = '';
  let format: ObjectFormat = 'sha1';
  for (const line of (readSmall(join(commonDir, 'config'), CONFIG_BYTES) ?? '').split('\n')) {
    const header = /^\s*\[([^\]]*)\](.*)$/.exec(line);
    if (header) section = (header[1] ?? '').trim().toLowerCase();
    const value = /^\s*objectformat\s*=\s*"?(\w+)/i.exec(header ? (header[2] ?? '') : line)?.[1];
    if (section === 'extensions' && value !== undefined) format = value === 'sha256' ? 'sha256' : 'sha1';
  }
  return format;
}

function realFolder(path: string): string | null {
  try {
    const real = realpathSync.native(path);
    return statSync(real).isDirectory() ? real : null;
  } catch {
    return null;
  }
}

function kindOf(path: string): 'file' | 'folder' | 'other' | 'none' {
  try {
    const stat = statSync(path);
    if (stat.isDirectory()) return 'folder';
    return stat.isFile() ? 'file' : 'other';
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    return code === 'ENOENT' || code === 'ENOTDIR' ? 'none' : 'other';
  }
}

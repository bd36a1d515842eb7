import { closeSync, constants, lstatSync, openSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';

const DEPENDENCIES = new Set(['node_modules', 'bower_components', 'vendor', '.venv', 'site-packages']);

/** How a `.git` file begins. */
const POINTER = 'gitdir:';

/** @returns whether a folder of this name holds other people's code. */
export function isDependencyFolder(name: string): boolean {
  return DEPENDENCIES.has(name);
}

/** @returns the outermost folder that makes a workspace-relative path part of a dependency, submodule or nested repository, else null. Looks for `.git` in each folder on the way. */
export function nestedFolderOf(root: string, path: string): string | null {
  let end = path.indexOf('/');
  for (let start = 0; end >= 0; start = end + 1, end = path.indexOf('/', start)) {
    const folder = path.slice(0, end);
    if (isDependencyFolder(path.slice(start, end)) || isRepository(join(root, folder))) return folder;
  }
  return null;
}

/**
 * Whether a folder is a repository of its own: a `.git` folder with a HEAD in it, or a `.git` file that says where one is. An empty
 * `.git` is no repository to git either, and must not take the files beside it out of the workspace.
 */
export function isRepository(folder: string): boolean {
  const marker = join(folder, '.git');
  try {
    const found = statSync(marker, { throwIfNoEntry: false });
    if (found?.isDirectory())
      return lstatSync(join(marker, 'HEAD'), { throwIfNoEntry: false })?.isDirectory() === false;
    return found?.isFile() === true && startOf(marker) === POINTER;
  } catch {
    return false;
  }
}

function startOf(file: string): string {
  const fd = openSync(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    const start = Buffer.alloc(POINTER.length);
    readSync(fd, start, 0, start.length, 0);
    return start.toString('latin1');
  } finally {
    closeSync(fd);
  }
}

import { lstatSync } from 'node:fs';
import { join } from 'node:path';

const DEPENDENCIES = new Set(['node_modules', 'bower_components', 'vendor', '.venv', 'site-packages']);

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

function isRepository(folder: string): boolean {
  try {
    const found = lstatSync(join(folder, '.git'), { throwIfNoEntry: false });
    return found?.isFile() === true || found?.isDirectory() === true;
  } catch {
    return false;
  }
}

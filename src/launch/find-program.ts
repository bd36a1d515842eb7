import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, isAbsolute, join, resolve } from 'node:path';

/** @returns the file that a word of a command line names: a path from `cwd`, or a name on the search path; null where nothing that can be run is there. */
export function findProgram(word: string, cwd: string, searchPath: string): string | null {
  if (word === '' || word.includes('\0')) return null;
  if (word.includes('/')) return runnable(isAbsolute(word) ? word : resolve(cwd, word));
  for (const folder of searchPath.split(delimiter)) {
    const found = runnable(join(folder === '' ? cwd : resolve(cwd, folder), word));
    if (found !== null) return found;
  }
  return null;
}

function runnable(path: string): string | null {
  try {
    if (!statSync(path).isFile()) return null;
    accessSync(path, constants.X_OK);
    return path;
  } catch {
    return null;
  }
}

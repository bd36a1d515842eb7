import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Makes a folder of this machine and what is missing above it, one after the other. Node's own recursive mkdir never ends where a file system answers
 * that the parent it has just made is not there, as /proc does. Throws the system error where the disk refuses.
 * @param mode POSIX permission bits of every folder made.
 */
export function makeFolder(path: string, mode: number): void {
  const missing: string[] = [];
  for (let at = path; !existsSync(at) && dirname(at) !== at; at = dirname(at)) missing.unshift(at);
  for (const folder of missing) {
    try {
      mkdirSync(folder, { mode });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}

import { closeSync, constants, fstatSync, fsyncSync, openSync, readSync, realpathSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { withLock } from '../files/lock.ts';
import { makeFolder } from '../files/make-folder.ts';
import { isInside, type WorkspaceRoot } from '../files/workspace-root.ts';

/**
 * Appends one whole line to a board under a lock; a board whose last line was cut off gets its newline first, so that the
 * new line stands alone (handoffs.md, boards).
 * @returns why not, or null when the line is on disk.
 */
export async function appendLine(
  root: WorkspaceRoot,
  path: string,
  line: string,
  lockDir: string,
): Promise<string | null> {
  const file = join(root.path, path);
  return withLock(lockDir, 'board', () => {
    makeFolder(dirname(file), 0o777);
    if (!isInside(root.path, realpathSync(dirname(file)))) return `${path} leads out of the workspace`;
    let fd: number;
    try {
      fd = openSync(
        file,
        constants.O_RDWR |
          constants.O_APPEND |
          constants.O_CREAT |
          (constants.O_NOFOLLOW ?? 0) |
          (constants.O_NONBLOCK ?? 0),
        0o644,
      );
    } catch {
      return `${path} cannot be opened for writing`;
    }
    try {
      const stat = fstatSync(fd);
      if (!stat.isFile()) return `${path} is no regular file`;
      const last = Buffer.alloc(1);
      const torn = stat.size > 0 && readSync(fd, last, 0, 1, stat.size - 1) === 1 && last[0] !== 0x0a;
      const bytes = Buffer.from(`${torn ? '\n' : ''}${line}\n`);
      if (writeSync(fd, bytes) !== bytes.length) return `${path} could not be written whole`;
      fsyncSync(fd);
      return null;
    } finally {
      closeSync(fd);
    }
  });
}

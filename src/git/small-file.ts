import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';

/** @returns the text of one of git's own small files, links followed, or null where it is missing, no regular file, or over `maxBytes`. Never blocks on a FIFO. */
export function readSmall(path: string, maxBytes: number): string | null {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  } catch {
    return null;
  }
  try {
    const stat = fstatSync(fd);
    if (!stat.isFile() || stat.size > maxBytes) return null;
    const buffer = Buffer.allocUnsafe(stat.size);
    let length = 0;
    while (length < buffer.length) {
      const got = readSync(fd, buffer, length, buffer.length - length, null);
      if (got === 0) break;
      length += got;
    }
    return buffer.toString('utf8', 0, length);
  } catch {
    return null;
  } finally {
    closeSync(fd);
  }
}

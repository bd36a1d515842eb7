import { randomBytes } from 'node:crypto';
import { closeSync, constants, fchmodSync, fsyncSync, openSync, renameSync, unlinkSync, writeSync } from 'node:fs';
import { basename, dirname } from 'node:path';

const CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0);

/**
 * Puts bytes at an absolute path so that any reader, and any crash, sees the old file or the new one whole (facts 7.5). `mode` is exact, whatever the umask.
 * A link at the path is replaced, not followed. The folder must exist. Throws the system error, with nothing left behind.
 */
export function writeAtomic(path: string, bytes: Uint8Array | string, mode: number): void {
  writeInFolder(dirname(path), basename(path), bytes, mode);
}

/** The same, by folder and name; the folder may be a `/proc/self/fd/N` handle. */
export function writeInFolder(folder: string, name: string, bytes: Uint8Array | string, mode: number): void {
  // No extension a host would load, and no part of the name: it must not grow past 255 bytes.
  const temporary = `${folder}/.writ-${process.pid}-${randomBytes(8).toString('hex')}.tmp`;
  const fd = openSync(temporary, CREATE, 0o600);
  try {
    try {
      writeWhole(fd, typeof bytes === 'string' ? Buffer.from(bytes) : bytes);
      fchmodSync(fd, mode & 0o777);
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    renameSync(temporary, `${folder}/${name}`);
  } catch (error) {
    try {
      unlinkSync(temporary);
    } catch {
      // The first error is the one to tell.
    }
    throw error;
  }
  syncFolder(folder);
}

/** Makes the names in a folder last. Does nothing where the system can't (Windows; some network file systems). */
export function syncFolder(folder: string): void {
  if (process.platform === 'win32') return;
  const fd = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    fsyncSync(fd);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code !== 'EINVAL' && code !== 'ENOTSUP') throw error;
  } finally {
    closeSync(fd);
  }
}

function writeWhole(fd: number, bytes: Uint8Array): void {
  for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done);
}

import { isUtf8 } from 'node:buffer';
import { closeSync, openSync, readSync } from 'node:fs';
import { escapePath } from '../../model/escaped.ts';
import { readStdin } from '../ask.ts';
import { CannotError, UsageError } from '../command.ts';

/** Reads a text given by name in an option, or from stdin where the name is `-` or null. Null where it is not UTF-8. Throws UsageError where it can't be read or is larger than `max` bytes. */
export async function readText(file: string | null, max: number): Promise<string | null> {
  const bytes = file === null || file === '-' ? await readStdin(max) : readNamed(file, max);
  return isUtf8(bytes) ? bytes.toString('utf8') : null;
}

/** The same for the text that is to be judged: one that cannot be read could not be checked (CannotError). */
export async function readJudged(file: string | null, max: number): Promise<string | null> {
  try {
    return await readText(file, max);
  } catch (error) {
    throw error instanceof UsageError ? new CannotError(error.message) : error;
  }
}

function readNamed(file: string, max: number): Buffer {
  let fd: number | null = null;
  try {
    fd = openSync(file, 'r');
    // Not by its size: a pipe (`<(...)`) and a device have none.
    const bytes = Buffer.allocUnsafe(max + 1);
    let length = 0;
    for (let got = -1; got !== 0 && length < bytes.length; length += got)
      got = readSync(fd, bytes, length, bytes.length - length, null);
    if (length > max) throw new UsageError(`${escapePath(file)} is larger than ${max} bytes`);
    return bytes.subarray(0, length);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`${escapePath(file)} cannot be read: ${(error as NodeJS.ErrnoException).code ?? 'unknown'}`);
  } finally {
    if (fd !== null) closeSync(fd);
  }
}

import { resolve } from 'node:path';
import { writeAtomic } from '../files/write-atomic.ts';
import { escapePath } from '../model/escaped.ts';
import { CannotError, UsageError } from './command.ts';

/** Puts a result where the caller asked for it, whole or not at all; a link at the path is replaced, not followed. Throws CannotError where it can't be written. */
export async function writeOut(file: string, text: string): Promise<void> {
  if (file === '' || file.endsWith('/') || file.includes('\0')) throw new UsageError('the file to write needs a name');
  try {
    writeAtomic(resolve(file), text, 0o644);
  } catch (error) {
    const why = (error as NodeJS.ErrnoException).code ?? 'unknown error';
    throw new CannotError(`${escapePath(file)} cannot be written: ${why}`);
  }
}

import { closeSync, lstatSync, readSync } from 'node:fs';
import type { ReadResult, Unread } from '../model/source.ts';
import {
  changed,
  factsOf,
  isUnmoved,
  type OpenFile,
  openInside,
  openOutside,
  reasonOf,
  tooLarge,
  unreadable,
} from './open-file.ts';
import type { WorkspaceRoot } from './workspace-root.ts';

/**
 * Reads a file of the workspace, in one open: the bytes returned are the bytes to hash, parse, scan and load (style.md rule 3).
 * `path` is workspace-relative, `maxBytes` the largest size read. Hard links are counted, not judged. Never throws for what it meets on disk.
 */
export function readOnce(root: WorkspaceRoot, path: string, maxBytes: number): ReadResult {
  return readAll(openInside(root, path), path, maxBytes);
}

/** Reads a regular file outside the workspace by absolute path; links are followed and not told. */
export function readOutside(path: string, maxBytes: number): ReadResult {
  return readAll(openOutside(path), path, maxBytes);
}

/** @returns whether something lies at an absolute path, be it a link to nothing or something nobody may look at; reading it says what. */
export function exists(path: string): boolean {
  try {
    lstatSync(path);
    return true;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    return code !== 'ENOENT' && code !== 'ENOTDIR' && code !== 'ENAMETOOLONG' && code !== 'ERR_INVALID_ARG_VALUE';
  }
}

function readAll(file: OpenFile | Unread, path: string, maxBytes: number): ReadResult {
  if ('finding' in file) return file;
  const { fd, facts, aliasOf } = file;
  try {
    if (facts.size > maxBytes) return tooLarge(path, facts.size, maxBytes);
    // One byte more than the size, so that growth shows in the read itself. Not from the shared pool: the bytes live long.
    const buffer = Buffer.allocUnsafeSlow(facts.size + 1);
    const length = fill(fd, buffer);
    if (length !== facts.size || !isUnmoved(facts, factsOf(fd))) return changed(path);
    return { bytes: buffer.subarray(0, length), mode: facts.mode, links: facts.links, aliasOf };
  } catch (error) {
    return unreadable(path, reasonOf((error as NodeJS.ErrnoException).code ?? 'EIO'));
  } finally {
    closeSync(fd);
  }
}

function fill(fd: number, buffer: Buffer): number {
  let length = 0;
  while (length < buffer.length) {
    const got = readSync(fd, buffer, length, buffer.length - length, null);
    length += got;
    if (got === 0 || length === buffer.length - 1) break;
  }
  return length;
}

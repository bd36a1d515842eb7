import { closeSync, readSync } from 'node:fs';
import type { Bytes, Unread } from '../model/source.ts';
import {
  changed,
  type FileFacts,
  factsOf,
  isUnmoved,
  type OpenFile,
  openInside,
  reasonOf,
  tooLarge,
  unreadable,
} from './open-file.ts';
import type { WorkspaceRoot } from './workspace-root.ts';

/** One line of a board that is too large to be read whole. */
export interface Line {
  /** 1-based. */
  readonly line: number;
  /** The exact bytes without the ending LF, or null where the line is longer than `maxLine`: it was skipped over. */
  readonly bytes: Uint8Array | null;
}

/** Bounds of one segmented read, in bytes. */
export interface LineLimits {
  readonly maxLine: number;
  readonly maxBytes: number;
}

const CHUNK = 65_536;

/**
 * Reads a file of the workspace line by line from one descriptor, holding one line and one chunk in memory.
 * A fault is yielded as `{ finding }`, always as the last item: unreadable, over `maxBytes`, or changed while it was read (then no line before it counts).
 * Returns the facts of the file, or null where it could not be opened.
 */
export function* readLines(
  root: WorkspaceRoot,
  path: string,
  limits: LineLimits,
): Generator<Line | Unread, Omit<Bytes, 'bytes'> | null, undefined> {
  const file = openInside(root, path);
  if ('finding' in file) {
    yield file;
    return null;
  }
  try {
    const { facts } = file;
    if (facts.size > limits.maxBytes) yield tooLarge(path, facts.size, limits.maxBytes);
    else yield* linesOf(file, path, facts, limits.maxLine);
    return { mode: facts.mode, links: facts.links, aliasOf: file.aliasOf };
  } finally {
    closeSync(file.fd);
  }
}

function* linesOf(
  file: OpenFile,
  path: string,
  facts: FileFacts,
  maxLine: number,
): Generator<Line | Unread, void, undefined> {
  let line = 1;
  let parts: Buffer[] = [];
  let held = 0;
  let total = 0;
  const take = (): Line => {
    const bytes = held > maxLine ? null : Buffer.concat(parts, held);
    parts = [];
    held = 0;
    return { line: line++, bytes };
  };
  const keep = (part: Buffer): void => {
    held += part.length;
    if (held <= maxLine) parts.push(part);
    else parts = [];
  };
  for (;;) {
    const chunk = readChunk(file.fd);
    if (typeof chunk === 'string') {
      yield unreadable(path, reasonOf(chunk));
      return;
    }
    if (chunk.length === 0) break;
    total += chunk.length;
    if (total > facts.size) break;
    let start = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
      keep(chunk.subarray(start, end));
      yield take();
      start = end + 1;
    }
    if (start < chunk.length) keep(chunk.subarray(start));
  }
  if (total !== facts.size || !isUnmoved(facts, factsOf(file.fd))) yield changed(path);
  else if (held > 0) yield take();
}

function readChunk(fd: number): Buffer | string {
  try {
    const chunk = Buffer.allocUnsafeSlow(CHUNK);
    return chunk.subarray(0, readSync(fd, chunk, 0, CHUNK, null));
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'EIO';
  }
}

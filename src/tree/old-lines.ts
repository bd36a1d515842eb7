import { readBlobs } from '../git/batch.ts';
import type { Repository } from '../git/repository.ts';
import type { Judged } from '../model/stages.ts';
import { sha256Hex } from '../sign/digest.ts';
import { LINK, type Tree } from './tree.ts';

const BOARD_BYTES = 268_435_456;

/**
 * Leaves out the lines of boards that were there before. Boards only grow and are never rewritten, so a line that was refused once must not stop every later
 * one. A line said again is a new one. Throws GitFault where git fails.
 */
export async function withoutOldLines(
  repo: Repository,
  base: Tree,
  artifacts: readonly Judged[],
): Promise<readonly Judged[]> {
  const left = new Map<string, number>();
  const boards = new Set(
    artifacts.flatMap(({ evidence: { parsed } }) => (parsed.line === null ? [] : [parsed.candidate.path])),
  );
  for (const path of boards) {
    const file = base.files.get(path);
    if (file === undefined || file.mode === LINK) continue;
    const bytes = (await readBlobs(repo, [file.blob], BOARD_BYTES)).blobs.get(file.blob);
    for (const line of bytes === undefined ? [] : linesOf(bytes)) {
      const key = keyOf(path, line);
      left.set(key, (left.get(key) ?? 0) + 1);
    }
  }
  return artifacts.filter(({ evidence: { parsed } }) => {
    if (parsed.line === null || parsed.bytes === null) return true;
    const key = keyOf(parsed.candidate.path, parsed.bytes);
    const count = left.get(key) ?? 0;
    left.set(key, count - 1);
    return count <= 0;
  });
}

function* linesOf(bytes: Uint8Array): Generator<Uint8Array> {
  let start = 0;
  for (let end = bytes.indexOf(10); end !== -1; end = bytes.indexOf(10, start)) {
    yield bytes.subarray(start, end);
    start = end + 1;
  }
  if (start < bytes.length) yield bytes.subarray(start);
}

function keyOf(path: string, line: Uint8Array): string {
  return `${sha256Hex(line)} ${path}`;
}

import { readOnce } from '../files/read-once.ts';
import type { WorkspaceRoot } from '../files/workspace-root.ts';
import { writeInside } from '../files/write-inside.ts';
import { wasRead } from '../model/source.ts';

const FILE = '.gitattributes';
const LIMIT = 1_048_576;

/**
 * Adds `PATTERN -text` lines, so that no checkout changes line endings under a digest (formats.md, content).
 * Quiet where it cannot: a mismatch then says itself that only line endings differ.
 */
export function keepBytes(root: WorkspaceRoot, patterns: readonly string[]): void {
  const read = readOnce(root, FILE, LIMIT);
  if (!wasRead(read) && read.finding.code !== 'path-unreadable') return;
  const text = wasRead(read) ? Buffer.from(read.bytes).toString('utf8') : '';
  const there = new Set(text.split(/\r?\n/).map((line) => line.trim()));
  const lines = patterns.map((pattern) => `${patternOf(pattern)} -text`).filter((line) => !there.has(line));
  if (lines.length === 0) return;
  const start = text === '' || text.endsWith('\n') ? text : `${text}\n`;
  try {
    writeInside(root, FILE, `${start}${lines.join('\n')}\n`, 0o644);
  } catch {
    // Read-only checkouts keep their attributes as they are.
  }
}

/** A path as a gitattributes pattern anchored at the top: quoted where it holds blanks or quotes, its wildcards taken literally. */
function patternOf(path: string): string {
  if (path.includes('*')) return path;
  const literal = `/${path.replace(/[[\]?\\]/g, '\\$&')}`;
  return /[\s"]/.test(literal) ? JSON.stringify(literal) : literal;
}

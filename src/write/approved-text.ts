import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { makeFolder } from '../files/make-folder.ts';
import { writeAtomic } from '../files/write-atomic.ts';
import { escapeText } from '../model/escaped.ts';
import { sha256Hex } from '../sign/digest.ts';
import type { StateLocation } from '../store/location.ts';

const MAX_BYTES = 67_108_864;

/** Keeps a copy of what was approved, so that the next approval can show what changed. Best effort: without it the whole text is shown. */
export function keepApproved(state: StateLocation, content: string): void {
  const file = fileOf(state, sha256Hex(content));
  if (file === null || existsSync(file)) return;
  try {
    makeFolder(dirname(file), 0o700);
    writeAtomic(file, gzipSync(content), 0o600);
  } catch {
    // A full or read-only disk costs the diff of the next approval, not this approval.
  }
}

/** @returns the approved text of a digest, checked against it, or null where it is not kept here. */
export function approvedText(state: StateLocation, sha256: string): string | null {
  const file = fileOf(state, sha256);
  if (file === null || !existsSync(file)) return null;
  try {
    const text = gunzipSync(readFileSync(file), { maxOutputLength: MAX_BYTES }).toString('utf8');
    return sha256Hex(text) === sha256 ? text : null;
  } catch {
    return null;
  }
}

/**
 * A unified diff for people. Every line is escaped, so nothing in the text can move the terminal, and whole: what is signed is what was shown. Where no
 * diff can be made in time all of the new text is shown.
 */
export async function renderDiff(
  before: string,
  after: string,
  paint: { readonly red: (text: string) => string; readonly green: (text: string) => string },
): Promise<string> {
  if (before === after) return '  (no change to the text)';
  const { structuredPatch } = await import('diff');
  const patch = structuredPatch('approved', 'now', before, after, '', '', { context: 3, timeout: 5_000 });
  const hunks = patch?.hunks ?? [];
  if (hunks.length === 0)
    return [
      '  (the change is too large for a diff; all of the text)',
      ...after.split('\n').map((line) => colour(`+${line}`, paint)),
    ].join('\n');
  return hunks
    .flatMap((hunk) => [`  @@ line ${hunk.newStart} @@`, ...hunk.lines.map((line) => colour(line, paint))])
    .join('\n');
}

function colour(
  line: string,
  paint: { readonly red: (text: string) => string; readonly green: (text: string) => string },
): string {
  const shown = `  ${line.slice(0, 1)} ${escapeText(line.slice(1), Number.POSITIVE_INFINITY)}`;
  return line.startsWith('+') ? paint.green(shown) : line.startsWith('-') ? paint.red(shown) : shown;
}

function fileOf(state: StateLocation, sha256: string): string | null {
  return state.kind === 'sqlite' ? join(dirname(state.file), 'approved', `${sha256}.gz`) : null;
}

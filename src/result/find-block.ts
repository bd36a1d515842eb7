import { parseStrictJson } from '../sign/strict-json.ts';
import { findBareObjects } from './bare-objects.ts';
import { findFences } from './fences.ts';

/** The block an agent was asked for, before anything in it is believed. */
export interface Block {
  readonly fields: Readonly<Record<string, unknown>>;
  /** It names a field twice: readers disagree on which counts. */
  readonly repeats: boolean;
}

/** Nesting up to which a field named twice is looked for. */
const MAX_DEPTH = 64;

/**
 * Finds the block in free text (FLT-2, parsing rules 1 and 2): the last fenced json block that is an object with a `status`, else the last bare one.
 * A fenced block that does not parse is passed over for the one before it. Never throws.
 * @returns null where there is none.
 */
export function findBlock(text: string): Block | null {
  const fences = findFences(text);
  for (let at = fences.length - 1; at >= 0; at -= 1) {
    const fence = fences[at];
    if (fence?.language !== 'json') continue;
    const block = toBlock(text.slice(fence.start, fence.end));
    if (block !== null) return block;
  }
  const closed = fences.filter((one) => one.closed).map((one) => ({ start: one.from, end: one.to }));
  const bare = findBareObjects(text, closed);
  for (let at = bare.length - 1; at >= 0; at -= 1) {
    const span = bare[at];
    const block = span === undefined ? null : toBlock(text.slice(span.start, span.end));
    if (block !== null) return block;
  }
  return null;
}

function toBlock(raw: string): Block | null {
  const text = raw.trim();
  // Most objects of an output are not it, and what JSON.parse throws is slow.
  if (!/^\{\s*"/.test(text.slice(0, 4_096)) || !(text.includes('status') || text.includes('\\u'))) return null;
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || Array.isArray(value) || !Object.hasOwn(value, 'status'))
      return null;
    const strict = parseStrictJson(text, { maxDepth: MAX_DEPTH });
    return { fields: value as Block['fields'], repeats: 'fault' in strict && strict.fault === 'duplicate key' };
  } catch {
    return null;
  }
}

import { parseStrictJson } from '../sign/strict-json.ts';

/** Largest envelope read, bytes; the deepest one, in levels. */
export const MAX_BYTES = 1_048_576;
export const MAX_DEPTH = 64;

export interface ReadJson {
  readonly value: unknown;
  /** Whether a key came twice somewhere, so that its first value is lost. */
  readonly duplicates: boolean;
}

/**
 * Reads JSON as the writers of envelopes mean it, which the recorded verdicts fix: NaN and Infinity are numbers, of a key that comes twice the last
 * value counts. Numbers keep the type and not the value (NaN is read as an infinite number, which JSON prints as null). Linear in the text.
 * @returns why it is none, in plain words.
 */
export function readJson(text: string): ReadJson | { readonly fault: string } {
  if (tooDeep(text)) return { fault: `it is nested deeper than ${MAX_DEPTH} levels` };
  try {
    return { value: JSON.parse(text), duplicates: hasDuplicates(text) };
  } catch {
    // Maybe only because of words JSON does not have.
  }
  const plain = withoutWords(text);
  try {
    return { value: JSON.parse(plain), duplicates: hasDuplicates(plain) };
  } catch {
    return { fault: 'it is no JSON' };
  }
}

function hasDuplicates(text: string): boolean {
  const read = parseStrictJson(text, { maxDepth: MAX_DEPTH + 1 });
  return 'fault' in read && /duplicate/.test(read.fault);
}

const WORD = /(?<![\w.+-])(?:NaN|-?Infinity)(?![\w.])/g;

function withoutWords(text: string): string {
  const out: string[] = [];
  for (let at = 0; at < text.length; ) {
    const quote = text.indexOf('"', at);
    const end = quote === -1 ? text.length : quote;
    out.push(text.slice(at, end).replace(WORD, (word) => (word.startsWith('-') ? '-1e999' : '1e999')));
    at = quote === -1 ? end : endOfString(text, quote);
    out.push(text.slice(end, at));
  }
  return out.join('');
}

/** By hand and not by a pattern: a string of a million escapes would overflow the stack of one. */
function tooDeep(text: string): boolean {
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charAt(at);
    if (char === '"') at = endOfString(text, at) - 1;
    else if (char === '{' || char === '[') depth += 1;
    else if (char === '}' || char === ']') depth -= 1;
    if (depth > MAX_DEPTH) return true;
  }
  return false;
}

/** Behind the string that begins at `at`; the end of the text where it has no end. */
function endOfString(text: string, at: number): number {
  for (let here = at + 1; here < text.length; here += 1) {
    const char = text.charAt(here);
    if (char === '\\') here += 1;
    else if (char === '"') return here + 1;
  }
  return text.length;
}

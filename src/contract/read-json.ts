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

const PIECE = /"[^"\\]*(?:\\[\s\S][^"\\]*)*"?|(?<![\w.+-])(?:NaN|-?Infinity)(?![\w.])/g;

function withoutWords(text: string): string {
  return text.replace(PIECE, (piece) => (piece.startsWith('"') ? piece : piece.startsWith('-') ? '-1e999' : '1e999'));
}

function tooDeep(text: string): boolean {
  let depth = 0;
  for (const [piece] of text.matchAll(/"[^"\\]*(?:\\[\s\S][^"\\]*)*"?|[[{}\]]/g)) {
    if (piece === '{' || piece === '[') depth += 1;
    else if (piece === '}' || piece === ']') depth -= 1;
    if (depth > MAX_DEPTH) return true;
  }
  return false;
}

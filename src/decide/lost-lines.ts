import type { Budget } from '../discover/profile.ts';
import type { Parsed } from '../model/stages.ts';

/** What several files together may hold. */
export interface Total {
  readonly unit: 'bytes' | 'characters';
  readonly most: number;
}

/** The lines of a file that a host does not read whole, 1-based, both inclusive. */
export interface Lost {
  readonly first: number;
  readonly last: number;
  /** Nothing of the file is read. */
  readonly all: boolean;
}

const NEWLINE = 0x0a;

/** @returns whether a file is within the limits of one file; by its size alone wherever that tells. Unread bytes fit. */
export function fits({ bytes }: Parsed, budget: Budget): boolean {
  if (bytes === null) return true;
  const { length } = bytes;
  const most = Math.min(budget.bytes ?? length, budget.chars ?? length, budget.skips ?? length);
  if (length > most) return false;
  // So many lines need at least as many bytes.
  return budget.lines === undefined || length <= budget.lines || endOfLines(bytes, budget.lines) === length;
}

/**
 * @returns what a file takes of a total. Characters are counted only where the bytes may be too many. Nothing but blanks takes nothing; what was too large
 * to be read takes everything.
 */
export function sizeIn(parsed: Parsed, { unit, most }: Total): number {
  const { bytes } = parsed;
  if (bytes === null) return parsed.findings.some((one) => one.code === 'too-large') ? most + 1 : 0;
  if (unit === 'characters') return textOf(parsed).trimEnd().length;
  return bytes.length <= most && isBlank(bytes) ? 0 : bytes.length;
}

/**
 * What a host does not read of a file that does not fit.
 * @param left what a total leaves to this file; null where there is none.
 * @returns null where only blanks are lost.
 */
export function lostOf(parsed: Parsed, budget: Budget, left: Total | null): Lost | null {
  const { bytes } = parsed;
  if (bytes === null) return null;
  const range = left === null ? rangeOf(parsed, bytes, budget) : rangeLeft(parsed, bytes, budget, left);
  const gone = bytes.subarray(range.from, range.to);
  if (isBlank(gone)) return null;
  const first = 1 + newlinesIn(bytes.subarray(0, range.from));
  // The newline that ends a lost line begins no further one.
  const end = gone.at(-1) === NEWLINE ? gone.subarray(0, -1) : gone;
  return {
    first,
    last: first + newlinesIn(end),
    all: isBlank(bytes.subarray(0, range.from)) && range.to === bytes.length,
  };
}

interface Range {
  /** Offsets in bytes. */
  readonly from: number;
  readonly to: number;
}

function rangeOf(parsed: Parsed, bytes: Uint8Array, budget: Budget): Range {
  const to = bytes.length;
  if (budget.skips !== undefined && to > budget.skips) return { from: 0, to };
  const ends = [budget.bytes ?? to, budget.lines === undefined ? to : endOfLines(bytes, budget.lines)];
  if (budget.chars === undefined) return { from: Math.min(...ends, to), to };
  return charRange(parsed, bytes, budget, budget.chars);
}

function rangeLeft(parsed: Parsed, bytes: Uint8Array, budget: Budget, { unit, most }: Total): Range {
  if (unit === 'bytes') return { from: most, to: bytes.length };
  return charRange(parsed, bytes, budget, most);
}

function charRange(parsed: Parsed, bytes: Uint8Array, budget: Budget, most: number): Range {
  const text = textOf(parsed);
  const start = budget.body === true ? endOfFrontMatter(text) : 0;
  const end = text.trimEnd().length;
  if (end - start <= most) return { from: bytes.length, to: bytes.length };
  const part = (share: number): number => Math.floor((most * share) / 100);
  const from = start + (budget.head === undefined ? most : part(budget.head));
  const to = budget.tail === undefined || most === 0 ? null : end - part(budget.tail);
  const at = (chars: number): number => Buffer.byteLength(text.slice(0, chars));
  return { from: at(from), to: to === null ? bytes.length : at(to) };
}

function textOf({ text, bytes }: Parsed): string {
  return text?.read() ?? Buffer.from(bytes ?? []).toString('latin1');
}

/** Offset behind a block between two lines of exactly `---` at the start; 0 where there is none. */
function endOfFrontMatter(text: string): number {
  if (!/^\ufeff?---\r?\n/.test(text)) return 0;
  const close = /\n---[ \t]*(?:\r?\n|$)/.exec(text);
  return close === null ? 0 : close.index + close[0].length;
}

/** Offset behind the given number of lines, or the length where there are no more. */
function endOfLines(bytes: Uint8Array, lines: number): number {
  let at = 0;
  for (let line = 0; line < lines; line += 1) {
    const next = bytes.indexOf(NEWLINE, at);
    if (next === -1) return bytes.length;
    at = next + 1;
  }
  return at;
}

function newlinesIn(bytes: Uint8Array): number {
  let count = 0;
  for (let at = bytes.indexOf(NEWLINE); at !== -1; at = bytes.indexOf(NEWLINE, at + 1)) count += 1;
  return count;
}

function isBlank(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte === 0x20 || (byte >= 0x09 && byte <= 0x0d));
}

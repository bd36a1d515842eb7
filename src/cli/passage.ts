import { EXCERPT, escapeText, excerpt, starred } from '../model/escaped.ts';
import type { Hit } from '../scan/scan.ts';

/** Units shown in front of a passage at most; the rest of the excerpt is for the passage and what follows it. */
const BEFORE = 40;

const VIEWS: Readonly<Record<Exclude<Hit['view'], 'text'>, string>> = {
  normalised: 'with look-alikes folded it says',
  hidden: 'hidden from a reader it says',
  decoded: 'decoded it says',
};

/**
 * The line of a hit with a caret under the passage, and what the passage says where the line does not show it. Everything is escaped, secrets are
 * starred out, and no more than 120 units of the text are shown.
 */
export function renderPassage(text: string, hit: Hit): string {
  const lineStart = hit.start - (hit.column - 1);
  const lineEnd = endOfLine(text, hit.start);
  const from = Math.max(lineStart, hit.start - BEFORE);
  const to = Math.min(lineEnd, from + EXCERPT);
  const end = Math.max(hit.start, Math.min(hit.end, to));
  const whole = starred(text.slice(lineStart, lineEnd));
  const part = (a: number, b: number): string => escapeText(whole.slice(a - lineStart, b - lineStart), EXCERPT);
  const before = `${from > lineStart ? '\u2026' : ''}${part(from, hit.start)}`;
  const passage = part(hit.start, end);
  const after = `${part(end, to)}${to < lineEnd ? '\u2026' : ''}`;
  const number = String(hit.line).padStart(6);
  const margin = ' '.repeat(number.length);
  const rows = [
    `${number} | ${before}${passage}${after}`,
    `${margin} | ${' '.repeat(width(before))}${'^'.repeat(Math.max(1, width(passage)))}${hit.end > lineEnd ? ' and on' : ''}`,
  ];
  if (hit.view !== 'text') rows.push(`${margin} = ${VIEWS[hit.view]}: "${excerpt(hit.passage)}"`);
  return rows.map((row) => `${row.trimEnd()}\n`).join('');
}

function endOfLine(text: string, at: number): number {
  for (let i = at; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit === 10 || unit === 13) return i;
  }
  return text.length;
}

/** Columns of a terminal, one a character. */
function width(text: string): number {
  return [...text].length;
}

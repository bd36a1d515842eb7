import type { Context } from './rule.ts';

/** A document cut into stretches of one context each; lines outside any stretch are prose. */
export interface Structure {
  /** @returns the context of the block that holds an offset: comment, fence, block-quote, table, heading, list, front-matter or prose. */
  blockAt(offset: number): Context;
  /** @returns the offset at which the line that holds `offset` begins. */
  lineStart(offset: number): number;
  /** @returns 1-based line and column, in UTF-16 units. */
  position(offset: number): { readonly line: number; readonly column: number };
  /** @returns the text of the nearest heading above, and of the line that introduces the list or block; '' where there is none. */
  introduction(offset: number): string;
  /** @returns the headings that hold the nearest one, inner first, a line each; '' where there is none. */
  outline(offset: number): string;
}

const FENCE = /^[ \t>]{0,40}(`{3,}|~{3,})([^\n]{0,200})/;
/** Words behind the ticks that are a sentence and no language. */
const SPEECH = /(?:[A-Za-z'\u2019]{1,20}[,.!?]? ){4}/;
const HEADING = /^ {0,3}#{1,6}(?:\s|$)/;
const FRONT_MATTER_END = /^(?:---|\.\.\.)[ \t]{0,8}(?:\r?\n|$)/;
const LIST = /^[ \t]{0,40}(?:[-*+]|\d{1,9}[.)])[ \t]/;

/** Reads the Markdown structure of a text, line by line; linear, and never fails. */
export function readStructure(text: string): Structure {
  const starts = lineStarts(text);
  const blocks: Context[] = new Array(starts.length).fill('prose');
  const introducedBy = new Int32Array(starts.length).fill(-1);
  // The headings that hold the one being read, outermost first.
  const open: { readonly row: number; readonly level: number }[] = [];
  const comments: number[] = [];
  const hasComments = text.includes('<!--');
  let fence: string | null = null;
  let fenceRow = 0;
  let inFrontMatter = false;
  let commentFrom = -1;
  let heading = -1;
  for (let row = 0; row < starts.length; row++) {
    const from = starts[row] as number;
    introducedBy[row] = heading;
    // Most lines open with a letter and are prose: nothing below can begin there.
    if (row > 0 && !inFrontMatter && fence === null && !hasComments && isWordUnit(text.charCodeAt(from))) continue;
    const line = text.slice(from, starts[row + 1] ?? text.length);
    if (row === 0 && /^\ufeff?---[ \t]*\r?\n/.test(line) && closesFrontMatter(text, starts)) {
      inFrontMatter = true;
      blocks[row] = 'front-matter';
      continue;
    }
    if (inFrontMatter) {
      blocks[row] = 'front-matter';
      if (FRONT_MATTER_END.test(line)) inFrontMatter = false;
      continue;
    }
    if (commentFrom >= 0) {
      const close = line.indexOf('-->');
      if (close >= 0) {
        comments.push(commentFrom, from + close + 3);
        commentFrom = openComment(line, from, close + 3, comments);
      }
      continue;
    }
    const mark = line.includes('```') || line.includes('~~~') ? FENCE.exec(line) : null;
    if (fence !== null) {
      blocks[row] = 'fence';
      const tick = mark?.[1];
      if (
        tick !== undefined &&
        tick.charAt(0) === fence.charAt(0) &&
        tick.length >= fence.length &&
        mark?.[2]?.trim() === ''
      ) {
        fence = null;
      }
      continue;
    }
    if (
      mark?.[1] !== undefined &&
      !(mark[1].startsWith('`') && (mark[2] ?? '').includes('`')) &&
      !SPEECH.test(mark[2] ?? '')
    ) {
      fence = mark[1];
      fenceRow = row;
      blocks[row] = 'fence';
      continue;
    }
    blocks[row] = lineBlock(line);
    if (blocks[row] === 'heading') {
      const level = line.trimStart().search(/[^#]|$/);
      while (open.length > 0 && (open[open.length - 1]?.level ?? 0) >= level) open.pop();
      introducedBy[row] = open[open.length - 1]?.row ?? -1;
      open.push({ row, level });
      heading = row;
    }
    if (hasComments) commentFrom = openComment(line, from, 0, comments);
  }
  if (commentFrom >= 0) comments.push(commentFrom, text.length);
  // A fence that never closes makes nothing a mention: else one line in front would excuse a whole file.
  if (fence !== null)
    for (let row = fenceRow + 1; row < starts.length; row++)
      blocks[row] = lineBlock(text.slice(starts[row], starts[row + 1] ?? text.length));

  const rowOf = (offset: number): number => lastAtOrBelow(starts, offset);
  const lineAt = (row: number): string =>
    text.slice(starts[row] as number, Math.min(starts[row + 1] ?? text.length, (starts[row] as number) + 240));
  return {
    blockAt: (offset) => (isInside(comments, offset) ? 'comment' : (blocks[rowOf(offset)] ?? 'prose')),
    lineStart: (offset) => starts[rowOf(offset)] ?? 0,
    position: (offset) => {
      const row = rowOf(offset);
      return { line: row + 1, column: offset - (starts[row] ?? 0) + 1 };
    },
    introduction: (offset) => {
      const row = rowOf(offset);
      const above = introducedBy[row] ?? -1;
      let intro = '';
      if (blocks[row] !== 'prose' && blocks[row] !== 'heading') {
        // The line that introduces a list, table, quote or fence: the nearest prose above it, not far.
        for (let up = row - 1; up >= 0 && up > row - 40 && up > above; up--) {
          if (blocks[up] === 'prose' && lineAt(up).trim() !== '') {
            intro = lineAt(up);
            break;
          }
        }
      }
      return `${above >= 0 ? lineAt(above) : ''}\n${intro}`;
    },
    outline: (offset) => {
      const nearest = introducedBy[rowOf(offset)] ?? -1;
      let headings = '';
      for (let at = nearest < 0 ? -1 : (introducedBy[nearest] ?? -1); at >= 0; at = introducedBy[at] ?? -1)
        headings += `${lineAt(at)}\n`;
      return headings;
    },
  };
}

function lineBlock(line: string): Context {
  const first = line.trimStart().charAt(0);
  if (first === '#' && HEADING.test(line)) return 'heading';
  if (first === '>') return 'block-quote';
  if (first === '|') return 'table';
  return LIST.test(line) ? 'list' : 'prose';
}

function isWordUnit(unit: number): boolean {
  return (unit >= 65 && unit <= 90) || (unit >= 97 && unit <= 122);
}

function closesFrontMatter(text: string, starts: readonly number[]): boolean {
  for (let row = 1; row < starts.length && row < 200; row++) {
    if (FRONT_MATTER_END.test(text.slice(starts[row], (starts[row] as number) + 16))) return true;
  }
  return false;
}

// Records the comments that open and close on this line; returns where one stays open, else -1.
function openComment(line: string, base: number, from: number, comments: number[]): number {
  let open = line.indexOf('<!--', from);
  while (open >= 0) {
    const close = line.indexOf('-->', open + 4);
    if (close < 0) return base + open;
    comments.push(base + open, base + close + 3);
    open = line.indexOf('<!--', close + 3);
  }
  return -1;
}

function lineStarts(text: string): number[] {
  const starts = [0];
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit === 10 || (unit === 13 && text.charCodeAt(i + 1) !== 10)) starts.push(i + 1);
  }
  return starts;
}

function lastAtOrBelow(sorted: readonly number[], value: number): number {
  let low = 0;
  let high = sorted.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((sorted[middle] as number) <= value) low = middle;
    else high = middle - 1;
  }
  return low;
}

function isInside(pairs: readonly number[], offset: number): boolean {
  if (pairs.length === 0) return false;
  const at = lastAtOrBelow(pairs, offset);
  return at % 2 === 0 && (pairs[at] as number) <= offset;
}

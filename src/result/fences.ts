/** One fenced block of a text: where its content begins and ends. */
export interface Fence {
  /** The first word behind the marks, in lower case; empty where there is none. */
  readonly language: string;
  readonly start: number;
  readonly end: number;
  /** False where the text ended before the block did: what lies in it counts as unfenced too. */
  readonly closed: boolean;
  /** Where the opening line begins and the closing line ends. */
  readonly from: number;
  readonly to: number;
}

interface Mark {
  readonly char: string;
  readonly length: number;
  readonly info: string;
}

/** Longest run of white space in front of a fence; agents indent blocks in lists. */
const MAX_INDENT = 64;
const MAX_INFO = 200;

/**
 * The fenced blocks of a text, in order, as Markdown has them: a block ends at a line of marks alone, no shorter than those that opened it. Two things
 * agents get wrong are taken as meant: any indentation, and a line with marks and a language inside a block whose own marks are not longer begins the
 * next one. Linear: each line is looked at once.
 */
export function findFences(text: string): readonly Fence[] {
  const found: Fence[] = [];
  let open: { readonly mark: Mark; readonly from: number; readonly start: number } | null = null;
  const close = (end: number, to: number, closed: boolean): void => {
    if (open !== null)
      found.push({
        language: open.mark.info.split(/\s/, 1)[0]?.toLowerCase() ?? '',
        ...{ start: open.start, end, closed, from: open.from, to },
      });
    open = null;
  };
  for (let at = 0; at < text.length; ) {
    const newline = text.indexOf('\n', at);
    const end = newline === -1 ? text.length : newline;
    const next = newline === -1 ? text.length : newline + 1;
    const mark = markAt(text, at, end);
    if (mark !== null) {
      const current: { readonly mark: Mark } | null = open;
      if (current === null) open = { mark, from: at, start: next };
      else if (mark.char === current.mark.char && mark.length >= current.mark.length) {
        if (mark.info === '') close(at, next, true);
        else {
          close(at, at, true);
          open = { mark, from: at, start: next };
        }
      }
    }
    at = next;
  }
  close(text.length, text.length, false);
  return found;
}

/** The marks of a line that opens or closes a block, or null. */
function markAt(text: string, at: number, end: number): Mark | null {
  let here = at;
  while (here < end && here - at < MAX_INDENT && (text[here] === ' ' || text[here] === '\t')) here += 1;
  const char = text[here];
  if (char !== '`' && char !== '~') return null;
  const first = here;
  while (here < end && text[here] === char) here += 1;
  if (here - first < 3) return null;
  const info = text.slice(here, Math.min(end, here + MAX_INFO)).trim();
  // `inline code` on one line opens nothing.
  return char === '`' && info.includes('`') ? null : { char, length: here - first, info };
}

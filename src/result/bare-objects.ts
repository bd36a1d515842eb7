/** A stretch of text between two offsets. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** Deepest nesting that is followed; deeper, the outermost braces are forgotten. */
const MAX_OPEN = 65_536;
/** `{"status":""}`, the shortest object that may count. */
const SHORTEST = 13;

const BRACE_OPEN = 123;
const BRACE_CLOSE = 125;
const QUOTE = 34;
const BACKSLASH = 92;
const NEWLINE = 10;

/**
 * The outermost balanced `{...}` of a text, outside strings and outside what is left out, in order. A brace that nothing closes encloses nothing, and a
 * string ends with its line at the latest, as JSON's do: one stray brace or quote of prose does not swallow what follows. Linear in time; each brace
 * is pushed and popped once.
 * @param skipped stretches that are no prose, in order, apart from each other.
 */
export function findBareObjects(text: string, skipped: readonly Span[]): readonly Span[] {
  let open: number[] = [];
  const found: Span[] = [];
  let skip = 0;
  let inString = false;
  for (let at = 0; at < text.length; at += 1) {
    const hole = skipped[skip];
    if (hole !== undefined && at >= hole.start) {
      // What a fence stands in is no object.
      at = Math.max(at, hole.end) - 1;
      skip += 1;
      open = [];
      inString = false;
      continue;
    }
    const code = text.charCodeAt(at);
    if (code === NEWLINE) inString = false;
    else if (inString) {
      if (code === BACKSLASH) at += text.charCodeAt(at + 1) === NEWLINE ? 0 : 1;
      else if (code === QUOTE) inString = false;
    } else if (code === QUOTE) inString = true;
    else if (code === BRACE_OPEN) {
      if (open.length >= MAX_OPEN) open = open.slice(MAX_OPEN / 2);
      open.push(at);
    } else if (code === BRACE_CLOSE) {
      const start = open.pop();
      if (start === undefined) continue;
      while ((found.at(-1)?.start ?? -1) > start) found.pop();
      if (at + 1 - start >= SHORTEST) found.push({ start, end: at + 1 });
    }
  }
  return found;
}

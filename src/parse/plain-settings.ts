/** Larger files go to the parser and its limits. */
const LONGEST = 16_384;
const DEPTH = 8;
/** A key: never a word that is no string. */
const KEY = /^[A-Za-z][A-Za-z0-9_.-]{0,63}$/;
/** Plain strings that cannot be anything else: no space, quote, `#`, `,`, bracket, and a colon only inside. */
const WORD = /^[A-Za-z][A-Za-z0-9_.@/*+-]{0,200}(?::[A-Za-z0-9_.@/+-]{1,200})?$/;
const NUMBER = /^(?:0|[1-9][0-9]{0,14})$/;
/** A quoted string without escapes, of characters that are told as they are. */
const QUOTED = /^"([ !#-[\]-~]{0,400})"$/;
const TRUTH: ReadonlyMap<string, unknown> = new Map([
  ['null', null],
  ['true', true],
  ['false', false],
]);

interface Line {
  readonly indent: number;
  readonly text: string;
}

/** Thrown inside for everything that is not the plain spelling. */
class NotPlain extends Error {}

/**
 * Reads the spelling of settings that writ itself writes and most people keep: block maps and lists by indentation, flow ones on one line, plain words,
 * numbers and quoted strings without escapes, comments. Loading a parser takes longer than judging a file.
 * @returns undefined for everything else, valid or not: then the parser decides. What is read here the parser reads alike (test/parse/plain-settings.test.ts).
 */
export function readPlainSettings(text: string): { readonly value: unknown } | undefined {
  if (text.length > LONGEST || !/^[\n -~]*$/.test(text)) return undefined;
  try {
    const lines = linesOf(text);
    if (lines.length === 0) return undefined;
    const reader = new Reader(lines);
    return { value: reader.readAll() };
  } catch (error) {
    if (error instanceof NotPlain) return undefined;
    throw error;
  }
}

function linesOf(text: string): readonly Line[] {
  const lines: Line[] = [];
  for (const whole of text.split('\n')) {
    const line = withoutComment(whole).trimEnd();
    const body = line.trimStart();
    if (body !== '') lines.push({ indent: line.length - body.length, text: body });
  }
  return lines;
}

// A `#` opens a comment at the start of a line and behind a space, unless a quote is open.
function withoutComment(line: string): string {
  let isQuoted = false;
  for (let at = 0; at < line.length; at++) {
    const char = line.charAt(at);
    if (char === '"') isQuoted = !isQuoted;
    if (char === '#' && !isQuoted && (at === 0 || line.charAt(at - 1) === ' ')) return line.slice(0, at);
  }
  return line;
}

class Reader {
  readonly #lines: readonly Line[];
  #at = 0;

  constructor(lines: readonly Line[]) {
    this.#lines = lines;
  }

  readAll(): unknown {
    const value = this.#block(0, 1);
    if (this.#at < this.#lines.length) throw new NotPlain();
    return value;
  }

  #block(indent: number, depth: number): unknown {
    if (depth > DEPTH) throw new NotPlain();
    const first = this.#lines[this.#at];
    if (first === undefined || first.indent !== indent) throw new NotPlain();
    return first.text.startsWith('- ') ? this.#list(indent, depth) : this.#map(indent, depth, null);
  }

  #list(indent: number, depth: number): unknown[] {
    const items: unknown[] = [];
    for (;;) {
      const line = this.#lines[this.#at];
      if (line === undefined || line.indent < indent) return items;
      if (line.indent > indent || !line.text.startsWith('- ')) {
        // Behind a list at the level of its key the next key follows.
        if (line.indent === indent) return items;
        throw new NotPlain();
      }
      const body = line.text.slice(2);
      if (body.startsWith(' ') || body.startsWith('- ')) throw new NotPlain();
      if (/^[A-Za-z][A-Za-z0-9_.-]*:(?: |$)/.test(body)) items.push(this.#map(indent + 2, depth + 1, body));
      else {
        this.#at += 1;
        items.push(scalarOrFlow(body, depth));
      }
    }
  }

  /** `opening` is the first entry of a map that begins behind the dash of a list. */
  #map(indent: number, depth: number, opening: string | null): Record<string, unknown> {
    if (depth > DEPTH) throw new NotPlain();
    const map: Record<string, unknown> = {};
    for (let entry = opening; ; entry = null) {
      const line = this.#lines[this.#at];
      if (line === undefined || (entry === null && line.indent < indent)) return map;
      if (entry === null && (line.indent > indent || line.text.startsWith('- '))) throw new NotPlain();
      const text = entry ?? line.text;
      const colon = text.indexOf(':');
      const key = text.slice(0, Math.max(0, colon));
      const rest = text.slice(colon + 1);
      if (!isKey(key) || Object.hasOwn(map, key) || (rest !== '' && !rest.startsWith(' '))) throw new NotPlain();
      this.#at += 1;
      map[key] = rest === '' ? this.#below(indent, depth) : scalarOrFlow(rest.trimStart(), depth);
    }
  }

  // What stands under a key that has nothing behind it: a deeper block, a list at the same level, or nothing.
  #below(indent: number, depth: number): unknown {
    const next = this.#lines[this.#at];
    if (next !== undefined && next.indent > indent) return this.#block(next.indent, depth + 1);
    if (next !== undefined && next.indent === indent && next.text.startsWith('- '))
      return this.#list(indent, depth + 1);
    return null;
  }
}

function isKey(key: string): boolean {
  return KEY.test(key) && !TRUTH.has(key.toLowerCase());
}

function scalarOrFlow(text: string, depth: number): unknown {
  if (!text.startsWith('[') && !text.startsWith('{')) return scalar(text);
  const flow = { text, at: 0 };
  const value = readFlow(flow, depth + 1);
  if (flow.at !== text.length) throw new NotPlain();
  return value;
}

interface Flow {
  readonly text: string;
  at: number;
}

function readFlow(flow: Flow, depth: number): unknown {
  if (depth > DEPTH) throw new NotPlain();
  const isList = flow.text.charAt(flow.at) === '[';
  const end = isList ? ']' : '}';
  flow.at += 1;
  const items: unknown[] = [];
  const map: Record<string, unknown> = {};
  skip(flow);
  while (flow.text.charAt(flow.at) !== end) {
    if (isList) items.push(flowValue(flow, depth));
    else {
      const colon = flow.text.indexOf(': ', flow.at);
      const key = flow.text.slice(flow.at, Math.max(flow.at, colon));
      if (!isKey(key) || Object.hasOwn(map, key)) throw new NotPlain();
      flow.at = colon + 2;
      skip(flow);
      map[key] = flowValue(flow, depth);
    }
    skip(flow);
    if (flow.text.charAt(flow.at) === ',') {
      flow.at += 1;
      skip(flow);
      // A closing comma is left to the parser.
      if (flow.text.charAt(flow.at) === end) throw new NotPlain();
    } else if (flow.text.charAt(flow.at) !== end) throw new NotPlain();
  }
  flow.at += 1;
  return isList ? items : map;
}

function flowValue(flow: Flow, depth: number): unknown {
  const opens = flow.text.charAt(flow.at);
  if (opens === '[' || opens === '{') return readFlow(flow, depth + 1);
  const found = /(?:"[^"]{0,400}"|[^",[\]{}]{1,400})/y;
  found.lastIndex = flow.at;
  const raw = found.exec(flow.text)?.[0];
  if (raw === undefined) throw new NotPlain();
  flow.at += raw.length;
  return scalar(raw.trimEnd());
}

function skip(flow: Flow): void {
  while (flow.text.charAt(flow.at) === ' ') flow.at += 1;
}

function scalar(text: string): unknown {
  if (TRUTH.has(text)) return TRUTH.get(text);
  if (NUMBER.test(text)) return Number(text);
  const quoted = QUOTED.exec(text);
  if (quoted !== null && quoted[1] !== '__proto__') return quoted[1];
  // Words that other readers take for no strings are left to the parser.
  if (WORD.test(text) && !/^(?:null|true|false|yes|no|on|off|y|n)$/i.test(text)) return text;
  throw new NotPlain();
}

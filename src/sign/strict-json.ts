/** What a strict read gave: the value, or the first fault with its 1-based line and column (in UTF-16 units). */
export type StrictJson =
  | { readonly value: unknown }
  | { readonly fault: string; readonly line: number; readonly column: number };

const LONE_SURROGATE = /\p{Surrogate}/u;
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const PLAIN = /[^"\\\u0000-\u001f]*/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4})/y;
const SPACE = /[ \t\n\r]*/y;
const WORDS = ['true', 'false', 'null'] as const;

type Want = 'value' | 'value-or-end' | 'key' | 'key-or-end' | 'comma-or-end' | 'nothing';

class Fault {
  readonly message: string;
  readonly at: number;

  constructor(message: string, at: number) {
    this.message = message;
    this.at = at;
  }
}

function skip(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at;
}

function endOfString(text: string, at: number): number | Fault {
  let here = at + 1;
  for (;;) {
    here = skip(PLAIN, text, here);
    const char = text[here];
    if (char === '"') return here + 1;
    if (char === undefined) return new Fault('string without an end', at);
    if (char !== '\\') return new Fault('control character in a string', here);
    const next = skip(ESCAPE, text, here);
    if (next === here) return new Fault('unknown escape', here);
    here = next;
  }
}

function stringAt(text: string, at: number, end: number): string | Fault {
  const raw = text.slice(at + 1, end - 1);
  const value = raw.includes('\\') ? (JSON.parse(text.slice(at, end)) as string) : raw;
  return LONE_SURROGATE.test(value) ? new Fault('lone surrogate in a string', at) : value;
}

function endOfScalar(text: string, at: number): number | Fault {
  for (const word of WORDS) if (text.startsWith(word, at)) return at + word.length;
  const end = skip(NUMBER, text, at);
  if (end === at) return new Fault(text[at] === undefined ? 'unexpected end' : 'unexpected character', at);
  return Math.abs(Number(text.slice(at, end))) <= Number.MAX_SAFE_INTEGER
    ? end
    : new Fault('number outside the range of exact integers', at);
}

function firstFault(text: string, maxDepth: number): Fault | null {
  const open: (Set<string> | null)[] = [];
  let want: Want = 'value';
  let at = skip(SPACE, text, 0);
  for (;;) {
    const char = text[at];
    if (want === 'nothing') return char === undefined ? null : new Fault('text after the value', at);
    const keys = open.at(-1);
    let next: number | Fault;
    if (want === 'comma-or-end' && char === ',') {
      want = keys ? 'key' : 'value';
      next = at + 1;
    } else if (want.endsWith('-or-end') && char !== undefined && char === (keys ? '}' : ']')) {
      open.pop();
      want = open.length === 0 ? 'nothing' : 'comma-or-end';
      next = at + 1;
    } else if (want === 'comma-or-end') {
      return new Fault(char === undefined ? 'unexpected end' : 'missing comma', at);
    } else if (want === 'key' || want === 'key-or-end') {
      if (char !== '"' || !keys) return new Fault(char === undefined ? 'unexpected end' : 'missing key', at);
      const end = endOfString(text, at);
      if (end instanceof Fault) return end;
      const key = stringAt(text, at, end);
      if (key instanceof Fault) return key;
      if (key === '__proto__') return new Fault('key __proto__', at);
      if (keys.has(key)) return new Fault('duplicate key', at);
      keys.add(key);
      const colon = skip(SPACE, text, end);
      if (text[colon] !== ':') return new Fault('missing colon', colon);
      want = 'value';
      next = colon + 1;
    } else if (char === '{' || char === '[') {
      if (open.length >= maxDepth) return new Fault('nested too deeply', at);
      open.push(char === '{' ? new Set() : null);
      want = char === '{' ? 'key-or-end' : 'value-or-end';
      next = at + 1;
    } else {
      next = char === '"' ? endOfString(text, at) : endOfScalar(text, at);
      if (next instanceof Fault) return next;
      const value = char === '"' ? stringAt(text, at, next) : null;
      if (value instanceof Fault) return value;
      want = open.length === 0 ? 'nothing' : 'comma-or-end';
    }
    at = skip(SPACE, text, next);
  }
}

/**
 * Reads JSON as I-JSON (RFC 7493) and refuses what JSON.parse hides: duplicate keys however they are escaped, `__proto__`,
 * numbers beyond 2^53 - 1, lone surrogates, containers nested deeper than `maxDepth`. Linear in the text; no recursion.
 */
export function parseStrictJson(text: string, limits: { readonly maxDepth: number }): StrictJson {
  const fault = firstFault(text, limits.maxDepth);
  if (fault === null) return { value: JSON.parse(text) };
  const before = text.slice(0, fault.at);
  const lineStart = before.lastIndexOf('\n') + 1;
  return { fault: fault.message, line: before.split('\n').length, column: fault.at - lineStart + 1 };
}

/** A value of a JSON text and where it stands, so that the text can be changed without rewriting it. */
export interface JsonNode {
  readonly kind: 'object' | 'array' | 'other';
  /** Offsets of the value: from its first character to behind its last. */
  readonly start: number;
  readonly end: number;
  /** Of an object its members by name, of an array its elements under their index; empty otherwise. */
  readonly parts: ReadonlyMap<string, JsonPart>;
  /** The value itself of anything that is neither. */
  readonly value: unknown;
}

export interface JsonPart {
  readonly node: JsonNode;
  /** Where the member begins, its name included. */
  readonly start: number;
  /** Where the comma behind it stands; null where there is none. */
  readonly comma: number | null;
}

const MAX_DEPTH = 64;
const BLANK = /(?:[ \t\r\n]+|\/\/[^\n]*|\/\*[\s\S]*?\*\/)*/y;
const SCALAR = /"(?:[^"\\\u0000-\u001f]+|\\.)*"|-?\d[\d.eE+-]*|true|false|null/y;

/** Reads JSON, with comments and commas at ends as settings files have them. @returns why it cannot be read, with the line; a name that comes twice is such a reason. */
export function readJsonText(text: string): JsonNode | { readonly fault: string } {
  const reader = new Reader(text);
  try {
    return reader.whole();
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return { fault: `${error.message} at line ${text.slice(0, reader.at).split('\n').length}` };
  }
}

class Reader {
  at: number;
  private readonly text: string;

  constructor(text: string) {
    this.text = text;
    this.at = text.startsWith('\ufeff') ? 1 : 0;
  }

  whole(): JsonNode {
    this.blank();
    const node = this.node(0);
    this.blank();
    if (this.at < this.text.length) throw new SyntaxError('more than one value');
    return node;
  }

  private node(depth: number): JsonNode {
    if (depth > MAX_DEPTH) throw new SyntaxError('too deep');
    const open = this.text[this.at];
    if (open === '{' || open === '[') return this.container(open === '{' ? 'object' : 'array', depth);
    const start = this.at;
    const value = this.scalar();
    return { kind: 'other', start, end: this.at, parts: new Map(), value };
  }

  private container(kind: 'object' | 'array', depth: number): JsonNode {
    const start = this.at;
    const close = kind === 'object' ? '}' : ']';
    const parts = new Map<string, JsonPart>();
    this.at += 1;
    this.blank();
    while (this.text[this.at] !== close) {
      const from = this.at;
      const name = kind === 'object' ? this.name() : `${parts.size}`;
      if (parts.has(name)) throw new SyntaxError('a name that comes twice');
      const node = this.node(depth + 1);
      this.blank();
      const comma = this.text[this.at] === ',' ? this.at : null;
      parts.set(name, { node, start: from, comma });
      if (comma === null) {
        if (this.text[this.at] !== close) throw new SyntaxError('a comma is missing');
        break;
      }
      this.at += 1;
      this.blank();
    }
    this.at += 1;
    return { kind, start, end: this.at, parts, value: null };
  }

  private name(): string {
    const name = this.scalar();
    if (typeof name !== 'string') throw new SyntaxError('no name');
    this.blank();
    if (this.text[this.at] !== ':') throw new SyntaxError('a colon is missing');
    this.at += 1;
    this.blank();
    return name;
  }

  private scalar(): unknown {
    SCALAR.lastIndex = this.at;
    const found = SCALAR.exec(this.text)?.[0];
    if (found === undefined) throw new SyntaxError('no value');
    const value: unknown = JSON.parse(found);
    this.at += found.length;
    return value;
  }

  private blank(): void {
    BLANK.lastIndex = this.at;
    this.at += BLANK.exec(this.text)?.[0].length ?? 0;
  }
}

/** The plain value of a node. */
export function plainOf(node: JsonNode): unknown {
  if (node.kind === 'other') return node.value;
  if (node.kind === 'array') return [...node.parts.values()].map((one) => plainOf(one.node));
  return Object.fromEntries([...node.parts].map(([name, one]) => [name, plainOf(one.node)]));
}

/** Puts a value at the end of an object (under a name) or of an array; everything else of the text stays as it is. */
export function insertValue(text: string, into: JsonNode, name: string | null, value: unknown): string {
  const unit = /\n([ \t]+)\S/.exec(text)?.[1] ?? '  ';
  const newline = text.includes('\r\n') ? '\r\n' : '\n';
  const outer = /^[ \t]*/.exec(text.slice(text.lastIndexOf('\n', into.start) + 1, into.start))?.[0] ?? '';
  const inner = outer + unit;
  const body = JSON.stringify(value, null, unit).replaceAll('\n', newline + inner);
  const item = `${newline}${inner}${name === null ? '' : `${JSON.stringify(name)}: `}${body}`;
  const close = into.end - 1;
  const last = [...into.parts.values()].at(-1);
  const hole = /\s*$/.exec(text.slice(into.start + 1, close))?.[0].length ?? 0;
  const tail = text.slice(close - hole, close).includes('\n') ? text.slice(close - hole, close) : newline + outer;
  const head = text.slice(0, close - hole);
  if (last === undefined || last.comma !== null) return head + item + tail + text.slice(close);
  return `${head.slice(0, last.node.end)},${head.slice(last.node.end)}${item}${tail}${text.slice(close)}`;
}

/** Takes a part of an object or array out, with one comma beside it. */
export function removePart(text: string, from: JsonNode, name: string): string {
  const names = [...from.parts.keys()];
  const index = names.indexOf(name);
  const part = from.parts.get(name);
  if (part === undefined) return text;
  const before = index === 0 ? undefined : from.parts.get(names[index - 1] ?? '');
  const isLast = index === names.length - 1;
  const lead = /\s*$/.exec(text.slice(0, part.start))?.[0].length ?? 0;
  if (!isLast && part.comma !== null) return text.slice(0, part.start - lead) + text.slice(part.comma + 1);
  // The last one leaves with the comma before it, and with its own.
  const end = part.comma === null ? part.node.end : part.comma + 1;
  const cut = text.slice(0, part.start - lead) + text.slice(end);
  const comma = before?.comma ?? null;
  return comma === null || part.comma !== null ? cut : cut.slice(0, comma) + cut.slice(comma + 1);
}

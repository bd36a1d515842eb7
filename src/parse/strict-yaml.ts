import type { Document, LineCounter } from 'yaml';
import { placeOf } from './decode.ts';

/** Most bytes and depth of a block read as a manifest or settings (formats.md: cap before parsing). */
const MAX_BYTES = 16_384;
const MAX_DEPTH = 8;

const LONE_SURROGATE = /\p{Surrogate}/u;
/** Marks the lexer puts into its stream that are not in the text: the next token is a plain or block scalar; a document; an end of flow. */
const PLAIN_NEXT = '\u001f';
const MARKS: ReadonlySet<string> = new Set(['\u0002', '\u0018']);

export interface YamlFault {
  readonly fault: string;
  readonly line: number;
  readonly column: number;
}

export interface YamlRead {
  readonly value: unknown;
  readonly document: Document;
  readonly lines: LineCounter;
}

export interface YamlLimits {
  readonly bytes: number;
  readonly depth: number;
}

export const MANIFEST_LIMITS: YamlLimits = { bytes: MAX_BYTES, depth: MAX_DEPTH };

let module: typeof import('yaml') | null = null;

/** Loads the parser on first need: most starts of the command never read YAML. */
async function yaml(): Promise<typeof import('yaml')> {
  module ??= await import('yaml');
  return module;
}

/**
 * Reads YAML 1.2 core and nothing more: duplicate keys, anchors, aliases, tags, directives, several documents and
 * every warning are faults with their place (formats.md; facts section 6).
 * @param firstLine 1-based line of the block's first line in its file.
 */
export async function parseStrictYaml(
  text: string,
  firstLine: number,
  limits: YamlLimits,
): Promise<YamlRead | YamlFault> {
  const at = (line: number, column: number, fault: string): YamlFault => ({
    fault,
    line: line + firstLine - 1,
    column,
  });
  if (Buffer.byteLength(text) > limits.bytes) return at(1, 1, `the block is over ${limits.bytes} bytes`);
  if (flowDepth(text) > limits.depth) return at(1, 1, `nested deeper than ${limits.depth} levels`);
  // A lone CR or another control character ends a line for some readers and not for others.
  const control = /\r(?!\n)|[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f\u0085]/.exec(text);
  if (control) {
    const place = placeOf(text, control.index);
    return at(place.line, place.column, 'control characters are not allowed');
  }
  const directive = /^\ufeff?%[^\n]*/m.exec(text);
  if (directive) return at(placeOf(text, directive.index).line, 1, 'directives are not allowed');
  const { parseDocument, visit, LineCounter } = await yaml();
  const lines = new LineCounter();
  try {
    const document = parseDocument(text, {
      version: '1.2',
      schema: 'core',
      strict: true,
      uniqueKeys: true,
      stringKeys: true,
      merge: false,
      customTags: null,
      prettyErrors: false,
      lineCounter: lines,
    });
    const problem = document.errors[0] ?? document.warnings[0];
    if (problem) {
      const place = lines.linePos(problem.pos[0]);
      return at(place.line, place.col, plain(problem.code));
    }
    const refused = forbidden(document, visit, limits.depth);
    if (refused) {
      const place = lines.linePos(refused.offset);
      return at(place.line, place.col, refused.why);
    }
    return { value: document.toJS({ maxAliasCount: 0 }) as unknown, document: document as Document, lines };
  } catch {
    return at(1, 1, 'the block cannot be read as YAML');
  }
}

/** Finds anchors, aliases, tags and over-deep nesting in a parsed document. */
function forbidden(
  document: unknown,
  visit: typeof import('yaml').visit,
  maxDepth: number,
): { readonly offset: number; readonly why: string } | null {
  let found: { offset: number; why: string } | null = null;
  visit(document as Parameters<typeof visit>[0], (_key, node, path) => {
    if (typeof node !== 'object' || node === null || !('range' in node)) return undefined;
    const offset = (node.range as readonly number[] | null | undefined)?.[0] ?? 0;
    const record = node as { anchor?: string; tag?: string; source?: string; value?: unknown };
    const depth = path.filter((step) => typeof step === 'object' && step !== null && 'items' in step).length;
    const why =
      !('value' in node) && !('items' in node) && typeof record.source === 'string'
        ? 'aliases are not allowed'
        : record.anchor
          ? 'anchors are not allowed'
          : record.tag
            ? 'tags are not allowed'
            : depth > maxDepth
              ? `nested deeper than ${maxDepth} levels`
              : valueFault(record.value);
    if (why === null) return undefined;
    found = { offset, why };
    return visit.BREAK;
  });
  return found;
}

function flowDepth(text: string): number {
  let depth = 0;
  let deepest = 0;
  for (const char of text) {
    if (char === '[' || char === '{') depth += 1;
    else if (char === ']' || char === '}') depth = Math.max(0, depth - 1);
    if (depth > deepest) deepest = depth;
  }
  return deepest;
}

/** What strict JSON refuses is refused here as well. */
function valueFault(value: unknown): string | null {
  if (typeof value !== 'string') return null;
  if (value === '__proto__') return 'the word __proto__ is not allowed';
  return LONE_SURROGATE.test(value) ? 'half of a surrogate pair is not allowed' : null;
}

/**
 * @returns the offset of the first YAML comment, or null. A `#` inside a scalar is none: the parser's own lexer decides, so that
 * no quote can talk a comment away.
 */
export async function firstComment(text: string): Promise<number | null> {
  if (!text.includes('#')) return null;
  const { Lexer } = await yaml();
  let offset = 0;
  let isPlain = false;
  for (const token of new Lexer().lex(text)) {
    if (token === PLAIN_NEXT) {
      isPlain = true;
      continue;
    }
    if (!isPlain && token.startsWith('#')) return offset;
    isPlain = false;
    if (!MARKS.has(token)) offset += token.length;
  }
  return null;
}

/** The parser's error code as words: its own messages quote untrusted text. */
function plain(code: string): string {
  return code.toLowerCase().replaceAll('_', ' ');
}

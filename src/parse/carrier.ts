/** A block of YAML found in the head of a file, with the byte and line ranges it spans. */
export interface HeadBlock {
  readonly kind: 'front-matter' | 'comment';
  readonly yaml: string;
  /** 1-based line of the first YAML line. */
  readonly firstLine: number;
  /** Byte offset where the YAML begins. */
  readonly from: number;
  /** Byte offset just past the closing line, its newline included. */
  readonly end: number;
  /** Byte offset of each YAML line's first byte, and of the closing line. */
  readonly lineStarts: readonly number[];
}

/** A head that opens like a carrier, names a manifest, and is none. */
export interface HeadFault {
  readonly fault: string;
  readonly line: number;
}

const BOM = [0xef, 0xbb, 0xbf] as const;
const NEWLINE = 0x0a;
const SPACE = 0x20;
const DASH = 0x2d;
const ANGLE = 0x3c;
const KEY = 'context_manifest';
/** How far a closing line is searched, bytes: past that it is prose, never a manifest block. */
const SEARCH = 65_536;

/**
 * Finds the block that may carry a manifest: front matter from the first line `---`, or an HTML comment whose first
 * line is exactly `<!--` (formats.md, carriers). A fenced example further down is prose.
 * @returns null where the file begins like neither.
 */
export function findHeadBlock(bytes: Uint8Array): HeadBlock | HeadFault | null {
  const start = BOM.every((byte, index) => bytes[index] === byte) ? BOM.length : 0;
  const first = lineAt(bytes, start);
  if (first.text === '---') return block(bytes, start, 'front-matter', ['---', '...']);
  if (first.text === '<!--') return block(bytes, start, 'comment', ['-->']);
  return looksLikeCarrier(bytes, start);
}

/** @returns whether text may hold the manifest key in any spelling: case, quotes and YAML or JSON escapes undone. */
export function namesManifest(text: string): boolean {
  return text.includes(KEY) || decoded(text).includes(KEY);
}

/** The key where a key can stand: at the start of a line or of a flow entry, after markers, anchors and quotes. A sentence that names it is none. */
const AS_KEY =
  /(?:^|[{,])[ \t]{0,64}(?:[?-][ \t]{1,8}|[&!][^\s]{0,64}[ \t]{1,8}){0,4}["']?context_manifest["']?\s{0,8}:/m;

/** @returns whether text uses it as a key: what an unreadable block is judged by. */
export function keysManifest(text: string): boolean {
  return AS_KEY.test(decoded(text));
}

function decoded(text: string): string {
  // An escaped line break joins two lines; the other escapes spell one character.
  const plain = text.includes('\\')
    ? text
        .replace(/\\\r?\n[ \t]{0,64}/g, '')
        .replace(/\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|U([0-9a-fA-F]{8}))/g, (_all, u, x, long) =>
          String.fromCodePoint(Math.min(0x10ffff, Number.parseInt(u ?? x ?? long, 16))),
        )
    : text;
  return plain.toLowerCase();
}

function block(
  bytes: Uint8Array,
  start: number,
  kind: HeadBlock['kind'],
  closers: readonly string[],
): HeadBlock | HeadFault | null {
  const opening = lineAt(bytes, start);
  const lineStarts: number[] = [];
  let at = opening.next;
  while (at < bytes.length && at - start < SEARCH) {
    const line = lineAt(bytes, at);
    lineStarts.push(at);
    if (closers.includes(line.text)) {
      return {
        kind,
        yaml: textOf(bytes, opening.next, at),
        firstLine: 2,
        from: opening.next,
        end: line.next,
        lineStarts,
      };
    }
    if (kind === 'comment' && endsComment(bytes, at, line.next)) break;
    at = line.next;
  }
  const head = firstParagraphs(textOf(bytes, opening.next, Math.min(at, bytes.length)));
  const key = AS_KEY.exec(head);
  if (!key) return null;
  return {
    fault: `the block is not closed by a line that is exactly \`${closers[0]}\``,
    line: 2 + count(head, key.index + key[0].indexOf('context_manifest')),
  };
}

/** An opening line that is almost one (`---js`, `--- `, a blank line before it) must not let a manifest pass as prose. */
function looksLikeCarrier(bytes: Uint8Array, start: number): HeadFault | null {
  // Plain text begins with a letter or a `#`; blanks beyond ASCII begin with a byte of 0x80 or more.
  const first = bytes[start];
  if (first !== undefined && first > SPACE && first < 0x80 && first !== DASH && first !== ANGLE) return null;
  // 64 blanks of at most three bytes and a marker lie well within 512 bytes: most files are told apart by those alone.
  if (!/^\s{0,64}(?:---|<!--)/.test(unixText(bytes, start, 512))) return null;
  const head = unixText(bytes, start, 16_384);
  const opening = /^\s{0,64}(?:---|<!--)([^\n]{0,80})(?:\n|$)/.exec(head);
  if (!opening) return null;
  const [line, tail = ''] = opening;
  const isComment = line.trimStart().startsWith('<!--');
  // A comment that is closed on its first line is no carrier, whatever follows it.
  if (isComment && tail.includes('-->')) return null;
  const inside = `${isComment ? tail : ''}\n${head.slice(line.length)}`.replace(/^\n+/, '\n');
  if (!AS_KEY.test(firstParagraphs(inside))) return null;
  return { fault: `the first line of the file is not exactly \`${isComment ? '<!--' : '---'}\``, line: 1 };
}

function unixText(bytes: Uint8Array, from: number, most: number): string {
  return textOf(bytes, from, Math.min(bytes.length, from + most)).replace(/\r\n?/g, '\n');
}

function firstParagraphs(text: string): string {
  const end = /\r?\n[ \t]*(?:\r?\n|#{1,6} |```|~~~)/.exec(text);
  return end ? text.slice(0, end.index + 1) : text;
}

function count(text: string, until: number): number {
  let lines = 0;
  for (let at = text.indexOf('\n'); at !== -1 && at < until; at = text.indexOf('\n', at + 1)) lines += 1;
  return lines;
}

function lineAt(bytes: Uint8Array, start: number): { readonly text: string; readonly next: number } {
  const newline = bytes.indexOf(NEWLINE, start);
  const end = newline === -1 ? bytes.length : newline;
  const stop = end > start && bytes[end - 1] === 0x0d ? end - 1 : end;
  // A delimiter is at most four bytes: longer lines need no decoding beyond a probe.
  return { text: textOf(bytes, start, Math.min(stop, start + 8)), next: newline === -1 ? bytes.length : newline + 1 };
}

/** Whether a reader of HTML sees the comment end on this line. */
function endsComment(bytes: Uint8Array, from: number, to: number): boolean {
  const line = Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from);
  return line.includes('-->') || line.includes('--!>');
}

function textOf(bytes: Uint8Array, from: number, to: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString('utf8');
}

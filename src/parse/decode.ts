import { isAscii, isUtf8 } from 'node:buffer';
import { finding } from '../model/codes.ts';
import type { Finding } from '../model/finding.ts';
import type { Text } from '../model/stages.ts';

/** Bytes that are text. */
class EncodedText implements Text {
  readonly #bytes: Buffer;
  readonly #encoding: 'latin1' | 'utf8';

  constructor(bytes: Buffer, encoding: 'latin1' | 'utf8') {
    this.#bytes = bytes;
    this.#encoding = encoding;
  }

  read(): string {
    return this.#bytes.toString(this.#encoding);
  }
}

/** @returns the text that UTF-8 bytes hold, a BOM kept as U+FEFF, or `not-text` for invalid UTF-8, NUL bytes and UTF-16. */
export function toText(bytes: Uint8Array): Text | { readonly finding: Finding } {
  const plain = isAscii(bytes);
  const why = plain ? nulIn(bytes) : fault(bytes);
  if (why !== null) return { finding: finding('not-text', { message: `The bytes are not UTF-8 text: ${why}.` }) };
  const buffer = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  // ASCII reads alike as latin1, and that way without being decoded.
  return new EncodedText(buffer, plain ? 'latin1' : 'utf8');
}

function fault(bytes: Uint8Array): string | null {
  const [first, second] = bytes;
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)) return 'UTF-16 byte order mark';
  return nulIn(bytes) ?? (isUtf8(bytes) ? null : 'invalid UTF-8');
}

function nulIn(bytes: Uint8Array): string | null {
  const nul = bytes.indexOf(0);
  return nul === -1 ? null : `NUL byte at offset ${nul}`;
}

/** 1-based line and column (UTF-16 units) of an offset in a text. */
export function placeOf(text: string, offset: number): { readonly line: number; readonly column: number } {
  let line = 1;
  let start = 0;
  for (let at = text.indexOf('\n'); at !== -1 && at < offset; at = text.indexOf('\n', at + 1)) {
    line += 1;
    start = at + 1;
  }
  return { line, column: offset - start + 1 };
}

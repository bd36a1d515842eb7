const EMPTY = new Uint8Array(0);

/** Reads SSH wire data (RFC 4251 section 5). The first read past the end marks it failed and every later read gives nothing, so callers test once, at the end. */
export class WireReader {
  #at = 0;
  #failed = false;
  readonly #bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get failed(): boolean {
    return this.#failed;
  }

  /** Bytes not read yet. */
  get rest(): number {
    return this.#bytes.length - this.#at;
  }

  /** Everything was well-formed and nothing is left over. */
  get complete(): boolean {
    return !this.#failed && this.rest === 0;
  }

  raw(length: number): Uint8Array {
    if (this.#failed || length > this.rest) {
      this.#failed = true;
      return EMPTY;
    }
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }

  byte(): number {
    return this.raw(1)[0] ?? 0;
  }

  uint32(): number {
    const found = this.raw(4);
    return found.length === 4 ? new DataView(found.buffer, found.byteOffset, 4).getUint32(0) : 0;
  }

  string(): Uint8Array {
    return this.raw(this.uint32());
  }

  /** A string as text, one character a byte: for names that are then compared with ASCII words. */
  ascii(): string {
    return Buffer.from(this.string()).toString('latin1');
  }

  /** The magnitude of a positive multiple-precision integer, without leading zeros; a negative, zero or padded one fails. */
  positive(): Uint8Array {
    const found = this.string();
    const lead = found[0];
    if (lead === undefined || lead >= 0x80 || (lead === 0 && (found[1] ?? 0) < 0x80)) {
      this.#failed = true;
      return EMPTY;
    }
    return lead === 0 ? found.subarray(1) : found;
  }
}

/** @returns a 32-bit big-endian count. */
export function uint32(value: number): Uint8Array {
  const out = new Uint8Array(4);
  new DataView(out.buffer).setUint32(0, value);
  return out;
}

/** @returns bytes, or the UTF-8 of a text, with their length in front. */
export function wireString(value: Uint8Array | string): Uint8Array {
  const bytes = typeof value === 'string' ? Buffer.from(value, 'utf8') : value;
  return Buffer.concat([uint32(bytes.length), bytes]);
}

/** @returns a big-endian magnitude as a positive multiple-precision integer. */
export function wirePositive(magnitude: Uint8Array): Uint8Array {
  let start = 0;
  while (start < magnitude.length && magnitude[start] === 0) start += 1;
  const bare = magnitude.subarray(start);
  return wireString((bare[0] ?? 0) >= 0x80 ? Buffer.concat([Uint8Array.of(0), bare]) : bare);
}

const STANDARD = /^[A-Za-z0-9+/]*={0,2}$/;
const URL_SAFE = /^[A-Za-z0-9_-]*={0,2}$/;

/** @returns the bytes of canonical standard base64, padding included, or null: one text for one byte string. */
export function fromBase64(text: string): Uint8Array | null {
  if (!STANDARD.test(text)) return null;
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text ? bytes : null;
}

/** @returns the bytes of canonical base64 in the standard or the URL-safe alphabet (DSSE allows both; URL-safe may drop its padding), or null. */
export function fromAnyBase64(text: string): Uint8Array | null {
  const standard = fromBase64(text);
  if (standard !== null) return standard;
  if (!URL_SAFE.test(text)) return null;
  const bare = text.replace(/=+$/, '');
  if (bare.length !== text.length && text.length % 4 !== 0) return null;
  const bytes = Buffer.from(bare, 'base64url');
  return bytes.toString('base64url') === bare ? bytes : null;
}

/** @returns standard base64 with padding. */
export function toBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}

import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';

type Crypto = typeof import('node:crypto');

function nativeCrypto(): Crypto | null {
  return globalThis.process?.getBuiltinModule?.('node:crypto') ?? null;
}

/**
 * SHA-256 by the platform, bare lower-case hex; a string is hashed as UTF-8.
 * Throws where the platform has no node:crypto or its build lacks sha256.
 */
export function nativeSha256Hex(bytes: Uint8Array | string): string {
  const crypto = nativeCrypto();
  if (crypto === null) throw new Error('no node:crypto');
  return typeof crypto.hash === 'function'
    ? crypto.hash('sha256', bytes, 'hex')
    : crypto.createHash('sha256').update(bytes).digest('hex');
}

/** SHA-256 in plain JavaScript, bare lower-case hex; a string is hashed as UTF-8. Same answers as the native one, about eight times slower. */
export function nobleSha256Hex(bytes: Uint8Array | string): string {
  return bytesToHex(sha256(typeof bytes === 'string' ? utf8ToBytes(bytes) : bytes));
}

let chosen: ((bytes: Uint8Array | string) => string) | null = null;

function choose(): (bytes: Uint8Array | string) => string {
  try {
    nativeSha256Hex('');
    return nativeSha256Hex;
  } catch {
    return nobleSha256Hex;
  }
}

/** @returns the SHA-256 of bytes, or of the UTF-8 of a string, as bare lower-case hex. */
export function sha256Hex(bytes: Uint8Array | string): string {
  chosen ??= choose();
  return chosen(bytes);
}

/** @returns the object id git gives a blob of these bytes, lower-case hex. `algorithm` is the repository's object format. Throws where node:crypto is not there. */
export function gitBlobId(bytes: Uint8Array, algorithm: 'sha1' | 'sha256'): string {
  const crypto = nativeCrypto();
  if (crypto === null) throw new Error('no node:crypto');
  return crypto.createHash(algorithm).update(`blob ${bytes.length}\0`).update(bytes).digest('hex');
}

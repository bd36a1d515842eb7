import { createPrivateKey, type JsonWebKey, type KeyObject, sign } from 'node:crypto';
import { fromBase64, toBase64 } from './base64.ts';
import { type KnownKey, knownKey, type PublicKey } from './public-key.ts';
import { uint32, WireReader, wirePositive, wireString } from './wire.ts';

const MAGIC = Buffer.from('openssh-key-v1\0', 'latin1');
const BEGIN = '-----BEGIN OPENSSH PRIVATE KEY-----';
const END = '-----END OPENSSH PRIVATE KEY-----';
const CURVE_NAMES: Readonly<Record<number, string>> = { 32: 'P-256', 48: 'P-384', 66: 'P-521' };

/** An OpenSSH private key file as far as it can be read without a passphrase. */
export interface PrivateKeyFile {
  readonly publicKey: PublicKey;
  /** The private half, or null where it is encrypted or lives in an authenticator. */
  readonly native: KeyObject | null;
}

function base64url(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64url');
}

function toBigInt(magnitude: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(magnitude).toString('hex') || '0'}`);
}

function bigBase64url(value: bigint): string {
  const hex = value.toString(16);
  return Buffer.from(hex.padStart(hex.length + (hex.length % 2), '0'), 'hex').toString('base64url');
}

function ed25519Jwk(reader: WireReader): JsonWebKey | null {
  const point = reader.string();
  const secret = reader.string();
  if (point.length !== 32 || secret.length !== 64) return null;
  return { kty: 'OKP', crv: 'Ed25519', x: base64url(point), d: base64url(secret.subarray(0, 32)) };
}

function ecdsaJwk(reader: WireReader, size: number): JsonWebKey | null {
  reader.string();
  const point = reader.string();
  const scalar = reader.positive();
  if (point.length !== 1 + 2 * size || scalar.length > size) return null;
  const padded = Buffer.concat([new Uint8Array(size - scalar.length), scalar]);
  const x = base64url(point.subarray(1, 1 + size));
  return { kty: 'EC', crv: CURVE_NAMES[size] ?? '', x, y: base64url(point.subarray(1 + size)), d: base64url(padded) };
}

/** OpenSSH leaves out the two CRT exponents that JWK wants: they follow from d, p and q. */
function rsaJwk(reader: WireReader): JsonWebKey | null {
  const [n, e, d, qi, p, q] = Array.from({ length: 6 }, () => reader.positive());
  if (reader.failed || !n || !e || !d || !qi || !p || !q) return null;
  const [bigP, bigQ] = [toBigInt(p), toBigInt(q)];
  if (bigP < 3n || bigQ < 3n) return null;
  const exponents = { dp: bigBase64url(toBigInt(d) % (bigP - 1n)), dq: bigBase64url(toBigInt(d) % (bigQ - 1n)) };
  const rest = {
    n: base64url(n),
    e: base64url(e),
    d: base64url(d),
    p: base64url(p),
    q: base64url(q),
    qi: base64url(qi),
  };
  return { kty: 'RSA', ...rest, ...exponents };
}

function nativeKey(secret: Uint8Array, known: KnownKey): KeyObject | null {
  const reader = new WireReader(secret);
  const check = reader.uint32();
  if (check !== reader.uint32() || reader.ascii() !== known.key.keyType || known.use.application !== null) return null;
  const { kind, size } = known.use;
  const readers = { ed25519: ed25519Jwk, ecdsa: (from: WireReader) => ecdsaJwk(from, size), rsa: rsaJwk };
  const jwk = readers[kind](reader);
  if (jwk === null || reader.failed) return null;
  try {
    return createPrivateKey({ key: jwk, format: 'jwk' });
  } catch {
    return null;
  }
}

/**
 * Reads `BEGIN OPENSSH PRIVATE KEY` (PROTOCOL.key).
 * @returns the public half, and the private half where it lies open in the file; `null` where the text is not such a file;
 * `unsupported` where its key is of a kind or size that is not accepted.
 */
export function parsePrivateKeyFile(text: string): PrivateKeyFile | 'unsupported' | null {
  const lines = text.trim().split(/\r?\n/);
  if (lines[0] !== BEGIN || lines.at(-1) !== END) return null;
  const bytes = fromBase64(lines.slice(1, -1).join(''));
  if (bytes === null) return null;
  const reader = new WireReader(bytes);
  if (!MAGIC.equals(reader.raw(MAGIC.length))) return null;
  const cipher = reader.ascii();
  reader.string();
  reader.string();
  const count = reader.uint32();
  const blob = reader.string();
  const secret = reader.string();
  if (reader.failed || count !== 1) return null;
  const known = knownKey(blob);
  if (known === null) return 'unsupported';
  if (cipher !== 'none' || known.use.application !== null) return { publicKey: known.key, native: null };
  const native = nativeKey(secret, known);
  return native && { publicKey: known.key, native };
}

/** Signs bytes with an open private key. @returns the inner signature of an SSHSIG: `string algorithm, string raw`. */
export function signNatively(native: KeyObject, known: KnownKey, signed: Uint8Array): Uint8Array {
  const { kind, hash, size } = known.use;
  if (kind === 'rsa') return innerSignature('rsa-sha2-512', sign('sha512', signed, native));
  if (kind === 'ed25519') return innerSignature(known.key.keyType, sign(null, signed, native));
  const pair = sign(hash, signed, { key: native, dsaEncoding: 'ieee-p1363' });
  const [r, s] = [wirePositive(pair.subarray(0, size)), wirePositive(pair.subarray(size))];
  return innerSignature(known.key.keyType, Buffer.concat([r, s]));
}

function innerSignature(algorithm: string, raw: Uint8Array): Uint8Array {
  return Buffer.concat([wireString(algorithm), wireString(raw)]);
}

/** @returns an unencrypted Ed25519 private key file, ending in a newline. `check` is any random number. */
export function renderEd25519File(
  key: PublicKey,
  point: Uint8Array,
  seed: Uint8Array,
  comment: string,
  check: number,
): string {
  const secret = Buffer.concat([
    uint32(check),
    uint32(check),
    wireString(key.keyType),
    wireString(point),
    wireString(Buffer.concat([seed, point])),
    wireString(comment),
  ]);
  const padding = Uint8Array.from({ length: (8 - (secret.length % 8)) % 8 }, (_, i) => i + 1);
  const file = Buffer.concat([
    MAGIC,
    wireString('none'),
    wireString('none'),
    wireString(''),
    uint32(1),
    wireString(key.blob),
    wireString(Buffer.concat([secret, padding])),
  ]);
  const lines = toBase64(file).match(/.{1,70}/g) ?? [];
  return [BEGIN, ...lines, END, ''].join('\n');
}

import { createHash, createPublicKey, type KeyObject } from 'node:crypto';
import { fromBase64, toBase64 } from './base64.ts';
import { isEd25519Point } from './ed25519-point.ts';
import { WireReader } from './wire.ts';

/** An SSH public key of an accepted kind. */
export interface PublicKey {
  readonly keyType: string;
  /** The key as SSH carries it (RFC 4253 section 6.6). */
  readonly blob: Uint8Array;
  /** `SHA256:<base64 without padding>` over the blob. */
  readonly fingerprint: string;
  /** `<type> <base64>`, without a comment. */
  readonly line: string;
}

/** How signatures of a key are checked. */
export interface KeyUse {
  readonly kind: 'ed25519' | 'ecdsa' | 'rsa';
  readonly native: KeyObject;
  /** Hash of ECDSA signatures; null for the other kinds. */
  readonly hash: 'sha256' | 'sha384' | 'sha512' | null;
  /** Bytes of one ECDSA coordinate, or of the RSA modulus. */
  readonly size: number;
  /** sk- keys: what the authenticator signs for; null for every other key. */
  readonly application: Uint8Array | null;
}

export interface KnownKey {
  readonly key: PublicKey;
  readonly use: KeyUse;
}

const CURVES = {
  nistp256: { crv: 'P-256', hash: 'sha256', size: 32 },
  nistp384: { crv: 'P-384', hash: 'sha384', size: 48 },
  nistp521: { crv: 'P-521', hash: 'sha512', size: 66 },
} as const;

const MIN_RSA_BITS = 2048;
const MAX_RSA_BITS = 8192;
const MAX_LINE = 16_384;

function base64url(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64url');
}

function ed25519Use(reader: WireReader, application: boolean): KeyUse | null {
  const point = reader.string();
  const app = application ? reader.string() : null;
  if (!reader.complete || app?.length === 0 || !isEd25519Point(point)) return null;
  const native = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: base64url(point) }, format: 'jwk' });
  return { kind: 'ed25519', native, hash: null, size: 32, application: app };
}

/** Throws for a point that is not on the curve: the platform's own import looks. */
function ecdsaUse(reader: WireReader, curveName: keyof typeof CURVES, application: boolean): KeyUse | null {
  const curve = CURVES[curveName];
  const named = reader.ascii();
  const point = reader.string();
  const app = application ? reader.string() : null;
  if (!reader.complete || named !== curveName || app?.length === 0) return null;
  if (point.length !== 1 + 2 * curve.size || point[0] !== 4) return null;
  const x = base64url(point.subarray(1, 1 + curve.size));
  const y = base64url(point.subarray(1 + curve.size));
  const native = createPublicKey({ key: { kty: 'EC', crv: curve.crv, x, y }, format: 'jwk' });
  return { kind: 'ecdsa', native, hash: curve.hash, size: curve.size, application: app };
}

function bitLength(magnitude: Uint8Array): number {
  return magnitude.length === 0 ? 0 : magnitude.length * 8 - (Math.clz32(magnitude[0] ?? 0) - 24);
}

function rsaUse(reader: WireReader): KeyUse | null {
  const exponent = reader.positive();
  const modulus = reader.positive();
  if (!reader.complete) return null;
  const bits = bitLength(modulus);
  const lowBits = (exponent.at(-1) ?? 0) & (modulus.at(-1) ?? 0) & 1;
  if (bits < MIN_RSA_BITS || bits > MAX_RSA_BITS || lowBits !== 1) return null;
  if (exponent.length > 4 || (exponent.length === 1 && exponent[0] === 1)) return null;
  const native = createPublicKey({ key: { kty: 'RSA', n: base64url(modulus), e: base64url(exponent) }, format: 'jwk' });
  return { kind: 'rsa', native, hash: null, size: modulus.length, application: null };
}

function readUse(keyType: string, reader: WireReader): KeyUse | null {
  switch (keyType) {
    case 'ssh-ed25519':
      return ed25519Use(reader, false);
    case 'sk-ssh-ed25519@openssh.com':
      return ed25519Use(reader, true);
    case 'ecdsa-sha2-nistp256':
      return ecdsaUse(reader, 'nistp256', false);
    case 'ecdsa-sha2-nistp384':
      return ecdsaUse(reader, 'nistp384', false);
    case 'ecdsa-sha2-nistp521':
      return ecdsaUse(reader, 'nistp521', false);
    case 'sk-ecdsa-sha2-nistp256@openssh.com':
      return ecdsaUse(reader, 'nistp256', true);
    case 'ssh-rsa':
      return rsaUse(reader);
    default:
      return null;
  }
}

function useOf(keyType: string, reader: WireReader): KeyUse | null {
  try {
    return readUse(keyType, reader);
  } catch {
    return null;
  }
}

function readKey(source: Uint8Array): KnownKey | null {
  const blob = new Uint8Array(source);
  const reader = new WireReader(blob);
  const keyType = reader.ascii();
  const use = useOf(keyType, reader);
  if (use === null) return null;
  const fingerprint = `SHA256:${createHash('sha256').update(blob).digest('base64').replace(/=+$/, '')}`;
  return { key: { keyType, blob, fingerprint, line: `${keyType} ${toBase64(blob)}` }, use };
}

const MAX_KNOWN = 256;
const known = new Map<string, KnownKey>();

/** @returns the key in an SSH blob with what checks its signatures, or null where its kind, size, point or form is not accepted. Keys seen are kept, because a workspace has few keys and many statements. */
export function knownKey(blob: Uint8Array): KnownKey | null {
  if (blob.length > MAX_LINE) return null;
  const name = Buffer.from(blob).toString('latin1');
  const seen = known.get(name);
  if (seen !== undefined) return seen;
  const read = readKey(blob);
  if (read === null) return null;
  if (known.size >= MAX_KNOWN) known.clear();
  known.set(name, read);
  return read;
}

/** @returns the key in an SSH blob, or null as for `parsePublicKey`. */
export function publicKeyOfBlob(blob: Uint8Array): PublicKey | null {
  return knownKey(blob)?.key ?? null;
}

/**
 * Reads one line `<type> <base64> [comment]`.
 * @returns the key, or null for every kind but ed25519, ECDSA on the three NIST curves, RSA of 2048 to 8192 bits and the two
 * sk- kinds, and for certificates, trailing bytes, another type inside the blob, and points off the curve or of small order.
 */
export function parsePublicKey(line: string): PublicKey | null {
  const text = line.trimEnd();
  if (text.length > MAX_LINE || /[\r\n]/.test(text)) return null;
  const [keyType, base64] = text.split(/[ \t]+/, 2);
  const blob = base64 === undefined ? null : fromBase64(base64);
  const key = blob === null ? null : publicKeyOfBlob(blob);
  return key !== null && key.keyType === keyType ? key : null;
}

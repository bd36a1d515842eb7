import { createHash, verify } from 'node:crypto';
import type { Signer } from '../model/statement.ts';
import { fromBase64, toBase64 } from './base64.ts';
import { type KeyUse, knownKey } from './public-key.ts';
import type { Refused } from './refusal.ts';
import { uint32, WireReader, wireString } from './wire.ts';

const MAGIC = Buffer.from('SSHSIG', 'latin1');
const BEGIN = '-----BEGIN SSH SIGNATURE-----';
const END = '-----END SSH SIGNATURE-----';
const MAX_ARMOR = 65_536;
const RSA_HASHES: ReadonlyMap<string, string> = new Map([
  ['rsa-sha2-256', 'sha256'],
  ['rsa-sha2-512', 'sha512'],
]);
const USER_PRESENT = 0x01;

/** @returns the bytes that a key signs for a message (PROTOCOL.sshsig, section 3): magic, namespace, empty reserved field, hash name, hash of the message. */
export function toBeSigned(message: Uint8Array, namespace: string, hash: 'sha256' | 'sha512'): Uint8Array {
  const digest = createHash(hash).update(message).digest();
  return Buffer.concat([MAGIC, wireString(namespace), wireString(''), wireString(hash), wireString(digest)]);
}

/** @returns an SSHSIG blob around an inner signature (`string algorithm, string raw`). */
export function toSshsig(
  publicKey: Uint8Array,
  namespace: string,
  hash: 'sha256' | 'sha512',
  inner: Uint8Array,
): Uint8Array {
  return Buffer.concat([
    MAGIC,
    uint32(1),
    wireString(publicKey),
    wireString(namespace),
    wireString(''),
    wireString(hash),
    wireString(inner),
  ]);
}

function fixed(magnitude: Uint8Array, size: number): Uint8Array | null {
  if (magnitude.length > size) return null;
  const out = new Uint8Array(size);
  out.set(magnitude, size - magnitude.length);
  return out;
}

/** r and s as two coordinates of fixed size, which is the form node:crypto takes without ASN.1. */
function ecdsaRaw(raw: Uint8Array, size: number): Uint8Array | null {
  const reader = new WireReader(raw);
  const r = fixed(reader.positive(), size);
  const s = fixed(reader.positive(), size);
  return reader.complete && r !== null && s !== null ? Buffer.concat([r, s]) : null;
}

function rawMatches(use: KeyUse, hash: string | null, raw: Uint8Array, signed: Uint8Array): boolean | null {
  if (use.kind === 'ecdsa') {
    const pair = ecdsaRaw(raw, use.size);
    return pair && verify(use.hash, signed, { key: use.native, dsaEncoding: 'ieee-p1363' }, pair);
  }
  if (raw.length !== (use.kind === 'ed25519' ? 64 : use.size)) return null;
  return verify(hash, signed, use.native, raw);
}

function checkInner(
  keyType: string,
  use: KeyUse,
  inner: Uint8Array,
  signed: Uint8Array,
): Refused | { present: boolean } {
  const reader = new WireReader(inner);
  const algorithm = reader.ascii();
  const raw = reader.string();
  if (reader.failed) return { refused: 'sshsig-signature-format' };
  const hash = use.kind === 'rsa' ? (RSA_HASHES.get(algorithm) ?? null) : null;
  if (use.kind === 'rsa' ? hash === null : algorithm !== keyType) return { refused: 'sshsig-algorithm' };
  let bytes = signed;
  let present = false;
  if (use.application !== null) {
    const flags = reader.byte();
    const counter = reader.raw(4);
    present = (flags & USER_PRESENT) !== 0;
    const application = createHash('sha256').update(use.application).digest();
    bytes = Buffer.concat([application, Uint8Array.of(flags), counter, createHash('sha256').update(signed).digest()]);
  }
  const matches = reader.complete ? rawMatches(use, hash, raw, bytes) : null;
  if (matches === null) return { refused: 'sshsig-signature-format' };
  return matches ? { present } : { refused: 'signature-invalid' };
}

/**
 * Checks an SSHSIG blob over a message, in this process.
 * @returns who signed, or why it is refused. The namespace must be equal; sha256 and sha512 are the only message hashes; the
 * reserved field must be empty (OpenSSH leaves it out of what it checks, so a filled one would be unsigned bytes).
 */
export function verifySshsig(
  blob: Uint8Array,
  message: Uint8Array,
  namespace: string,
): { readonly signer: Signer } | Refused {
  const reader = new WireReader(blob);
  const magic = reader.raw(MAGIC.length);
  const version = reader.uint32();
  if (reader.failed || !MAGIC.equals(magic)) return { refused: 'sshsig-format' };
  if (version !== 1) return { refused: 'sshsig-version' };
  const publicKey = reader.string();
  const signedFor = reader.string();
  const reserved = reader.string();
  const hash = reader.ascii();
  const inner = reader.string();
  if (reader.failed) return { refused: 'sshsig-format' };
  if (!reader.complete) return { refused: 'sshsig-trailing-bytes' };
  if (namespace === '' || !Buffer.from(namespace, 'utf8').equals(signedFor)) return { refused: 'sshsig-namespace' };
  if (reserved.length !== 0) return { refused: 'sshsig-reserved' };
  if (hash !== 'sha256' && hash !== 'sha512') return { refused: 'sshsig-hash' };
  const found = knownKey(publicKey);
  if (found === null) return { refused: 'sshsig-key' };
  const { keyType, fingerprint } = found.key;
  const checked = checkInner(keyType, found.use, inner, toBeSigned(message, namespace, hash));
  return 'refused' in checked ? checked : { signer: { fingerprint, keyType, userPresent: checked.present } };
}

/** @returns the blob inside `BEGIN SSH SIGNATURE` armor, or null where the text is anything but that armor. Line ends may be LF or CRLF, with blank lines only at the end. */
export function dearmor(text: string): Uint8Array | null {
  if (text.length > MAX_ARMOR) return null;
  const lines = text.trimEnd().split(/\r?\n/);
  if (lines.length < 3 || lines[0] !== BEGIN || lines.at(-1) !== END) return null;
  return fromBase64(lines.slice(1, -1).join(''));
}

/** @returns the blob in armor, 70 columns, ending in a newline. */
export function armor(blob: Uint8Array): string {
  const lines = toBase64(blob).match(/.{1,70}/g) ?? [];
  return [BEGIN, ...lines, END, ''].join('\n');
}

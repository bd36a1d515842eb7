import { isUtf8 } from 'node:buffer';
import type { Signer } from '../model/statement.ts';
import { fromAnyBase64, toBase64 } from './base64.ts';
import { sha256Hex } from './digest.ts';
import type { SigningKey } from './private-key.ts';
import { type Refusal, type Refused, SigningRefused } from './refusal.ts';
import { verifySshsig } from './sshsig.ts';
import { parseStrictJson } from './strict-json.ts';

/** The one payload type of writ's envelopes. */
export const PAYLOAD_TYPE = 'application/vnd.in-toto+json';
/** The SSHSIG namespace of every signature writ makes or accepts in an envelope. */
export const NAMESPACE = 'writ';

const MAX_ENVELOPE = 1_048_576;
const MAX_SIGNATURES = 16;
const MAX_DEPTH = 8;

/** An envelope of which at least one signature verified. */
export interface Opened {
  /** The very bytes that were verified. */
  readonly payload: Uint8Array;
  readonly payloadType: string;
  /** Bare hex sha256 of the payload. */
  readonly payloadDigest: string;
  /** Distinct keys whose signatures verified, in the envelope's order; never empty. */
  readonly signers: readonly Signer[];
}

interface RawSignature {
  readonly keyid?: unknown;
  readonly sig: string;
}

interface RawEnvelope {
  readonly payload: Uint8Array;
  readonly signatures: readonly RawSignature[];
}

/** @returns the bytes that DSSE signs (pre-authentication encoding, DSSE 1.0.2). */
export function pae(type: string, payload: Uint8Array): Uint8Array {
  const typeBytes = Buffer.from(type, 'utf8');
  const head = Buffer.from(`DSSEv1 ${typeBytes.length} ${type} ${payload.length} `, 'utf8');
  return Buffer.concat([head, payload]);
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isRawSignature(value: unknown): value is RawSignature {
  return isRecord(value) && typeof value.sig === 'string' && ['string', 'undefined'].includes(typeof value.keyid);
}

function readEnvelope(bytes: Uint8Array): RawEnvelope | Refused {
  if (bytes.length > MAX_ENVELOPE) return { refused: 'envelope-too-large' };
  if (!isUtf8(bytes)) return { refused: 'envelope-not-utf8' };
  const read = parseStrictJson(Buffer.from(bytes).toString('utf8'), { maxDepth: MAX_DEPTH });
  if ('fault' in read) return { refused: 'envelope-json' };
  if (!isRecord(read.value)) return { refused: 'envelope-shape' };
  const { payload, payloadType, signatures } = read.value;
  if (typeof payload !== 'string' || typeof payloadType !== 'string' || !Array.isArray(signatures)) {
    return { refused: 'envelope-shape' };
  }
  if (payloadType !== PAYLOAD_TYPE) return { refused: 'envelope-payload-type' };
  if (signatures.length === 0) return { refused: 'signature-missing' };
  if (signatures.length > MAX_SIGNATURES) return { refused: 'signature-too-many' };
  if (!signatures.every(isRawSignature)) return { refused: 'envelope-shape' };
  const decoded = fromAnyBase64(payload);
  return decoded === null ? { refused: 'envelope-base64' } : { payload: decoded, signatures };
}

function checkSignature(sig: string, message: Uint8Array): { readonly signer: Signer } | Refused {
  const blob = fromAnyBase64(sig);
  return blob === null ? { refused: 'signature-base64' } : verifySshsig(blob, message, NAMESPACE);
}

/**
 * Opens a DSSE envelope. A signature that does not verify counts for nothing; where none verifies the envelope is refused for
 * the reason of its first. `keyid` is a hint and is not looked at. An sk- key that signed twice is present if one touch was.
 */
export function openEnvelope(bytes: Uint8Array): Opened | Refused {
  const raw = readEnvelope(bytes);
  if ('refused' in raw) return raw;
  const message = pae(PAYLOAD_TYPE, raw.payload);
  const signers = new Map<string, Signer>();
  let first: Refusal | null = null;
  for (const { sig } of raw.signatures) {
    const checked = checkSignature(sig, message);
    if ('refused' in checked) {
      first ??= checked.refused;
      continue;
    }
    const { signer } = checked;
    if (signer.userPresent || !signers.has(signer.fingerprint)) signers.set(signer.fingerprint, signer);
  }
  if (signers.size === 0) return { refused: first ?? 'signature-missing' };
  const { payload } = raw;
  return { payload, payloadType: PAYLOAD_TYPE, payloadDigest: sha256Hex(payload), signers: [...signers.values()] };
}

function renderEnvelope(payload: Uint8Array, signatures: ReadonlyMap<string, string>): string {
  const sorted = [...signatures].sort(([a], [b]) => (a < b ? -1 : 1));
  const envelope = {
    payload: toBase64(payload),
    payloadType: PAYLOAD_TYPE,
    signatures: sorted.map(([keyid, sig]) => ({ keyid, sig })),
  };
  const text = `${JSON.stringify(envelope, null, 2)}\n`;
  if (text.length > MAX_ENVELOPE) throw new SigningRefused('envelope-too-large');
  return text;
}

async function signInto(signatures: Map<string, string>, payload: Uint8Array, key: SigningKey): Promise<void> {
  const blob = await key.sign(pae(PAYLOAD_TYPE, payload), NAMESPACE);
  signatures.set(key.publicKey.fingerprint, toBase64(blob));
}

/** Signs a payload with each key, one after the other (a person may be asked to touch each). @returns the envelope's text, signatures in fingerprint order, ending in a newline. Throws SigningRefused from the keys and where the text would be over 1 MiB, a TypeError where no key is given. */
export async function sealEnvelope(payload: Uint8Array, keys: readonly SigningKey[]): Promise<string> {
  if (keys.length === 0) throw new TypeError('an envelope needs a key');
  const signatures = new Map<string, string>();
  for (const key of keys) await signInto(signatures, payload, key);
  return renderEnvelope(payload, signatures);
}

/** Adds one key's signature to an envelope, replacing an earlier one by the same key and dropping those that do not verify. @returns the new text, or why the envelope at hand is refused. Throws SigningRefused from the key. */
export async function cosignEnvelope(text: string, key: SigningKey): Promise<string | Refused> {
  const raw = readEnvelope(Buffer.from(text, 'utf8'));
  if ('refused' in raw) return raw;
  const opened = openEnvelope(Buffer.from(text, 'utf8'));
  if ('refused' in opened) return opened;
  const message = pae(PAYLOAD_TYPE, raw.payload);
  const signatures = new Map<string, string>();
  for (const { sig } of raw.signatures) {
    const checked = checkSignature(sig, message);
    const blob = fromAnyBase64(sig);
    if ('signer' in checked && blob !== null) signatures.set(checked.signer.fingerprint, toBase64(blob));
  }
  await signInto(signatures, raw.payload, key);
  if (signatures.size > MAX_SIGNATURES) return { refused: 'signature-too-many' };
  return renderEnvelope(raw.payload, signatures);
}

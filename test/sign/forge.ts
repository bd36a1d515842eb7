import { execFileSync, spawnSync } from 'node:child_process';
import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newKeyPair } from '../../src/sign/new-key.ts';
import { openSigningKey, type SigningKey } from '../../src/sign/private-key.ts';
import { uint32, wirePositive, wireString } from '../../src/sign/wire.ts';

/** Whether this machine has ssh-keygen; the tests that need it say that they are skipped. */
export const hasSshKeygen = spawnSync('ssh-keygen', ['-?']).error === undefined;
if (!hasSshKeygen) console.log('skipped: ssh-keygen is not on this machine; fixed vectors only');

export function scratch(): string {
  return mkdtempSync(join(tmpdir(), 'writ-sign-'));
}

export function keygen(args: readonly string[], input?: Uint8Array | string): string {
  return execFileSync('ssh-keygen', [...args], { input: input ?? '', stdio: ['pipe', 'pipe', 'pipe'] }).toString(
    'latin1',
  );
}

/** A native signing key written to and opened from a scratch file. */
export async function freshKey(): Promise<SigningKey> {
  const file = join(scratch(), 'key');
  writeFileSync(file, newKeyPair('test').privateKey, { mode: 0o600 });
  const key = await openSigningKey(file);
  if ('refused' in key) throw new Error(key.refused);
  return key;
}

export const ed25519 = generateKeyPairSync('ed25519');
export const p256 = generateKeyPairSync('ec', { namedCurve: 'P-256' });

export function ed25519Point(key: KeyObject): Buffer {
  return Buffer.from(key.export({ format: 'jwk' }).x ?? '', 'base64url');
}

export function p256Point(key: KeyObject): Buffer {
  const { x = '', y = '' } = key.export({ format: 'jwk' });
  return Buffer.concat([Uint8Array.of(4), Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')]);
}

export const ED25519_BLOB = Buffer.concat([wireString('ssh-ed25519'), wireString(ed25519Point(ed25519.publicKey))]);
export const SK_ED25519 = 'sk-ssh-ed25519@openssh.com';
export const SK_ECDSA = 'sk-ecdsa-sha2-nistp256@openssh.com';
export const SK_ED25519_BLOB = Buffer.concat([
  wireString(SK_ED25519),
  wireString(ed25519Point(ed25519.publicKey)),
  wireString('ssh:'),
]);
export const SK_ECDSA_BLOB = Buffer.concat([
  wireString(SK_ECDSA),
  wireString('nistp256'),
  wireString(p256Point(p256.publicKey)),
  wireString('ssh:'),
]);

export interface Forged {
  readonly magic?: string;
  readonly version?: number;
  readonly key?: Uint8Array;
  readonly namespace?: string;
  readonly reserved?: string;
  readonly hash?: string;
  readonly inner?: (signed: Buffer) => Uint8Array;
  readonly tail?: Uint8Array;
}

export function plainInner(signed: Uint8Array): Buffer {
  return Buffer.concat([wireString('ssh-ed25519'), wireString(sign(null, signed, ed25519.privateKey))]);
}

/** An SSHSIG blob made of parts, each of which a test may bend; correctly signed over whatever the parts say. */
export function forge(message: Uint8Array, bent: Forged = {}): Buffer {
  const namespace = bent.namespace ?? 'writ';
  const hash = bent.hash ?? 'sha512';
  const digest = createHash(hash).update(message).digest();
  const middle = [wireString(namespace), wireString(bent.reserved ?? ''), wireString(hash)];
  const signed = Buffer.concat([Buffer.from('SSHSIG'), ...middle, wireString(digest)]);
  return Buffer.concat([
    Buffer.from(bent.magic ?? 'SSHSIG'),
    uint32(bent.version ?? 1),
    wireString(bent.key ?? ED25519_BLOB),
    ...middle,
    wireString((bent.inner ?? plainInner)(signed)),
    bent.tail ?? new Uint8Array(0),
  ]);
}

function authenticatorData(application: string, flags: number, counter: number, signed: Uint8Array): Buffer {
  const hash = (bytes: Uint8Array | string) => createHash('sha256').update(bytes).digest();
  return Buffer.concat([hash(application), Uint8Array.of(flags), uint32(counter), hash(signed)]);
}

/** What a FIDO key with an Ed25519 key would answer. */
export function skEd25519Inner(flags: number, application = 'ssh:'): (signed: Buffer) => Buffer {
  return (signed) => {
    const raw = sign(null, authenticatorData(application, flags, 7, signed), ed25519.privateKey);
    return Buffer.concat([wireString(SK_ED25519), wireString(raw), Uint8Array.of(flags), uint32(7)]);
  };
}

/** What a FIDO key with a P-256 key would answer. */
export function skEcdsaInner(flags: number): (signed: Buffer) => Buffer {
  return (signed) => {
    const options = { key: p256.privateKey, dsaEncoding: 'ieee-p1363' as const };
    const pair = sign('sha256', authenticatorData('ssh:', flags, 7, signed), options);
    const raw = Buffer.concat([wirePositive(pair.subarray(0, 32)), wirePositive(pair.subarray(32))]);
    return Buffer.concat([wireString(SK_ECDSA), wireString(raw), Uint8Array.of(flags), uint32(7)]);
  };
}

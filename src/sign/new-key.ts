import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { renderEd25519File } from './openssh-key.ts';
import { type PublicKey, publicKeyOfBlob } from './public-key.ts';
import { wireString } from './wire.ts';

/** A new Ed25519 key pair, made in this process. */
export interface NewKeyPair {
  /** OpenSSH private key file, unencrypted: the caller writes it with mode 0600 and nowhere else. */
  readonly privateKey: string;
  readonly publicKey: PublicKey;
}

/** Makes an Ed25519 key pair. `comment` is stored in the private key file, one line, not secret. */
export function newKeyPair(comment: string): NewKeyPair {
  const { privateKey } = generateKeyPairSync('ed25519');
  const jwk = privateKey.export({ format: 'jwk' });
  const point = Buffer.from(jwk.x ?? '', 'base64url');
  const seed = Buffer.from(jwk.d ?? '', 'base64url');
  const publicKey = publicKeyOfBlob(Buffer.concat([wireString('ssh-ed25519'), wireString(point)]));
  if (publicKey === null || seed.length !== 32) throw new Error('the platform made no Ed25519 key');
  const line = comment.replace(/[\r\n\0]+/g, ' ');
  return { privateKey: renderEd25519File(publicKey, point, seed, line, randomBytes(4).readUInt32BE()), publicKey };
}

import { generateKeyPairSync, sign } from 'node:crypto';
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parsePublicKey } from '../../src/sign/public-key.ts';
import { armor, dearmor, verifySshsig } from '../../src/sign/sshsig.ts';
import { uint32, wirePositive, wireString } from '../../src/sign/wire.ts';
import {
  ED25519_BLOB,
  ed25519,
  ed25519Point,
  type Forged,
  forge,
  p256,
  p256Point,
  plainInner,
  SK_ECDSA_BLOB,
  SK_ED25519,
  SK_ED25519_BLOB,
  skEcdsaInner,
  skEd25519Inner,
} from './forge.ts';

const vectors = JSON.parse(readFileSync(new URL('./vectors.json', import.meta.url), 'utf8'));
const MESSAGE = Buffer.from('the message');

describe('fixed vectors made by ssh-keygen', () => {
  for (const { name, publicKey, fingerprint, armored } of vectors.signatures) {
    test(name, () => {
      const blob = dearmor(armored) ?? new Uint8Array(0);
      const message = Buffer.from(vectors.message);
      const signer = { fingerprint, keyType: parsePublicKey(publicKey)?.keyType, userPresent: false };
      expect(verifySshsig(blob, message, 'writ')).toEqual({ signer });
      expect(verifySshsig(blob, Buffer.from('other'), 'writ')).toEqual({ refused: 'signature-invalid' });
      expect(verifySshsig(blob, message, 'git')).toEqual({ refused: 'sshsig-namespace' });
      expect(armor(blob)).toBe(armored);
    });
  }
});

test('sk- keys: the user-present bit is told, whatever else is set', () => {
  const present = (blob: Uint8Array) => {
    const result = verifySshsig(blob, MESSAGE, 'writ');
    return 'signer' in result ? result.signer.userPresent : result.refused;
  };
  expect(present(forge(MESSAGE, { key: SK_ED25519_BLOB, inner: skEd25519Inner(0x01) }))).toBe(true);
  expect(present(forge(MESSAGE, { key: SK_ED25519_BLOB, inner: skEd25519Inner(0x05) }))).toBe(true);
  expect(present(forge(MESSAGE, { key: SK_ED25519_BLOB, inner: skEd25519Inner(0x00) }))).toBe(false);
  expect(present(forge(MESSAGE, { key: SK_ED25519_BLOB, inner: skEd25519Inner(0x04) }))).toBe(false);
  expect(present(forge(MESSAGE, { key: SK_ECDSA_BLOB, inner: skEcdsaInner(0x01) }))).toBe(true);
  expect(present(forge(MESSAGE, { key: SK_ECDSA_BLOB, inner: skEcdsaInner(0x00) }))).toBe(false);
});

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const rsaJwk = rsa.publicKey.export({ format: 'jwk' });
const rsaParts = [Buffer.from(rsaJwk.e ?? '', 'base64url'), Buffer.from(rsaJwk.n ?? '', 'base64url')];
const RSA_BLOB = Buffer.concat([wireString('ssh-rsa'), ...rsaParts.map(wirePositive)]);
const rsaInner =
  (algorithm: string, hash: string, cut = 0) =>
  (signed: Buffer) =>
    Buffer.concat([wireString(algorithm), wireString(sign(hash, signed, rsa.privateKey).subarray(cut))]);

const P256_BLOB = Buffer.concat([
  wireString('ecdsa-sha2-nistp256'),
  wireString('nistp256'),
  wireString(p256Point(p256.publicKey)),
]);
const ecdsaInner = (raw: Uint8Array) => () => Buffer.concat([wireString('ecdsa-sha2-nistp256'), wireString(raw)]);

function skFlagsRaised(signed: Buffer): Buffer {
  const inner = skEd25519Inner(0x00)(signed);
  inner[inner.length - 5] = 0x01;
  return inner;
}

const refusals: readonly (readonly [string, Forged, string])[] = [
  ['another magic', { magic: 'SSHSIH' }, 'sshsig-format'],
  ['version 0', { version: 0 }, 'sshsig-version'],
  ['version 2', { version: 2 }, 'sshsig-version'],
  ['a byte after the end', { tail: Uint8Array.of(0) }, 'sshsig-trailing-bytes'],
  ['namespace git', { namespace: 'git' }, 'sshsig-namespace'],
  ['namespace with a tail', { namespace: 'writ\0' }, 'sshsig-namespace'],
  ['no namespace', { namespace: '' }, 'sshsig-namespace'],
  ['a filled reserved field', { reserved: 'x' }, 'sshsig-reserved'],
  ['sha1', { hash: 'sha1' }, 'sshsig-hash'],
  ['sha384', { hash: 'sha384' }, 'sshsig-hash'],
  ['an empty key', { key: new Uint8Array(0) }, 'sshsig-key'],
  ['a key with trailing bytes', { key: Buffer.concat([ED25519_BLOB, Uint8Array.of(0)]) }, 'sshsig-key'],
  ['a dss key', { key: Buffer.concat([wireString('ssh-dss'), wireString('x')]) }, 'sshsig-key'],
  ['an empty inner signature', { inner: () => new Uint8Array(0) }, 'sshsig-signature-format'],
  [
    'a tail in the inner signature',
    { inner: (s) => Buffer.concat([plainInner(s), Uint8Array.of(1)]) },
    'sshsig-signature-format',
  ],
  [
    'an ed25519 signature of 63 bytes',
    { inner: (s) => Buffer.concat([wireString('ssh-ed25519'), wireString(plainInner(s).subarray(19, 82))]) },
    'sshsig-signature-format',
  ],
  [
    'another algorithm than the key',
    { inner: (s) => Buffer.concat([wireString('ssh-rsa'), plainInner(s).subarray(15)]) },
    'sshsig-algorithm',
  ],
  ['RSA with SHA-1', { key: RSA_BLOB, inner: rsaInner('ssh-rsa', 'sha1') }, 'sshsig-algorithm'],
  ['RSA of the wrong hash', { key: RSA_BLOB, inner: rsaInner('rsa-sha2-512', 'sha256') }, 'signature-invalid'],
  ['a short RSA signature', { key: RSA_BLOB, inner: rsaInner('rsa-sha2-512', 'sha512', 1) }, 'sshsig-signature-format'],
  [
    'ECDSA with r of zero length',
    { key: P256_BLOB, inner: ecdsaInner(Buffer.concat([uint32(0), wirePositive(Uint8Array.of(1))])) },
    'sshsig-signature-format',
  ],
  [
    'ECDSA with r negative',
    {
      key: P256_BLOB,
      inner: ecdsaInner(Buffer.concat([wireString(Uint8Array.of(0x80)), wirePositive(Uint8Array.of(1))])),
    },
    'sshsig-signature-format',
  ],
  [
    'ECDSA with r padded',
    {
      key: P256_BLOB,
      inner: ecdsaInner(Buffer.concat([wireString(Uint8Array.of(0, 1)), wirePositive(Uint8Array.of(1))])),
    },
    'sshsig-signature-format',
  ],
  [
    'ECDSA with r too long',
    {
      key: P256_BLOB,
      inner: ecdsaInner(Buffer.concat([wireString(Buffer.alloc(33, 1)), wirePositive(Uint8Array.of(1))])),
    },
    'sshsig-signature-format',
  ],
  [
    'ECDSA with r and s of one',
    {
      key: P256_BLOB,
      inner: ecdsaInner(Buffer.concat([wirePositive(Uint8Array.of(1)), wirePositive(Uint8Array.of(1))])),
    },
    'signature-invalid',
  ],
  [
    'an sk- signature without flags',
    { key: SK_ED25519_BLOB, inner: (s) => skEd25519Inner(1)(s).subarray(0, -5) },
    'sshsig-signature-format',
  ],
  [
    'an sk- signature for another application',
    { key: SK_ED25519_BLOB, inner: skEd25519Inner(1, 'https://example.com') },
    'signature-invalid',
  ],
  ['a user-present bit set afterwards', { key: SK_ED25519_BLOB, inner: skFlagsRaised }, 'signature-invalid'],
  [
    'a plain signature under the sk- name',
    {
      key: SK_ED25519_BLOB,
      inner: (s) =>
        Buffer.concat([
          wireString(SK_ED25519),
          wireString(sign(null, s, ed25519.privateKey)),
          Uint8Array.of(1, 0, 0, 0, 7),
        ]),
    },
    'signature-invalid',
  ],
  [
    'the key of another',
    {
      key: Buffer.concat([
        wireString('ssh-ed25519'),
        wireString(ed25519Point(generateKeyPairSync('ed25519').publicKey)),
      ]),
    },
    'signature-invalid',
  ],
];

describe('refused', () => {
  test('the forge makes good signatures', () => {
    expect(verifySshsig(forge(MESSAGE), MESSAGE, 'writ')).toHaveProperty('signer');
    const bent = { key: RSA_BLOB, inner: rsaInner('rsa-sha2-256', 'sha256') };
    expect(verifySshsig(forge(MESSAGE, bent), MESSAGE, 'writ')).toHaveProperty('signer');
  });
  for (const [name, bent, refused] of refusals) {
    test(name, () => expect(verifySshsig(forge(MESSAGE, bent), MESSAGE, 'writ')).toEqual({ refused }));
  }
  test('a real signature of a 1024-bit RSA key', () => {
    const blob = dearmor(vectors.weakSignature) ?? new Uint8Array(0);
    expect(verifySshsig(blob, Buffer.from(vectors.message), 'writ')).toEqual({ refused: 'sshsig-key' });
  });
  test('an empty namespace asked for', () => {
    expect(verifySshsig(forge(MESSAGE, { namespace: '' }), MESSAGE, '')).toEqual({ refused: 'sshsig-namespace' });
  });
  test('a small-order key, under which anything verifies', () => {
    const key = Buffer.concat([
      wireString('ssh-ed25519'),
      wireString(Buffer.concat([Uint8Array.of(1), Buffer.alloc(31)])),
    ]);
    const raw = Buffer.concat([Uint8Array.of(1), Buffer.alloc(63)]);
    const inner = () => Buffer.concat([wireString('ssh-ed25519'), wireString(raw)]);
    expect(verifySshsig(forge(MESSAGE, { key, inner }), MESSAGE, 'writ')).toEqual({ refused: 'sshsig-key' });
  });
});

test('no flip of any bit leaves a signature standing', () => {
  for (const bent of [
    {},
    { key: SK_ED25519_BLOB, inner: skEd25519Inner(1) },
    { key: RSA_BLOB, inner: rsaInner('rsa-sha2-512', 'sha512') },
  ]) {
    const blob = forge(MESSAGE, bent);
    fc.assert(
      fc.property(fc.nat(blob.length - 1), fc.integer({ min: 1, max: 255 }), (at, mask) => {
        const flipped = Buffer.from(blob);
        flipped[at] = (flipped[at] ?? 0) ^ mask;
        expect(verifySshsig(flipped, MESSAGE, 'writ')).toHaveProperty('refused');
      }),
      { numRuns: 300 },
    );
  }
});

test('a cut at any byte is refused, not thrown', () => {
  for (const bent of [{}, { key: SK_ECDSA_BLOB, inner: skEcdsaInner(1) }]) {
    const blob = forge(MESSAGE, bent);
    for (let end = 0; end < blob.length; end += 1) {
      expect(verifySshsig(blob.subarray(0, end), MESSAGE, 'writ')).toEqual({ refused: 'sshsig-format' });
    }
  }
});

test('random bytes are refused, not thrown', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
      const blob = Buffer.concat([Buffer.from('SSHSIG'), uint32(1), bytes]);
      expect(verifySshsig(blob, MESSAGE, 'writ')).toHaveProperty('refused');
    }),
  );
});

test('armor: only its one form is read', () => {
  const text = armor(forge(MESSAGE));
  expect(dearmor(text)).toEqual(forge(MESSAGE));
  expect(dearmor(text.replaceAll('\n', '\r\n'))).not.toBeNull();
  for (const bad of [
    '',
    text.slice(5),
    `x${text}`,
    `${text}x`,
    text.replace('U1NIU0lH', 'U1NIU0l'),
    text.replace('U1NIU0lH', 'U1NI U0lH'),
    text + text,
    'a'.repeat(70_000),
  ]) {
    expect(dearmor(bad)).toBeNull();
  }
});

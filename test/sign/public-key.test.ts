import { generateKeyPairSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { isEd25519Point } from '../../src/sign/ed25519-point.ts';
import { parsePublicKey } from '../../src/sign/public-key.ts';
import { wirePositive, wireString } from '../../src/sign/wire.ts';
import { ED25519_BLOB, ed25519Point, p256, p256Point, SK_ECDSA_BLOB, SK_ED25519_BLOB } from './forge.ts';

const vectors = JSON.parse(readFileSync(new URL('./vectors.json', import.meta.url), 'utf8'));
const line = (type: string, ...parts: Uint8Array[]) =>
  `${type} ${Buffer.concat([wireString(type), ...parts]).toString('base64')}`;
const ed = (point: Uint8Array, ...more: Uint8Array[]) => line('ssh-ed25519', wireString(point), ...more);
const ec = (curve: string, named: string, point: Uint8Array) =>
  line(`ecdsa-sha2-${curve}`, wireString(named), wireString(point));
const rsa = (exponent: Uint8Array, modulus: Uint8Array) => line('ssh-rsa', exponent, modulus);

const good = `ssh-ed25519 ${ED25519_BLOB.toString('base64')}`;
const point = p256Point(p256.publicKey);
const offCurve = Buffer.concat([point.subarray(0, 64), Uint8Array.of((point[64] ?? 0) ^ 1)]);
const odd = (bits: number) => Buffer.concat([Uint8Array.of(0x80), Buffer.alloc(bits / 8 - 2), Uint8Array.of(1)]);
const E = wirePositive(Uint8Array.of(1, 0, 1));

test('every accepted kind, with and without a comment, and the fingerprint ssh-keygen shows', () => {
  for (const { publicKey, fingerprint } of vectors.signatures) {
    expect(parsePublicKey(publicKey)).toMatchObject({ fingerprint, line: publicKey, keyType: publicKey.split(' ')[0] });
    expect(parsePublicKey(`${publicKey} a comment, "quoted"\n`)?.line).toBe(publicKey);
  }
  for (const blob of [SK_ED25519_BLOB, SK_ECDSA_BLOB]) {
    const type = blob.subarray(4, 4 + blob.readUInt32BE(0)).toString();
    expect(parsePublicKey(`${type} ${blob.toString('base64')}`)?.keyType).toBe(type);
  }
  expect(parsePublicKey(rsa(E, wirePositive(odd(8192))))?.keyType).toBe('ssh-rsa');
});

const nulls: readonly (readonly [string, string])[] = [
  ['nothing', ''],
  ['a type alone', 'ssh-ed25519'],
  ['leading options', `namespaces="writ" ${good}`],
  ['a leading blank', ` ${good}`],
  ['two lines', `${good}\n${good}`],
  ['base64 that is not canonical', good.slice(0, -1)],
  ['base64 with padding it does not need', `${good}=`],
  ['another type outside', good.replace('ssh-ed25519', 'ssh-rsa')],
  ['another type inside', line('ssh-ed25519').replace(/ .*/, ` ${SK_ED25519_BLOB.toString('base64')}`)],
  ['trailing bytes', ed(ed25519Point(generateKeyPairSync('ed25519').publicKey), Uint8Array.of(0))],
  ['an ed25519 point of 31 bytes', ed(Buffer.alloc(31, 9))],
  ['an ed25519 point off the curve', ed(Buffer.concat([Uint8Array.of(2), Buffer.alloc(31)]))],
  ['the ed25519 point of order 1', ed(Buffer.concat([Uint8Array.of(1), Buffer.alloc(31)]))],
  ['the ed25519 point of order 4', ed(Buffer.alloc(32))],
  [
    'an ed25519 point of order 8',
    ed(Buffer.from('26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05', 'hex')),
  ],
  [
    'the other ed25519 point of order 8',
    ed(Buffer.from('c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a', 'hex')),
  ],
  [
    'an ed25519 point that is not reduced',
    ed(Buffer.concat([Uint8Array.of(0xf0), Buffer.alloc(30, 0xff), Uint8Array.of(0x7f)])),
  ],
  ['a P-256 point off the curve', ec('nistp256', 'nistp256', offCurve)],
  ['a P-256 point, compressed', ec('nistp256', 'nistp256', Buffer.concat([Uint8Array.of(2), point.subarray(1, 33)]))],
  ['a P-256 point at infinity', ec('nistp256', 'nistp256', Uint8Array.of(0))],
  ['a curve that is not its type', ec('nistp256', 'nistp384', point)],
  ['an unknown curve', ec('nistp192', 'nistp192', point)],
  ['RSA of 2040 bits', rsa(E, wirePositive(odd(2040)))],
  ['RSA of 1024 bits', vectors.weakKeys.find((key: { name: string }) => key.name === 'rsa1024').publicKey],
  ['RSA of 16384 bits', rsa(E, wirePositive(odd(16384)))],
  ['RSA, modulus even', rsa(E, wirePositive(Buffer.concat([odd(2048).subarray(0, 255), Uint8Array.of(2)])))],
  ['RSA, modulus negative', rsa(E, wireString(odd(2048)))],
  ['RSA, modulus padded', rsa(E, wireString(Buffer.concat([Uint8Array.of(0, 0), odd(2048)])))],
  ['RSA, exponent 1', rsa(wirePositive(Uint8Array.of(1)), wirePositive(odd(2048)))],
  ['RSA, exponent even', rsa(wirePositive(Uint8Array.of(1, 0, 0)), wirePositive(odd(2048)))],
  ['RSA, exponent of 40 bits', rsa(wirePositive(Uint8Array.of(1, 0, 0, 0, 1)), wirePositive(odd(2048)))],
  ['DSA', vectors.weakKeys.find((key: { name: string }) => key.name === 'dsa').publicKey],
  ['a certificate', line('ssh-ed25519-cert-v01@openssh.com', wireString('nonce'), wireString(Buffer.alloc(32, 9)))],
  [
    'an sk- key without an application',
    line('sk-ssh-ed25519@openssh.com', wireString(ED25519_BLOB.subarray(-32)), wireString('')),
  ],
];

describe('null for', () => {
  for (const [name, text] of nulls) test(name, () => expect(parsePublicKey(text)).toBeNull());
});

test('the point check agrees with the platform: its keys all pass', () => {
  for (let i = 0; i < 50; i += 1) {
    expect(isEd25519Point(ed25519Point(generateKeyPairSync('ed25519').publicKey))).toBe(true);
  }
});

test('half of all y are on no point', () => {
  const seen = Array.from({ length: 200 }, (_, i) =>
    isEd25519Point(Buffer.concat([Uint8Array.of(i, 7), Buffer.alloc(30)])),
  );
  const on = seen.filter(Boolean).length;
  expect(on).toBeGreaterThan(60);
  expect(on).toBeLessThan(140);
});

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { sha256Hex } from '../../src/sign/digest.ts';
import { cosignEnvelope, openEnvelope, PAYLOAD_TYPE, pae, sealEnvelope } from '../../src/sign/envelope.ts';
import { forge, freshKey, SK_ED25519_BLOB, skEd25519Inner } from './forge.ts';

const PAYLOAD = Buffer.from('{"any":"payload"}');
const MESSAGE = pae(PAYLOAD_TYPE, PAYLOAD);
const b64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64');
const good = { keyid: 'a hint', sig: b64(forge(MESSAGE)) };
const envelope = { payload: b64(PAYLOAD), payloadType: PAYLOAD_TYPE, signatures: [good] };
const open = (value: unknown) => openEnvelope(Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)));

test('PAE counts bytes', () => {
  expect(Buffer.from(pae('é', Buffer.from('é!'))).toString()).toBe('DSSEv1 2 é 3 é!');
  expect(Buffer.from(pae('http://example.com/HelloWorld', Buffer.from('hello world'))).toString()).toBe(
    'DSSEv1 29 http://example.com/HelloWorld 11 hello world',
  );
});

test('seal, open, and the text is stable', async () => {
  const [a, b] = [await freshKey(), await freshKey()];
  const text = await sealEnvelope(PAYLOAD, [a, b]);
  expect(text).toBe(await sealEnvelope(PAYLOAD, [b, a]));
  expect(text.endsWith('}\n')).toBe(true);
  const opened = open(text);
  if ('refused' in opened) throw new Error(opened.refused);
  expect(Buffer.from(opened.payload)).toEqual(PAYLOAD);
  expect(opened.payloadDigest).toBe(sha256Hex(PAYLOAD));
  const prints = opened.signers.map((signer) => signer.fingerprint);
  expect(prints).toEqual([a.publicKey.fingerprint, b.publicKey.fingerprint].sort());
  await expect(sealEnvelope(PAYLOAD, [])).rejects.toThrow(TypeError);
  await expect(sealEnvelope(Buffer.alloc(900_000), [a])).rejects.toMatchObject({ refused: 'envelope-too-large' });
});

test('cosigning adds one key, keeps the good and drops the broken', async () => {
  const [a, b] = [await freshKey(), await freshKey()];
  const first = await sealEnvelope(PAYLOAD, [a]);
  const both = await cosignEnvelope(first, b);
  expect(both).toBe(await sealEnvelope(PAYLOAD, [a, b]));
  expect(await cosignEnvelope(String(both), b)).toBe(both);
  const broken = JSON.stringify({
    ...JSON.parse(first),
    signatures: [...JSON.parse(first).signatures, { sig: 'AAAA' }],
  });
  expect(await cosignEnvelope(broken, b)).toBe(both);
  expect(await cosignEnvelope('{}', b)).toEqual({ refused: 'envelope-shape' });
  const tampered = JSON.stringify({ ...JSON.parse(first), payload: b64(Buffer.from('{}')) });
  expect(await cosignEnvelope(tampered, b)).toEqual({ refused: 'signature-invalid' });
});

test('accepted on purpose: url-safe base64, unknown fields, a broken signature beside a good one, no keyid', () => {
  const payload = Buffer.from('{"a":"\u00ff\u00ffÿ?>"}');
  const sig = forge(pae(PAYLOAD_TYPE, payload)).toString('base64url');
  const value = {
    payload: payload.toString('base64url'),
    payloadType: PAYLOAD_TYPE,
    extra: [1],
    signatures: [{ sig: 'AAAA' }, { sig, cert: 'x' }],
  };
  expect(open(value)).toMatchObject({ payload, signers: [{ keyType: 'ssh-ed25519' }] });
});

test('one key counts once; a touch counts wherever it stands', () => {
  const touched = { sig: b64(forge(MESSAGE, { key: SK_ED25519_BLOB, inner: skEd25519Inner(1) })) };
  const idle = { sig: b64(forge(MESSAGE, { key: SK_ED25519_BLOB, inner: skEd25519Inner(0) })) };
  const presents = (signatures: readonly object[]) => {
    const opened = open({ ...envelope, signatures });
    return 'refused' in opened ? opened.refused : opened.signers.map((signer) => signer.userPresent);
  };
  expect(presents([good, good, good])).toEqual([false]);
  expect(presents([touched, idle])).toEqual([true]);
  expect(presents([idle, touched])).toEqual([true]);
  expect(presents([idle])).toEqual([false]);
});

const refusals: readonly (readonly [string, unknown, string])[] = [
  ['too large', { ...envelope, pad: 'x'.repeat(1_100_000) }, 'envelope-too-large'],
  ['not JSON', 'no', 'envelope-json'],
  ['a duplicate payload', JSON.stringify(envelope).replace('{', '{"payload":"e30=",'), 'envelope-json'],
  ['nested too deeply', { ...envelope, pad: [[[[[[[[1]]]]]]]] }, 'envelope-json'],
  ['an array', [], 'envelope-shape'],
  ['no payload', { ...envelope, payload: undefined }, 'envelope-shape'],
  ['signatures an object', { ...envelope, signatures: {} }, 'envelope-shape'],
  ['a signature without sig', { ...envelope, signatures: [good, { keyid: 'x' }] }, 'envelope-shape'],
  ['a keyid that is a number', { ...envelope, signatures: [{ ...good, keyid: 1 }] }, 'envelope-shape'],
  ['another payload type', { ...envelope, payloadType: 'application/json' }, 'envelope-payload-type'],
  ['no signatures', { ...envelope, signatures: [] }, 'signature-missing'],
  ['17 signatures', { ...envelope, signatures: Array(17).fill(good) }, 'signature-too-many'],
  ['a payload with blanks', { ...envelope, payload: `${envelope.payload} ` }, 'envelope-base64'],
  ['a payload with stray bits', { ...envelope, payload: 'e31=' }, 'envelope-base64'],
  ['a payload in both alphabets', { ...envelope, payload: '+_==' }, 'envelope-base64'],
  ['another payload', { ...envelope, payload: b64(Buffer.from('{"any":"other"}')) }, 'signature-invalid'],
  ['a signature that is not base64', { ...envelope, signatures: [{ sig: '!' }] }, 'signature-base64'],
  [
    'a signature over the payload without PAE',
    { ...envelope, signatures: [{ sig: b64(forge(PAYLOAD)) }] },
    'signature-invalid',
  ],
  [
    'a signature over another type',
    { ...envelope, signatures: [{ sig: b64(forge(pae('text/plain', PAYLOAD))) }] },
    'signature-invalid',
  ],
  [
    'a git signature',
    { ...envelope, signatures: [{ sig: b64(forge(MESSAGE, { namespace: 'git' })) }] },
    'sshsig-namespace',
  ],
];

describe('refused', () => {
  for (const [name, value, refused] of refusals) test(name, () => expect(open(value)).toEqual({ refused }));
  test('not UTF-8', () => {
    expect(openEnvelope(Uint8Array.of(0x7b, 0xff, 0x7d))).toEqual({ refused: 'envelope-not-utf8' });
  });
});

test('a cut or a flip anywhere never throws and never yields another payload', () => {
  const bytes = Buffer.from(JSON.stringify(envelope));
  for (let end = 0; end < bytes.length; end += 1)
    expect(openEnvelope(bytes.subarray(0, end))).toHaveProperty('refused');
  fc.assert(
    fc.property(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }), (at, mask) => {
      const flipped = Buffer.from(bytes);
      flipped[at] = (flipped[at] ?? 0) ^ mask;
      const opened = openEnvelope(flipped);
      if (!('refused' in opened)) expect(Buffer.from(opened.payload)).toEqual(PAYLOAD);
    }),
    { numRuns: 500 },
  );
});

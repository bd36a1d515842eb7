import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Instant, instantFromMs } from '../../src/model/instant.ts';
import type { AllowedKey } from '../../src/model/principal.ts';
import { parseAllowedSigners, renderAllowedSigner } from '../../src/sign/allowed-signers.ts';
import { newKeyPair } from '../../src/sign/new-key.ts';
import { armor } from '../../src/sign/sshsig.ts';
import { ED25519_BLOB, forge, hasSshKeygen, keygen, scratch } from './forge.ts';

const A = newKeyPair('').publicKey;
const B = newKeyPair('').publicKey;

test('lines, comments, options and ends of line', () => {
  const text = [
    '# people',
    '',
    `f13 ${A.line} a comment`,
    `  lead namespaces="writ,git",valid-after="20260101Z",valid-before="202612311530Z"\t${B.line}\r`,
    `f13 namespaces="git" ${A.line}`,
  ].join('\n');
  const none = { namespaces: null, validAfter: null, validBefore: null };
  const a = { principal: 'f13', fingerprint: A.fingerprint, keyType: 'ssh-ed25519', publicKey: A.line, ...none };
  const dates = { validAfter: Date.UTC(2026, 0, 1), validBefore: Date.UTC(2026, 11, 31, 15, 30) };
  const b = {
    ...a,
    principal: 'lead',
    fingerprint: B.fingerprint,
    publicKey: B.line,
    namespaces: ['writ', 'git'],
    ...dates,
  };
  expect(parseAllowedSigners(text)).toEqual({ keys: [a, b, { ...a, namespaces: ['git'] }], faults: [] });
});

const faults: readonly (readonly [string, RegExp])[] = [
  [`* ${A.line}`, /wildcard principal/],
  [`f1? ${A.line}`, /wildcard principal/],
  [`!f13 ${A.line}`, /negated principal/],
  [`f13,lead ${A.line}`, /Several principals/],
  [`"f13" ${A.line}`, /quoted principal/],
  [`f13[bot] ${A.line}`, /not a name/],
  [`\ufefff13 ${A.line}`, /not a name/],
  [`\u00a0f13 ${A.line}`, /not a name/],
  [`f13@example.com ${A.line}`, /not a name/],
  [`f13 cert-authority ${A.line}`, /cert-authority/],
  [`f13 cert-authority,namespaces="writ" ${A.line}`, /cert-authority/],
  [`f13 no-touch-required ${A.line}`, /not known/],
  [`f13 principals="x" ${A.line}`, /not known/],
  [`f13 Namespaces="writ" ${A.line}`, /not known/],
  [`f13 namespaces="*" ${A.line}`, /without wildcards/],
  [`f13 namespaces="writ,!git" ${A.line}`, /without wildcards/],
  [`f13 namespaces="" ${A.line}`, /without wildcards/],
  [`f13 namespaces=writ ${A.line}`, /cannot be read/],
  [`f13 namespaces ${A.line}`, /without wildcards/],
  [`f13 namespaces="writ",namespaces="git" ${A.line}`, /given twice/],
  [`f13 namespaces="writ", ${A.line}`, /cannot be read/],
  [`f13 namespaces="writ ${A.line}`, /cannot be read|not accepted/],
  [`f13 valid-after="20260101" ${A.line}`, /add Z/],
  [`f13 valid-before="20260101120000" ${A.line}`, /add Z/],
  [`f13 valid-before="20260230Z" ${A.line}`, /not a date/],
  [`f13 valid-before="2026-01-01Z" ${A.line}`, /not a date/],
  [`f13 valid-before="2026010125Z" ${A.line}`, /not a date/],
  [`f13 valid-after ${A.line}`, /quoted date/],
  [`f13 valid-after="20260102Z",valid-before="20260101Z" ${A.line}`, /not before/],
  ['f13', /no key/],
  ['f13 ssh-ed25519', /cannot be read|not accepted|not known/],
  [`f13 ${A.line.slice(0, -4)}`, /not accepted/],
  [`f13 ssh-dss ${A.line.slice(12)}`, /not accepted/],
  [`f13 namespaces="writ" ssh-dss ${A.line.slice(12)}`, /not accepted/],
  [`f13 ${'x'.repeat(20_000)}`, /too long/],
];

describe('refused', () => {
  for (const [line, message] of faults) {
    test(line.slice(0, 60), () => {
      const read = parseAllowedSigners(`# first\n${line}\n`);
      expect(read.keys).toEqual([]);
      expect(read.faults).toEqual([{ line: 2, message: expect.stringMatching(message) }]);
    });
  }
  test('a key of two principals, under both', () => {
    const read = parseAllowedSigners(`f13 ${A.line}\nlead ${B.line}\neve namespaces="git" ${A.line}\n`);
    expect(read.keys.map((key) => key.principal)).toEqual(['lead']);
    expect(read.faults.map((fault) => fault.line)).toEqual([1, 3]);
    expect(read.faults[0]?.message).toMatch(/two principals/);
  });
  test('a file without an end', () => {
    expect(parseAllowedSigners('\n'.repeat(20_000))).toMatchObject({
      keys: [],
      faults: [{ message: expect.stringMatching(/too many/) }],
    });
  });
});

const second = fc.integer({ min: 200_000_000, max: 4_000_000_000 }).map((s) => instantFromMs(s * 1_000) as Instant);
const keys: fc.Arbitrary<AllowedKey> = fc
  .record({
    principal: fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/),
    namespaces: fc.constantFrom(null, ['writ'], ['git', 'writ']),
    validAfter: fc.option(second, { nil: null }),
    validBefore: fc.option(second, { nil: null }),
  })
  .filter(({ validAfter, validBefore }) => validAfter === null || validBefore === null || validAfter < validBefore)
  .map((fields) => ({ ...fields, fingerprint: A.fingerprint, keyType: A.keyType, publicKey: A.line }));

test('what is rendered is what is read', () => {
  fc.assert(
    fc.property(keys, (key) => {
      expect(parseAllowedSigners(renderAllowedSigner(key))).toEqual({ keys: [key], faults: [] });
    }),
  );
});

test('any text is read without throwing', () => {
  const piece = fc.constantFrom(
    'f13',
    ' ',
    '"',
    ',',
    '=',
    'namespaces',
    'valid-after',
    '\n',
    '#',
    A.line,
    '!',
    '20260101Z',
  );
  fc.assert(fc.property(fc.array(piece), (parts) => void parseAllowedSigners(parts.join(''))));
});

test.skipIf(!hasSshKeygen)('OpenSSH reads what is rendered', () => {
  const folder = scratch();
  const message = Buffer.from('m');
  writeFileSync(join(folder, 'sig'), armor(forge(message)));
  const publicKey = `ssh-ed25519 ${ED25519_BLOB.toString('base64')}`;
  const key = {
    principal: 'f13',
    fingerprint: '',
    keyType: 'ssh-ed25519',
    publicKey,
    namespaces: ['git', 'writ'],
    validAfter: instantFromMs(Date.UTC(2020, 0, 1)),
    validBefore: instantFromMs(Date.UTC(2090, 0, 1)),
  };
  writeFileSync(join(folder, 'allowed'), `${renderAllowedSigner(key)}\n`);
  const args = ['-Y', 'verify', '-f', join(folder, 'allowed'), '-I', 'f13', '-n', 'writ', '-s', join(folder, 'sig')];
  expect(keygen(args, message)).toMatch(/Good "writ" signature for f13/);
});

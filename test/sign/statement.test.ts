import { sign, verify } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Instant, instantFromMs, isoOf } from '../../src/model/instant.ts';
import type { Predicate } from '../../src/model/statement.ts';
import { sha256Hex } from '../../src/sign/digest.ts';
import { PAYLOAD_TYPE, pae, sealEnvelope } from '../../src/sign/envelope.ts';
import { newKeyPair } from '../../src/sign/new-key.ts';
import { openStatement, type StatementContext, toPayload } from '../../src/sign/statement.ts';
import { ED25519_BLOB, ed25519, forge, freshKey } from './forge.ts';

const at = (ms: number) => instantFromMs(ms) as Instant;
const NOW = at(1_786_000_000_000);
const HEX = 'ab'.repeat(32);
const FINGERPRINT = `SHA256:${'A'.repeat(43)}`;
const KEY = `ssh-ed25519 ${ED25519_BLOB.toString('base64')}`;
const CONTEXT: StatementContext = {
  workspace: 'example.com/acme/app',
  issuedAt: NOW,
  subjects: [{ name: 'AGENTS.md', sha256: HEX }],
};

function open(payload: Uint8Array | object | string) {
  const bytes =
    payload instanceof Uint8Array
      ? payload
      : Buffer.from(typeof payload === 'string' ? payload : JSON.stringify(payload));
  const sig = forge(pae(PAYLOAD_TYPE, bytes)).toString('base64');
  const envelope = { payload: Buffer.from(bytes).toString('base64'), payloadType: PAYLOAD_TYPE, signatures: [{ sig }] };
  return openStatement(Buffer.from(JSON.stringify(envelope)), 'policies/x.dsse.json');
}

const approval = {
  _type: 'https://in-toto.io/Statement/v1',
  subject: [{ name: 'AGENTS.md', digest: { sha256: HEX } }],
  predicateType: 'urn:writ:approval:v1',
  predicate: {
    workspace: 'example.com/acme/app',
    issuedAt: 1_786_000_000_000,
    artifactId: 'a-1',
    class: 'policy',
    level: 'T2',
    approver: 'f13',
    manifestDigest: HEX,
    constitution: null,
    accepts: [{ rule: 'r', reason: 'because' }],
    replaces: [] as string[],
    expiresAt: null as unknown,
  },
};
const other = (type: string, predicate: object, subject: unknown[] = []) => ({
  ...approval,
  subject,
  predicateType: `urn:writ:${type}:v1`,
  predicate: { workspace: 'w', issuedAt: 1_786_000_000_000, ...predicate },
});
const bent = (fields: object) => ({ ...approval, predicate: { ...approval.predicate, ...fields } });
const policy = {
  version: 2,
  floor: 1,
  roots: [FINGERPRINT],
  files: { 'policies/policy.yaml': HEX },
  revocations: [],
  expiresAt: null,
};
const spawn = {
  actor: 'child-1',
  role: 'specialist',
  parent: 'lead',
  publicKey: KEY,
  paths: ['**'],
  expiresAt: 1_786_000_000_000,
};
const revocation = { by: 'f13', reason: 'left' };
const post = {
  board: 'board.jsonl',
  kind: 'note',
  author: 'child-1',
  text: 'hi',
  nonce: '0123456789',
  expiresAt: null,
};

test('the plain forms open', () => {
  for (const value of [
    approval,
    other('policy', policy),
    other('spawn', spawn),
    other('revocation', { ...revocation, actor: 'child-1' }),
    other('revocation', { ...revocation, publicKey: KEY, digest: null }),
    other('post', post),
  ]) {
    expect(open(value)).toHaveProperty('predicate');
  }
});

test('dates may be ISO 8601 with Z; a date that was written as null is never', () => {
  expect(open(bent({ expiresAt: '2026-12-01T00:00:00Z' }))).toMatchObject({
    predicate: { expiresAt: Date.UTC(2026, 11, 1) },
  });
  expect(open(bent({ issuedAt: isoOf(NOW) }))).toMatchObject({ issuedAt: NOW });
});

const subjects = (...names: readonly string[]) => ({
  ...approval,
  subject: names.map((name) => ({ name, digest: { sha256: HEX } })),
});
const refusals: readonly (readonly [string, object | string, string, string?])[] = [
  ['not JSON', 'x', 'payload-json'],
  ['a duplicate key', JSON.stringify(approval).replace('"class"', '"class":"guidance","class"'), 'payload-json'],
  ['an array', [], 'statement-shape'],
  ['another _type', { ...approval, _type: 'https://in-toto.io/Statement/v0.1' }, 'statement-shape'],
  ['an extra top field', { ...approval, extra: 1 }, 'statement-shape'],
  ['subject not a list', { ...approval, subject: {} }, 'statement-shape', 'subject'],
  ['predicate not an object', { ...approval, predicate: [] }, 'statement-shape', 'predicate'],
  ['another predicate type', { ...approval, predicateType: 'urn:writ:approval:v2' }, 'predicate-type'],
  ['no subject of an approval', { ...approval, subject: [] }, 'subject-missing', 'subject'],
  ['an absolute subject', subjects('/etc/passwd'), 'subject-invalid', 'subject'],
  ['a drive', subjects('C:/x'), 'subject-invalid', 'subject'],
  ['a parent step', subjects('a/../b'), 'subject-invalid', 'subject'],
  ['a dot step', subjects('./a'), 'subject-invalid', 'subject'],
  ['an empty step', subjects('a//b'), 'subject-invalid', 'subject'],
  ['a backslash', subjects('a\\b'), 'subject-invalid', 'subject'],
  ['a NUL', subjects('a\0'), 'subject-invalid', 'subject'],
  ['a subject twice', subjects('a', 'a'), 'subject-invalid', 'subject'],
  [
    'an upper-case digest',
    { ...approval, subject: [{ name: 'a', digest: { sha256: HEX.toUpperCase() } }] },
    'subject-invalid',
    'subject',
  ],
  [
    'a second digest',
    { ...approval, subject: [{ name: 'a', digest: { sha256: HEX, sha1: 'x' } }] },
    'subject-invalid',
    'subject',
  ],
  ['an unknown field', bent({ extra: 1 }), 'field-unknown', 'predicate'],
  ['no class', bent({ class: undefined }), 'field-missing', 'predicate.class'],
  ['no expiresAt: absence is not never', bent({ expiresAt: undefined }), 'field-missing', 'predicate.expiresAt'],
  ['an unknown class', bent({ class: 'Policy' }), 'field-invalid', 'predicate.class'],
  ['an unknown level', bent({ level: 'T4' }), 'field-invalid', 'predicate.level'],
  ['a name with a bracket', bent({ approver: 'f13[bot]' }), 'field-invalid', 'predicate.approver'],
  ['a name with a newline', bent({ approver: 'f13\n' }), 'field-invalid', 'predicate.approver'],
  ['seconds for milliseconds', bent({ issuedAt: 1_786_000_000 }), 'field-invalid', 'predicate.issuedAt'],
  ['a date without Z', bent({ expiresAt: '2026-12-01T00:00:00' }), 'field-invalid', 'predicate.expiresAt'],
  ['a date that does not exist', bent({ expiresAt: '2026-02-30T00:00:00Z' }), 'field-invalid', 'predicate.expiresAt'],
  ['false for a date', bent({ expiresAt: false }), 'field-invalid', 'predicate.expiresAt'],
  ['a short digest', bent({ manifestDigest: 'ab' }), 'field-invalid', 'predicate.manifestDigest'],
  ['a prefixed digest', bent({ manifestDigest: `sha256:${HEX}` }), 'field-invalid', 'predicate.manifestDigest'],
  ['a broken constitution hash', bent({ constitution: 'sha256:zz' }), 'field-invalid', 'predicate.constitution'],
  ['an artifact id with a slash', bent({ artifactId: 'a/b' }), 'field-invalid', 'predicate.artifactId'],
  [
    'accepts with a stray field',
    bent({ accepts: [{ rule: 'r', reason: 'x', until: 1 }] }),
    'field-invalid',
    'predicate.accepts',
  ],
  ['replaces a string', bent({ replaces: 'a-0' }), 'field-invalid', 'predicate.replaces'],
  ['a workspace with a blank', bent({ workspace: 'a b' }), 'field-invalid', 'predicate.workspace'],
  ['a workspace with a hidden character', bent({ workspace: 'a\u200bb' }), 'field-invalid', 'predicate.workspace'],
  ['a floor above the version', other('policy', { ...policy, floor: 3 }), 'field-invalid', 'predicate.floor'],
  ['version 0', other('policy', { ...policy, version: 0 }), 'field-invalid', 'predicate.version'],
  ['no roots', other('policy', { ...policy, roots: [] }), 'field-invalid', 'predicate.roots'],
  [
    'a root twice',
    other('policy', { ...policy, roots: [FINGERPRINT, FINGERPRINT] }),
    'field-invalid',
    'predicate.roots',
  ],
  ['a file outside', other('policy', { ...policy, files: { '../x': HEX } }), 'field-invalid', 'predicate.files'],
  ['a file without a digest', other('policy', { ...policy, files: { x: 1 } }), 'field-invalid', 'predicate.files'],
  ['a spawned sovereign', other('spawn', { ...spawn, role: 'sovereign' }), 'field-invalid', 'predicate.role'],
  ['a spawn that never expires', other('spawn', { ...spawn, expiresAt: null }), 'field-invalid', 'predicate.expiresAt'],
  [
    'a spawn key with a comment',
    other('spawn', { ...spawn, publicKey: `${KEY} c` }),
    'field-invalid',
    'predicate.publicKey',
  ],
  ['a glob that climbs', other('spawn', { ...spawn, paths: ['../**'] }), 'field-invalid', 'predicate.paths'],
  ['a revocation of nothing', other('revocation', revocation), 'revocation-target', 'predicate'],
  [
    'a revocation of two',
    other('revocation', { ...revocation, actor: 'a', digest: HEX }),
    'revocation-target',
    'predicate',
  ],
  ['post data a list', other('post', { ...post, data: [] }), 'field-invalid', 'predicate.data'],
  ['a short nonce', other('post', { ...post, nonce: 'x' }), 'field-invalid', 'predicate.nonce'],
];

describe('refused', () => {
  for (const [name, value, refused, where] of refusals) {
    test(name, () => expect(open(value)).toEqual(where === undefined ? { refused } : { refused, at: where }));
  }
  test('a payload that is not UTF-8', () => expect(open(Uint8Array.of(0xff))).toEqual({ refused: 'payload-not-utf8' }));
  test('an unsigned one, before its payload is looked at', () => {
    const envelope = { payload: 'AAAA', payloadType: PAYLOAD_TYPE, signatures: [] };
    expect(openStatement(Buffer.from(JSON.stringify(envelope)), 'f')).toEqual({ refused: 'signature-missing' });
  });
});

const hex = fc.stringMatching(/^[0-9a-f]{64}$/);
const name = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/);
const id = fc.oneof(hex, fc.uuid(), fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/));
const instant = fc.integer({ min: 100_000_000_000, max: 4_000_000_000_000 }).map(at);
const maybe = <T>(arb: fc.Arbitrary<T>) => fc.option(arb, { nil: null });
const path = fc
  .array(fc.stringMatching(/^[a-z*é ][a-z.* ]{0,8}$/), { minLength: 1, maxLength: 4 })
  .map((steps) => steps.join('/'));
const print = fc.stringMatching(/^SHA256:[A-Za-z0-9+/]{43}$/);
const key = fc.constantFrom(KEY, newKeyPair('x').publicKey.line);
const cls = fc.constantFrom('observation', 'operational_handoff', 'memory', 'guidance', 'policy', 'constitution');
const level = fc.constantFrom('T1', 'T2', 'T3');
const oneLine = fc
  .string({ minLength: 1, maxLength: 40, unit: 'grapheme' })
  .filter((text) => !/[\u0000-\u001f\u007f-\u009f]/.test(text));
const record = <T extends { type: string }>(shape: { [K in keyof T]: fc.Arbitrary<T[K]> }) =>
  fc.record(shape) as unknown as fc.Arbitrary<Predicate>;
const targets = fc.tuple(fc.nat(3), id, hex, key, name).map(([which, artifactId, digest, publicKey, actor]) => ({
  artifactId: which === 0 ? artifactId : null,
  digest: which === 1 ? digest : null,
  publicKey: which === 2 ? publicKey : null,
  actor: which === 3 ? actor : null,
}));
const type = <T extends string>(word: T) => fc.constant(word);

const predicates: fc.Arbitrary<Predicate> = fc.oneof(
  record({
    type: type('policy'),
    version: fc.integer({ min: 5, max: 99 }),
    floor: fc.integer({ min: 1, max: 5 }),
    roots: fc.uniqueArray(print, { minLength: 1, maxLength: 3 }),
    recovery: maybe(print),
    files: fc.dictionary(path, hex, { maxKeys: 4 }),
    revocations: fc.array(hex, { maxLength: 3 }),
    expiresAt: maybe(instant),
  }),
  record({
    type: type('spawn'),
    actor: name,
    role: fc.constantFrom('specialist', 'orchestrator'),
    parent: name,
    publicKey: key,
    paths: fc.array(path, { maxLength: 3 }),
    expiresAt: instant,
    session: maybe(oneLine),
  }),
  record({
    type: type('authorship'),
    artifactId: id,
    class: cls,
    level,
    author: name,
    manifestDigest: hex,
    sourceCommit: maybe(fc.oneof(hex, fc.stringMatching(/^[0-9a-f]{40}$/))),
  }),
  record({
    type: type('approval'),
    artifactId: id,
    class: cls,
    level,
    approver: name,
    manifestDigest: hex,
    constitution: maybe(
      fc.oneof(
        hex.map((h) => `sha256:${h}`),
        fc.constant('F1-F13-2026.05.05'),
      ),
    ),
    accepts: fc.array(fc.record({ rule: oneLine, reason: oneLine }, { noNullPrototype: true }), { maxLength: 2 }),
    replaces: fc.array(id, { maxLength: 2 }),
    expiresAt: maybe(instant),
  }),
  fc
    .tuple(targets, name, fc.string({ unit: 'grapheme' }))
    .map(([target, by, reason]) => ({ type: 'revocation' as const, ...target, by, reason })),
  record({
    type: type('post'),
    board: path,
    kind: fc.constantFrom('note', 'guidance'),
    author: name,
    text: fc.string({ unit: 'grapheme' }),
    data: maybe(
      fc.dictionary(
        fc.constantFrom('a', 'constructor', 'z'),
        fc.oneof(fc.integer(), fc.boolean(), fc.string({ unit: 'grapheme' }), fc.constant(null)),
        { noNullPrototype: true },
      ),
    ),
    nonce: fc.uuid(),
    expiresAt: maybe(instant),
  }),
);

test('what is written is what is read', () => {
  const names = fc.uniqueArray(path, { minLength: 1, maxLength: 3 });
  fc.assert(
    fc.property(predicates, names, hex, instant, (predicate, paths, sha256, issuedAt) => {
      const of = { workspace: 'w:1', issuedAt, subjects: paths.map((each) => ({ name: each, sha256 })) };
      const payload = toPayload(predicate, of);
      const statement = open(payload);
      if ('refused' in statement) throw new Error(`${statement.refused} ${statement.at}`);
      expect(JSON.parse(JSON.stringify(statement.predicate))).toEqual(JSON.parse(JSON.stringify(predicate)));
      expect(statement).toMatchObject({ ...of, payloadDigest: sha256Hex(payload), file: 'policies/x.dsse.json' });
      expect(Buffer.from(toPayload(statement.predicate, statement))).toEqual(Buffer.from(payload));
    }),
    { numRuns: 300 },
  );
});

test('nothing is written that could not be read', () => {
  const predicate = {
    type: 'authorship',
    artifactId: 'a',
    class: 'policy',
    level: 'T1',
    author: 'x',
    manifestDigest: HEX,
    sourceCommit: null,
  } as const;
  expect(() => toPayload({ ...predicate, author: 'a b' }, CONTEXT)).toThrow('field-invalid predicate.author');
  expect(() => toPayload(predicate, { ...CONTEXT, subjects: [] })).toThrow('subject-missing');
  expect(() => toPayload(predicate, { ...CONTEXT, workspace: '' })).toThrow('field-invalid predicate.workspace');
});

test('opening a statement costs little more than its signature check', async () => {
  const key1 = await freshKey();
  const files = await Promise.all(
    Array.from({ length: 100 }, (_, i) =>
      sealEnvelope(
        toPayload(
          {
            type: 'authorship',
            artifactId: `a-${i}`,
            class: 'policy',
            level: 'T1',
            author: 'x',
            manifestDigest: HEX,
            sourceCommit: null,
          },
          CONTEXT,
        ),
        [key1],
      ),
    ),
  );
  const bytes = files.map((text) => Buffer.from(text));
  const best = (work: () => void) =>
    Math.min(
      ...Array.from({ length: 5 }, () => {
        const started = performance.now();
        work();
        return performance.now() - started;
      }),
    );
  const bare = sign(null, bytes[0] ?? Buffer.alloc(0), ed25519.privateKey);
  const floor = best(() => {
    for (const _ of bytes) expect(verify(null, bytes[0] ?? Buffer.alloc(0), ed25519.publicKey, bare)).toBe(true);
  });
  const whole = best(() => {
    for (const one of bytes) expect('refused' in openStatement(one, 'f')).toBe(false);
  });
  console.log(`100 statements: ${whole.toFixed(1)} ms, of which Ed25519 alone ${floor.toFixed(1)} ms`);
  expect(whole).toBeLessThan(floor * 4);
});

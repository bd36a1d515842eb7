import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { afterEach, expect, test, vi } from 'vitest';
import { canonicalJson } from '../../src/sign/canonical.ts';
import { gitBlobId, nativeSha256Hex, nobleSha256Hex, sha256Hex } from '../../src/sign/digest.ts';

const EMPTY = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

test('the two implementations are equal, for bytes and for text', () => {
  expect([nativeSha256Hex(''), nobleSha256Hex(''), sha256Hex('')]).toEqual([EMPTY, EMPTY, EMPTY]);
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => nativeSha256Hex(bytes) === nobleSha256Hex(bytes)),
  );
  fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => nativeSha256Hex(text) === nobleSha256Hex(text)));
});

afterEach(() => void vi.restoreAllMocks());

test('where the platform has no sha256 the other one answers', async () => {
  for (const crypto of [
    undefined,
    {
      createHash: () => {
        throw new Error('unsupported');
      },
    },
  ]) {
    vi.resetModules();
    const asked = vi.spyOn(process, 'getBuiltinModule').mockReturnValue(crypto as never);
    const fresh = await import('../../src/sign/digest.ts');
    expect(fresh.sha256Hex('')).toBe(EMPTY);
    expect(asked).toHaveBeenCalled();
    expect(() => fresh.nativeSha256Hex('')).toThrow(/^(?:no node:crypto|unsupported)$/);
    expect(() => fresh.gitBlobId(new Uint8Array(0), 'sha1')).toThrow(/^(?:no node:crypto|unsupported)$/);
    asked.mockRestore();
  }
});

test('a platform without the one-shot hash gives the same answer', async () => {
  const { createHash } = await import('node:crypto');
  vi.spyOn(process, 'getBuiltinModule').mockReturnValue({ createHash } as never);
  expect(nativeSha256Hex('')).toBe(EMPTY);
});

test('a string is its UTF-8, a view is only its own bytes', () => {
  expect(sha256Hex('é')).toBe(sha256Hex(Uint8Array.of(0xc3, 0xa9)));
  expect(sha256Hex(new Uint8Array([1, 2, 3, 4]).subarray(1, 3))).toBe(sha256Hex(Uint8Array.of(2, 3)));
});

test('git blob ids', () => {
  expect(gitBlobId(new Uint8Array(0), 'sha1')).toBe('e69de29bb2d1d6434b8b29ae775ad8c2e48c5391');
  expect(gitBlobId(new Uint8Array(0), 'sha256')).toBe(
    '473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813',
  );
  const bytes = Buffer.from('line\r\nline\n');
  const options = { input: bytes, stdio: ['pipe', 'pipe', 'pipe'] as 'pipe'[] };
  const real = execFileSync('git', ['hash-object', '--no-filters', '--stdin'], options).toString().trim();
  expect(gitBlobId(bytes, 'sha1')).toBe(real);
});

test('RFC 8785', () => {
  expect(canonicalJson({ b: [1e21, -0, 1.5], a: '\u20ac\u000f\n"', '\u20ac': null })).toBe(
    '{"a":"€\\u000f\\n\\"","b":[1e+21,0,1.5],"€":null}',
  );
  const refused: readonly (readonly [unknown, string])[] = [
    [Number.NaN, 'NaN is not allowed'],
    [Number.POSITIVE_INFINITY, 'Infinity is not allowed'],
    ['\ud800', 'Lone surrogate'],
    [{ '\ud800': 1 }, 'Lone surrogate'],
    [undefined, 'not a JSON value'],
    [() => 1, 'not a JSON value'],
    [Symbol('s'), 'not a JSON value'],
    [1n, 'BigInt'],
    [[{ deep: Number.NaN }], 'NaN is not allowed'],
  ];
  for (const [bad, why] of refused) expect(() => canonicalJson(bad)).toThrow(why);
  const cycle: unknown[] = [];
  cycle.push(cycle);
  expect(() => canonicalJson(cycle)).toThrow('Circular');
});

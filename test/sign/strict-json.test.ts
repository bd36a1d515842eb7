import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseStrictJson } from '../../src/sign/strict-json.ts';

const read = (text: string) => parseStrictJson(text, { maxDepth: 8 });

const faults: readonly (readonly [string, string, number, number])[] = [
  ['', 'unexpected end', 1, 1],
  [' \n ', 'unexpected end', 2, 2],
  ['{"a":1,"a":2}', 'duplicate key', 1, 8],
  ['{"class":1,\n "\\u0063lass":2}', 'duplicate key', 2, 2],
  ['{"a":{"b":1,"b":1}}', 'duplicate key', 1, 13],
  ['{"":1,"":1}', 'duplicate key', 1, 7],
  ['{"__proto__":1}', 'key __proto__', 1, 2],
  ['{"\\u005f_proto__":1}', 'key __proto__', 1, 2],
  ['[1,]', 'unexpected character', 1, 4],
  ['{"a":1,}', 'missing key', 1, 8],
  ['{a:1}', 'missing key', 1, 2],
  ['{"a" 1}', 'missing colon', 1, 6],
  ['[1 2]', 'missing comma', 1, 4],
  ['[1}', 'missing comma', 1, 3],
  ['[1', 'unexpected end', 1, 3],
  ['// c\n1', 'unexpected character', 1, 1],
  ['/* c */1', 'unexpected character', 1, 1],
  ['1 // c', 'text after the value', 1, 3],
  ['{} {}', 'text after the value', 1, 4],
  ['\ufeff{}', 'unexpected character', 1, 1],
  ['\u00a01', 'unexpected character', 1, 1],
  ["'a'", 'unexpected character', 1, 1],
  ['"a', 'string without an end', 1, 1],
  ['"a\nb"', 'control character in a string', 1, 3],
  ['"\\x41"', 'unknown escape', 1, 2],
  ['"\\u12"', 'unknown escape', 1, 2],
  ['"\\ud800"', 'lone surrogate in a string', 1, 1],
  ['"\\udc00\\ud800"', 'lone surrogate in a string', 1, 1],
  ['"\ud800"', 'lone surrogate in a string', 1, 1],
  ['{"\\ud800":1}', 'lone surrogate in a string', 1, 2],
  ['9007199254740992', 'number outside the range of exact integers', 1, 1],
  ['[-9007199254740993]', 'number outside the range of exact integers', 1, 2],
  ['1e400', 'number outside the range of exact integers', 1, 1],
  ['9007199254740993.0', 'number outside the range of exact integers', 1, 1],
  ['01', 'text after the value', 1, 2],
  ['+1', 'unexpected character', 1, 1],
  ['.5', 'unexpected character', 1, 1],
  ['1.', 'text after the value', 1, 2],
  ['NaN', 'unexpected character', 1, 1],
  ['nulll', 'text after the value', 1, 5],
  ['[[[[[[[[[1]]]]]]]]]', 'nested too deeply', 1, 9],
];

describe('refused', () => {
  for (const [text, fault, line, column] of faults) {
    test(JSON.stringify(text), () => expect(read(text)).toEqual({ fault, line, column }));
  }
});

test('what is read is what JSON.parse reads', () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 6 }), fc.constantFrom(0, 1, '\t'), (text, indent) => {
      const spaced = JSON.stringify(JSON.parse(text), null, indent);
      const result = parseStrictJson(spaced, { maxDepth: 32 });
      if ('value' in result) expect(result.value).toEqual(JSON.parse(spaced));
      else expect(result.fault).toMatch(/number outside|__proto__|lone surrogate/);
    }),
  );
});

test('nothing is read that JSON.parse refuses', () => {
  const pieces = fc.array(
    fc.constantFrom('{', '}', '[', ']', ',', ':', '"', '\\', 'a', '1', '-', 'e', '.', ' ', 'true', '"k"', '\n'),
  );
  fc.assert(
    fc.property(pieces, (parts) => {
      const text = parts.join('');
      const strict = read(text);
      if ('value' in strict) expect(JSON.parse(text)).toEqual(strict.value);
    }),
    { numRuns: 3_000 },
  );
});

test('keys that a prototype has are ordinary', () => {
  expect(read('{"constructor":1,"toString":2,"hasOwnProperty":3}')).toEqual({
    value: { constructor: 1, toString: 2, hasOwnProperty: 3 },
  });
});

test('a megabyte of anything is linear and overflows nothing', () => {
  const million = 1_048_576;
  const deep = { maxDepth: Number.MAX_SAFE_INTEGER };
  const started = performance.now();
  expect(read('['.repeat(million))).toHaveProperty('fault', 'nested too deeply');
  expect(parseStrictJson('['.repeat(million), deep)).toHaveProperty('fault', 'unexpected end');
  expect(parseStrictJson('{"a":'.repeat(million / 4), deep)).toHaveProperty('fault', 'unexpected end');
  expect(read(`"${'a'.repeat(million)}"`)).toHaveProperty('value');
  expect(read(`"${'\\u0061'.repeat(million / 6)}"`)).toHaveProperty('value');
  expect(read(`"${'\\"'.repeat(million / 2)}`)).toHaveProperty('fault', 'string without an end');
  expect(read(' '.repeat(million))).toHaveProperty('fault', 'unexpected end');
  expect(read('1'.repeat(million))).toHaveProperty('fault');
  expect(read(`[${'1,'.repeat(million / 2)}1]`)).toHaveProperty('value');
  expect(performance.now() - started).toBeLessThan(5_000);
});

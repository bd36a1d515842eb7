import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DEFAULT_LITERALS } from '../../src/generated/rules.ts';
import { DEFAULT_RULES } from '../../src/scan/default-rules.ts';
import { ENCODINGS, SIGNS } from '../../src/scan/encodings.ts';
import { buildTree, packTree, unpackTree } from '../../src/scan/literal-tree.ts';
import { literalIndex } from '../../src/scan/literals.ts';
import type { Rule } from '../../src/scan/rule.ts';

const rule = (literals: readonly string[]): Rule => ({
  id: 'r',
  family: 'override',
  severity: 'notice',
  contexts: ['prose'],
  weak: [],
  literals,
  patterns: [],
  detector: null,
  why: 'For a test.',
});

/** Few letters, so that literals begin, end and hold one another. */
const word = (letters: string, least: number) =>
  fc.string({ unit: fc.constantFrom(...letters), minLength: least, maxLength: 6 });

/** Which literals stand in a text, either case, found the slow way. */
function standing(lists: readonly (readonly string[])[], text: string): readonly boolean[] {
  const lower = [...text]
    .map((char) => (char.toLowerCase().length === char.length ? char.toLowerCase() : char))
    .join('');
  return lists.map((literals) => literals.some((literal) => lower.includes(literal)));
}

describe('the tree of literals', () => {
  it('made by the build is that of the default rules', () => {
    expect(packTree(buildTree(DEFAULT_RULES))).toEqual(DEFAULT_LITERALS);
  });

  it('is the same after it was packed', () => {
    const tree = buildTree(DEFAULT_RULES);
    const back = unpackTree(packTree(tree));
    expect(back.alphabet).toBe(tree.alphabet);
    for (const key of ['leads', 'next', 'ends'] as const) expect([...back[key]]).toEqual([...tree[key]]);
  });

  it('finds exactly the rules whose literals stand in a text', () => {
    fc.assert(
      fc.property(
        fc.array(fc.array(word('abc ', 2), { maxLength: 6 }), { minLength: 1, maxLength: 5 }),
        fc.array(word('abcABC .', 0), { maxLength: 12 }).map((parts) => parts.join('')),
        (lists, text) => {
          const { windows } = literalIndex(lists.map(rule)).search(text);
          expect(lists.map((_list, index) => (windows?.[index] ?? null) !== null)).toEqual(standing(lists, text));
        },
      ),
    );
  });

  it('finds the signs of encodings, and no rule by them', () => {
    for (const encoding of ENCODINGS) {
      for (const sign of SIGNS[encoding]) {
        const { windows, signs } = literalIndex([rule(['zzzz'])]).search(`x ${sign} y`);
        expect(signs.has(encoding)).toBe(true);
        expect(windows).toBeNull();
      }
    }
  });

  it('finds every literal of more characters than it has classes, at worst one too many', () => {
    const literals = Array.from({ length: 400 }, (_one, index) => String.fromCharCode(0x4e00 + index, 0x5e00 + index));
    const index = literalIndex([rule(literals)]);
    for (const literal of literals) expect(index.search(`a${literal}b`).windows?.[0]).not.toBeNull();
  });

  it('holds more states than 16 bits can number', () => {
    const literals = Array.from({ length: 9_000 }, (_one, index) => `${index.toString(36).padStart(4, '0')}abcdef`);
    const tree = buildTree([rule(literals)]);
    expect(tree.next).toBeInstanceOf(Uint32Array);
    expect(() => packTree(tree)).toThrow('states');
    const index = literalIndex([rule(literals)]);
    expect(index.search('x 06dtABCDEF').windows?.[0]).not.toBeNull();
    expect(index.search('x 06dtABCDE').windows).toBeNull();
  });
});

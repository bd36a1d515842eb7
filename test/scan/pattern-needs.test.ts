import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
// @ts-expect-error a build script without types
import { needsOf } from '../../src/build/needs.mjs';
import { DEFAULT_RULES } from '../../src/scan/default-rules.ts';
import type { Rule } from '../../src/scan/rule.ts';
import { scanText } from '../../src/scan/scan.ts';
import { corpusTexts, readRuleFiles } from './texts.ts';

// Rules that are no longer the default ones are run without asking what they need.
const ALL: readonly Rule[] = DEFAULT_RULES.map((rule) => ({ ...rule }));
const EXAMPLES = readRuleFiles().flatMap(({ bad, good }) => [...bad, ...good]);
const CORPUS = [...corpusTexts('dev-files.jsonl.gz'), ...corpusTexts('dev-snippets.jsonl.gz')];
const asked = (text: string) => scanText(text, { rules: DEFAULT_RULES, workLimit: 1_000 }).hits;
const unasked = (text: string) => scanText(text, { rules: ALL, workLimit: 1_000 }).hits;

describe('asking what a pattern needs', () => {
  it('changes no hit in the examples of the rules, alone and all in one text', () => {
    for (const text of EXAMPLES) expect(asked(text)).toEqual(unasked(text));
    for (let at = 0; at < EXAMPLES.length; at += 40) {
      const together = EXAMPLES.slice(at, at + 40).join('\n\n');
      expect(asked(together)).toEqual(unasked(together));
    }
    expect(EXAMPLES.length).toBeGreaterThan(500);
  });

  it('changes no hit in texts of their words', () => {
    const words = fc.constantFrom(...new Set(EXAMPLES.flatMap((text) => text.split(/(?<=\s)/))));
    fc.assert(
      fc.property(fc.array(words, { minLength: 50, maxLength: 300 }), (list) => {
        const text = list.join('');
        expect(asked(text)).toEqual(unasked(text));
      }),
      { numRuns: 200 },
    );
  });

  it.skipIf(CORPUS.length === 0)(
    'changes no hit in the files of the corpus',
    () => {
      for (const text of CORPUS) expect(asked(text)).toEqual(unasked(text));
    },
    300_000,
  );
});

describe('what a pattern needs', () => {
  const of = (...sources: readonly string[]): unknown =>
    needsOf(sources.map((source) => ({ pattern: new RegExp(source, 'gim') })));

  it.each([
    ['ignore', ['ignore']],
    ['\\bIGNORE\\b', ['ignore']],
    ['(?:ignore|forget)[\\s*>#]{1,6}all', ['forget', 'ignore']],
    ['instructions?', ['instruction']],
    ['gr[ae]y', ['gray', 'grey']],
    ['(?:very )?long', ['long']],
    ['[a-z]{1,9}', null],
    ['(?:previous)?', null],
    ['(?:a|[^x]{1,4})', null],
    ['(?!secret)word', ['word']],
    ['a{2}bcd', ['bcd']],
    ['\u0441\u043e\u0432', null],
    ['\u5bc6\u7801', ['\u5bc6\u7801']],
  ])('%s', (source, needs) => {
    expect(of(source)).toEqual(needs);
  });

  it('is that of the step that says most', () => {
    expect(of('do', '[a-z]{1,9}', 'instructions')).toEqual(['instructions']);
  });

  it('stands in whatever the pattern matches', () => {
    const part = fc.constantFrom('ab', '(?:c|de)', 'f?', '[gh]', '(?:ij){0,2}', '(?:k|l){1,2}', '.', '(?:m|)', 'N');
    fc.assert(
      fc.property(
        fc.array(part, { minLength: 1, maxLength: 6 }),
        fc.string({ unit: fc.constantFrom(...'abcdefghijklmNn'), maxLength: 60 }),
        (parts, text) => {
          const needs = of(parts.join('')) as readonly string[] | null;
          const match = new RegExp(parts.join(''), 'im').exec(text);
          if (match !== null && needs !== null)
            expect(needs.some((need) => match[0].toLowerCase().includes(need))).toBe(true);
        },
      ),
      { numRuns: 3_000 },
    );
  });
});

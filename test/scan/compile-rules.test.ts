import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
// @ts-expect-error a build script without types
import { compileRules } from '../../src/build/compile-rules.mjs';
import type { RuleFile } from '../../src/scan/to-rule.ts';

const RIGHT = [
  'id: sample',
  'family: override',
  'severity: suspect',
  'contexts: [prose]',
  'why: Matches a sample of text.',
  'literals: [sample]',
  'patterns:',
  '  - "\\\\bsample\\\\b"',
  'bad: [a sample, b sample, c sample, d sample, e sample]',
  'good: [a, b, c, d, e]',
];
let root = '';

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'writ-rules-'));
  mkdirSync(join(root, 'policies/defaults/rules'), { recursive: true });
  symlinkSync(join(import.meta.dirname, '../../src'), join(root, 'src'));
});
afterEach(() => rmSync(root, { recursive: true }));

const compile = (lines: readonly string[]) => {
  writeFileSync(join(root, 'policies/defaults/rules/sample.yaml'), `${lines.join('\n')}\n`);
  return compileRules({ root, out: join(root, 'out') });
};
const changed = (from: string, to: string) => RIGHT.map((line) => (line.startsWith(from) ? to : line));

describe('a rule file', () => {
  it('that is right compiles', async () => {
    expect((await compile(RIGHT)).map((file: RuleFile) => file.rule.id)).toEqual(['sample']);
  });

  it.each([
    ['an unknown key', [...RIGHT, 'colour: red'], 11, 'unknown key colour'],
    ['a wrong family', changed('family', 'family: fun'), 2, 'family must be one of'],
    ['a wrong severity', changed('severity', 'severity: loud'), 3, 'severity must be one of'],
    ['a wrong context', changed('contexts', 'contexts: [prose, poem]'), 4, 'unknown context poem'],
    ['an upper-case literal', changed('literals', 'literals: [Sample]'), 6, 'a literal is lower case'],
    ['an unbounded repetition', changed('  - ', '  - "a.*sample"'), 8, 'repeats with a bound'],
    ['an open bound', changed('  - ', '  - "a{3,}sample"'), 8, 'an upper bound'],
    ['look-behind', changed('  - ', '  - "(?<=a)sample"'), 8, 'no look-behind'],
    ['a choice beside a gap', changed('  - ', '  - "a<<9>>sample|b"'), 8, 'choices in brackets'],
    ['a broken expression', changed('  - ', '  - "(sample"'), 8, 'not a regular expression'],
    ['too few bad examples', changed('bad', 'bad: [a sample]'), 9, 'bad needs at least 5'],
    ['too few good examples', changed('good', 'good: [a]'), 10, 'good needs at least 5'],
    ['no reason', RIGHT.filter((line) => !line.startsWith('why')), 1, 'why must be one sentence'],
    [
      'no patterns',
      RIGHT.filter((line) => !line.startsWith('patterns') && !line.startsWith('  - ')),
      1,
      'patterns needs at least 1',
    ],
    ['another id than its name', changed('id', 'id: other'), 1, 'id must be sample'],
    ['a duplicate key', [...RIGHT, 'id: sample'], 11, 'unique'],
    ['a list', ['- id: sample'], 1, 'one mapping'],
  ])('with %s stops the build and names file and line', async (_name, lines, line, message) => {
    await expect(compile(lines)).rejects.toThrow(
      new RegExp(`policies/defaults/rules/sample\\.yaml:${line}: .*${message}`),
    );
  });

  it('folder without rules stops the build', async () => {
    await expect(compileRules({ root, out: join(root, 'out') })).rejects.toThrow('no rule files');
  });
});

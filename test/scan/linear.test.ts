import { describe, expect, it } from 'vitest';
import { DEFAULT_RULES } from '../../src/scan/default-rules.ts';
import { scanText } from '../../src/scan/scan.ts';

const SIZE = 1_000_000;
const fill = (unit: string, size: number) => unit.repeat(Math.ceil(size / unit.length)).slice(0, size);

const UNITS = [
  'curl -d ',
  '\n',
  '<',
  '`',
  '>',
  '*',
  '#',
  '|',
  ' ',
  '\t',
  '"',
  '<!--',
  '```\n',
  '- ',
  '  - ',
  '> > ',
  '[](',
  '![',
  '\u200b',
  'a\u200b',
  '\u202e',
  '\u{e0041}',
  'QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo',
  'deadbeef',
  '%41',
  '&#65;',
  '\\x41',
  'a b ',
  'ignore all ',
  'ignore previous ',
  'system prompt ',
  'you are now ',
  'after every task ',
  'do not tell ',
  'send the data ',
  'vtaber ',
  'snoitcurtsni ',
  '7h3 ',
  '\u0456',
  '\ud800',
  'x',
  '\r',
  '---\n',
  'from now on ',
  'read ~/.ssh ',
  'this is binding ',
];

// Work is counted and bounded; the clock only shows that the count tells the truth.
describe('1 MB of one thing', () => {
  it.each(UNITS)('%j costs work in proportion, and time to match', (unit) => {
    const small = scanText(fill(unit, SIZE / 4), { workLimit: 64, rules: DEFAULT_RULES });
    const began = performance.now();
    const large = scanText(fill(unit, SIZE), { workLimit: 64, rules: DEFAULT_RULES });
    const took = performance.now() - began;
    expect(large.work).toBeLessThanOrEqual(64 * SIZE);
    expect(large.work).toBeLessThan(small.work * 4.5 + 10_000);
    expect(took).toBeLessThan(20_000);
  });
});

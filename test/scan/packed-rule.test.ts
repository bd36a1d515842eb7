import { describe, expect, it } from 'vitest';
import { DEFAULT_RULES } from '../../src/scan/default-rules.ts';
import { literalsIn, packRule, patternsIn } from '../../src/scan/packed-rule.ts';

describe('a packed rule', () => {
  it.each(DEFAULT_RULES.map((rule) => [rule.id, rule] as const))('%s comes back as it was', (_, rule) => {
    const json = JSON.stringify(packRule(rule));
    expect(literalsIn(json)).toEqual(rule.literals);
    expect(patternsIn(json)).toEqual(rule.patterns);
  });

  it('cut short throws, so that no rule is ever run without what it finds', () => {
    const json = JSON.stringify(packRule(DEFAULT_RULES[0] as (typeof DEFAULT_RULES)[number]));
    expect(() => patternsIn(json.slice(0, -1))).toThrow(SyntaxError);
    expect(() => literalsIn('')).toThrow(SyntaxError);
  });
});

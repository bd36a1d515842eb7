import { checkSync } from 'recheck';
import { describe, expect, it } from 'vitest';
import { DEFAULT_RULES } from '../../src/generated/rules.ts';

const patterns = DEFAULT_RULES.flatMap((rule) =>
  rule.patterns.flatMap((steps, at) =>
    steps.map(({ pattern }, step) => ({ name: `${rule.id} ${at}.${step}`, pattern })),
  ),
);

// Slow on purpose: a proof a pattern, and "unknown" is no proof.
describe('every pattern is linear', () => {
  it.each(patterns)('$name', { timeout: 90_000 }, ({ pattern }) => {
    expect(checkSync(pattern.source, pattern.flags.replace('g', ''), { timeout: 60_000 }).status).toBe('safe');
  });
});

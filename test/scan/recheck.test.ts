import { check } from 'recheck';
import { describe, expect, it } from 'vitest';
import { DEFAULT_RULES } from '../../src/generated/rules.ts';

const patterns = DEFAULT_RULES.flatMap((rule) =>
  rule.patterns.flatMap((steps, at) =>
    steps.map(({ pattern }, step) => ({ name: `${rule.id} ${at}.${step}`, pattern })),
  ),
);

// A proof a pattern, and "unknown" is no proof. The native checker of the package takes well under a second each.
describe('every pattern is linear', () => {
  it.each(patterns)('$name', { timeout: 180_000 }, async ({ pattern }) => {
    const proof = await check(pattern.source, pattern.flags.replace('g', ''), { timeout: 120_000 });
    expect(proof.status).toBe('safe');
  });
});

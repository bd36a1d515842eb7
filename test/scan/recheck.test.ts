import { check } from 'recheck';
import { describe, expect, it } from 'vitest';
import { DEFAULT_RULES } from '../../src/scan/default-rules.ts';

const patterns = DEFAULT_RULES.flatMap((rule) =>
  rule.patterns.flatMap((steps, at) =>
    steps.map(({ pattern }, step) => ({ name: `${rule.id} ${at}.${step}`, pattern })),
  ),
);

// The checker by automata gives a proof, the same on every machine; the one by fuzzing only fails to find an attack. "unknown" is no proof.
describe('every pattern is linear', () => {
  it.each(patterns)('$name', { timeout: 180_000 }, async ({ pattern }) => {
    const proof = await check(pattern.source, pattern.flags.replace('g', ''), {
      timeout: 120_000,
      checker: 'automaton',
    });
    expect(proof).toMatchObject({ status: 'safe', checker: 'automaton' });
  });
});

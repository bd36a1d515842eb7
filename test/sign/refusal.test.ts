import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { REFUSALS } from '../../src/sign/refusal.ts';

const here = new URL('./', import.meta.url);
const tests = readdirSync(here)
  .filter((name) => name.endsWith('.test.ts') && name !== 'refusal.test.ts')
  .map((name) => readFileSync(new URL(name, here), 'utf8'))
  .join('\n');

describe('every refusal is asserted by some test and has a sentence', () => {
  for (const [word, sentence] of Object.entries(REFUSALS)) {
    test(word, () => {
      expect(tests).toContain(`'${word}'`);
      expect(sentence).toMatch(/^[A-Zs].*\.$/);
    });
  }
});

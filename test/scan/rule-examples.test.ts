import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
// @ts-expect-error a build script without types
import { compileRules } from '../../src/build/compile-rules.mjs';
import { DEFAULT_RULES } from '../../src/scan/default-rules.ts';
import { scanText } from '../../src/scan/scan.ts';
import type { RuleFile } from '../../src/scan/to-rule.ts';
import { readRuleFiles } from './texts.ts';

const root = join(import.meta.dirname, '../..');
const files = readRuleFiles();

describe.each(files)('rule $rule.id', ({ rule, bad, good }) => {
  it.each(bad)('matches %j at its own severity, at a span of the original', (text) => {
    const { hits, complete } = scanText(text, { workLimit: 64, rules: DEFAULT_RULES });
    const own = hits.filter((hit) => hit.rule === rule.id);
    expect(complete).toBe(true);
    expect(own.map((hit) => hit.severity)).toContain(rule.severity);
    for (const hit of own) {
      expect(hit.start).toBeLessThan(hit.end);
      if (hit.view === 'text') expect(text.slice(hit.start, hit.end).startsWith(hit.passage)).toBe(true);
    }
  });

  it.each(good)('leaves %j alone', (text) => {
    const { hits } = scanText(text, { workLimit: 64, rules: DEFAULT_RULES });
    expect(
      hits.filter((hit) => hit.rule === rule.id && hit.severity !== 'notice' && hit.severity === rule.severity),
    ).toEqual([]);
    if (rule.family !== 'intent-mismatch') expect(hits.filter((hit) => hit.severity === 'block')).toEqual([]);
  });
});

describe('the rule set', () => {
  it('is the one compiled into the product', async () => {
    const scratch = mkdtempSync(join(tmpdir(), 'writ-rules-'));
    try {
      const out = join(scratch, 'scan');
      const read = await compileRules({ root, out });
      for (const file of ['rules.ts', 'rule-data.ts'])
        expect(readFileSync(join(out, file), 'utf8')).toBe(readFileSync(join(root, 'src/generated', file), 'utf8'));
      expect(read.map((file: RuleFile) => file.rule.id)).toEqual(DEFAULT_RULES.map((rule) => rule.id));
    } finally {
      rmSync(scratch, { recursive: true });
    }
  });

  it('has no two rules of one id', () => {
    expect(new Set(DEFAULT_RULES.map((rule) => rule.id)).size).toBe(DEFAULT_RULES.length);
  });
});

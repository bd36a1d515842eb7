import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { parse } from 'yaml';
import { type RuleFile, toRule } from '../../src/scan/to-rule.ts';

const root = join(import.meta.dirname, '../..');
const folder = join(root, 'policies/defaults/rules');

/** The rule files that ship with writ, read from their YAML. */
export function readRuleFiles(): readonly RuleFile[] {
  return readdirSync(folder)
    .sort()
    .map((name) => toRule(parse(readFileSync(join(folder, name), 'utf8'))) as RuleFile);
}

/** The texts of a file of the shared corpus; none, and a line that says so, where the folder is not there. */
export function corpusTexts(name: string): readonly string[] {
  const file = join(root, '..', 'shared', 'corpus', name);
  if (!existsSync(file)) {
    console.log(`skipped: ${file} is not here`);
    return [];
  }
  const lines = gunzipSync(readFileSync(file)).toString('utf8').split('\n').filter(Boolean);
  return lines.map((line) => (JSON.parse(line) as { readonly text: string }).text);
}

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { CONTRACT_CODES } from '../../src/contract/codes.ts';

it('docs/contracts.md tells every contract code as the table has it, and no other', () => {
  const page = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'contracts.md'), 'utf8');
  const rows = page.split('\n').filter((line) => /^\| `[A-Z_]+` \|/.test(line));
  const table = Object.entries(CONTRACT_CODES).map(
    ([code, row]) => `| \`${code}\` | ${row.layer} | ${row.effect} | ${row.meaning} |`,
  );
  expect(rows).toEqual(table);
});

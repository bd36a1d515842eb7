import { expect, it } from 'vitest';
import { givenImports } from '../../src/gather/given-imports.ts';
import { parseArtifact } from '../../src/parse/parse.ts';
import { candidateAt } from '../parse/given.ts';

async function given(path: string, importHops: number, text: string) {
  const read = { bytes: Buffer.from(text), mode: 0o644, links: 1, aliasOf: null };
  return parseArtifact({ ...candidateAt(path), importHops }, read, []);
}

it('takes the mention of a Cursor rule from the top of the workspace, as the command does', async () => {
  const note = await given('docs/note.md', 0, 'text\n');
  const rule = await given('.cursor/rules/a.mdc', 1, 'Read @docs/note.md and @docs/gone.md\n');
  const facts = givenImports([note, rule]).get('.cursor/rules/a.mdc') ?? [];
  expect(facts.map(({ path, state }) => [path, state])).toEqual([
    ['docs/note.md', 'judged'],
    ['docs/gone.md', 'missing'],
  ]);
});

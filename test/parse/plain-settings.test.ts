import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readPlainSettings } from '../../src/parse/plain-settings.ts';
import { parseStrictYaml } from '../../src/parse/strict-yaml.ts';

const LIMITS = { bytes: 65_536, depth: 8 };

async function parsedAlike(text: string): Promise<boolean> {
  const short = readPlainSettings(text);
  if (short === undefined) return false;
  const read = await parseStrictYaml(text, 1, LIMITS);
  if ('fault' in read) throw new Error(`the parser refuses what was read: ${read.fault}\n${text}`);
  expect(short.value, text).toEqual(read.value);
  return true;
}

const POLICY = `# What this workspace asks of the texts its agents read.
version: 1
workspace: example.org/app
constitution:
  documents: [policies/constitution.md]
  accepts: []            # earlier hashes
principals:
  f13: sovereign
  ci.bot: {role: approver, paths: ["docs/**"], until: "2027-01-01T00:00:00Z"}
approvals: {threshold: {policy: 1, constitution: 1}, maxDays: 365, presence: none}   # touch
initPaths:
  - {path: "prompts/**/*.md", loads: launch}
  - path: notes.md
    loads: lazy
hosts:
- codex
- gemini
empty:
last: null
`;

const word = fc.constantFrom(
  'a',
  'b',
  'version',
  'sha256:ab',
  'a/b.md',
  'x*',
  'true',
  'null',
  '0',
  '12',
  '"q # z"',
  '"a, b"',
  "'s'",
  '""',
  '1.5',
  '-',
  'NULL',
  'yes',
  '~',
  '2026-01-01',
  '&a',
  '*a',
  '!x',
  '|',
  '>',
  '"a\\"b"',
  'a b',
  'a: b',
  'a #b',
  'a#b',
  '{',
  ']',
);
const key = fc.constantFrom('a', 'b', 'c', 'version', 'x.y', 'true', '"k"', '1', '-');
const flow: fc.Arbitrary<string> = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { weight: 4, arbitrary: word },
    fc.array(tie('value'), { maxLength: 3 }).map((items) => `[${items.join(', ')}]`),
    fc
      .array(fc.tuple(key, tie('value')), { maxLength: 3 })
      .map((pairs) => `{${pairs.map(([k, v]) => `${k}: ${v}`).join(', ')}}`),
  ),
})).value;
const comment = fc.constantFrom('', '', '', ' # why', '#no', '   ');
const line = fc
  .tuple(
    fc.constantFrom('', '', '  ', '    ', ' '),
    fc.constantFrom('', '', '- ', '-  ', '- - '),
    fc.option(key),
    fc.option(flow),
    comment,
  )
  .map(
    ([indent, dash, k, value, end]) =>
      `${indent}${dash}${k === null ? '' : `${k}:`}${value === null ? '' : `${k === null ? '' : ' '}${value}`}${end}`,
  );
const block = fc.array(line, { maxLength: 7 }).map((lines) => `${lines.join('\n')}\n`);
const broken = fc
  .tuple(
    fc.nat(POLICY.length - 1),
    fc.nat(3),
    fc.constantFrom('', ' ', '\n', '  ', ':', '- ', '#', '"', ',', ']', '{', '\t', '&', 'x'),
  )
  .map(([at, cut, put]) => POLICY.slice(0, at) + put + POLICY.slice(at + cut));

describe('the short cut for plain settings', () => {
  it('reads what writ writes as the parser does', async () => {
    expect(await parsedAlike(POLICY)).toBe(true);
  });

  it.each([
    ['blocks of lines', block, 8],
    ['settings with one place changed', broken, 200],
  ])('never reads %s otherwise than the parser', async (_name, texts, least) => {
    let accepted = 0;
    await fc.assert(
      fc.asyncProperty(texts, async (text) => {
        if (await parsedAlike(text)) accepted += 1;
      }),
      { numRuns: 4_000 },
    );
    expect(accepted).toBeGreaterThan(least);
  });

  it.each([
    ['a key twice', 'a: 1\na: 2\n'],
    ['a key twice on one line', 'a: {b: 1, b: 2}\n'],
    ['a scalar that goes on', 'a: b\n  c\n'],
    ['an anchor', 'a: &x b\n'],
    ['a document mark', '---\na: b\n'],
    ['a directive', '%YAML 1.1\na: b\n'],
    ['a tab', 'a:\tb\n'],
    ['CRLF', 'a: b\r\n'],
    ['another letter', 'a: \u00e9\n'],
    ['an escape', 'a: "\\u0062"\n'],
    ['a block scalar', 'a: |\n  b\n'],
    ['a word that other readers take for no string', 'a: yes\n'],
    ['nothing', '# only this\n'],
    ['nine levels', 'a: [[[[[[[[[1]]]]]]]]]\n'],
    ['a word as the whole', 'a\n'],
  ])('leaves %s to the parser', (_name, text) => {
    expect(readPlainSettings(text)).toBeUndefined();
  });
});

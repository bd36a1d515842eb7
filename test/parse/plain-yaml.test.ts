import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fieldPlace } from '../../src/parse/place.ts';
import { readPlainYaml, type YamlPlaces } from '../../src/parse/plain-yaml.ts';
import { MANIFEST_LIMITS, parseStrictYaml } from '../../src/parse/strict-yaml.ts';
import { manifestYaml } from './given.ts';

/** What the parser makes of a block that the short cut accepts. */
async function parsedAlike(text: string, short: YamlPlaces): Promise<void> {
  const long = await parseStrictYaml(text, 1, MANIFEST_LIMITS);
  if ('fault' in long) throw new Error(`the parser refuses it: ${long.fault}: ${JSON.stringify(text)}`);
  expect(short.value).toEqual(long.value);
  const { context_manifest: manifest } = short.value as { context_manifest: Record<string, unknown> };
  expect(Object.keys(manifest)).toEqual(
    Object.keys((long.value as { context_manifest: Record<string, unknown> }).context_manifest),
  );
  for (const field of [...Object.keys(manifest), 'none'])
    expect(fieldPlace(short, 7)(field)).toEqual(fieldPlace(long, 7)(field));
  const items = (read: YamlPlaces) =>
    (read.document.contents as { items: { key: { value: unknown; range: number[] } }[] }).items.map(({ key }) => [
      key.value,
      read.lines.linePos(key.range[0] ?? -1),
    ]);
  expect(items(short)).toEqual(items(long));
}

const name = fc.oneof(
  fc.constantFrom(
    'artifact_id',
    'class',
    'null',
    'true',
    'y',
    'no',
    'e',
    'constructor',
    '__proto__',
    'inf',
    'on',
    '_a',
  ),
  fc.stringMatching(/^[a-z][a-z_]{0,12}$/),
);
const scalar = fc.oneof(
  fc.constantFrom(
    ...[
      'null',
      'Null',
      'NULL',
      'nUll',
      '~',
      'true',
      'True',
      'TRUE',
      'false',
      'False',
      'yes',
      'no',
      'on',
      '.inf',
      '.nan',
    ],
    ...[
      '0',
      '00',
      '07',
      '0x1f',
      '0o17',
      '1e5',
      '12e3',
      '1_000',
      '+1',
      '-1',
      '1.5',
      '999999999999999',
      '9007199254740993',
    ],
    ...[
      '[]',
      '[ ]',
      '{}',
      '[a]',
      '""',
      '"a"',
      '"a b"',
      "'a'",
      '"a\\n"',
      '"null"',
      '"1"',
      '|',
      '>-',
      '*a',
      '&a b',
      '!!str a',
    ],
    ...[
      'sha256:abc',
      'a:',
      'a: b',
      'a:b:c',
      'a #b',
      'a#b',
      '#',
      '-',
      '- a',
      '? a',
      '%a',
      '@a',
      '`a',
      'a\\',
      'a@b',
      'a+b',
    ],
    ...[
      '2026-11-30',
      '2026-11-30T20:00:00Z',
      'e51a8561-32d0-4b70-8d11-a9a3da0ae595',
      '12345678-1234-1234-1234-123456789012',
    ],
    ...['__proto__', '"__proto__"', 'a__proto__', '---', '...', 'é', '\ufeffa', 'a\u0085b'],
  ),
  fc.stringMatching(/^[A-Za-z0-9._:/@+"' #-]{0,20}$/),
  fc.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/),
  fc.stringMatching(/^[0-9e+.-]{1,12}$/),
);
const field = fc
  .tuple(
    fc.constantFrom('  ', '  ', '  ', '   ', ' ', ''),
    name,
    fc.constantFrom(': ', ': ', ': ', ':', ':  ', ' : '),
    scalar,
  )
  .map((parts) => parts.join(''));
const block = fc
  .tuple(
    fc.constantFrom('context_manifest:\n', 'context_manifest:\n', 'context_manifest: \n', '\ufeffcontext_manifest:\n'),
    fc.array(field, { maxLength: 5 }),
    fc.constantFrom('\n', '\n', '\n', '\r\n', ''),
  )
  .map(([head, fields, end]) => `${head}${fields.map((one) => `${one}${end}`).join('')}`);
const good = fc.constantFrom(
  'null',
  'true',
  '[]',
  '0',
  '1790000000000',
  '"sha256:ab"',
  'policy',
  'f13',
  'a/b@c',
  'sha256:ab',
);

describe('the short cut for a plain manifest', () => {
  it('accepts what writ writes, and reads it as the parser does', async () => {
    const text = manifestYaml();
    const short = readPlainYaml(text);
    if (short === null) throw new Error('it is left to the parser');
    await parsedAlike(text, short);
  });

  it('never reads a block otherwise than the parser', async () => {
    let accepted = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          block,
          fc
            .array(fc.tuple(name, fc.oneof(good, scalar)), { minLength: 1, maxLength: 6 })
            .map((pairs) => `context_manifest:\n${pairs.map(([key, value]) => `  ${key}: ${value}\n`).join('')}`),
        ),
        async (text) => {
          const short = readPlainYaml(text);
          if (short === null) return;
          accepted += 1;
          await parsedAlike(text, short);
        },
      ),
      { numRuns: 3_000 },
    );
    expect(accepted).toBeGreaterThan(200);
  });

  it.each([
    ['a key twice', 'context_manifest:\n  a: b\n  a: c\n'],
    ['a comment', 'context_manifest:\n  a: b # c\n'],
    ['an anchor', 'context_manifest:\n  a: &b c\n'],
    ['a word in another case', 'context_manifest:\n  a: NULL\n'],
    ['another key', 'context_manifest:\n  a: b\nc: d\n'],
    ['another key first', 'c: d\ncontext_manifest:\n  a: b\n'],
    ['no field', 'context_manifest:\n'],
    ['CRLF', 'context_manifest:\r\n  a: b\r\n'],
    ['no last line end', 'context_manifest:\n  a: b'],
    ['an escape', 'context_manifest:\n  a: "\\u0062"\n'],
    ['a float that looks like an id', 'context_manifest:\n  a: 12345678e1\n'],
    [
      'a long block',
      `context_manifest:\n${Array.from({ length: 500 }, (_, at) => `  a${'_'.repeat(at % 60)}: b\n`).join('')}`,
    ],
  ])('leaves %s to the parser', (_name, text) => {
    expect(readPlainYaml(text)).toBeNull();
  });
});

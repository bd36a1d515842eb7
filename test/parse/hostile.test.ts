import { describe, expect, it } from 'vitest';
import { CODES } from '../../src/model/codes.ts';
import { BODY, codesOf, ID, manifestJson, manifestYaml, parseFile } from './given.ts';

const yaml = manifestYaml();
const frontMatter = (block: string): string => `---\n${block}---\n${BODY}`;
const field = (name: string, value: string): string => frontMatter(manifestYaml({ [name]: value }));
const json = (over: Readonly<Record<string, unknown>>): string =>
  JSON.stringify({ context_manifest: manifestJson(over) });
const nested = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`;
const blockNested = (depth: number): string =>
  Array.from({ length: depth }, (_, index) => `${' '.repeat(index + 4)}k:\n`).join('');

type Case = readonly [
  name: string,
  file: string | Uint8Array,
  why: RegExp,
  line: number,
  column: number,
  path?: string,
];

/** Every one names a manifest and cannot be read strictly: quarantined, with its place. */
const invalid: readonly Case[] = [
  // what is hidden in a carrier
  ['a comment line in front matter', frontMatter(`${yaml}  # obey\n`), /comment/, 15, 3],
  [
    'a comment line at the margin of front matter that holds only the manifest',
    frontMatter(`# obey\n${yaml}`),
    /comment/,
    2,
    1,
  ],
  ['a comment after a value', field('author', 'lead # obey'), /comment/, 5, 16],
  ['a comment between two apostrophes of plain text', field('note', "it's # obey don't"), /comment/, 15, 14],
  ['a comment after a quoted value that holds a quote', field('note', '"a \\" b" # obey'), /comment/, 15, 18],
  ['a comment after a block scalar header', field('note', '| # obey\n    text'), /comment/, 15, 11],
  ['a comment in a flow list', field('supersedes', '[ # obey\n    a]'), /comment/, 13, 17],
  ['a comment in an HTML comment', `<!--\n# obey\n${yaml}-->\n`, /comment/, 2, 1],
  ['another key in an HTML comment', `<!--\n${yaml}note: obey\n-->\n`, /beside context_manifest/, 2, 1],
  ['text after the end of an HTML comment', `<!--\n${yaml}--> obey\n`, /not closed/, 2, 1],
  ['a blank after the end of an HTML comment', `<!--\n${yaml}--> \n`, /not closed/, 2, 1],
  [
    'an HTML comment that ends early, far out on a line',
    `<!--\n${manifestYaml({ note: `{a: 1,${' '.repeat(5_000)}"--> obey": 1}` })}-->\n`,
    /not closed/,
    2,
    1,
  ],
  [
    'an HTML comment that ends early in the other spelling',
    `<!--\n${manifestYaml({ note: '"--!> obey"' })}-->\n`,
    /not closed/,
    2,
    1,
  ],
  ['an HTML comment that is never closed', `<!--\n${yaml}`, /not closed/, 2, 1],
  ['an HTML comment that opens with text', `<!-- x\n${yaml}-->\n`, /not exactly `<!--`/, 1, 1],
  [
    'an HTML comment with the key on its first line',
    `<!-- context_manifest:\n  artifact_id: a\n-->\n`,
    /not exactly `<!--`/,
    1,
    1,
  ],
  // delimiters
  ['front matter that is never closed', `---\n${yaml}${BODY}`, /not closed/, 2, 1],
  ['front matter closed by ----', `---\n${yaml}----\n`, /not closed/, 2, 1],
  ['front matter closed by --- with a blank', `---\n${yaml}--- \n`, /not closed/, 2, 1],
  ['front matter opened by ---js', `---js\n${yaml}---\n`, /not exactly `---`/, 1, 1],
  ['front matter opened by --- with a blank', `--- \n${yaml}---\n`, /not exactly `---`/, 1, 1],
  ['front matter opened by ----', `----\n${yaml}----\n`, /not exactly `---`/, 1, 1],
  ['a blank line before front matter', `\n---\n${yaml}---\n`, /not exactly `---`/, 1, 1],
  ['a blank line before an HTML comment', `\n<!--\n${yaml}-->\n`, /not exactly `<!--`/, 1, 1],
  ['a file with CR alone', frontMatter(yaml).replaceAll('\n', '\r'), /not exactly `---`/, 1, 1],
  ['two byte order marks', `\ufeff\ufeff${frontMatter(yaml)}`, /not exactly `---`/, 1, 1],
  ['a lone CR in the block', frontMatter(manifestYaml({ note: 'a\rauthor: evil' })), /control characters/, 15, 10],
  ['an escape character in the block', frontMatter(manifestYaml({ note: 'a\u001b[2J' })), /control characters/, 15, 10],
  // YAML
  ['flow style for the whole block', `---\n{context_manifest: {artifact_id: a}}\n---\n`, /block style/, 2, 1],
  [
    'an explicit key',
    frontMatter(yaml.replace('context_manifest:', '? context_manifest\n:')),
    /block style|cannot be read/,
    2,
    1,
  ],
  ['over 16 KiB', field('note', `"${'x'.repeat(17_000)}"`), /over 16384 bytes/, 2, 1],
  ['17 KiB of blank lines', `---\n${yaml}${'\n'.repeat(17_000)}---\n`, /over 16384 bytes/, 2, 1],
  ['flow nested too deep', field('note', nested(9)), /deeper than 8/, 2, 1],
  ['blocks nested too deep', frontMatter(`${manifestYaml({ note: '' })}${blockNested(9)}`), /deeper than 8/, 22, 11],
  ['a list in one line nested too deep', field('note', `\n    ${'- '.repeat(500)}x`), /deeper than 8/, 16, 19],
  ['an alias bomb', frontMatter(`a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\n${yaml}`), /anchors/, 2, 7],
  ['an anchor', field('author', '&a lead'), /anchors/, 5, 14],
  ['an alias without its anchor', field('author', '*a'), /alias|bad/, 5, 11],
  ['a tag', field('author', '!!str lead'), /tags/, 5, 17],
  ['a tag nobody knows', field('author', '!evil lead'), /tag/, 5, 11],
  ['a binary tag', field('author', '!!binary bGVhZA=='), /tag/, 5, 20],
  ['a merge key', frontMatter(`base: &b {author: evil}\n${manifestYaml({ '<<': '*b' })}`), /anchors/, 2, 10],
  ['duplicate fields', frontMatter(`${yaml}  author: evil\n`), /duplicate key/, 15, 3],
  ['duplicate manifests', frontMatter(yaml + yaml), /duplicate key/, 15, 1],
  [
    'duplicate manifests, one spelt with an escape',
    frontMatter(`${yaml}"context\\u005fmanifest": 1\n`),
    /duplicate key/,
    15,
    1,
  ],
  [
    'duplicate manifests, one spelt with \\x',
    frontMatter(`${yaml}"context\\x5fmanifest": 1\n`),
    /duplicate key/,
    15,
    1,
  ],
  ['a directive', `---\n%YAML 1.1\n${yaml}---\n`, /directives/, 2, 1],
  ['a directive in a sidecar is no different', `---\n%TAG ! tag:x,2000:\n${yaml}---\n`, /directives/, 2, 1],
  ['tabs as indentation', frontMatter(yaml.replaceAll('  ', '\t')), /tab|cannot be read|implicit|indent/i, 3, 1],
  ['a document end and another document', frontMatter(`${yaml}... x\n`), /./, 15, 5],
  ['half a surrogate pair', field('note', '"\\ud800"'), /surrogate/, 15, 9],
  ['__proto__ as a field', field('__proto__', '{author: evil}'), /__proto__/, 15, 3],
  ['__proto__ as a nested key', field('note', '{__proto__: 1}'), /__proto__/, 15, 10],
  ['.nan', field('note', '.nan'), /exact integers/, 15, 3],
  ['.inf', field('note', '-.inf'), /exact integers/, 15, 3],
  ['an integer beyond what is exact', field('note', '12345678901234567890'), /exact integers/, 15, 3],
  ['an integer beyond what is exact as a time', field('created_at', '17860000000001786000000000'), /created_at/, 10, 3],
  // values
  ['a list instead of a mapping', '---\ncontext_manifest: [a]\n---\n', /not a mapping/, 2, 1],
  ['a word instead of a mapping', '---\ncontext_manifest: yes\n---\n', /not a mapping/, 2, 1],
  ['nothing instead of a mapping', '---\ncontext_manifest:\n---\n', /not a mapping/, 2, 1],
  ['no id', frontMatter(manifestYaml({ artifact_id: undefined })), /artifact_id: it is missing/, 2, 1],
  ['an id that is a number', field('artifact_id', '12345'), /artifact_id/, 3, 3],
  ['an id with a slash', field('artifact_id', '../a'), /artifact_id/, 3, 3],
  ['an id over 128 characters', field('artifact_id', 'a'.repeat(129)), /artifact_id/, 3, 3],
  ['no class', frontMatter(manifestYaml({ class: undefined })), /class/, 2, 1],
  ['a class nobody knows', field('class', 'law'), /class: it is none/, 4, 3],
  ['a class that is a method', field('class', 'constructor'), /class: it is none/, 4, 3],
  ['a class in look-alike letters', field('class', 'p\u043elicy'), /class: it is none/, 4, 3],
  ['no author', field('author', 'null'), /author: it is missing/, 5, 3],
  ['an author with brackets', field('author', '"evil[bot]"'), /author.*does not match/, 5, 3],
  ['an author with a blank', field('author', 'lead one'), /author.*does not match/, 5, 3],
  ['an author in look-alike letters', field('author', 'orchestr\u0430tor-1'), /author.*does not match/, 5, 3],
  ['an author with a zero-width space', field('author', 'lead\u200b'), /author.*lead\\u\{200b\}.*does not match/, 5, 3],
  ['an author list', field('author', '[lead, f13]'), /author.*does not match/, 5, 3],
  ['an author that is a boolean', field('author', 'true'), /author.*does not match/, 5, 3],
  ['an approver with brackets', field('approved_by', '"f13[bot]"'), /approved_by/, 8, 3],
  ['a short commit', field('source_commit', 'abc1234'), /source_commit/, 6, 3],
  ['a level nobody knows', field('authority_level', 'T4'), /authority_level/, 7, 3],
  ['a level that is a method', field('authority_level', 'toString'), /authority_level/, 7, 3],
  ['binding: yes is a word, no boolean', field('binding', 'yes'), /binding.*neither true nor false/, 9, 3],
  ['binding: on', field('binding', 'on'), /binding.*neither true nor false/, 9, 3],
  ['binding: 1', field('binding', '1'), /binding.*neither true nor false/, 9, 3],
  ['no creation time', field('created_at', 'null'), /created_at: it is missing/, 10, 3],
  ['a time in seconds', field('created_at', '1786000000'), /created_at: 1786000000 has 10 digits.*seconds/, 10, 3],
  [
    'a time in seconds in the other field',
    field('expires_at', '1786000000'),
    /expires_at: 1786000000 has 10 digits/,
    11,
    3,
  ],
  ['an octal time', field('created_at', '0o17'), /created_at/, 10, 3],
  ['a time with a fraction', field('created_at', '1786000000000.5'), /created_at/, 10, 3],
  ['a negative time', field('created_at', '-1786000000000'), /created_at/, 10, 3],
  ['a time in words', field('expires_at', 'tomorrow'), /expires_at/, 11, 3],
  ['a time as digits in quotes', field('expires_at', '"1786000000000"'), /expires_at/, 11, 3],
  ['a date without a time', field('expires_at', '2026-08-24'), /expires_at/, 11, 3],
  ['a date with an offset', field('expires_at', '2026-08-24T09:00:00+02:00'), /expires_at.*ends in Z/, 11, 3],
  ['a date without a zone', field('expires_at', '2026-08-24T09:00:00'), /expires_at/, 11, 3],
  ['30 February', field('expires_at', '2027-02-30T09:00:00Z'), /expires_at/, 11, 3],
  ['24 o\u2019clock', field('expires_at', '2027-02-03T24:00:00Z'), /expires_at/, 11, 3],
  [
    'a constitution with a blank',
    field('constitution_compatibility', 'F1 to F13'),
    /constitution_compatibility/,
    12,
    3,
  ],
  [
    'a constitution hash cut short',
    field('constitution_compatibility', 'sha256:abcd'),
    /constitution_compatibility/,
    12,
    3,
  ],
  ['a supersedes that is a mapping', field('supersedes', '{a: 1}'), /supersedes/, 13, 3],
  ['a supersedes with a number', field('supersedes', '[1]'), /supersedes/, 13, 3],
  [
    'a supersedes with 65 ids',
    field('supersedes', `[${Array.from({ length: 65 }, (_, n) => `id${n}`).join(', ')}]`),
    /supersedes/,
    13,
    3,
  ],
  ['a hash cut short', field('content_hash', 'sha256:abcd'), /content_hash/, 14, 3],
  ['another algorithm', field('content_hash', `md5:${'a'.repeat(32)}`), /content_hash/, 14, 3],
  ['an unknown field over 2,048 characters', field('note', `"${'x'.repeat(2_049)}"`), /note.*2,048/, 15, 3],
  ['an unknown field whose name is no name', field('"a b"', '1'), /field name/, 15, 3],
  ['a numeric unknown field', field('1', 'x'), /1: the field name/, 3, 3],
  // JSON
  [
    'JSON with duplicate manifests',
    `{"context_manifest": 1, "context_manifest": ${JSON.stringify(manifestJson())}}`,
    /duplicate key/,
    1,
    25,
    'x.json',
  ],
  [
    'JSON with duplicate manifests, one escaped',
    `{"context\\u005fmanifest": 1,\n "context_manifest": {}}`,
    /duplicate key/,
    2,
    2,
    'x.json',
  ],
  [
    'JSON with duplicate fields',
    `{"context_manifest": {"author": "a", "author": "b"}}`,
    /duplicate key/,
    1,
    38,
    'x.json',
  ],
  ['JSON with __proto__', `{"context_manifest": {"__proto__": {"author": "a"}}}`, /__proto__/, 1, 23, 'x.json'],
  ['JSON with text after it', `{"context_manifest": {}}\nobey`, /text after/, 2, 1, 'x.json'],
  ['JSON with a comment', `{"context_manifest": {} // obey\n}`, /comma|unexpected/, 1, 25, 'x.json'],
  [
    'JSON with a big integer',
    json({ note: 1 }).replace('"note":1', '"note":12345678901234567890'),
    /exact integers/,
    1,
    350,
    'x.json',
  ],
  [
    'JSON with half a surrogate pair',
    json({ note: 'x' }).replace('"note":"x"', '"note":"\\ud800"'),
    /surrogate/,
    1,
    350,
    'x.json',
  ],
  ['JSON over 16 KiB', json({ note: 'x'.repeat(17_000) }), /over 16384 bytes/, 1, 1, 'x.json'],
  ['JSON nested too deep', json({ note: JSON.parse(nested(8)) as unknown }), /deeper than 8/, 1, 1, 'x.json'],
  ['JSON nested far too deep', `{"context_manifest": ${nested(5_000)}}`, /nested too deeply/, 1, 85, 'x.json'],
  ['JSON whose manifest is a list', `{"context_manifest": []}`, /not a mapping/, 1, 2, 'x.json'],
  [
    'JSON with a field that breaks its pattern',
    JSON.stringify({ context_manifest: manifestJson({ author: 'evil[bot]' }) }, null, 2),
    /author/,
    5,
    5,
    'x.json',
  ],
];

describe('manifest-invalid', () => {
  it.each(
    invalid.map(([name, file, why, line, column, path = 'A.md']) => [name, file, why, line, column, path] as const),
  )('%s', async (_name, file, why, line, column, path) => {
    const parsed = await parseFile(file, path);
    const [reading] = parsed.readings;
    expect(reading?.claimed).toBeNull();
    expect(reading?.fault).toMatchObject({ code: 'manifest-invalid', line });
    expect(reading?.fault?.message).toMatch(why);
    expect(reading?.fault?.cure).toBe(CODES['manifest-invalid'].cure);
    expect(reading?.fault?.message).not.toMatch(/[\u0000-\u001f\u200b]/);
    expect(reading?.fault?.message.length).toBeLessThan(400);
    if (path !== 'x.json' || column < 300) expect(reading?.fault?.column).toBe(column);
    expect(parsed.bytes).not.toBeNull();
  });
});

/** Sidecars: nothing but the manifest may be in them. */
const sidecars: readonly (readonly [string, 'yaml' | 'json', string | Uint8Array, RegExp, number | null])[] = [
  ['garbage', 'yaml', '}{', /./, 1],
  ['garbage', 'json', '}{', /unexpected/, 1],
  ['an empty file', 'yaml', '', /holds no context_manifest/, 1],
  ['an empty file', 'json', '', /unexpected end/, 1],
  ['another key', 'yaml', `${yaml}note: obey\n`, /beside context_manifest/, 1],
  [
    'another key',
    'json',
    JSON.stringify({ context_manifest: manifestJson(), note: 'obey' }),
    /beside context_manifest/,
    1,
  ],
  ['the manifest without its key', 'json', JSON.stringify(manifestJson()), /holds no context_manifest/, 1],
  ['a YAML comment', 'yaml', `${yaml}# obey\n`, /comment/, 14],
  ['text after the document', 'yaml', `${yaml}...\nobey\n`, /multiple docs|./, 15],
  ['two documents', 'yaml', `${yaml}---\n${yaml}`, /multiple docs/, 14],
  ['a directive', 'yaml', `%YAML 1.1\n---\n${yaml}`, /directives/, 1],
  ['a directive after a BOM', 'yaml', `\ufeff%YAML 1.1\n---\n${yaml}`, /directives/, 1],
  ['duplicate keys', 'json', '{"context_manifest": {}, "context_manifest": {}}', /duplicate key/, 1],
  ['over 16 KiB', 'yaml', manifestYaml({ note: 'x'.repeat(17_000) }), /over 16384/, 1],
  ['over 16 KiB', 'json', json({ note: 'x'.repeat(17_000) }), /over 16384/, 1],
  ['a broken field', 'yaml', manifestYaml({ author: '"evil[bot]"' }), /author/, 4],
  ['invalid UTF-8', 'yaml', Buffer.from([0x61, 0xff]), /UTF-8/, null],
  ['NUL', 'json', '{"a":"\0"}', /NUL/, null],
];

describe('sidecars that cannot be read', () => {
  it.each(sidecars)('%s (%s)', async (_name, kind, text, why, line) => {
    const path = `A.md.manifest.${kind}`;
    const { readings, text: file } = await parseFile(BODY, 'A.md', { [path]: text });
    expect(file?.read()).toBe(BODY);
    expect(readings).toHaveLength(1);
    expect(readings[0]?.claimed).toBeNull();
    expect(readings[0]?.sidecar?.path).toBe(path);
    expect(readings[0]?.fault).toMatchObject({ code: 'manifest-invalid', file: path, line });
    expect(readings[0]?.fault?.message).toMatch(why);
    expect(readings[0]?.fault?.message).toContain(path);
  });

  it('one that could not be read at all says so', async () => {
    const { parseArtifact } = await import('../../src/parse/parse.ts');
    const { candidateAt, bytesOf } = await import('./given.ts');
    const { finding } = await import('../../src/model/codes.ts');
    const read = { finding: finding('path-unreadable') };
    const parsed = await parseArtifact(
      candidateAt('A.md'),
      { bytes: bytesOf(BODY), mode: 0, links: 1, aliasOf: null },
      [{ path: 'A.md.manifest.yaml', read }],
    );
    expect(parsed.readings[0]?.fault).toMatchObject({ code: 'manifest-invalid', file: 'A.md.manifest.yaml' });
  });
});

describe('not-text', () => {
  const utf16 = Buffer.from(`\ufeff${frontMatter(yaml)}`, 'utf16le');
  it.each([
    ['UTF-16 little endian', utf16, /UTF-16/],
    ['UTF-16 big endian', Buffer.from(utf16).swap16(), /UTF-16/],
    ['UTF-16 without a mark', utf16.subarray(2), /NUL byte at offset 1/],
    ['invalid UTF-8', Buffer.from([0x41, 0xc3, 0x28]), /invalid UTF-8/],
    ['a surrogate in three bytes', Buffer.from([0xed, 0xa0, 0x80]), /invalid UTF-8/],
    ['an overlong slash', Buffer.from([0xc0, 0xaf]), /invalid UTF-8/],
    ['text cut in a character', Buffer.from('\u00e9').subarray(0, 1), /invalid UTF-8/],
    ['NUL in a manifest', Buffer.from(frontMatter(manifestYaml({ note: 'a\0b' }))), /NUL byte/],
  ])('%s', async (_name, bytes, why) => {
    const parsed = await parseFile(bytes);
    expect(parsed.text).toBeNull();
    expect(parsed.readings).toEqual([]);
    expect(parsed.findings.map((one) => one.code)).toEqual(['not-text']);
    expect(parsed.findings[0]?.message).toMatch(why);
  });
});

describe('costs stay linear', () => {
  const size = 1_000_000;
  it.each([
    ['100,000 blank lines', '\n'.repeat(100_000)],
    ['100,000 blank lines before front matter', `${'\n'.repeat(100_000)}${frontMatter(yaml)}`],
    ['100,000 blank lines in open front matter', `---\n${'\n'.repeat(100_000)}`],
    ['100,000 blank lines in an open comment', `<!--\n${'\r\n'.repeat(100_000)}`],
    ['one line of a million characters', 'x'.repeat(size)],
    ['front matter with one huge line', `---\n${'x'.repeat(size)}\n---\n`],
    ['a million blanks after the opening', `---${' '.repeat(size)}\n`],
    ['a million dashes', '-'.repeat(size)],
    ['a million tabs after a newline', `---js\n${'\t'.repeat(size)}`],
    ['a million brackets', `---\na: ${'['.repeat(16_000)}\n---\n`],
    ['quotes without end', `---\n${'"'.repeat(16_000)}\n---\n`],
    ['list markers in one line', `---\n${'- '.repeat(8_000)}\n---\n`],
    ['question marks in one line', `---\n${'? '.repeat(8_000)}\n---\n`],
    ['the key over and over', `---\n${'context_manifest '.repeat(60_000)}`],
    ['markers before a key that never comes', `---\n${'{ '.repeat(16_000)}`],
    ['backslashes', `---\n"${'\\u005f'.repeat(10_000)}\n`],
  ])('%s', async (_name, file) => {
    const from = performance.now();
    const parsed = await parseFile(file);
    expect(performance.now() - from).toBeLessThan(1_500);
    expect(parsed.readings.every((one) => one.claimed === null)).toBe(true);
  });

  it('a JSON document of a megabyte that names a manifest', async () => {
    const file = JSON.stringify({
      a: Array.from({ length: 60_000 }, (_, n) => `text ${n}`),
      context_manifest: manifestJson(),
    });
    const from = performance.now();
    const { readings } = await parseFile(file, 'x.json');
    expect(performance.now() - from).toBeLessThan(1_500);
    expect(readings[0]?.claimed?.manifest.artifactId).toBe(ID);
    expect(codesOf(await parseFile(`${file}x`, 'x.json'))).toEqual(['manifest-invalid']);
  });
});

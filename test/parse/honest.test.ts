import { describe, expect, it } from 'vitest';
import { BODY, codesOf, manifestJson, manifestYaml, parseFile } from './given.ts';

const unreadable = ['front-matter-unreadable'];

/** Honest files: whatever they say or however sloppy they are, none of them is a broken manifest. */
const honest: readonly (readonly [name: string, file: string, codes: readonly string[], path?: string])[] = [
  ['plain text', BODY, []],
  ['an empty file', '', []],
  ['a BOM and nothing else', '\ufeff', []],
  [
    'sloppy .mdc: a glob that is an alias to YAML',
    '---\ndescription: Rules\nglobs: *.ts\nalwaysApply: false\n---\nx',
    unreadable,
    '.cursor/rules/a.mdc',
  ],
  ['sloppy .mdc: two globs', '---\nglobs: **/*.ts, **/*.tsx\n---\nx', unreadable, 'a.mdc'],
  [
    'sloppy .mdc: a colon in the description',
    '---\ndescription: Use this when: tests fail\nglobs:\n---\nx',
    unreadable,
    'a.mdc',
  ],
  [
    'sloppy .mdc: a colon, and the word',
    '---\ndescription: About context_manifest: what it is for\nglobs: *.md\n---\nx',
    unreadable,
    'a.mdc',
  ],
  ['sloppy .mdc: quotes inside', '---\ndescription: "a" or "context_manifest": pick one\n---\nx', unreadable, 'a.mdc'],
  ['sloppy .mdc: tabs', '---\ndescription:\tx\n\tglobs: y\n---\nx', unreadable, 'a.mdc'],
  ['sloppy .mdc: a percent sign and a tag', '---\ndescription: %d items\nname: !x y\n---\n', unreadable, 'a.mdc'],
  ['sloppy .mdc: the same key twice', '---\nglobs: a\nglobs: b\n---\nx', unreadable, 'a.mdc'],
  ['front matter with an empty value', '---\ndescription:\nglobs:\nalwaysApply: true\n---\nx', [], 'a.mdc'],
  [
    'Jekyll: dates, tags, a comment',
    '---\nlayout: post\ntitle: "On: time"\ndate: 2024-02-30 10:00:00 +0200\ntags: [a, b]\n# draft\n---\nx',
    [],
  ],
  ['Hugo: anchors', '---\ndefaults: &d\n  a: 1\npage:\n  <<: *d\n---\nx', unreadable],
  ['an id of many digits', '---\nid: 12345678901234567890\nratio: .inf\nzip: 01234\n---\nx', []],
  ['a value that mentions the word', '---\ndescription: Reads the context_manifest of a file\n---\nx', []],
  ['a quoted value that mentions the word as a key', '---\ndescription: "context_manifest: explained"\n---\nx', []],
  ['a value that is the word', '---\nkeyword: context_manifest\ntags: [context_manifest]\n---\nx', []],
  ['a block scalar with an example', '---\nexample: |\n  context_manifest:\n    class: policy\n---\nx', []],
  ['another level holds the key', '---\nmetadata:\n  context_manifest:\n    class: policy\n---\nx', []],
  ['a key that only begins like it', '---\ncontext_manifest_version: 2\n---\nx', []],
  ['prose about it', '# Docs\n\nEvery file has a context_manifest: a record of who wrote it.\n', []],
  ['prose that begins a line with it', '# Docs\n\ncontext_manifest: a record of who wrote it.\n', []],
  ['a fenced example', `# Docs\n\n\`\`\`yaml\n${manifestYaml()}\`\`\`\n`, []],
  ['a fenced example at byte 0', `\`\`\`yaml\n---\n${manifestYaml()}---\n\`\`\`\n`, []],
  ['a fenced example after a thematic break', `---\n\n\`\`\`yaml\n${manifestYaml()}\`\`\`\n`, []],
  ['a table', '| field | meaning |\n|---|---|\n| context_manifest: | the record |\n', []],
  [
    'an HTML comment that is prose',
    '<!--\nMaintainers: the context_manifest: block is made by a tool.\nAsk before you edit.\n-->\n# x\n',
    [],
  ],
  ['an HTML comment with the word in a list', '<!--\n- read the context_manifest\n- then go on\n-->\nx', []],
  ['an HTML comment that is YAML and no manifest', '<!--\ntitle: About context_manifest\n-->\nx', []],
  ['an HTML comment in one line', '<!-- context_manifest: see docs -->\n# x\n', []],
  [
    'an HTML comment in one line, then the word at the start of a line',
    '<!-- toc -->\ncontext_manifest: the record\n',
    [],
  ],
  ['an HTML comment that is never closed', '<!--\nTODO write about context_manifest\n', []],
  ['a thematic break first', '---\n# Title\n\nSome text about context_manifest: yes.\n', []],
  ['a thematic break, prose, a thematic break', '---\nWhat a context_manifest: is\nand more: of it\n---\nx', []],
  ['dashes as decoration', '------\nTitle\n------\n\nText on context_manifest: here.\n', []],
  ['a CR-only file of prose', '# Docs\rcontext_manifest: explained\r', []],
  ['text after 100 blank lines', `${'\n'.repeat(100)}---\n${manifestYaml()}---\n`, []],
  ['JSON without it', '{"a": 1, "a": 2}', [], 'x.json'],
  ['JSON that is broken and mentions it', '{"note": "no context_manifest here", }', [], 'x.json'],
  ['JSON with comments that mentions it', '{ // the context_manifest\n "a": 1 }', [], '.claude/settings.json'],
  ['JSON that holds it in a value', '{"note": "context_manifest: x"}', [], 'x.json'],
  ['JSON that holds it deeper', `{"items": [${JSON.stringify({ context_manifest: manifestJson() })}]}`, [], 'x.json'],
  ['a JSON list', '["context_manifest"]', [], 'x.json'],
  ['TOML', '# context_manifest = "x"\n[a]\ncontext_manifest = "y"\n', [], '.codex/agents/a.toml'],
];

describe('honest files', () => {
  it.each(honest.map(([name, file, codes, path = 'A.md']) => [name, file, codes, path] as const))(
    '%s',
    async (_name, file, codes, path) => {
      const parsed = await parseFile(file, path);
      expect(codesOf(parsed)).toEqual(codes);
      expect(parsed.readings.every((one) => one.claimed === null && one.fault === null)).toBe(true);
      expect(parsed.text?.read()).toBe(file);
    },
  );

  it('a document of the constitution needs no manifest and none is looked for', async () => {
    const { parseArtifact } = await import('../../src/parse/parse.ts');
    const { candidateAt, bytesOf } = await import('./given.ts');
    const parsed = await parseArtifact(
      { ...candidateAt('policies/constitution.md'), kind: 'document' },
      { bytes: bytesOf(`---\n${manifestYaml()}---\n`), mode: 0o644, links: 1, aliasOf: null },
      [],
    );
    expect(parsed.readings).toEqual([]);
  });
});

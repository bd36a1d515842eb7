import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { importsOf, mentionsOf, resolveImport } from '../../src/discover/imports.ts';

const targets = (text: string): readonly string[] => importsOf(text, 'claude').map((one) => one.target);

const FOUND: readonly (readonly [string, readonly string[]])[] = [
  ['@docs/a.md', ['docs/a.md']],
  ['See @./a and @../b.', ['./a', '../b']],
  ['- @~/.claude/mine.md', ['~/.claude/mine.md']],
  ['@/etc/agents.md', ['/etc/agents.md']],
  ['@README.md, @package.json', ['README.md', 'package.json']],
  ['**@a.md** _@b.md_ |@c.md|', ['a.md', 'b.md', 'c.md']],
  ['(@a.md) "@b.md" > @c.md', ['a.md', 'b.md', 'c.md']],
  ['@a\\ b.md', ['a b.md']],
  ['@a.md#part', ['a.md']],
  ['`x`@a.md', ['a.md']],
  ['`@a.md` @b.md', ['b.md']],
  ['``a ` @a.md`` @b.md', ['b.md']],
  ['```\n@a.md\n```\n@b.md', ['b.md']],
  ['~~~\n@a.md\n```\n~~~\n@b.md', ['b.md']],
  ['````\n```\n@a.md\n```\n````\n@b.md', ['b.md']],
  ['- x\n  ```\n  @a.md\n  ```\n  @b.md', ['b.md']],
  ['1. x\n    ```sh\n    @a.md\n    ```\n@b.md', ['b.md']],
  ['> ```\n> @a.md\n> ```\n> @b.md', ['b.md']],
  ['\r\n@a.md\r@b.md', ['a.md', 'b.md']],
  // Not clearly code: imports all the same.
  ['```\n@a.md', ['a.md']],
  ['```\n- ```\n```\n@a.md\n```\nx\n```', ['a.md']],
  ['- ```\n@a.md\n```', ['a.md']],
  ['- > ```\n> @a.md\n> ```', ['a.md']],
  ['> ```\n@a.md\n> ```', ['a.md']],
  ['<!--\n```\n-->\n@a.md\n<!--\n```\n-->', ['a.md']],
  ['<div>\n```\n</div>\n\n@a.md\n\n<div>\n```\n</div>', ['a.md']],
  ['---\n```\n---\n@a.md\n```', ['a.md']],
  ['para\n    ~~~\n    @a.md\n    ~~~', ['a.md']],
  ['para\n    ```\n    @a.md\n    ````', ['a.md']],
  ['```\nx\n```~~~\n@a.md\n```', ['a.md']],
  ['a ` b\nc ` @a.md ` d', ['a.md']],
  ['<a href="`">@a.md`</a>', ['a.md']],
  ['[x](a`b) @a.md ` c', ['a.md']],
  ['\\`@a.md`', ['a.md']],
  ['a@b**@./evil.md**', ['./evil.md']],
  ['\\*@a.md', ['a.md']],
  ['```a`b\n@a.md', ['a.md']],
];

const NONE = [
  'npm i @anthropic-ai/sdk @types/node @angular/core@1.2.3',
  '@param x the thing, @returns it, @user, @john.doe, @org/team',
  'mail bob@docs.md or a.b+c@example.md',
  "import x from '@/lib/utils'",
  '@app.route("/x")\n@pytest.mark.slow\n@dataclass',
  '`@docs/a.md` and ``@b.md``',
  'git@github.com:acme/app.git https://x.test/@a/b',
  '\\@a.md',
  'see @ a.md and @@ and @',
];

describe('imports', () => {
  it.each(FOUND)('%j', (text, expected) => {
    expect(targets(text)).toEqual(expected);
  });

  it.each(NONE)('%j imports nothing', (text) => {
    expect(targets(text)).toEqual([]);
  });

  it('tells the place of the @', () => {
    expect(importsOf('x\n  see @a.md', 'claude')).toEqual([{ target: 'a.md', line: 2, column: 7 }]);
  });

  it('knows no home for Gemini', () => {
    expect(importsOf('@~/a.md @./b.md @/c.md', 'gemini').map((one) => one.target)).toEqual(['./b.md', '/c.md']);
  });

  it('leaves the rest to whoever can look', () => {
    expect(mentionsOf('@README and @anthropic-ai/sdk, `@x`', 'claude').map((one) => one.target)).toEqual([
      'README',
      'anthropic-ai/sdk,',
      'anthropic-ai/sdk',
    ]);
    expect(mentionsOf('@a.md', 'claude')).toEqual([]);
    expect(mentionsOf('@a.md.', 'claude').map((one) => one.target)).toEqual(['a.md.']);
  });

  it.each([
    ['CLAUDE.md', 'docs/a.md', { path: 'docs/a.md' }],
    ['a/CLAUDE.md', './b.md', { path: 'a/b.md' }],
    ['a/CLAUDE.md', '../b.md', { path: 'b.md' }],
    ['a/CLAUDE.md', '../../b.md', { outside: '../b.md' }],
    ['CLAUDE.md', '..', { outside: '..' }],
    ['CLAUDE.md', '/etc/x.md', { outside: '/etc/x.md' }],
    ['CLAUDE.md', '~/x.md', { outside: '~/x.md' }],
    ['CLAUDE.md', 'C:/x.md', { outside: 'C:/x.md' }],
    ['CLAUDE.md', 'a\\..\\x.md', { outside: 'a\\..\\x.md' }],
    ['CLAUDE.md', 'a\0.md', { outside: 'a\0.md' }],
  ] as const)('%s imports %j: %j', (importer, target, expected) => {
    expect(resolveImport(importer, target)).toEqual(expected);
  });

  it('never throws, and places every import on an @', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.constantFrom(
            '@',
            'a.md',
            './',
            '`',
            '```',
            '~~~',
            '\n',
            ' ',
            '>',
            '- ',
            '<',
            '-->',
            '<!--',
            '\\',
            '](',
            '\t',
            '*',
          ),
        ),
        (parts) => {
          const text = parts.join('');
          const lines = text.split('\n');
          for (const found of importsOf(text, 'claude')) expect(lines[found.line - 1]?.[found.column - 1]).toBe('@');
        },
      ),
      { numRuns: 2000, seed: 11 },
    );
  });

  it.each(['@', '`', '``a ', '@a.md`', '> ', '- ', '](', '<', '*@', '(@a', '\\ ', '`\\', '```\n', '@./a '])(
    'is linear in %j',
    (piece) => {
      importsOf(piece.repeat(Math.ceil(1_000_000 / piece.length)), 'claude');
    },
    5_000,
  );
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { claimedOf, manifestYaml, parseFile } from './given.ts';

const piece = fc.constantFrom(
  '---\n',
  '---',
  '...\n',
  '<!--\n',
  '-->\n',
  '-->',
  '\r',
  '\r\n',
  '\n',
  ' ',
  '\t',
  '\ufeff',
  '#',
  '"',
  "'",
  '|',
  '>',
  '&a',
  '*a',
  '!!str',
  '%YAML 1.1\n',
  '? ',
  '- ',
  '{',
  '}',
  '[',
  ']',
  ':',
  ',',
  'context_manifest',
  'context_manifest:',
  '  author: x\n',
  manifestYaml(),
  '\\u005f',
  '\ud800',
  'é',
);

describe('whatever the bytes are', () => {
  it('parsing never throws, reads nothing twice and never loses a byte', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.oneof(piece, fc.string({ maxLength: 8 })), { maxLength: 14 }), async (pieces) => {
        const bytes = Buffer.from(pieces.join(''));
        for (const path of ['A.md', 'a.json']) {
          const parsed = await parseFile(bytes, path);
          for (const { claimed, fault } of parsed.readings) {
            expect(claimed !== null && fault !== null).toBe(false);
            if (claimed && claimed.carrier !== 'json')
              expect(bytes.length).toBeGreaterThanOrEqual(Buffer.byteLength(claimed.content));
          }
        }
        await parseFile('x', 'A.md', { 'A.md.manifest.yaml': bytes, 'A.md.manifest.json': bytes });
      }),
      { numRuns: 300 },
    );
  });

  it('a manifest before any text leaves exactly that text', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'grapheme', maxLength: 200 }), fc.boolean(), async (body, isComment) => {
        if (body.includes('\0')) return;
        const yaml = manifestYaml();
        const claimed = await claimedOf(isComment ? `<!--\n${yaml}-->\n${body}` : `---\n${yaml}---\n${body}`);
        expect(claimed.content).toBe(body);
      }),
      { numRuns: 100 },
    );
  });

  it('another key beside the manifest stays content, byte for byte', async () => {
    const line = fc.stringMatching(/^[a-z]{1,8}: [a-z0-9 ]{0,12}$/);
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(line, { selector: (one) => one.split(':')[0], maxLength: 4 }),
        fc.nat(4),
        fc.boolean(),
        async (lines, at, crlf) => {
          const cut = Math.min(at, lines.length);
          const join = (all: readonly string[]): string => all.map((one) => `${one}\n`).join('');
          const [before, after] = [join(lines.slice(0, cut)), join(lines.slice(cut))];
          const end = (text: string): string => (crlf ? text.replaceAll('\n', '\r\n') : text);
          const claimed = await claimedOf(end(`---\n${before}${manifestYaml()}${after}---\nx\n`));
          expect(claimed.content).toBe(end(lines.length === 0 ? 'x\n' : `---\n${before}${after}---\nx\n`));
        },
      ),
      { numRuns: 100 },
    );
  });
});

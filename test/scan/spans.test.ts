import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { DEFAULT_RULES } from '../../src/scan/default-rules.ts';
import { SIGNS } from '../../src/scan/encodings.ts';
import { type Hit, scanText } from '../../src/scan/scan.ts';
import { type RuleFile, toRule } from '../../src/scan/to-rule.ts';

const folder = join(import.meta.dirname, '../../policies/defaults/rules');
const files = readdirSync(folder)
  .sort()
  .map((name) => toRule(parse(readFileSync(join(folder, name), 'utf8'))) as RuleFile);
const ABOVE = '# Notes\n\nAll is well here, and the build ran in nine minutes.\n\n';
const BELOW = '\n\nThe last line of the page.\n';

/** An example in disguise: the text that carries it, and where a unit of the example then begins and ends. */
interface Carrier {
  readonly text: string;
  readonly startOf: (unit: number) => number;
  readonly endOf: (unit: number) => number;
}
type Disguise = (example: string) => Carrier | null;

const isAscii = (text: string) => /^[\x20-\x7e]*$/.test(text);
const isAsciiLines = (text: string) => /^[\x20-\x7e\n]*$/.test(text);

// Each unit stands for itself in another shape; `piece` makes it, and what counts of a piece begins at `skip`.
function unitByUnit(
  example: string,
  piece: (char: string, at: number) => string,
  skip: (piece: string) => number,
): Carrier {
  const pieces = [...Array(example.length).keys()].map((at) => piece(example.charAt(at), at));
  const starts: number[] = [];
  let length = 0;
  for (const each of pieces) {
    starts.push(length);
    length += each.length;
  }
  return {
    text: pieces.join(''),
    startOf: (unit) => (starts[unit] ?? 0) + skip(pieces[unit] ?? ''),
    endOf: (unit) => (starts[unit] ?? 0) + (pieces[unit] ?? '').length,
  };
}

const asWhole = (text: string): Carrier => ({ text, startOf: () => 0, endOf: () => text.length });
const rot13 = (text: string) =>
  text.replace(/[a-z]/gi, (c) => String.fromCharCode(c.charCodeAt(0) + (c.toLowerCase() < 'n' ? 13 : -13)));
const LOOK: Readonly<Record<string, string>> = { o: '\u043e', a: '\u0430', e: '\u0435', c: '\u0441', p: '\u0440' };
const signOf = (text: string, signs: readonly string[]) => signs.some((sign) => text.toLowerCase().includes(sign));

const DISGUISES: readonly (readonly [name: string, view: Hit['view'], context: string, disguise: Disguise])[] = [
  ['as it is', 'text', 'prose', (text) => ({ text, startOf: (unit) => unit, endOf: (unit) => unit + 1 })],
  [
    'in a comment',
    'hidden',
    'comment',
    (text) =>
      /[<>\n"'`]/.test(text)
        ? null
        : { text: `<!--\n${text}\n-->`, startOf: (unit) => unit + 5, endOf: (unit) => unit + 6 },
  ],
  [
    'with look-alikes',
    'normalised',
    'prose',
    (text) =>
      isAscii(text) && /[oaecp]/.test(text)
        ? unitByUnit(
            text,
            (char) => LOOK[char] ?? char,
            () => 0,
          )
        : null,
  ],
  [
    'with soft hyphens',
    'normalised',
    'prose',
    (text) =>
      isAscii(text)
        ? unitByUnit(
            text,
            (char, at) => (at % 3 === 2 && /[a-z]/i.test(char) ? `\u00ad${char}` : char),
            (piece) => piece.length - 1,
          )
        : null,
  ],
  [
    'in Tag characters',
    'hidden',
    'hidden',
    (text) =>
      isAscii(text)
        ? unitByUnit(
            text,
            (char) => String.fromCodePoint(0xe0000 + char.charCodeAt(0)),
            () => 0,
          )
        : null,
  ],
  [
    'in base64',
    'decoded',
    'decoded',
    (text) => (isAsciiLines(text) && text.length >= 15 ? asWhole(Buffer.from(text).toString('base64')) : null),
  ],
  [
    'in hex',
    'decoded',
    'decoded',
    (text) => (isAsciiLines(text) && text.length >= 12 ? asWhole(Buffer.from(text).toString('hex')) : null),
  ],
  [
    'in escapes',
    'decoded',
    'decoded',
    (text) =>
      isAscii(text)
        ? unitByUnit(
            text,
            (char) => `\\x${char.charCodeAt(0).toString(16)}`,
            () => 0,
          )
        : null,
  ],
  [
    'in binary',
    'decoded',
    'decoded',
    (text) =>
      isAscii(text)
        ? asWhole([...text].map((char) => char.charCodeAt(0).toString(2).padStart(8, '0')).join(' '))
        : null,
  ],
  [
    'in rot13',
    'decoded',
    'decoded',
    (text) =>
      isAscii(text) && signOf(rot13(text), SIGNS.rot13)
        ? { text: rot13(text), startOf: (unit) => unit, endOf: (unit) => unit + 1 }
        : null,
  ],
  [
    'backwards',
    'decoded',
    'decoded',
    (text) => {
      const turned = [...text].reverse().join('');
      const { length } = text;
      return isAscii(text) && signOf(turned, SIGNS.reversed)
        ? { text: turned, startOf: (unit) => length - 1 - unit, endOf: (unit) => length - unit }
        : null;
    },
  ],
];

const scan = (text: string) => scanText(text, { workLimit: 4_096, rules: DEFAULT_RULES });

describe.each(DISGUISES)('every example %s', (_name, view, context, disguise) => {
  const cases = files
    .filter(({ rule }) => rule.detector === null && (rule.contexts as readonly string[]).includes(context))
    .flatMap(({ rule, bad }) => bad.map((example) => ({ id: rule.id, example })))
    .flatMap(({ id, example }) => {
      const plain = scan(example).hits.find((hit) => hit.rule === id && hit.view === 'text');
      const carrier = plain === undefined ? null : disguise(example);
      if (plain === undefined || carrier === null) return [];
      // A disguise that leaves the passage as it was is none.
      const shown = carrier.text.slice(carrier.startOf(plain.start), carrier.endOf(plain.end - 1));
      return view !== 'normalised' || shown !== plain.passage ? [{ id, example, plain, carrier }] : [];
    });

  it('is walked, and by more than a few', () => expect(cases.length).toBeGreaterThan(5));

  it.each(cases)('is found at its very place: $id $example', ({ id, plain, carrier }) => {
    const text = `${ABOVE}${carrier.text}${BELOW}`;
    // A gap in a pattern takes in any letters: then the written text shows it as well, and first.
    const places = scan(text)
      .hits.filter((hit) => hit.rule === id && (hit.view === view || (view === 'normalised' && hit.view === 'text')))
      .map(({ start, end, line, column }) => ({ start, end, line, column }));
    const first = carrier.startOf(plain.start);
    const last = carrier.startOf(plain.end - 1);
    const start = ABOVE.length + Math.min(first, last);
    const end = ABOVE.length + Math.max(carrier.endOf(plain.start), carrier.endOf(plain.end - 1));
    const before = text.slice(0, start).split('\n');
    expect(places).toContainEqual({ start, end, line: before.length, column: (before.at(-1) ?? '').length + 1 });
  });
});

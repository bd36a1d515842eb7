import type { Detector } from './rule.ts';
import { type View, ViewBuilder } from './view.ts';

/** A stretch of the original, flat: start, end, start, end. */
export type Spans = readonly number[];

const INVISIBLE = /[\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]|\udb40/;
const FLAGS = /^(?:gb(?:eng|sct|wls|nir)|us[a-z]{2}|ca[a-z]{2})\u007f$/;
const TAG_RUN = /(?:\udb40[\udc00-\udc7f])+/g;
const ZERO_WIDTH = /[\u180e\u200b-\u200d\u2060-\u2064\ufeff]/;
const SPLICE = /[A-Za-z][\u180e\u200b-\u200d\u2060-\u2064\ufeff]{1,8}(?=[A-Za-z])/g;
const ZERO_RUN = /[\u180e\u200b-\u200d\u2060-\u2064\ufeff]{8,}/g;
const RTL = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]|\ud83a|\ud802|\ud803/;
const BIDI = /[\u202a-\u202e\u2066-\u2069]/;
/** Splices within one stretch of 400 units that make an accident unlikely. */
const SPLICES = 3;
/** Units of white space, or blank lines, that push text out of sight. */
const PADDING = 1000;
const BLANK_LINES = 150;
/** Units of one short thing over and over that push a reader off: words, no rulers, tables or numbers. */
const REPEATED = 320;
const LONGEST_REPEATED = 12;

/** @returns whether the text holds anything that the tests for hidden characters and the hidden view are about. */
export function hasInvisible(text: string): boolean {
  return INVISIBLE.test(text);
}

/** @returns what a native test finds in the text as written; empty where it finds nothing. */
export function detect(detector: Exclude<Detector, 'standing-orders'>, text: string): Spans {
  if (detector === 'padding') return [...paddedText(text), ...repeatedText(text)];
  switch (detector) {
    case 'tag-characters':
      return tagRuns(text);
    case 'zero-width':
      return [...splices(text), ...matches(ZERO_RUN, text)];
    case 'bidi':
      return bidiRuns(text);
  }
}

/** What Tag characters spell and what a bidi override turns round, in reading order; null where there is neither. */
export function hiddenView(text: string): View | null {
  const builder = new ViewBuilder('hidden', text);
  const tags = tagRuns(text);
  for (let i = 0; i < tags.length; i += 2) {
    const end = tags[i + 1] as number;
    for (let at = tags[i] as number; at < end; at += 2) {
      const code = text.charCodeAt(at + 1) - 0xdc00;
      builder.put(code >= 32 && code < 127 ? String.fromCharCode(code) : ' ', at, at + 2);
    }
    builder.cut();
  }
  const bidi = bidiRuns(text);
  for (let i = 0; i < bidi.length; i += 2) {
    for (let at = (bidi[i + 1] as number) - 1; at >= (bidi[i] as number); at--) {
      const char = text.charAt(at);
      if (!BIDI.test(char)) builder.put(char, at, at + 1);
    }
    builder.cut();
  }
  return builder.build();
}

// Runs of Tag characters but for the sub-region flags, which are a black flag and five or six of them.
function tagRuns(text: string): number[] {
  if (!text.includes('\udb40')) return [];
  const spans: number[] = [];
  TAG_RUN.lastIndex = 0;
  for (let match = TAG_RUN.exec(text); match !== null; match = TAG_RUN.exec(text)) {
    const isFlag =
      text.slice(match.index - 2, match.index) === '\ud83c\udff4' &&
      FLAGS.test(spell(match[0].slice(0, 20))) &&
      match[0].length <= 14;
    if (!isFlag) spans.push(match.index, match.index + match[0].length);
  }
  return spans;
}

function spell(run: string): string {
  let spelt = '';
  for (let i = 1; i < run.length; i += 2) spelt += String.fromCharCode(run.charCodeAt(i) - 0xdc00);
  return spelt;
}

// Invisible characters between Latin letters, several close together. Joiners between emoji or in scripts that need them never stand there.
function splices(text: string): number[] {
  if (!ZERO_WIDTH.test(text)) return [];
  const at = matches(SPLICE, text);
  const spans: number[] = [];
  for (let i = 0; i + 2 * (SPLICES - 1) < at.length; ) {
    const last = i + 2 * (SPLICES - 1);
    if ((at[last] as number) - (at[i] as number) > 400) {
      i += 2;
      continue;
    }
    let end = last;
    while (end + 2 < at.length && (at[end + 2] as number) - (at[end] as number) <= 200) end += 2;
    spans.push(at[i] as number, (at[end + 1] as number) + 1);
    i = end + 2;
  }
  return spans;
}

// Overrides reverse what is drawn: in a line without right-to-left letters nothing honest needs one. Embeddings and isolates are honest when they close on their line.
function bidiRuns(text: string): number[] {
  if (!BIDI.test(text)) return [];
  const spans: number[] = [];
  let from = 0;
  while (from < text.length) {
    const newline = text.indexOf('\n', from);
    const to = newline < 0 ? text.length : newline;
    const line = text.slice(from, to);
    if (BIDI.test(line) && !RTL.test(line.replace(/\ufeff/g, ''))) pushBidi(line, from, spans);
    from = to + 1;
  }
  return spans;
}

function pushBidi(line: string, base: number, spans: number[]): void {
  const open: number[] = [];
  const closeOf: string[] = [];
  for (let i = 0; i < line.length; i++) {
    const char = line.charAt(i);
    if (!BIDI.test(char)) continue;
    if (char === '\u202c' || char === '\u2069') {
      const start = open.pop();
      closeOf.pop();
      if (start !== undefined && open.length === 0 && /[\u202d\u202e]/.test(line.slice(start, i)))
        spans.push(base + start, base + i + 1);
    } else {
      open.push(i);
      closeOf.push(char);
    }
  }
  const first = open[0];
  if (first !== undefined) spans.push(base + first, base + line.length);
}

// Text behind a long run of white space. Looks at every 64th unit, so ordinary text costs next to nothing.
function paddedText(text: string): number[] {
  const spans: number[] = [];
  for (let i = 0; i < text.length; i += 64) {
    if (!isSpace(text.charCodeAt(i))) continue;
    let from = i;
    let to = i;
    while (from > 0 && from > i - 64 && isSpace(text.charCodeAt(from - 1))) from--;
    let lines = 0;
    for (let at = from; at < i; at++) if (text.charCodeAt(at) === 10) lines++;
    while (to < text.length && isSpace(text.charCodeAt(to))) {
      if (text.charCodeAt(to) === 10) lines++;
      to++;
    }
    if (to < text.length && from > 0 && (to - from >= PADDING || lines >= BLANK_LINES)) {
      const end = text.indexOf('\n', to);
      spans.push(to, end < 0 ? Math.min(text.length, to + 120) : Math.min(end, to + 120));
    }
    i = Math.max(i, to - (to % 64));
  }
  return spans;
}

// Text behind a long run of one short thing, such as `) ] } ) ] }`. Looks at every 128th unit: a run that counts covers two of them.
function repeatedText(text: string): number[] {
  const spans: number[] = [];
  for (let i = 0; i + REPEATED < text.length; i += 128) {
    const period = periodAt(text, i);
    if (period === 0) continue;
    let from = i;
    let to = i + period;
    while (from > 0 && text.charCodeAt(from - 1) === text.charCodeAt(from - 1 + period)) from--;
    while (to < text.length && text.charCodeAt(to) === text.charCodeAt(to - period)) to++;
    if (to - from >= REPEATED) {
      const end = text.indexOf('\n', to);
      spans.push(from, end < 0 ? Math.min(text.length, to + 120) : Math.min(Math.max(end, to), to + 120));
    }
    i = Math.max(i, to - (to % 128));
  }
  return spans;
}

// How long the thing is that stands at `at` over and over; 0 where none is, or where it is a ruler, a table, a number or white space.
function periodAt(text: string, at: number): number {
  for (let period = 2; period <= LONGEST_REPEATED; period++) {
    if (
      text.charCodeAt(at) !== text.charCodeAt(at + period) ||
      text.charCodeAt(at + 1) !== text.charCodeAt(at + 1 + period)
    )
      continue;
    let same = 2;
    while (same < 64 && text.charCodeAt(at + same) === text.charCodeAt(at + same + period)) same++;
    if (same < 64) continue;
    const unit = text.slice(at, at + period);
    return /[ ]/.test(unit) && /[^\s\d.,;|=_*#~+:\-\u2500-\u257f\u00b7\u2013\u2014]/.test(unit) ? period : 0;
  }
  return 0;
}

function isSpace(unit: number): boolean {
  return (
    unit === 32 ||
    (unit >= 9 && unit <= 13) ||
    unit === 0xa0 ||
    unit === 0x3000 ||
    (unit >= 0x2000 && unit <= 0x200a) ||
    unit === 0x2028
  );
}

function matches(pattern: RegExp, text: string): number[] {
  const spans: number[] = [];
  pattern.lastIndex = 0;
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    spans.push(match.index, match.index + match[0].length);
  }
  return spans;
}

import { type Encoding, SIGNS } from './encodings.ts';
import { unitsOf } from './units.ts';
import { type View, ViewBuilder } from './view.ts';

/** Runs shorter than this hold no sentence. */
const SHORTEST = 16;
const LONGEST = 16_384;
/** Most decoded runs a view; more is not a document. */
const RUNS = 2_000;

/** 1 for the units base64 and hex are written in, so that a loop asks a table and not a chain of ranges. */
const ENCODES = new Uint8Array(65_536);
for (let unit = 0; unit < 128; unit++) if (sextet(unit) >= 0 || unit === 61) ENCODES[unit] = 1;
/** 1 for the units that set characters apart. */
const SPACES = new Uint8Array(65_536);
for (const unit of [9, 32, 0x2009]) SPACES[unit] = 1;

const ESCAPES =
  /(?:\\x[0-9a-fA-F]{2}|\\U000000[0-9a-fA-F]{2}|\\u00[0-9a-fA-F]{2}|\\u\{[0-9a-fA-F]{2}\}|%[0-7][0-9a-fA-F]|&#(?:[0-9]{2,3}|x[0-9a-fA-F]{2});)/g;
/** What encoded runs of the text say: base64, hex, escapes, rot13, reversed and spaced-out letters; null where nothing decodes to print. */
export function decodedView(text: string, signs: ReadonlySet<Encoding>): View | null {
  const builder = new ViewBuilder('decoded', text);
  const units = unitsOf(text);
  decodeRuns(text, units, builder);
  if (signs.has('escape')) unescapeLines(text, builder);
  if (signs.has('rot13')) byLine(text, builder, (line) => (shows(line, 'rot13') ? rotate(line) : null));
  if (signs.has('reversed')) turnRound(text, builder);
  if (signs.has('leet')) byLine(text, builder, (line) => (shows(line, 'leet') ? unleet(line) : null));
  yamlHead(text, builder);
  if (signs.has('binary')) byLine(text, builder, fromBinary);
  regroupLines(text, units, builder);
  despace(text, units, builder);
  return builder.build();
}

// A run longer than the shortest covers one of the units looked at, so ordinary text costs next to nothing.
function decodeRuns(text: string, units: Uint16Array, builder: ViewBuilder): void {
  const { length } = text;
  let count = 0;
  for (let i = nextRun(units, SHORTEST - 1, length); i < length && count < RUNS; ) {
    const from = startOfRun(units, i);
    const to = endOfRun(units, i, length);
    const run = text.slice(from, Math.min(to, from + LONGEST));
    const plain = decodeRun(run);
    if (plain !== null) {
      count++;
      builder.put(plain, from, from + run.length);
      builder.cut();
    }
    i = nextRun(units, Math.max(i, to - (to % SHORTEST) - 1) + SHORTEST, length);
  }
}

// The first of the units looked at, from `at` on, that lies in a run long enough; the length where none does.
function nextRun(units: Uint16Array, at: number, length: number): number {
  for (let i = at; i < length; i += SHORTEST) {
    if (ENCODES[units[i] as number] !== 1) continue;
    let from = i;
    while (from > 0 && from > i - SHORTEST && ENCODES[units[from - 1] as number] === 1) from--;
    let to = i + 1;
    while (to < length && to - from < SHORTEST && ENCODES[units[to] as number] === 1) to++;
    if (to - from >= SHORTEST) return i;
  }
  return length;
}

function startOfRun(units: Uint16Array, at: number): number {
  let from = at;
  while (from > 0 && from > at - SHORTEST && ENCODES[units[from - 1] as number] === 1) from--;
  return from;
}

function endOfRun(units: Uint16Array, at: number, length: number): number {
  let to = at + 1;
  while (to < length && ENCODES[units[to] as number] === 1) to++;
  return to;
}

function byLine(text: string, builder: ViewBuilder, change: (line: string) => string | null): void {
  for (let from = 0; from < text.length; ) {
    const newline = text.indexOf('\n', from);
    const to = newline < 0 ? text.length : newline;
    for (let at = from; at < to; at += LONGEST) {
      const end = Math.min(to, at + LONGEST);
      const made = change(text.slice(at, end));
      if (made === null) continue;
      builder.put(made, at, end);
      builder.cut();
    }
    from = to + 1;
  }
}

// Lines read from their end, unit by unit, so that each leads back to its own place.
function turnRound(text: string, builder: ViewBuilder): void {
  for (let from = 0; from < text.length; ) {
    const newline = text.indexOf('\n', from);
    const to = newline < 0 ? text.length : newline;
    for (let at = from; at < to; at += LONGEST) {
      const end = Math.min(to, at + LONGEST);
      if (!shows(text.slice(at, end), 'reversed')) continue;
      for (let unit = end - 1; unit >= at; unit--) builder.put(text.charAt(unit), unit, unit + 1);
      builder.cut();
    }
    from = to + 1;
  }
}

function shows(line: string, encoding: Encoding): boolean {
  const lower = line.toLowerCase();
  return SIGNS[encoding].some((sign) => lower.includes(sign));
}

const LEET: Readonly<Record<string, string>> = {
  '0': 'o',
  '3': 'e',
  '4': 'a',
  '5': 's',
  '7': 't',
  '8': 'b',
  '@': 'a',
  $: 's',
};

// A 1 stands for l behind or before another digit one and at a word's end, for i elsewhere.
function unleet(line: string): string {
  return line.replace(/1(?=1|\b)|(?<=1)1/g, 'l').replace(/[0345781@$]/g, (char) => LEET[char] ?? 'i');
}

// Characters set apart by one space each, words by two or more: `o p e n  i t`. Looks at every eighth unit, so ordinary text costs next to nothing.
function despace(text: string, units: Uint16Array, builder: ViewBuilder): void {
  const { length } = text;
  for (let i = nextApart(units, 8, length); i < length; i = nextApart(units, i + 8, length)) {
    const at = isSpace(text, i) ? i + 1 : i;
    if (!isApart(text, at) || !isApart(text, at + 2)) continue;
    let from = at;
    while (isApart(text, from - 2) || (isSpace(text, from - 1) && isApart(text, from - 3)))
      from -= isApart(text, from - 2) ? 2 : 3;
    let plain = '';
    let to = from;
    for (;;) {
      if (isApart(text, to)) {
        plain += text.charAt(to);
        to += 2;
      } else if (
        isSpace(text, to) &&
        (isApart(text, to + 1) || isSpace(text, to + 1)) &&
        plain !== '' &&
        !isSpace(text, to - 2)
      ) {
        plain += ' ';
        to++;
      } else break;
    }
    if (plain.length >= 8 && /[a-z]{4}|[0-9a-z]{5}/i.test(plain)) {
      const takesLast = text.charCodeAt(to) > 32 && !(text.charCodeAt(to + 1) > 32);
      const word = takesLast ? plain + text.charAt(to) : plain;
      const end = takesLast ? to + 1 : to;
      builder.put(word, from, end);
      builder.cut();
      builder.put(unleet(word), from, end);
      builder.cut();
    }
    i = Math.max(i, to - (to % 8));
  }
}

// Every eighth unit from `from` on: the first with a space behind it, or behind its neighbour where it is a space itself; the length where none has.
function nextApart(units: Uint16Array, from: number, length: number): number {
  for (let i = from; i < length; i += 8) {
    const at = SPACES[units[i] as number] === 1 ? i + 1 : i;
    if (at + 3 < length && SPACES[units[at + 1] as number] === 1 && SPACES[units[at + 3] as number] === 1) return i;
  }
  return length;
}

// A single character and one space behind it.
function isApart(text: string, at: number): boolean {
  return (
    at >= 0 &&
    at < text.length - 1 &&
    text.charCodeAt(at) > 32 &&
    isSpace(text, at + 1) &&
    (at === 0 || text.charCodeAt(at - 1) <= 32)
  );
}

function isSpace(text: string, at: number): boolean {
  const unit = text.charCodeAt(at);
  return unit === 32 || unit === 9 || unit === 0x2009;
}

// Lines that hold escapes, with each read in its own place.
function unescapeLines(text: string, builder: ViewBuilder): void {
  let doneTo = 0;
  let lineEnd = -1;
  for (const match of text.matchAll(ESCAPES)) {
    const at = match.index;
    if (at > lineEnd) {
      finishLine(builder, doneTo, lineEnd);
      doneTo = text.lastIndexOf('\n', at) + 1;
      doneTo = Math.max(doneTo, at - LONGEST);
      const newline = text.indexOf('\n', at);
      lineEnd = newline < 0 ? text.length : newline;
    }
    builder.copy(doneTo, at);
    doneTo = at + match[0].length;
    builder.put(readCode(match[0]), at, doneTo);
  }
  finishLine(builder, doneTo, lineEnd);
}

function finishLine(builder: ViewBuilder, from: number, to: number): void {
  if (to < 0) return;
  builder.copy(from, Math.min(to, from + LONGEST));
  builder.cut();
}

function readCode(coded: string): string {
  const isDecimal = coded.startsWith('&#') && coded.charAt(2) !== 'x';
  const digits = /[0-9a-fA-F]{2,3}(?=[;}]?$)/.exec(coded)?.[0] ?? '20';
  return String.fromCharCode(Number.parseInt(isDecimal ? digits : digits.slice(-2), isDecimal ? 10 : 16));
}

/** Most units of front matter whose escapes are read. */
const HEAD = 65_536;
const YAML_ESCAPES = /\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|\r?\n[ \t]{0,400}|[ \t/"\\_NLPabefnrtv0])/g;

// Front matter with the escapes of a quoted YAML string read, folded lines too: one escape is enough to split a word, and each leads back to its place.
function yamlHead(text: string, builder: ViewBuilder): void {
  const from = text.startsWith('\ufeff') ? 1 : 0;
  if (!text.startsWith('---', from)) return;
  const close = text.indexOf('\n---', from + 3);
  const end = Math.min(close < 0 ? text.length : close, from + HEAD);
  const slash = text.indexOf('\\', from);
  if (slash < 0 || slash >= end) return;
  let doneTo = from;
  for (const match of text.slice(0, end).matchAll(YAML_ESCAPES)) {
    builder.copy(doneTo, match.index);
    doneTo = match.index + match[0].length;
    builder.put(readEscape(match[0]), match.index, doneTo);
  }
  builder.copy(doneTo, end);
  builder.cut();
}

function readEscape(coded: string): string {
  const kind = coded.charAt(1);
  if (/[xuU]/.test(kind)) {
    const code = Number.parseInt(coded.slice(2), 16);
    return code <= 0x10ffff ? String.fromCodePoint(code) : '\ufffd';
  }
  if (kind === '\n' || kind === '\r') return '';
  return /[/"\\]/.test(kind) ? kind : ' ';
}

const BITS = /(?:[01]{8}[ ,]{0,2}){4,}/g;

// Letters as groups of eight digits.
function fromBinary(line: string): string | null {
  let found = false;
  const made = line.replace(BITS, (run) => {
    const plain = (run.match(/[01]{8}/g) ?? []).map((bits) => String.fromCharCode(Number.parseInt(bits, 2))).join('');
    if (![...plain].every((char) => isPrint(char.charCodeAt(0)))) return run;
    found = true;
    return plain;
  });
  return found ? made : null;
}

/** Groups of a line cut into equal lengths that make a pattern and no prose. */
const GROUPS = 10;

/** Units of a group, at least and at most. */
const GROUP = { least: 2, most: 6 };

// Words cut into groups of one length: `igno real lpre viou`. The first units of a line tell of nearly every line that it is none such.
function regroupLines(text: string, units: Uint16Array, builder: ViewBuilder): void {
  for (let from = 0; from < text.length; ) {
    const newline = text.indexOf('\n', from);
    const to = newline < 0 ? text.length : newline;
    for (let at = from; at < to; at += LONGEST) {
      const size = groupSize(units, at, text.length);
      const end = Math.min(to, at + LONGEST);
      const made = size === 0 ? null : regroup(text.slice(at, end), size);
      if (made === null) continue;
      builder.put(made, at, end);
      builder.cut();
    }
    from = to + 1;
  }
}

// The length of the first groups at a place where they are of one length; 0 where they are not.
function groupSize(units: Uint16Array, from: number, length: number): number {
  let size = 0;
  while (size <= GROUP.most && from + size < length && units[from + size] !== 32 && units[from + size] !== 10) size++;
  if (size < GROUP.least || size > GROUP.most || from + size * 3 + 2 >= length) return 0;
  return units[from + size] === 32 && units[from + size * 2 + 1] === 32 && units[from + size * 3 + 2] === 32 ? size : 0;
}

function regroup(line: string, size: number): string | null {
  const groups = line.trimEnd().split(' ');
  if (groups.length < GROUPS || groups.slice(0, -1).some((group) => group.length !== size)) return null;
  const joined = groups.join('');
  return /[a-z]{2}/i.test(joined) ? `${joined}\n${unleet(joined)}` : null;
}

function rotate(line: string): string {
  return line.replace(/[A-Za-z]/g, (letter) => {
    const base = letter <= 'Z' ? 65 : 97;
    return String.fromCharCode(((letter.charCodeAt(0) - base + 13) % 26) + base);
  });
}

function decodeRun(run: string): string | null {
  if (/^[0-9a-fA-F]+$/.test(run.slice(0, 64)) && run.length % 2 === 0) {
    const plain = fromHex(run);
    if (plain !== null) return plain;
  }
  return fromBase64(run.replace(/=+$/, ''));
}

function fromHex(run: string): string | null {
  let plain = '';
  for (let i = 0; i + 1 < run.length; i += 2) {
    const code = Number.parseInt(run.slice(i, i + 2), 16);
    if (!isPrint(code)) return null;
    plain += String.fromCharCode(code);
  }
  return plain;
}

// Printable ASCII only; a final unit that is not print is dropped, so a cut run still shows.
function fromBase64(run: string): string | null {
  let plain = '';
  let bits = 0;
  let held = 0;
  for (let i = 0; i < run.length; i++) {
    const value = sextet(run.charCodeAt(i));
    if (value < 0) return null;
    held = ((held << 6) | value) & 0xffff;
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    const code = (held >> bits) & 0xff;
    if (!isPrint(code)) return i >= run.length - 2 && plain.length >= 12 ? plain : null;
    plain += String.fromCharCode(code);
  }
  return plain.length >= 8 ? plain : null;
}

function sextet(unit: number): number {
  if (unit >= 65 && unit <= 90) return unit - 65;
  if (unit >= 97 && unit <= 122) return unit - 71;
  if (unit >= 48 && unit <= 57) return unit + 4;
  if (unit === 43 || unit === 45) return 62;
  return unit === 47 || unit === 95 ? 63 : -1;
}

function isPrint(code: number): boolean {
  return (code >= 32 && code < 127) || code === 10 || code === 9 || code === 13;
}

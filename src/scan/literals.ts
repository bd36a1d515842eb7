import { ENCODINGS, type Encoding, SIGNS } from './encodings.ts';
import { REACH, type Rule } from './rule.ts';
import { unitsOf } from './units.ts';

/** Stretches of a view, flat: start, end, start, end; sorted and apart. */
export type Windows = number[];

/** What one pass over a view finds. */
export interface Found {
  /** One list of windows a rule, in rule order, null where none of its literals occurs; null where no literal of any rule does. */
  readonly windows: readonly (Windows | null)[] | null;
  /** Encodings of which the text has a sign. */
  readonly signs: ReadonlySet<Encoding>;
}

/** Finds every literal of every rule, and every sign of an encoding, in one pass. */
export interface LiteralIndex {
  search(text: string): Found;
}

/** Units of a literal that are searched for: what follows tells little more, and every unit costs a row of the table. */
const LONGEST = 16;
/** Classes that characters beyond ASCII share. Two in one class open a window in vain, and never miss one; a narrow table is soon made. */
const SHARED = 48;
const NO_SIGNS: ReadonlySet<Encoding> = new Set();
const NO_UNITS = new Uint16Array(0);
/** Nothing; the end of a literal; that its row is still to be made. */
const PLAIN = 0;
const ENDS = 1;
const UNMADE = 2;

const indexes = new WeakMap<readonly Rule[], LiteralIndex>();

/** @returns the index over a rule set; built once a set. */
export function literalIndex(rules: readonly Rule[]): LiteralIndex {
  const known = indexes.get(rules);
  if (known !== undefined) return known;
  const made = buildIndex(rules);
  indexes.set(rules, made);
  return made;
}

// A dense automaton over character classes: one table look-up a unit, whatever the text holds. Its rows are made when a text first leads there: most
// literals never begin in most texts.
function buildIndex(rules: readonly Rule[]): LiteralIndex {
  // Behind the rules stand the encodings, as if each were one more rule.
  const lists = [...rules.map((rule) => rule.literals), ...ENCODINGS.map((encoding) => SIGNS[encoding])];
  const { classes, count } = classesOf(lists);
  // Rows are a power of two wide, so that a state finds its row by a shift.
  const shift = Math.ceil(Math.log2(count));
  let room = 1;
  for (const literals of lists) for (const literal of literals) room += Math.min(literal.length, LONGEST);
  const Wide = room > 65535 ? Uint32Array : Uint16Array;
  // A tree of literals first: each state with its first child, its next sibling and the class that leads to it; 0 is the root and no child.
  const child = new Wide(room);
  const sibling = new Wide(room);
  const leads = new Uint8Array(room);
  // The root has most children by far.
  const starts = new Wide(count);
  const found: (readonly number[] | null)[] = [null];
  for (let index = 0; index < lists.length; index++) {
    for (const literal of lists[index] as readonly string[]) {
      let state = 0;
      for (let i = 0; i < literal.length && i < LONGEST; i++) {
        const cls = classes[literal.charCodeAt(i)] as number;
        let next = (state === 0 ? starts[cls] : child[state]) as number;
        while (next !== 0 && leads[next] !== cls) next = sibling[next] as number;
        if (next === 0) {
          next = found.push(null) - 1;
          leads[next] = cls;
          sibling[next] = child[state] as number;
          child[state] = next;
          if (state === 0) starts[cls] = next;
        }
        state = next;
      }
      found[state] = withRules(found[state], [index]);
    }
  }
  const automaton: Automaton = {
    rules: rules.length,
    shift,
    count,
    classes,
    child,
    sibling,
    leads,
    found,
    table: new Wide(found.length << shift),
    fallback: new Wide(found.length),
    told: new Uint8Array(found.length).fill(UNMADE),
    units: NO_UNITS,
    length: 0,
    state: 0,
  };
  makeRow(automaton, 0);
  return { search: (text) => search(automaton, text) };
}

interface Automaton {
  readonly rules: number;
  readonly shift: number;
  readonly count: number;
  readonly classes: Uint8Array;
  readonly child: Uint16Array | Uint32Array;
  readonly sibling: Uint16Array | Uint32Array;
  readonly leads: Uint8Array;
  readonly found: (readonly number[] | null)[];
  readonly table: Uint16Array | Uint32Array;
  readonly fallback: Uint16Array | Uint32Array;
  /** What a state has to tell besides where it leads: PLAIN, ENDS or UNMADE. */
  readonly told: Uint8Array;
  // Where the reading of one text stands.
  units: Uint16Array;
  length: number;
  state: number;
}

// A state is reached through the row that leads there, which says what it falls back to: a shorter state, so this ends.
function makeRow(automaton: Automaton, state: number): void {
  const { shift, count, child, sibling, leads, found, table, fallback, told } = automaton;
  const row = state << shift;
  if (state !== 0) {
    const back = fallback[state] as number;
    if (told[back] === UNMADE) makeRow(automaton, back);
    table.copyWithin(row, back << shift, (back << shift) + count);
  }
  for (let next = child[state] as number; next !== 0; next = sibling[next] as number) {
    const at = row + (leads[next] as number);
    const elsewhere = table[at] as number;
    table[at] = next;
    fallback[next] = elsewhere;
    found[next] = withRules(found[next], found[elsewhere]);
  }
  told[state] = found[state] === null ? PLAIN : ENDS;
}

// The three that follow are apart because V8 compiles what is hot as a whole: each alone takes it a few ms, together they took a hundred.
function search(automaton: Automaton, text: string): Found {
  automaton.units = unitsOf(text);
  automaton.length = text.length;
  automaton.state = 0;
  const met: Met = { windows: null, signs: null };
  for (let at = goOn(automaton, 0); at <= text.length; at = goOn(automaton, at)) note(automaton, at - 1, met);
  return { windows: met.windows, signs: met.signs ?? NO_SIGNS };
}

interface Met {
  windows: (Windows | null)[] | null;
  signs: Set<Encoding> | null;
}

function note(automaton: Automaton, at: number, met: Met): void {
  const { state } = automaton;
  if (automaton.told[state] === UNMADE) makeRow(automaton, state);
  const ends = automaton.found[state];
  if (ends === null || ends === undefined) return;
  for (let i = 0; i < ends.length; i++) {
    const rule = ends[i] as number;
    if (rule < automaton.rules) {
      met.windows ??= new Array<Windows | null>(automaton.rules).fill(null);
      widen(met.windows, rule, at, automaton.length);
    } else {
      met.signs ??= new Set();
      met.signs.add(ENCODINGS[rule - automaton.rules] as Encoding);
    }
  }
}

/**
 * Reads on from `from` until a state has something to tell. @returns the offset behind the unit that led there, or one past the length at the end of the text.
 */
function goOn(automaton: Automaton, from: number): number {
  const { table, shift, classes, told, units, length } = automaton;
  let { state } = automaton;
  let i = from;
  while (i < length) {
    state = table[(state << shift) | (classes[units[i] as number] as number)] as number;
    i++;
    if (told[state] !== PLAIN) {
      automaton.state = state;
      return i;
    }
  }
  return length + 1;
}

/** Numbers the characters that literals are made of, either case alike; 0 stands for every other. */
function classesOf(lists: readonly (readonly string[])[]): { readonly classes: Uint8Array; readonly count: number } {
  const classes = new Uint8Array(65536);
  const shared = new Set<number>();
  let count = 1;
  for (const literals of lists) {
    for (const literal of literals) {
      for (let i = 0; i < literal.length; i++) {
        const unit = literal.charCodeAt(i);
        if (classes[unit] !== 0) continue;
        if (unit >= 128) {
          shared.add(unit);
          continue;
        }
        classes[unit] = count;
        const upper = literal.charAt(i).toUpperCase();
        if (upper.length === 1) classes[upper.charCodeAt(0)] = count;
        count++;
      }
    }
  }
  for (const unit of shared) {
    classes[unit] = count + (unit % SHARED);
    const upper = String.fromCharCode(unit).toUpperCase();
    if (upper.length === 1 && upper.charCodeAt(0) >= 128) classes[upper.charCodeAt(0)] = classes[unit] as number;
  }
  return { classes, count: shared.size > 0 ? count + SHARED : count };
}

function withRules(
  list: readonly number[] | null | undefined,
  more: readonly number[] | null | undefined,
): readonly number[] | null {
  if (!more) return list ?? null;
  return list ? [...new Set([...list, ...more])] : more;
}

function widen(windows: (Windows | null)[], rule: number, at: number, length: number): void {
  const start = Math.max(0, at - REACH);
  const end = Math.min(length, at + REACH);
  const list = windows[rule];
  if (list === null || list === undefined) {
    windows[rule] = [start, end];
    return;
  }
  const last = list.length - 1;
  if (start <= (list[last] as number)) list[last] = end;
  else list.push(start, end);
}

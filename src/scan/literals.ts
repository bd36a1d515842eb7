import { DEFAULT_LITERALS, DEFAULT_RULES } from '../generated/rules.ts';
import { ENCODINGS, type Encoding } from './encodings.ts';
import { buildTree, type LiteralTree, SHARED, sharedClass, unpackTree } from './literal-tree.ts';
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

const NO_SIGNS: ReadonlySet<Encoding> = new Set();
const NO_UNITS = new Uint16Array(0);
/** Nothing; the end of a literal; that its row is still to be made. */
const PLAIN = 0;
const ENDS = 1;
const UNMADE = 2;

const indexes = new WeakMap<readonly Rule[], LiteralIndex>();

/** @returns the index over a rule set; made once a set. The tree of the default rules was made by the build. */
export function literalIndex(rules: readonly Rule[]): LiteralIndex {
  const known = indexes.get(rules);
  if (known !== undefined) return known;
  const tree = rules === DEFAULT_RULES ? unpackTree(DEFAULT_LITERALS) : buildTree(rules);
  const automaton = toAutomaton(tree, rules.length);
  const made: LiteralIndex = { search: (text) => search(automaton, text) };
  indexes.set(rules, made);
  return made;
}

// A dense automaton over character classes: one table look-up a unit, whatever the text holds. Its states are numbered and its rows made as texts lead
// there: most literals never begin in most texts, and what is used lies close together.
interface Automaton {
  readonly tree: LiteralTree;
  readonly rules: number;
  /** Rows are a power of two wide, so that a state finds its row by a shift. */
  readonly shift: number;
  readonly classes: Uint8Array;
  readonly table: Uint16Array | Uint32Array;
  /** For each state its place in the tree, the shorter state it falls back to, and the lists whose literals end there. */
  readonly place: Uint16Array | Uint32Array;
  readonly fallback: Uint16Array | Uint32Array;
  readonly found: (readonly number[] | null)[];
  /** What a state has to tell besides where it leads: PLAIN, ENDS or UNMADE. */
  readonly told: Uint8Array;
  // Where the reading of one text stands.
  units: Uint16Array;
  length: number;
  state: number;
}

function toAutomaton(tree: LiteralTree, rules: number): Automaton {
  const room = tree.leads.length;
  const shift = Math.ceil(Math.log2(tree.alphabet.length + 1 + (tree.others === '' ? 0 : SHARED)));
  const Wide = room > 65_535 ? Uint32Array : Uint16Array;
  const automaton: Automaton = {
    tree,
    rules,
    shift,
    classes: classesOf(tree),
    table: new Wide(room << shift),
    place: new Wide(room),
    fallback: new Wide(room),
    found: [null],
    told: new Uint8Array(room).fill(UNMADE),
    units: NO_UNITS,
    length: 0,
    state: 0,
  };
  makeRow(automaton, 0);
  return automaton;
}

// A state is reached through the row that leads there, which says what it falls back to: a shorter state, so this ends.
function makeRow(automaton: Automaton, state: number): void {
  const { tree, shift, table, place, fallback, found, told } = automaton;
  const row = state << shift;
  if (state !== 0) {
    const back = fallback[state] as number;
    if (told[back] === UNMADE) makeRow(automaton, back);
    table.copyWithin(row, back << shift, (back + 1) << shift);
  }
  const here = place[state] as number;
  for (let child = (tree.next[here] as number) & 1 ? here + 1 : 0; child !== 0; ) {
    const at = row + (tree.leads[child] as number);
    const elsewhere = table[at] as number;
    const made = found.push(withLists(endsAt(tree.ends, child), found[elsewhere])) - 1;
    table[at] = made;
    place[made] = child;
    fallback[made] = elsewhere;
    child = (tree.next[child] as number) >> 1;
  }
  told[state] = found[state] === null ? PLAIN : ENDS;
}

/** @returns the lists of which a literal ends at a place of the tree, by halving. */
function endsAt(ends: LiteralTree['ends'], place: number): readonly number[] | null {
  let low = 0;
  let high = ends.length >> 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((ends[2 * middle] as number) < place) low = middle + 1;
    else high = middle;
  }
  let lists: number[] | null = null;
  for (; ends[2 * low] === place; low++) {
    lists ??= [];
    lists.push(ends[2 * low + 1] as number);
  }
  return lists;
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

/** The class of every unit, either case of a letter alike. */
function classesOf({ alphabet, others }: LiteralTree): Uint8Array {
  const classes = new Uint8Array(65536);
  for (let i = 0; i < alphabet.length; i++) {
    classes[alphabet.charCodeAt(i)] = i + 1;
    const upper = alphabet.charAt(i).toUpperCase();
    if (upper.length === 1) classes[upper.charCodeAt(0)] = i + 1;
  }
  for (let i = 0; i < others.length; i++) {
    const shared = sharedClass(others.charCodeAt(i), alphabet);
    classes[others.charCodeAt(i)] = shared;
    const upper = others.charAt(i).toUpperCase();
    if (upper.length === 1 && upper >= '\u0080') classes[upper.charCodeAt(0)] = shared;
  }
  return classes;
}

function withLists(
  list: readonly number[] | null,
  more: readonly number[] | null | undefined,
): readonly number[] | null {
  if (!more) return list;
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

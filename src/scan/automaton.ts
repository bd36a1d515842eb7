import { type LiteralTree, SHARED, sharedClass } from './literal-tree.ts';
import { unitsOf } from './units.ts';

const NO_UNITS = new Uint16Array(0);
/** Rows there is room for at first; most texts need fewer. */
const FIRST_ROWS = 512;

// A dense automaton over character classes: one table look-up a unit, whatever the text holds. A state gets its row when a text first leads there, behind
// the rows made before: most literals never begin in most texts, and what is used lies close together.
export interface Automaton {
  readonly tree: LiteralTree;
  /** Rows are a power of two wide, so that a row is found by a shift. */
  readonly shift: number;
  readonly classes: Uint8Array;
  /** Added to a state in the table that had no row when the entry was made: then the entry is a state and not a row. */
  readonly unmade: number;
  /** Row for row, where each class leads. */
  table: Numbers;
  /** The row of each state of the tree; 0, which is the row of the empty one, where it has none yet. */
  readonly rowOf: Numbers;
  /** The longest shorter state each state ends with. Known of a state once the one it goes on from has its row. */
  readonly fallback: Numbers;
  /** The state of each row. */
  readonly stateOf: number[];
  /** For each row the lists whose literals end there. */
  readonly found: (readonly number[] | null)[];
  /** For each row whether there are any. */
  ends: Uint8Array;
  // Where the reading of one text stands: the row.
  units: Uint16Array;
  length: number;
  row: number;
}

type Numbers = LiteralTree['next'];

/** @returns the automaton that finds the literals of a tree, either case of a letter alike. */
export function toAutomaton(tree: LiteralTree): Automaton {
  const states = tree.leads.length;
  const shift = Math.ceil(Math.log2(tree.alphabet.length + 1 + (tree.others === '' ? 0 : SHARED)));
  const Wide = states > 32_767 ? Uint32Array : Uint16Array;
  const automaton: Automaton = {
    tree,
    shift,
    classes: classesOf(tree),
    unmade: Wide === Uint16Array ? 2 ** 15 : 2 ** 31,
    table: new Wide(FIRST_ROWS << shift),
    rowOf: new Wide(states),
    fallback: new Wide(states),
    stateOf: [],
    found: [],
    ends: new Uint8Array(FIRST_ROWS),
    units: NO_UNITS,
    length: 0,
    row: 0,
  };
  makeRow(automaton, 0);
  return automaton;
}

/** @returns the row of a state, made where it has none. What a state falls back to is shorter, so this ends. */
function rowFor(automaton: Automaton, state: number): number {
  const known = automaton.rowOf[state] as number;
  return known !== 0 || state === 0 ? known : makeRow(automaton, state);
}

function makeRow(automaton: Automaton, state: number): number {
  const { tree, shift, unmade, rowOf, stateOf, fallback, found } = automaton;
  const back = state === 0 ? 0 : rowFor(automaton, fallback[state] as number);
  const row = found.length;
  if (row === automaton.ends.length) grow(automaton);
  const { table, ends } = automaton;
  rowOf[state] = row;
  stateOf.push(state);
  const start = row << shift;
  if (state !== 0) table.copyWithin(start, back << shift, (back + 1) << shift);
  for (let child = (tree.next[state] as number) & 1 ? state + 1 : 0; child !== 0; ) {
    const at = start + (tree.leads[child] as number);
    const elsewhere = table[at] as number;
    fallback[child] = elsewhere >= unmade ? elsewhere - unmade : (stateOf[elsewhere] as number);
    table[at] = unmade + child;
    child = (tree.next[child] as number) >> 1;
  }
  const lists = withLists(endsAt(tree.ends, state), state === 0 ? null : found[back]);
  found.push(lists);
  ends[row] = lists === null ? 0 : 1;
  return row;
}

function grow(automaton: Automaton): void {
  const { table, ends } = automaton;
  const Wide = table instanceof Uint16Array ? Uint16Array : Uint32Array;
  automaton.table = new Wide(2 * table.length);
  automaton.table.set(table);
  automaton.ends = new Uint8Array(2 * ends.length);
  automaton.ends.set(ends);
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

/** Begins to read a text that ends at `length`. */
export function begin(automaton: Automaton, text: string, length: number): void {
  automaton.units = unitsOf(text);
  automaton.length = length;
  automaton.row = 0;
}

/** @returns the lists of which a literal ends where `goOn` stopped. */
export function endedHere(automaton: Automaton): readonly number[] {
  return automaton.found[automaton.row] ?? [];
}

// Apart from what it is used in because V8 compiles what is hot as a whole: each alone takes it a few ms, together they took a hundred.
/** Reads on from `from` until a literal ends. @returns the offset behind its last unit, or one past the length at the end of the text. */
export function goOn(automaton: Automaton, from: number): number {
  const { shift, classes, unmade, units, length } = automaton;
  let { table, ends, row } = automaton;
  for (let i = from; i < length; i++) {
    const entry = (row << shift) | (classes[units[i] as number] as number);
    row = table[entry] as number;
    if (row >= unmade) {
      row = rowFor(automaton, row - unmade);
      ({ table, ends } = automaton);
      table[entry] = row;
    }
    if (ends[row] !== 0) {
      automaton.row = row;
      return i + 1;
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

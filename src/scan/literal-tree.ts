import { ENCODINGS, SIGNS } from './encodings.ts';
import type { Rule } from './rule.ts';
import { isLittleEndian } from './units.ts';

/**
 * Every literal of a rule set, as a tree that shares beginnings. A state is a beginning of literals; 0 is the empty one. States are numbered so that the
 * first longer one of a state comes right behind it.
 */
export interface LiteralTree {
  /** The ASCII characters that literals are made of: class 1 is the first. Class 0 is every character that is in none. */
  readonly alphabet: string;
  /** The other characters: they share the SHARED classes behind, so that rows stay short. More is found then, never less. */
  readonly others: string;
  /** The class that leads to a state. */
  readonly leads: Uint8Array;
  /** Twice the state that follows on the same level, 0 where there is none; plus one where the state has longer ones. */
  readonly next: Numbers;
  /** State, number of the list, state, number, ..., by state: the literals that end there. Behind the lists of the rules stand the encodings. */
  readonly ends: Numbers;
}

type Numbers = Uint16Array | Uint32Array;

/** A tree as text, for a module made by the build: the arrays as base64 of little-endian numbers. */
export interface PackedTree {
  readonly alphabet: string;
  readonly others: string;
  readonly leads: string;
  readonly next: string;
  readonly ends: string;
}

/** Classes that all characters beyond ASCII share. */
export const SHARED = 48;
/** Units of a literal that are searched for; what begins like it is looked at as well. */
const LONGEST = 16;
/** The most states whose numbers fit 16 bits. */
const SMALL = 32_767;

/** @returns the tree over the literals of a rule set and, behind them as if each were one more rule, the signs of encodings. */
export function buildTree(rules: readonly Rule[]): LiteralTree {
  return treeOf([...rules.map((rule) => rule.literals), ...ENCODINGS.map((encoding) => SIGNS[encoding])]);
}

/** @returns the tree over lists of lower-case strings; an end names its list by place. */
export function treeOf(lists: readonly (readonly string[])[]): LiteralTree {
  const letters = [
    ...new Set(lists.flatMap((literals) => literals.flatMap((literal) => literal.slice(0, LONGEST).split('')))),
  ];
  const alphabet = letters.filter((unit) => unit < '\u0080').join('');
  const others = letters.filter((unit) => unit >= '\u0080').join('');
  const spelt = (literal: string): string =>
    literal
      .slice(0, LONGEST)
      .split('')
      .map((unit) => String.fromCharCode(classOf(unit, alphabet)))
      .join('');
  const sorted = lists
    .flatMap((literals, list) => literals.map((literal) => ({ literal: spelt(literal), list })))
    .sort((a, b) => (a.literal < b.literal ? -1 : a.literal > b.literal ? 1 : a.list - b.list));
  const leads = [0];
  const next = [0];
  const ends: number[] = [];
  // Sorted, a literal goes on from the beginning it shares with the one before: `path` has the states of that one.
  const path = [0];
  let before = '';
  for (const { literal, list } of sorted) {
    let shared = 0;
    while (shared < before.length && before[shared] === literal[shared]) shared++;
    let sibling = path[shared + 1] ?? 0;
    path.length = shared + 1;
    for (let i = shared; i < literal.length; i++) {
      const state = leads.length;
      const parent = path[i] as number;
      next[parent] = (next[parent] as number) | 1;
      if (sibling !== 0) next[sibling] = (next[sibling] as number) | (state << 1);
      sibling = 0;
      leads.push(literal.charCodeAt(i));
      next.push(0);
      path.push(state);
    }
    ends.push(path[literal.length] as number, list);
    before = literal;
  }
  const Wide = leads.length > SMALL ? Uint32Array : Uint16Array;
  return { alphabet, others, leads: Uint8Array.from(leads), next: Wide.from(next), ends: Wide.from(ends) };
}

function classOf(unit: string, alphabet: string): number {
  return unit < '\u0080' ? alphabet.indexOf(unit) + 1 : sharedClass(unit.charCodeAt(0), alphabet);
}

/** The class of a character beyond ASCII. */
export function sharedClass(unit: number, alphabet: string): number {
  return alphabet.length + 1 + (unit % SHARED);
}

/** @returns the tree as text, the same on every machine. Throws where its numbers need more than 16 bits. */
export function packTree(tree: LiteralTree): PackedTree {
  if (tree.leads.length > SMALL) throw new Error(`the literals of the rules make more than ${SMALL} states`);
  return {
    alphabet: tree.alphabet,
    others: tree.others,
    leads: pack(tree.leads),
    next: pack(tree.next),
    ends: pack(tree.ends),
  };
}

/** @returns the tree a text holds; its arrays are read in place. */
export function unpackTree(packed: PackedTree): LiteralTree {
  return {
    alphabet: packed.alphabet,
    others: packed.others,
    leads: Buffer.from(packed.leads, 'base64'),
    next: unpack(packed.next),
    ends: unpack(packed.ends),
  };
}

function pack(numbers: Uint8Array | Numbers): string {
  const bytes = numbers instanceof Uint8Array ? numbers : swapped(new Uint8Array(Uint16Array.from(numbers).buffer));
  return Buffer.from(bytes).toString('base64');
}

function unpack(text: string): Uint16Array {
  const bytes = swapped(new Uint8Array(Buffer.from(text, 'base64')));
  return new Uint16Array(bytes.buffer, 0, bytes.length >> 1);
}

// On a big-endian machine the two bytes of each number change places.
function swapped(bytes: Uint8Array): Uint8Array {
  if (!isLittleEndian) Buffer.from(bytes.buffer).swap16();
  return bytes;
}

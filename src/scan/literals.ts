import { DEFAULT_LITERALS } from '../generated/rules.ts';
import { type Automaton, begin, endedHere, goOn, toAutomaton } from './automaton.ts';
import { DEFAULT_RULES } from './default-rules.ts';
import { ENCODINGS, type Encoding } from './encodings.ts';
import { buildTree, unpackTree } from './literal-tree.ts';
import { REACH, type Rule } from './rule.ts';

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
const indexes = new WeakMap<readonly Rule[], LiteralIndex>();

/** @returns the index over a rule set; made once a set. The tree of the default rules was made by the build. */
export function literalIndex(rules: readonly Rule[]): LiteralIndex {
  const known = indexes.get(rules);
  if (known !== undefined) return known;
  const tree = rules === DEFAULT_RULES ? unpackTree(DEFAULT_LITERALS) : buildTree(rules);
  const automaton = toAutomaton(tree);
  const made: LiteralIndex = { search: (text) => search(automaton, rules.length, text) };
  indexes.set(rules, made);
  return made;
}

function search(automaton: Automaton, rules: number, text: string): Found {
  begin(automaton, text, text.length);
  const met: Met = { windows: null, signs: null };
  for (let at = goOn(automaton, 0); at <= text.length; at = goOn(automaton, at))
    note(endedHere(automaton), rules, at - 1, text.length, met);
  return { windows: met.windows, signs: met.signs ?? NO_SIGNS };
}

interface Met {
  windows: (Windows | null)[] | null;
  signs: Set<Encoding> | null;
}

function note(lists: readonly number[], rules: number, at: number, length: number, met: Met): void {
  for (let i = 0; i < lists.length; i++) {
    const list = lists[i] as number;
    if (list < rules) {
      met.windows ??= new Array<Windows | null>(rules).fill(null);
      widen(met.windows, list, at, length);
    } else {
      met.signs ??= new Set();
      met.signs.add(ENCODINGS[list - rules] as Encoding);
    }
  }
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

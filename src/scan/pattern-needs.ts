import { ruleData } from '../generated/rule-data.ts';
import { RULE_HEADS } from '../generated/rules.ts';
import { type Automaton, begin, endedHere, goOn, toAutomaton } from './automaton.ts';
import { unpackTree } from './literal-tree.ts';
import type { PackedNeeds } from './packed-rule.ts';

/** Where in a stretch of text there is something that patterns of the default rules need. */
export interface Standing {
  /** @returns false only where the pattern matches nothing between two offsets. */
  mayMatch(pattern: number, from: number, to: number): boolean;
}

/** Ends of strings that lie closer than this are remembered as one stretch, units: that finds more, never less. */
const NEAR = 32;

interface Needs {
  readonly automaton: Automaton;
  readonly always: ReadonlySet<number>;
}

let needs: Needs | null = null;

function readNeeds(): Needs {
  if (needs === null) {
    const { tree, always } = JSON.parse(ruleData(RULE_HEADS.length)) as PackedNeeds;
    needs = { automaton: toAutomaton(unpackTree(tree)), always: new Set(always) };
  }
  return needs;
}

/** Reads a stretch of text once for all patterns of the default rules. */
export function standingIn(text: string, from: number, to: number): Standing {
  const { automaton, always } = readNeeds();
  const stretches = new Map<number, number[]>();
  begin(automaton, text, to);
  for (let at = goOn(automaton, from); at <= to; at = goOn(automaton, at)) {
    const patterns = endedHere(automaton);
    for (let i = 0; i < patterns.length; i++) widen(stretches, patterns[i] as number, at);
  }
  return {
    mayMatch: (pattern, start, end) => always.has(pattern) || overlaps(stretches.get(pattern), start, end),
  };
}

function widen(stretches: Map<number, number[]>, pattern: number, at: number): void {
  const list = stretches.get(pattern);
  if (list === undefined) stretches.set(pattern, [at, at]);
  else if (at - (list[list.length - 1] as number) <= NEAR) list[list.length - 1] = at;
  else list.push(at, at);
}

/** By halving: whether an end lies behind `from` and not behind `to`. */
function overlaps(list: readonly number[] | undefined, from: number, to: number): boolean {
  if (list === undefined) return false;
  let low = 0;
  let high = list.length >> 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((list[2 * middle + 1] as number) <= from) low = middle + 1;
    else high = middle;
  }
  const start = list[2 * low];
  return start !== undefined && start <= to;
}

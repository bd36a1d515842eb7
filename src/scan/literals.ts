import { ENCODINGS, type Encoding, SIGNS } from './encodings.ts';
import { REACH, type Rule } from './rule.ts';

/** Stretches of a view, flat: start, end, start, end; sorted and apart. */
export type Windows = number[];

/** What one pass over a view finds. */
export interface Found {
  /** One list of windows a rule, in rule order; null where none of its literals occurs. */
  readonly windows: readonly (Windows | null)[];
  /** Encodings of which the text has a sign. */
  readonly signs: ReadonlySet<Encoding>;
}

/** Finds every literal of every rule, and every sign of an encoding, in one pass. */
export interface LiteralIndex {
  search(text: string): Found;
}

interface Node {
  readonly next: Map<number, number>;
  readonly rules: Set<number>;
}

const indexes = new WeakMap<readonly Rule[], LiteralIndex>();

/** @returns the index over a rule set; built once a set. */
export function literalIndex(rules: readonly Rule[]): LiteralIndex {
  const known = indexes.get(rules);
  if (known !== undefined) return known;
  const made = buildIndex(rules);
  indexes.set(rules, made);
  return made;
}

// A dense automaton over character classes: one table look-up a unit, whatever the text holds.
function buildIndex(rules: readonly Rule[]): LiteralIndex {
  const classes = new Uint8Array(65536);
  let classCount = 1;
  const nodes: Node[] = [{ next: new Map(), rules: new Set() }];
  // Behind the rules stand the encodings, as if each were one more rule.
  [...rules.map((rule) => rule.literals), ...ENCODINGS.map((encoding) => SIGNS[encoding])].forEach(
    (literals, index) => {
      for (const literal of literals) {
        let state = 0;
        for (let i = 0; i < literal.length; i++) {
          const unit = literal.charCodeAt(i);
          if (classes[unit] === 0 && classCount < 255) {
            classes[unit] = classCount;
            const upper = literal.charAt(i).toUpperCase();
            if (upper.length === 1) classes[upper.charCodeAt(0)] = classCount;
            classCount++;
          }
          const cls = classes[unit] ?? 0;
          const node = nodes[state] as Node;
          let following = node.next.get(cls);
          if (following === undefined) {
            following = nodes.length;
            nodes.push({ next: new Map(), rules: new Set() });
            node.next.set(cls, following);
          }
          state = following;
        }
        nodes[state]?.rules.add(index);
      }
    },
  );
  const Table = nodes.length > 65535 ? Uint32Array : Uint16Array;
  const table = new Table(nodes.length * classCount);
  const fallback = new Table(nodes.length);
  const queue: number[] = [0];
  for (let head = 0; head < queue.length; head++) {
    const state = queue[head] as number;
    const node = nodes[state] as Node;
    const back = fallback[state] as number;
    for (let cls = 0; cls < classCount; cls++) {
      const following = node.next.get(cls);
      const elsewhere = state === 0 ? 0 : (table[back * classCount + cls] as number);
      table[state * classCount + cls] = following ?? elsewhere;
      if (following === undefined) continue;
      fallback[following] = elsewhere;
      for (const rule of nodes[elsewhere]?.rules ?? []) nodes[following]?.rules.add(rule);
      queue.push(following);
    }
  }
  const found: readonly (readonly number[] | null)[] = nodes.map((node) =>
    node.rules.size === 0 ? null : [...node.rules],
  );
  const isEnd = Uint8Array.from(found, (list) => (list === null ? 0 : 1));

  return {
    search(text) {
      const windows: (Windows | null)[] = new Array(rules.length).fill(null);
      const signs = new Set<Encoding>();
      let state = 0;
      for (let i = 0; i < text.length; i++) {
        state = table[state * classCount + (classes[text.charCodeAt(i)] as number)] as number;
        if (isEnd[state] === 0) continue;
        for (const rule of found[state] as readonly number[]) {
          if (rule < rules.length) widen(windows, rule, i, text.length);
          else signs.add(ENCODINGS[rule - rules.length] as Encoding);
        }
      }
      return { windows, signs };
    },
  };
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

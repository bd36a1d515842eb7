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
  // Behind the rules stand the encodings, as if each were one more rule.
  const lists = [...rules.map((rule) => rule.literals), ...ENCODINGS.map((encoding) => SIGNS[encoding])];
  const { classes, count } = classesOf(lists);
  const room = 1 + lists.reduce((sum, literals) => sum + literals.reduce((units, one) => units + one.length, 0), 0);
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
      for (let i = 0; i < literal.length; i++) {
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
  // Rows are states, columns classes. Breadth first, so that the row a state falls back to is whole before it is copied.
  const table = new Wide(found.length * count);
  const fallback = new Wide(found.length);
  const queue = new Wide(found.length);
  let tail = 1;
  for (let head = 0; head < tail; head++) {
    const state = queue[head] as number;
    const row = state * count;
    const back = (fallback[state] as number) * count;
    if (state !== 0) table.copyWithin(row, back, back + count);
    for (let next = child[state] as number; next !== 0; next = sibling[next] as number) {
      const at = row + (leads[next] as number);
      const elsewhere = table[at] as number;
      table[at] = next;
      fallback[next] = elsewhere;
      found[next] = withRules(found[next], found[elsewhere]);
      queue[tail] = next;
      tail += 1;
    }
  }
  const isEnd = Uint8Array.from(found, (list) => (list === null ? 0 : 1));

  return {
    search(text) {
      const windows: (Windows | null)[] = new Array(rules.length).fill(null);
      const signs = new Set<Encoding>();
      let state = 0;
      for (let i = 0; i < text.length; i++) {
        state = table[state * count + (classes[text.charCodeAt(i)] as number)] as number;
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

/** Numbers the characters that literals are made of, either case alike; 0 stands for every other. */
function classesOf(lists: readonly (readonly string[])[]): { readonly classes: Uint8Array; readonly count: number } {
  const classes = new Uint8Array(65536);
  let count = 1;
  for (const literals of lists) {
    for (const literal of literals) {
      for (let i = 0; i < literal.length; i++) {
        const unit = literal.charCodeAt(i);
        if (classes[unit] !== 0 || count === 255) continue;
        classes[unit] = count;
        const upper = literal.charAt(i).toUpperCase();
        if (upper.length === 1) classes[upper.charCodeAt(0)] = count;
        count++;
      }
    }
  }
  return { classes, count };
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

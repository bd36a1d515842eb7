// Derives from the source of a pattern what every text it matches holds, so that the scan runs only patterns of which something stands there.
import { RegExpParser } from '@eslint-community/regexpp';

/** Strings that are told apart; a part of a pattern with more choices says nothing. */
const MOST = 64;
const EMPTY = new Set(['']);
const NOTHING = { exact: null, needed: null };
const parser = new RegExpParser({ ecmaVersion: 2024 });

/**
 * @param steps the steps of one pattern (src/scan/rule.ts).
 * @returns lower-case strings, one of which stands in every match whatever its case; null where the pattern does not say.
 */
export function needsOf(steps) {
  const each = steps.map(({ pattern }) => wordsOf(parser.parsePattern(pattern.source)));
  const best = each.reduce(better, null);
  if (best === null || shortest(best) < 2) return null;
  return [...best].filter((word) => ![...best].some((other) => other !== word && word.includes(other))).sort();
}

function wordsOf({ alternatives }) {
  const { exact, needed } = choice(alternatives);
  return better(needed, exact);
}

// Of every part of a pattern two things are known or not (null): the strings it is exactly, and strings of which it needs one.
function choice(alternatives) {
  const each = alternatives.map((one) => sequence(one.elements));
  const exact = each.map((one) => one.exact).reduce(union);
  return { exact, needed: each.map((one) => better(one.needed, one.exact)).reduce(union) };
}

function sequence(elements) {
  let exact = EMPTY;
  let needed = null;
  let isWhole = true;
  for (const element of elements) {
    const part = partOf(element);
    const longer = product(exact, part.exact);
    if (longer !== null) {
      exact = longer;
      continue;
    }
    needed = better(better(needed, exact), part.needed);
    isWhole = false;
    exact = part.exact ?? EMPTY;
  }
  return isWhole ? { exact, needed } : { exact: null, needed: better(needed, exact) };
}

function partOf(node) {
  switch (node.type) {
    case 'Character':
      return { exact: unit(node.value), needed: null };
    case 'CharacterClass':
      return node.negate ? NOTHING : { exact: node.elements.map(unitsOf).reduce(union, new Set()), needed: null };
    case 'Assertion':
      return { exact: EMPTY, needed: null };
    case 'Group':
    case 'CapturingGroup':
      return choice(node.alternatives);
    case 'Quantifier':
      return repeated(node);
    default:
      return NOTHING;
  }
}

function repeated({ min, max, element }) {
  const once = partOf(element);
  if (min === 0) return max === 1 ? { exact: union(once.exact, EMPTY), needed: null } : NOTHING;
  return max === 1 ? once : { exact: null, needed: better(once.needed, once.exact) };
}

function unitsOf(element) {
  if (element.type === 'Character') return unit(element.value);
  if (element.type !== 'CharacterClassRange' || element.max.value - element.min.value > 3) return null;
  const values = Array.from({ length: element.max.value - element.min.value + 1 }, (_, at) => element.min.value + at);
  return values.map(unit).reduce(union);
}

// Beyond ASCII, the cases of a letter are more than two; those without any are as they are.
function unit(value) {
  const char = String.fromCodePoint(value);
  if (value >= 128 && char.toLowerCase() !== char.toUpperCase()) return null;
  return new Set([char.toLowerCase()]);
}

function union(a, b) {
  return a === null || b === null ? null : limited(new Set([...a, ...b]));
}

function product(a, b) {
  if (a === null || b === null || a.size * b.size > MOST) return null;
  return new Set([...a].flatMap((first) => [...b].map((second) => first + second)));
}

function limited(set) {
  return set.size > 4 * MOST ? null : set;
}

/** The strings that are rarer, by the length of the shortest; null is worst. */
function better(a, b) {
  const [first, second] = [shortest(a), shortest(b)];
  if (first === 0 && second === 0) return null;
  if (first !== second) return first > second ? a : b;
  return a.size <= b.size ? a : b;
}

function shortest(set) {
  return set === null || set.size === 0 ? 0 : Math.min(...[...set].map((word) => word.length));
}

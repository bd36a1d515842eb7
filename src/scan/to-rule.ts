import {
  CONTEXTS,
  type Context,
  DETECTORS,
  type Detector,
  FAMILIES,
  type Family,
  type Rule,
  type Step,
} from './rule.ts';

/** A fault of a rule file: the key it lies at, and what is wrong. */
export interface RuleFault {
  readonly key: readonly (string | number)[];
  readonly message: string;
}

/** A rule file as read: the rule, and the examples it must and must not match. */
export interface RuleFile {
  readonly rule: Rule;
  readonly bad: readonly string[];
  readonly good: readonly string[];
}

const KEYS = ['id', 'family', 'severity', 'contexts', 'weak', 'literals', 'patterns', 'detector', 'why', 'bad', 'good'];
const SEVERITIES = ['notice', 'suspect', 'block'] as const;
const EXAMPLES = 5;
/** A space in a pattern stands for any short run of white space, also one that a line break, a quote mark or emphasis interrupts; ` ?` for an optional one. A space with a bound in braces is a plain space. */
const GAP = '[\\s*>#]';

/** Reads one rule from plain data (parsed YAML). @returns the rule file, or every fault; never skips a broken rule. */
export function toRule(value: unknown): RuleFile | readonly RuleFault[] {
  const faults: RuleFault[] = [];
  const fault = (key: readonly (string | number)[], message: string): void => {
    faults.push({ key, message });
  };
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return [{ key: [], message: 'a rule file holds one mapping' }];
  const data = value as Readonly<Record<string, unknown>>;
  for (const key of Object.keys(data)) if (!KEYS.includes(key)) fault([key], `unknown key ${key}`);

  const word = (key: string, among: readonly string[] | RegExp): string => {
    const found = data[key];
    const isRight =
      typeof found === 'string' && (Array.isArray(among) ? among.includes(found) : (among as RegExp).test(found));
    if (!isRight)
      fault(
        key in data ? [key] : [],
        `${key} must be ${Array.isArray(among) ? `one of ${among.join(', ')}` : 'lower-case words joined by hyphens'}`,
      );
    return isRight ? (found as string) : '';
  };
  const strings = (key: string, least: number): readonly string[] => {
    const found = data[key] ?? [];
    if (!Array.isArray(found) || found.some((item) => typeof item !== 'string' || item === '')) {
      fault([key], `${key} must be a list of strings`);
      return [];
    }
    if (found.length < least) fault(key in data ? [key] : [], `${key} needs at least ${least}`);
    return found as readonly string[];
  };

  const id = word('id', /^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/);
  const family = word('family', FAMILIES) as Family;
  const severity = word('severity', SEVERITIES) as Rule['severity'];
  const detector = data.detector === undefined ? null : (word('detector', DETECTORS) as Detector);
  const contexts = contextList(strings('contexts', 1), 'contexts', fault);
  const weak = contextList(strings('weak', 0), 'weak', fault);
  const literals = strings('literals', detector === null ? 1 : 0);
  literals.forEach((literal, index) => {
    if (literal !== literal.toLowerCase()) fault(['literals', index], 'a literal is lower case');
    if (literal.length < 2) fault(['literals', index], 'a literal has two characters or more');
  });
  const sources = strings('patterns', detector === null ? 1 : 0);
  if (detector !== null && (sources.length > 0 || literals.length > 0))
    fault(['detector'], 'a rule has either a detector or patterns');
  const patterns = sources.flatMap((source, index) => {
    const pattern = compile(source);
    if (typeof pattern !== 'string') return [pattern];
    fault(['patterns', index], pattern);
    return [];
  });
  const why = typeof data.why === 'string' && /^[A-Z].{10,158}\.$/.test(data.why) ? data.why : '';
  if (why === '') fault('why' in data ? ['why'] : [], 'why must be one sentence of at most 160 characters');
  const bad = strings('bad', EXAMPLES);
  const good = strings('good', EXAMPLES);
  if (faults.length > 0) return faults;
  return { rule: { id, family, severity, contexts, weak, literals, patterns, detector, why }, bad, good };
}

function contextList(
  words: readonly string[],
  key: string,
  fault: (key: readonly (string | number)[], message: string) => void,
): readonly Context[] {
  words.forEach((item, index) => {
    if (!(CONTEXTS as readonly string[]).includes(item)) fault([key, index], `unknown context ${item}`);
  });
  return words as readonly Context[];
}

// Unbounded repetition and look-behind are refused here; that the rest is linear, the tests prove.
function compile(source: string): readonly Step[] | string {
  if (/(?<!\\)[*+](?!\?)/.test(source.replace(/\[(?:\\.|[^\]\\])*\]|<<\d+\+?>>/g, '')))
    return 'a pattern repeats with a bound: {0,40}, not * or +';
  if (/\{\d+,\}/.test(source)) return 'a pattern repeats with an upper bound';
  if (source.includes('(?<')) return 'a pattern has no look-behind and no named group';
  // `(?-i)` in front keeps the case of letters; `<<60>>` is a gap of up to 60 units, `<<60+>>` one that may cross lines.
  const flags = source.startsWith('(?-i)') ? 'gm' : 'gim';
  const parts = source.replace(/^\(\?-i\)/, '').split(/<<(\d{1,3})(\+?)>>/);
  const steps: Step[] = [];
  try {
    for (let i = 0; i < parts.length; i += 3) {
      const part = parts[i] ?? '';
      if (part === '') return 'a gap stands between two parts';
      if (parts.length > 1 && hasOpenChoice(part)) return 'a pattern with a gap puts its choices in brackets';
      const pattern = new RegExp(spread(part), flags);
      steps.push({ pattern, within: i === 0 ? 0 : Number(parts[i - 2]), lines: parts[i - 1] === '+' });
    }
  } catch (error) {
    return `not a regular expression: ${(error as Error).message}`;
  }
  return steps;
}

// Whether a `|` stands outside brackets: a gap would then belong to one side of it alone, which nobody means.
function hasOpenChoice(source: string): boolean {
  let depth = 0;
  for (const mark of source.match(/\[(?:\\.|[^\]\\])*\]|\\.|[()|]/g) ?? []) {
    if (mark === '(') depth++;
    else if (mark === ')') depth--;
    else if (mark === '|' && depth === 0) return true;
  }
  return false;
}

function spread(source: string): string {
  return source.replace(/\[(?:\\.|[^\]\\])*\]|\\.| \{| \??/g, (part) => {
    if (part === ' {') return '[ \\t]{';
    if (part === ' ?') return `${GAP}{0,6}`;
    return part === ' ' ? `${GAP}{1,6}` : part;
  });
}

import type { Severity } from '../model/finding.ts';
import { readStructure, type Structure } from './contexts.ts';
import { decodedView } from './decoded.ts';
import { DEFAULT_RULES } from './default-rules.ts';
import type { Encoding } from './encodings.ts';
import { detect, hasInvisible, hiddenView } from './hidden.ts';
import { literalIndex, type Windows } from './literals.ts';
import { contextOf, isTurnedRound } from './mention.ts';
import { normalisedView } from './normalised.ts';
import { standingOrders } from './orders.ts';
import { ROOM } from './packed-rule.ts';
import { type Standing, standingIn } from './pattern-needs.ts';
import type { Context, Detector, Family, Rule, Step } from './rule.ts';
import { isAsciiText } from './units.ts';
import { type View, type ViewName, writtenView } from './view.ts';

export interface ScanOptions {
  /** Work budget, in times the size of the text (policy.yaml limits.scanWork). */
  readonly workLimit: number;
  /** The rules to run: DEFAULT_RULES, or those and a user's own. */
  readonly rules: readonly Rule[];
  /** Whether standing orders are looked for; not where what they say would not count. */
  readonly orders?: boolean;
}

/** One passage that a rule matched. */
export interface Hit {
  readonly rule: string;
  readonly family: Family;
  readonly severity: Severity;
  /** Offsets in the original text, UTF-16 units. */
  readonly start: number;
  readonly end: number;
  /** 1-based; columns in UTF-16 units. */
  readonly line: number;
  readonly column: number;
  readonly view: ViewName;
  /** What matched, as the view shows it, cut to 120 units and not escaped. */
  readonly passage: string;
  readonly why: string;
}

export interface ScanResult {
  /** In the order of the text. */
  readonly hits: readonly Hit[];
  /** False where the budget ended before every rule saw every unit: never to be read as clean. */
  readonly complete: boolean;
  /** Units read, over all views and rules. */
  readonly work: number;
}

/** Hits kept a rule: more say nothing new. */
const HITS = 16;
/** Runs of a pattern over a stretch that are made without asking whether something it needs stands there. */
const FEW_PATTERNS = 64;
/** Patterns that read a stretch for the work of one: most stop at its first units. */
const SIDE_BY_SIDE = 4;
/** Work booked for reading the surroundings of one match. */
const SURROUNDINGS = 256;
/** Work booked for looking for one more part of a match. */
const STEP = 64;
const PASSAGE = 120;
/** Room for a part behind its gap. */
const LONGEST_STEP = 120;
/** Encodings inside encodings that are opened. */
const DEPTH = 2;
/** Units between two suspect passages that speak together. */
const TOGETHER = 400;
/** Budget of the shortest texts, so that a small file is never incomplete. */
const LEAST = 4_096;
const LOWER: Readonly<Record<Severity, Severity | null>> = { block: 'suspect', suspect: 'notice', notice: null };

/** Runs every rule over every view of a text. Pure; never throws, whatever the text; nothing in the text can switch a rule off. */
export function scanText(text: string, options: ScanOptions): ScanResult {
  const budget = options.workLimit * Math.max(text.length, LEAST);
  const run = new Run(text, options.rules, budget);
  const isAscii = isAsciiText(text);
  const invisible = !isAscii && hasInvisible(text);
  run.native(invisible, options.orders ?? true);
  const written = writtenView(text);
  let signs = run.search(written, null);
  const normalised = run.affords(text.length) && !isAscii ? normalisedView(text) : null;
  if (normalised !== null) run.search(normalised, null);
  const hidden = invisible && run.affords(text.length) ? hiddenView(text) : null;
  if (hidden !== null) run.search(hidden, 'hidden');
  for (let view = written, depth = 0; depth < DEPTH; depth++) {
    const inner: View | null = run.affords(view.text.length) ? decodedView(view.text, signs) : null;
    if (inner === null) break;
    view = through(inner, view);
    signs = run.search(view, 'decoded');
  }
  return run.result();
}

// A view of a view, with the way back to the original.
function through(inner: View, outer: View): View {
  return {
    name: inner.name,
    text: inner.text,
    toStart: (at) => outer.toStart(inner.toStart(at)),
    toEnd: (at) => outer.toEnd(inner.toEnd(at)),
  };
}

/** A window of a view, and the rule one of whose literals it lies around. */
interface Stretch {
  /** The rule's place in its set. */
  readonly index: number;
  readonly rule: Rule;
  readonly from: number;
  readonly to: number;
}

/** @returns the patterns of a rule that may match in a stretch; of a user's own rule all. */
function standingOf(standing: Standing, rule: Rule, index: number, from: number, to: number): Rule['patterns'] {
  if (DEFAULT_RULES[index] !== rule) return rule.patterns;
  return rule.patterns.filter((_, at) => standing.mayMatch(index * ROOM + at, from, to));
}

type NativeRule = Rule & { readonly detector: Detector };
const natives = new WeakMap<readonly Rule[], readonly NativeRule[]>();

/** The rules of a set that are tests and not patterns. */
function nativeOf(rules: readonly Rule[]): readonly NativeRule[] {
  const known = natives.get(rules);
  if (known !== undefined) return known;
  const made = rules.filter((rule): rule is NativeRule => rule.detector !== null);
  natives.set(rules, made);
  return made;
}

class Run {
  readonly #text: string;
  readonly #rules: readonly Rule[];
  readonly #budget: number;
  readonly #hits: Hit[] = [];
  /** Hits that count one step lower for where they stand. */
  readonly #mentions = new Set<Hit>();
  readonly #counts = new Map<string, number>();
  readonly #seen = new Set<string>();
  #structure: Structure | null = null;
  #work = 0;
  #complete = true;

  constructor(text: string, rules: readonly Rule[], budget: number) {
    this.#text = text;
    this.#rules = rules;
    this.#budget = budget;
  }

  /** Books work; false, and the result is incomplete, where the budget does not hold it. */
  affords(units: number): boolean {
    if (this.#work + units > this.#budget) {
      this.#complete = false;
      return false;
    }
    this.#work += units;
    return true;
  }

  /** Runs the rules that are tests and not patterns. */
  native(invisible: boolean, orders: boolean): void {
    for (const rule of nativeOf(this.#rules)) {
      if (rule.detector === 'standing-orders' && !orders) continue;
      const isOfVisible = rule.detector === 'standing-orders' || rule.detector === 'padding';
      if (!isOfVisible && !invisible) continue;
      if (!this.affords(this.#text.length)) return;
      const spans =
        rule.detector === 'standing-orders'
          ? standingOrders(this.#text, () => this.#read())
          : detect(rule.detector, this.#text);
      for (let i = 0; i < spans.length; i += 2) {
        this.#add(
          rule,
          rule.severity,
          'text',
          spans[i] as number,
          spans[i + 1] as number,
          this.#text.slice(spans[i], spans[i + 1]),
        );
      }
    }
  }

  /** Runs the rules with patterns over one view; `fixed` is the context of all of it, null where the original's structure says. @returns the signs of encodings it met. */
  search(view: View, fixed: Context | null): ReadonlySet<Encoding> {
    if (!this.affords(view.text.length)) return new Set();
    const { windows, signs } = literalIndex(this.#rules).search(view.text);
    if (windows === null) return signs;
    const stretches = this.#stretches(view.text, windows);
    const standing = this.#standing(view.text, stretches);
    if (standing === undefined) return signs;
    for (const { index, rule, from, to } of stretches) {
      if (this.#isFull(rule)) continue;
      const patterns = standing === null ? rule.patterns : standingOf(standing, rule, index, from, to);
      if (!this.affords((to - from) * Math.ceil(patterns.length / SIDE_BY_SIDE))) return signs;
      const stretch = view.text.slice(from, to);
      for (const pattern of patterns) this.#match(rule, pattern, stretch, from, view, fixed);
    }
    return signs;
  }

  result(): ScanResult {
    const hits = togetherLouder(this.#hits, this.#mentions).sort(
      (a, b) => a.start - b.start || a.end - b.end || (a.rule < b.rule ? -1 : a.rule > b.rule ? 1 : 0),
    );
    return { hits, complete: this.#complete, work: this.#work };
  }

  /** The windows in which a rule may match, in the order of the rules and of the text. */
  #stretches(text: string, windows: readonly (Windows | null)[]): readonly Stretch[] {
    const stretches: Stretch[] = [];
    for (let index = 0; index < this.#rules.length; index++) {
      const list = windows[index];
      const rule = this.#rules[index];
      if (list === null || list === undefined || rule === undefined) continue;
      for (let i = 0; i < list.length; i += 2)
        stretches.push({ index, rule, from: this.#wholeLine(text, list[i] as number), to: list[i + 1] as number });
    }
    return stretches;
  }

  /** What the patterns need, looked for where that costs less than running them: null where it does not, undefined where the budget does not hold it. */
  #standing(text: string, stretches: readonly Stretch[]): Standing | null | undefined {
    let patterns = 0;
    let from = text.length;
    let to = 0;
    for (const stretch of stretches) {
      patterns += stretch.rule.patterns.length;
      from = Math.min(from, stretch.from);
      to = Math.max(to, stretch.to);
    }
    if (patterns < FEW_PATTERNS) return null;
    return this.affords(to - from) ? standingIn(text, from, to) : undefined;
  }

  #read(): Structure {
    this.#structure ??= readStructure(this.#text);
    return this.#structure;
  }

  // A window begins at its line where that is near, else at a space, so that `^` and word edges mean what they say.
  #wholeLine(text: string, at: number): number {
    for (let i = at; i > 0 && i > at - 120; i--) if (text.charCodeAt(i - 1) === 10) return i;
    for (let i = at; i > 0 && i > at - 40; i--) if (text.charCodeAt(i) === 32) return i;
    return at;
  }

  #match(rule: Rule, steps: readonly Step[], stretch: string, from: number, view: View, fixed: Context | null): void {
    const pattern = steps[0]?.pattern;
    if (pattern === undefined) return;
    pattern.lastIndex = 0;
    for (let match = pattern.exec(stretch); match !== null && !this.#isFull(rule); match = pattern.exec(stretch)) {
      if (match[0] === '') {
        pattern.lastIndex++;
        continue;
      }
      if (!this.affords(STEP * steps.length)) return;
      const matchEnd = followSteps(steps, stretch, match.index + match[0].length);
      if (matchEnd < 0) continue;
      if (!this.affords(SURROUNDINGS)) return;
      const whole = stretch.slice(match.index, matchEnd);
      const startInView = from + match.index + whole.length - withoutLead(whole).length;
      const endInView = from + match.index + whole.trimEnd().length;
      // A view may read backwards: then its last unit stands first in the original.
      const start = Math.min(view.toStart(startInView), view.toStart(endInView - 1));
      const end = Math.max(view.toEnd(endInView), view.toEnd(startInView + 1), start + 1);
      // What the written text shows at the same place is found there, and not for being disguised.
      if (view.name !== 'text' && this.#text.slice(start, end).includes(withoutLead(whole).trim())) continue;
      const around = contextOf(this.#text, start, end, this.#read());
      const severity = fixed === null ? severityIn(rule, around) : severityHidden(rule, fixed, around);
      if (severity === null) continue;
      const shown = view.name === 'text' && (around === 'comment' || around === 'title') ? 'hidden' : view.name;
      this.#add(rule, severity, shown, start, end, withoutLead(whole).trim());
    }
  }

  // Full counts only hits of the rule's own severity: many weak mentions never crowd out a strong one behind them.
  #isFull(rule: Rule): boolean {
    return (this.#counts.get(`${rule.id} ${rule.severity}`) ?? 0) >= HITS;
  }

  #add(rule: Rule, severity: Severity, view: ViewName, start: number, end: number, passage: string): void {
    const kind = `${rule.id} ${severity}`;
    const count = this.#counts.get(kind) ?? 0;
    const key = `${kind} ${start}`;
    if (count >= HITS || this.#seen.has(key)) return;
    this.#seen.add(key);
    this.#counts.set(kind, count + 1);
    const { line, column } = this.#read().position(start);
    const hit: Hit = {
      rule: rule.id,
      family: rule.family,
      severity,
      start,
      end: Math.min(end, this.#text.length),
      line,
      column,
      view,
      passage: passage.slice(0, PASSAGE),
      why: rule.why,
    };
    this.#hits.push(hit);
    if (severity === LOWER[rule.severity]) this.#mentions.add(hit);
  }
}

// A pattern that asks for the start of a sentence takes the end of the one before along.
function withoutLead(passage: string): string {
  return passage.replace(/^[\s.!?:;,]{1,16}/, '');
}

// The end of the last part, each found at its first place near the part before; -1 where one is missing.
function followSteps(steps: readonly Step[], text: string, firstEnd: number): number {
  let end = firstEnd;
  for (let i = 1; i < steps.length; i++) {
    const { pattern, within, lines } = steps[i] as Step;
    // One unit before the gap keeps word edges true.
    const near = text.slice(end - 1, end + within + LONGEST_STEP);
    const newline = lines ? -1 : near.indexOf('\n', 1);
    pattern.lastIndex = 1;
    const match = pattern.exec(newline < 0 ? near : near.slice(0, newline));
    if (match === null || match.index > within + 1) return -1;
    if (isTurnedRound(near.slice(1, match.index))) return -1;
    end += match.index - 1 + match[0].length;
  }
  return end;
}

function severityIn(rule: Rule, context: Context): Severity | null {
  if (rule.contexts.includes(context)) return rule.severity;
  return rule.weak.includes(context) ? LOWER[rule.severity] : null;
}

const MENTIONS: readonly Context[] = ['fence', 'code', 'block-quote', 'quoted', 'described'];

// A decoded passage that stands in a mention counts one step lower: documents show encoded attacks, too. Elsewhere what is suspect in the open is
// worse for being hidden: nobody encodes an honest order. A rule that is about encoded text alone says its own severity.
function severityHidden(rule: Rule, context: Context, around: Context): Severity | null {
  const severity = severityIn(rule, context);
  if (severity !== null && context === 'decoded' && MENTIONS.includes(around)) return LOWER[severity];
  return severity === 'suspect' && rule.contexts.includes('prose') && !isIntent(rule.family) ? 'block' : severity;
}

function isIntent(family: Family): boolean {
  return family === 'intent-mismatch' || family === 'intent-claims-authority';
}

/** Suspect passages of two families that share no word, within one paragraph's reach are no accident, nor are three of any: all of them block. */
function togetherLouder(hits: readonly Hit[], mentions: ReadonlySet<Hit>): Hit[] {
  const suspects = hits.filter((hit) => hit.severity === 'suspect' && !isIntent(hit.family) && !mentions.has(hit));
  if (suspects.length < 2) return [...hits];
  suspects.sort((a, b) => a.start - b.start);
  const louder = new Set<Hit>();
  for (let i = 0; i < suspects.length; i++) {
    const one = suspects[i] as Hit;
    const near = [one];
    for (let j = i + 1; j < suspects.length; j++) {
      const other = suspects[j] as Hit;
      if (other.start - one.end > TOGETHER) break;
      near.push(other);
    }
    const places = near.filter((each, at) => each.start >= (near[at - 1]?.end ?? 0));
    if (places.length >= 3 || near.some(({ family, start }) => family !== one.family && start >= one.end))
      for (const each of near) louder.add(each);
  }
  return hits.map((hit) => (louder.has(hit) ? { ...hit, severity: 'block' } : hit));
}

import type { Judged } from '../../src/model/stages.ts';
import { type Facts, told } from './facts.ts';
import { brokenRules, type Expected, effectOfCode, expect, PAGE } from './oracle.ts';

const WRITER_CODES: ReadonlySet<string> = new Set(
  Object.keys(PAGE).filter((code) => PAGE[code]?.letters.includes('B') === true),
);
/** Codes that explain an approval; of these any one that the oracle allows will do. */
const APPROVAL_CODES: ReadonlySet<string> = new Set(
  Object.keys(PAGE).filter((code) => /^approv(al|er)-/.test(code) && code !== 'approval-removed'),
);

/** Where a verdict of the real checks differs from the oracle's: empty where they agree in rank, codes, effects and fate. */
export function differences(facts: Facts, judged: Judged, expected: Expected = expect(facts)): readonly string[] {
  const wrong: string[] = [];
  const say = (what: string, want: unknown, got: unknown): void => {
    if (want !== got) wrong.push(`${what}: want ${String(want)}, got ${String(got)}`);
  };
  say('rank', expected.rank, judged.rank);
  say('disposition', expected.disposition, judged.disposition);
  say('unchecked', expected.unchecked, judged.unchecked);
  const writer = new Set<string>();
  const approving = new Set<string>();
  const rest = new Map<string, string>();
  for (const { code, effect, relief } of judged.findings) {
    if (APPROVAL_CODES.has(code)) approving.add(code);
    else if (WRITER_CODES.has(code)) writer.add(code);
    else rest.set(code, effect);
    const page = effectOfCode(code, facts);
    if (relief === undefined ? effect !== page : effect !== 'note')
      wrong.push(`${code}: effect ${effect}, the page says ${page}`);
  }
  for (const [code, effect] of expected.must) say(code, effect, rest.get(code));
  for (const code of rest.keys()) if (!expected.must.has(code)) wrong.push(`${code}: not expected`);
  const fits = expected.writer.some((codes) => codes.length === writer.size && codes.every((code) => writer.has(code)));
  if (!fits)
    say('writer codes', expected.writer.map((codes) => codes.join('+') || 'none').join(' or '), [...writer].join('+'));
  const named = [...approving];
  if (expected.oneOf.length === 0 ? named.length > 0 : !named.some((code) => expected.oneOf.includes(code)))
    say('approval codes', expected.oneOf.join(' or ') || 'none', named.join('+') || 'none');
  if (named.some((code) => !expected.oneOf.includes(code))) wrong.push(`approval codes: ${named.join('+')}`);
  return wrong;
}

/** Gathers what went wrong, without keeping every state: the first few of each kind, and how many there were. */
export class Failures {
  readonly #seen = new Map<string, { count: number; readonly examples: string[] }>();

  add(kind: string, facts: Facts, detail = ''): void {
    const known = this.#seen.get(kind) ?? { count: 0, examples: [] };
    known.count += 1;
    if (known.examples.length < 2) known.examples.push(`${told(facts)} ${detail}`);
    this.#seen.set(kind, known);
  }

  /** One line a kind of failure; empty where there is none. */
  lines(): readonly string[] {
    return [...this.#seen].map(
      ([kind, { count, examples }]) => `${kind} (${count} states)\n  ${examples.join('\n  ')}`,
    );
  }
}

/** States that broke a hard rule, by its number. */
export class RuleBook {
  readonly #of = new Map<number, Failures>();

  check(facts: Facts, judged: Judged): void {
    for (const rule of brokenRules(facts, { rank: judged.rank, codes: judged.findings }))
      this.broken(rule, facts, `rank ${judged.rank}`);
  }

  broken(rule: number, facts: Facts, detail: string): void {
    const known = this.#of.get(rule) ?? new Failures();
    known.add(`hard rule ${rule}`, facts, detail);
    this.#of.set(rule, known);
  }

  lines(rule: number): readonly string[] {
    return this.#of.get(rule)?.lines() ?? [];
  }
}

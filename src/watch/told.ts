import type { Judgement } from '../gate.ts';
import { escapeText } from '../model/escaped.ts';
import type { Judged } from '../model/stages.ts';
import { reasonOf } from '../report/verdicts-text.ts';
import type { RemovedEvent, VerdictEvent } from './event.ts';

/** What was last told of one artifact. */
export interface Told {
  readonly path: string;
  readonly line: number | null;
  /** All that makes one verdict another. */
  readonly verdict: string;
}

/** What one judgement says that the last one did not. */
export interface Changes {
  readonly told: ReadonlyMap<string, Told>;
  readonly verdicts: readonly Judged[];
  readonly removed: readonly Told[];
}

/** Compares a judgement with what was told before. A verdict on other bytes is another verdict, whatever the rank. */
export function compare(before: ReadonlyMap<string, Told>, { artifacts }: Judgement): Changes {
  const told = new Map<string, Told>();
  const verdicts: Judged[] = [];
  for (const one of artifacts) {
    const { candidate, line } = one.evidence.parsed;
    const key = keyOf(candidate.path, line);
    const now = { path: candidate.path, line, verdict: verdictOf(one) };
    told.set(key, now);
    if (before.get(key)?.verdict !== now.verdict) verdicts.push(one);
  }
  return { told, verdicts, removed: [...before].filter(([key]) => !told.has(key)).map(([, one]) => one) };
}

/** What changes nothing is said once: messages may count days, so codes and effects speak for them. */
function verdictOf(one: Judged): string {
  const { parsed } = one.evidence;
  return JSON.stringify([
    parsed.sha256,
    one.rank,
    one.class,
    one.disposition,
    one.writer?.principal ?? null,
    one.approvedBy,
    one.findings.map((found) => [found.code, found.effect]),
  ]);
}

export function keyOf(path: string, line: number | null): string {
  return line === null ? path : `${path}\0${line}`;
}

export function toVerdictEvent(one: Judged, at: number, ms: number): VerdictEvent {
  const { parsed } = one.evidence;
  return {
    event: 'verdict',
    at,
    path: shown(parsed.candidate.path),
    rank: one.rank,
    codes: codesOf(one),
    ms,
    line: parsed.line,
    digest: digestOf(one),
    class: one.class,
    disposition: one.disposition,
    unchecked: one.unchecked,
    reason: reasonOf(one)?.message ?? null,
  };
}

/** `codes` of the findings about the workspace that name the file: where it must be, `binding-missing`. */
export function toRemovedEvent({ path, line }: Told, { at, findings }: Judgement, ms: number): RemovedEvent {
  const codes = findings.filter((one) => one.file === path).map((one) => one.code);
  return { event: 'removed', at, path: shown(path), rank: null, codes: [...new Set(codes)], ms, line };
}

export function codesOf(one: Judged): readonly string[] {
  return [...new Set(one.findings.map((found) => found.code))];
}

export function digestOf({ evidence }: Judged): string | null {
  return evidence.parsed.sha256 === null ? null : `sha256:${evidence.parsed.sha256}`;
}

/** A path for other tools: escaped, never cut, as in `check --format json`. */
export function shown(path: string): string {
  return escapeText(path, Number.POSITIVE_INFINITY);
}

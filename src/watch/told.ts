import type { Judgement } from '../gate.ts';
import type { Judged } from '../model/stages.ts';

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

/** What one artifact is told by: its path, or the line of a board. */
export function keyOf(path: string, line: number | null): string {
  return line === null ? path : `${path}\0${line}`;
}

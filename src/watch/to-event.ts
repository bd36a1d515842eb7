import type { Judgement } from '../gate.ts';
import { escapeText } from '../model/escaped.ts';
import type { Finding } from '../model/finding.ts';
import type { Judged } from '../model/stages.ts';
import { summaryOf } from '../report/verdicts.ts';
import { reasonOf } from '../report/verdicts-text.ts';
import type {
  ErrorEvent,
  QuarantinedEvent,
  ReadyEvent,
  RemovedEvent,
  VerdictEvent,
  WorkspaceFinding,
} from './event.ts';

/** The verdict on one artifact. */
export function toVerdictEvent(one: Judged, at: number, ms: number): VerdictEvent {
  const { parsed } = one.evidence;
  return {
    event: 'verdict',
    at,
    path: shown(parsed.candidate.path),
    rank: one.rank,
    codes: codesOf(one.findings),
    ms,
    line: parsed.line,
    digest: digestOf(one),
    class: one.class,
    disposition: one.disposition,
    unchecked: one.unchecked,
    reason: reasonOf(one)?.message ?? null,
  };
}

/** What is now found about the workspace as a whole. */
export function toWorkspaceEvent(found: readonly Finding[], at: number, ms: number): VerdictEvent {
  return {
    event: 'verdict',
    at,
    path: '.',
    rank: null,
    codes: codesOf(found),
    ms,
    line: null,
    digest: null,
    class: null,
    disposition: null,
    unchecked: false,
    reason: null,
    findings: found.map(toWorkspaceFinding),
  };
}

/** `codes` of the findings about the workspace that name the file: where it must be, `binding-missing`. */
export function toRemovedEvent(
  { path, line }: { readonly path: string; readonly line: number | null },
  { at, findings }: Judgement,
  ms: number,
): RemovedEvent {
  const codes = codesOf(findings.filter((one) => one.file === path));
  return { event: 'removed', at, path: shown(path), rank: null, codes, ms, line };
}

/** @param path escaped already, as acting tells it. */
export function toQuarantinedEvent(
  moved: { readonly path: string; readonly id: string | null },
  judged: Judged | undefined,
  at: number,
  ms: number,
): QuarantinedEvent {
  return {
    event: 'quarantined',
    at,
    path: moved.path,
    rank: 'quarantined',
    codes: judged === undefined ? [] : codesOf(judged.findings),
    ms,
    id: moved.id,
    digest: judged === undefined ? null : digestOf(judged),
  };
}

/** Everything was judged once. */
export function toReadyEvent(
  { at, artifacts }: Judgement,
  found: readonly Finding[],
  rest: Pick<ReadyEvent, 'ms' | 'exit' | 'everyMs' | 'pollMs'> & { readonly unwatched: readonly string[] },
): ReadyEvent {
  return {
    event: 'ready',
    at,
    path: '.',
    rank: null,
    codes: codesOf(found),
    artifacts: artifacts.length,
    summary: summaryOf(artifacts),
    findings: found.map(toWorkspaceFinding),
    ...rest,
    unwatched: rest.unwatched.map(shown),
  };
}

/** @param code the finding that says what could not be checked; null where none of the table does. */
export function toErrorEvent(message: string, cure: string, code: string | null): ErrorEvent {
  const codes = code === null ? [] : [code];
  return { event: 'error', at: Date.now(), path: '.', rank: null, codes, ms: 0, message, cure };
}

/** A path for other tools: escaped, never cut, as in `check --format json`. */
export function shown(path: string): string {
  return escapeText(path, Number.POSITIVE_INFINITY);
}

function toWorkspaceFinding({ code, file, message, cure }: Finding): WorkspaceFinding {
  return { code, file: file === undefined ? null : shown(file), message, cure };
}

function codesOf(findings: readonly Finding[]): readonly string[] {
  return [...new Set(findings.map((found) => found.code))];
}

function digestOf({ evidence }: Judged): string | null {
  return evidence.parsed.sha256 === null ? null : `sha256:${evidence.parsed.sha256}`;
}

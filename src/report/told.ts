import type { Judgement } from '../gate.ts';
import { escapeText } from '../model/escaped.ts';
import type { Effect, Finding } from '../model/finding.ts';
import type { Judged, Weighed } from '../model/stages.ts';
import type { Catalogue } from './catalogue.ts';

/** How loud a finding is for programs that know three steps. */
export type Level = 'error' | 'warning' | 'note';

/** One finding with its place, ready for a format other programs read. The findings are those of `--format json`, one by one. */
export interface Told {
  readonly code: string;
  readonly effect: Effect;
  readonly level: Level;
  readonly message: string;
  /** As a command; empty where there is none. */
  readonly cure: string;
  readonly relief: NonNullable<Weighed['relief']> | null;
  readonly severity: Finding['severity'];
  /** The artifact, as `--format json` spells it; null where the finding is about the workspace. */
  readonly path: string | null;
  readonly rank: string | null;
  /** The file it is about, relative to the workspace or absolute, not escaped; null where it names none. A link is told by the file behind it. */
  readonly place: string | null;
  /** 1-based; null where the finding has no line. */
  readonly line: number | null;
  readonly column: number | null;
  /** The text of that line; null where it is not at hand. */
  readonly text: string | null;
}

const ORDER: readonly Level[] = ['error', 'warning', 'note'];

/** Every finding of a judgement, loudest first, else in the order of `--format json`. */
export function toldFindings({ artifacts, findings }: Judgement, known: Catalogue): readonly Told[] {
  const told = [
    ...artifacts.flatMap((one) => ofArtifact(one, known)),
    ...findings.map((one) => toTold(one, known.entryOf(one).effect, null, null, known)),
  ];
  const rank = (one: Told): number => ORDER.indexOf(one.level) * 2 + Number(one.relief !== null);
  return told.sort((a, b) => rank(a) - rank(b));
}

function ofArtifact(judged: Judged, known: Catalogue): readonly Told[] {
  const { parsed } = judged.evidence;
  const texts = new Map<string | null, readonly string[] | null>();
  const lineOf = (file: string | null, line: number): string | null => {
    if (!texts.has(file)) texts.set(file, linesOf(judged, file));
    return texts.get(file)?.[line - 1] ?? null;
  };
  return judged.findings.map((one) => {
    const file = one.file === undefined || one.file === parsed.candidate.path ? null : one.file;
    // A line of a board is an artifact of its own: what is found in it stands on that line of the file.
    const onBoard = file === null && parsed.line !== null;
    const line = onBoard ? 1 : one.line;
    const text = line === null ? null : lineOf(file, line);
    return { ...toTold(one, one.effect, judged, text, known), ...(onBoard ? { line: parsed.line } : {}) };
  });
}

function toTold(
  one: Finding & { readonly relief?: Weighed['relief'] },
  effect: Effect,
  judged: Judged | null,
  text: string | null,
  known: Catalogue,
): Told {
  const parsed = judged?.evidence.parsed ?? null;
  const path = parsed?.candidate.path ?? null;
  return {
    code: one.code,
    effect,
    level: levelOf(one, effect, known),
    message: one.message,
    cure: one.cure,
    relief: one.relief ?? null,
    severity: one.severity,
    path: path === null ? null : escapeText(path, Number.POSITIVE_INFINITY),
    rank: judged?.rank ?? null,
    place: one.file !== undefined && one.file !== path ? one.file : (parsed?.aliasOf ?? path),
    line: one.line,
    column: one.column,
    text,
  };
}

/** By effect; what could not be checked and what is refused as a whole is never quieter than an error. */
function levelOf(
  one: Finding & { readonly relief?: Weighed['relief'] },
  effect: Effect,
  { entryOf, refuses }: Catalogue,
): Level {
  if (one.relief === undefined && (entryOf(one).unchecked === true || refuses(one.code))) return 'error';
  if (effect === 'quarantine') return 'error';
  return effect === 'note' ? 'note' : 'warning';
}

/** The lines of the artifact, or of a sidecar that speaks for it; null where that file was not read with it. */
function linesOf({ evidence }: Judged, file: string | null): readonly string[] | null {
  const { parsed } = evidence;
  if (file === null) return parsed.text?.read().split('\n') ?? null;
  const sidecar = [...parsed.readings, ...evidence.strays].find((one) => one.sidecar?.path === file)?.sidecar;
  return sidecar ? Buffer.from(sidecar.bytes).toString('utf8').split('\n') : null;
}

import type { Judgement } from '../gate.ts';
import { escapeText } from '../model/escaped.ts';
import type { Catalogue } from './catalogue.ts';
import { type Level, type Told, toldFindings } from './told.ts';
import type { Summary } from './verdicts.ts';

export interface AnnotationOptions {
  readonly catalogue: Catalogue;
  /** Path of the workspace within its repository, ending in `/`, or empty. */
  readonly prefix: string;
  readonly summary: Summary;
  /** What the command ends in. */
  readonly exit: number;
}

const COMMANDS: Readonly<Record<Level, string>> = { error: 'error', warning: 'warning', note: 'notice' };

/**
 * The findings as workflow commands of GitHub Actions, loudest first: GitHub shows the first ten of each kind. Ends in one plain line. Nothing an
 * artifact says can begin a command: every line begins with ours, and `##[`, which counts anywhere in a line, is broken (facts 5.3).
 */
export function renderAnnotations(
  judgement: Judgement,
  { catalogue, prefix, summary, exit }: AnnotationOptions,
): string {
  const told = toldFindings(judgement, catalogue);
  const count = (level: Level): number => told.filter((one) => one.level === level).length;
  const words = (['binding', 'advisory', 'reference', 'quarantined', 'unchecked'] as const).map(
    (rank) => `${summary[rank]} ${rank}`,
  );
  const observed = judgement.enforcement === 'observe' ? ' (observe: nothing is blocked)' : '';
  return [
    ...told.map((one) => toCommand(one, prefix)),
    `writ: ${judgement.artifacts.length} judged: ${words.join(', ')}; ${count('error')} errors, ${count('warning')} warnings, ${count('note')} notes; exit ${exit}${observed}`,
    '',
  ].join('\n');
}

function toCommand(one: Told, prefix: string): string {
  const place = one.place === null ? null : toPath(one.place, prefix);
  const properties = [
    ...(place === null
      ? []
      : [
          `file=${property(place)}`,
          `line=${Math.max(1, one.line ?? 1)}`,
          ...(one.column === null ? [] : [`col=${Math.max(1, one.column)}`]),
        ]),
    `title=${property(one.code)}`,
  ];
  const relief = one.relief === null ? '' : `(${one.relief}) `;
  const cure = one.cure === '' ? '' : ` Cure: ${one.cure}`;
  return `::${COMMANDS[one.level]} ${properties.join(',')}::${data(`${relief}${one.message}${cure}`)}`;
}

function toPath(place: string, prefix: string): string {
  return /^(?:\/|[A-Za-z]:[\\/])/.test(place) ? place : `${prefix}${place}`;
}

/** Line breaks as the runner reads them back; everything else that moves a cursor or hides is spelt out. */
function data(text: string): string {
  return text
    .replaceAll(/[^\r\n]+/g, (part) => escapeText(part, Number.POSITIVE_INFINITY))
    .replaceAll('##[', '##\\[')
    .replaceAll('%', '%25')
    .replaceAll('\r', '%0D')
    .replaceAll('\n', '%0A');
}

function property(text: string): string {
  return data(text).replaceAll(':', '%3A').replaceAll(',', '%2C');
}

import type { Judgement } from '../gate.ts';
import { entryOf } from '../model/codes.ts';
import { escapePath } from '../model/escaped.ts';
import type { Finding } from '../model/finding.ts';
import type { Judged, Weighed } from '../model/stages.ts';
import { summaryOf } from './verdicts.ts';

/** How a face colours text; plain functions where it does not. */
export interface Colours {
  readonly bold: (text: string) => string;
  readonly dim: (text: string) => string;
  readonly red: (text: string) => string;
  readonly yellow: (text: string) => string;
  readonly green: (text: string) => string;
  readonly cyan: (text: string) => string;
}

export interface TextOptions {
  readonly paint: Colours;
  /** Notes and cures too. */
  readonly verbose: boolean;
}

/** The table of ranks with the reason of each, what concerns the whole workspace first, and what to do next. */
export function renderJudgement(judgement: Judgement, options: TextOptions): string {
  const { artifacts, findings, enforcement } = judgement;
  const { paint } = options;
  const lines: string[] = [];
  if (enforcement === 'observe')
    lines.push(paint.yellow('observe: verdicts only; nothing is moved or blocked here'), '');
  lines.push(headline(judgement, paint));
  const shown = findings.filter(
    (one) => options.verbose || entryOf(one).effect !== 'note' || one.code !== 'sidecar-orphan',
  );
  for (const one of shown)
    lines.push(...renderFinding(one, entryOf(one).unchecked ? paint.red : paint.yellow, '  ', true));
  if (artifacts.length > 0) lines.push('', ...table(artifacts, options));
  lines.push('', total(judgement, paint), ...nextSteps(judgement));
  return `${lines.join('\n')}\n`;
}

function headline({ set, present }: Judgement, paint: Colours): string {
  const id = set.workspace === null ? 'no policy set' : escapePath(set.workspace);
  const version = set.version === null ? '' : `, policy version ${set.version}`;
  const hosts = present.length > 0 ? `, hosts here: ${present.join(', ')}` : '';
  return `${paint.bold('writ')} ${id}: root ${set.root}${version}${hosts}`;
}

function table(artifacts: readonly Judged[], { paint, verbose }: TextOptions): readonly string[] {
  const name = (one: Judged): string => {
    const { candidate, line } = one.evidence.parsed;
    return `${escapePath(candidate.path)}${line === null ? '' : `:${line}`}`;
  };
  const names = artifacts.map(name);
  const width = Math.min(
    48,
    names.reduce((widest, one) => Math.max(widest, one.length), 0),
  );
  return artifacts.flatMap((one, index) => {
    const reason = reasonOf(one);
    const rank = colourOf(one, paint)(rankWord(one).padEnd(11));
    const rows = [
      `${rank} ${names[index]?.padEnd(width)}  ${paint.dim(one.class)}${reason === null ? approvals(one) : `  ${reason.code}: ${reason.message}`}`,
    ];
    const rest = one.findings.filter((found) => found !== reason && (verbose || found.effect === 'quarantine'));
    for (const found of rest) rows.push(...renderFinding(found, paint.dim, '            ', verbose));
    if (reason !== null && (verbose || one.rank === 'quarantined'))
      rows.push(`            ${paint.dim(`cure: ${fill(reason.cure, one)}`)}`);
    return rows;
  });
}

/** Names the artifact where a cure of the table says PATH. */
export function fill(cure: string, one: Judged): string {
  return cure.replace(/\bPATH\b/g, escapePath(one.evidence.parsed.candidate.path));
}

/** The finding that explains the rank: the first of the strongest effect; null where nothing lowers it. */
export function reasonOf(one: Judged): Weighed | null {
  for (const effect of ['quarantine', 'reference', 'advisory'] as const) {
    const found = one.findings.find((candidate) => candidate.effect === effect);
    if (found) return found;
  }
  return null;
}

function rankWord(one: Judged): string {
  if (one.rank !== 'quarantined') return one.rank;
  return one.unchecked ? 'unchecked' : one.disposition === 'withhold' ? 'withheld' : 'quarantine';
}

function colourOf(one: Judged, paint: Colours): (text: string) => string {
  switch (one.rank) {
    case 'binding':
      return paint.green;
    case 'advisory':
      return paint.cyan;
    case 'reference':
      return paint.dim;
    case 'quarantined':
      return paint.red;
  }
}

function approvals(one: Judged): string {
  const writer = one.writer ? `written by ${one.writer.principal} (${one.writer.role})` : '';
  const approved = one.approvedBy.length > 0 ? `approved by ${one.approvedBy.join(', ')}` : '';
  const said = [writer, approved].filter((part) => part !== '').join(', ');
  return said === '' ? '' : `  ${said}`;
}

function renderFinding(
  one: Finding & { readonly relief?: string },
  colour: (text: string) => string,
  indent: string,
  withCure: boolean,
): readonly string[] {
  const place = `${one.file ? `${escapePath(one.file)}${one.line === null ? '' : `:${one.line}`}: ` : one.line === null ? '' : `line ${one.line}: `}`;
  const relief = one.relief ? ` (${one.relief})` : '';
  const rows = [`${indent}${colour(one.code)}${relief}: ${place}${one.message}`];
  if (withCure && one.cure !== '') rows.push(`${indent}  cure: ${one.cure}`);
  return rows;
}

function total({ artifacts }: Judgement, paint: Colours): string {
  const counts = summaryOf(artifacts);
  const words = [
    `${counts.binding} binding`,
    `${counts.advisory} advisory`,
    `${counts.reference} reference`,
    `${counts.quarantined} quarantined`,
  ];
  if (counts.unchecked > 0) words.push(paint.red(`${counts.unchecked} unchecked`));
  return `${artifacts.length} judged: ${words.join(', ')}`;
}

function nextSteps({ set, artifacts }: Judgement): readonly string[] {
  if (artifacts.length === 0) return ['No init file found: nothing here would be read by a host at boot.'];
  if (set.root === 'unpinned' && set.workspace === null)
    return ['Nothing is governed here yet. Next: writ init (takes an SSH key), then writ approve FILE --class policy'];
  return [];
}

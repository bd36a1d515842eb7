import type { Judgement } from '../gate.ts';
import { entryOf } from '../model/codes.ts';
import { escapePath, shellWord } from '../model/escaped.ts';
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
  /** Rank words by path from a judgement before: shown beside those of now. */
  readonly before?: ReadonlyMap<string, string>;
  /** The home was judged, under the user's own set: commands need --user. */
  readonly home?: boolean;
}

/** Above so many artifacts what is not refused is told folder by folder. */
const MAX_ROWS = 60;
/** Most refused artifacts, and most findings about the workspace, told one by one; all with --verbose. */
const MAX_TOLD = 40;
const MAX_FINDINGS = 20;
/** Fewer files of one folder than this are told one by one even in a long list. */
const MIN_GROUP = 4;

/** The table of ranks with the reason of each, what concerns the whole workspace first, and what to do next. */
export function renderJudgement(judgement: Judgement, options: TextOptions): string {
  const { artifacts, findings, enforcement } = judgement;
  const { paint, verbose } = options;
  const lines: string[] = [];
  if (enforcement === 'observe')
    lines.push(paint.yellow('observe: verdicts only; nothing is moved or blocked here'), '');
  lines.push(headline(judgement, paint));
  const shown = findings.filter(
    (one) =>
      verbose ||
      !(
        (entryOf(one).effect === 'note' && one.code === 'sidecar-orphan') ||
        (isUngoverned(judgement) && one.code === 'root-unpinned')
      ),
  );
  for (const one of verbose ? shown : shown.slice(0, MAX_FINDINGS))
    lines.push(...renderFinding(one, entryOf(one).unchecked ? paint.red : paint.yellow, '  ', true));
  if (!verbose && shown.length > MAX_FINDINGS)
    lines.push(`  and ${shown.length - MAX_FINDINGS} more findings: writ check --verbose`);
  if (artifacts.length > 0) lines.push('', ...table(judgement, options));
  lines.push('', total(judgement, paint), ...(options.before ? [] : nextSteps(judgement, options.home === true)));
  return `${lines.join('\n')}\n`;
}

function isUngoverned({ set }: Judgement): boolean {
  return set.root === 'unpinned' && set.workspace === null;
}

function headline(judgement: Judgement, paint: Colours): string {
  const { set, present } = judgement;
  const hosts = present.length > 0 ? `, hosts here: ${present.join(', ')}` : '';
  if (isUngoverned(judgement) && judgement.findings.every((one) => one.code !== 'policy-unsigned'))
    return `${paint.bold('writ')} no policy set (root-unpinned): nobody is proven, so no text binds${hosts}`;
  const id = set.workspace === null ? 'no policy set' : escapePath(set.workspace);
  const version = set.version === null ? '' : `, policy version ${set.version}`;
  return `${paint.bold('writ')} ${id}: root ${set.root}${version}${hosts}`;
}

/** The width that holds every text, and at least `least`. */
function widest(texts: readonly string[], least: number): number {
  return texts.reduce((most, one) => Math.max(most, one.length), least);
}

interface Row {
  readonly before: string;
  readonly rank: string;
  readonly name: string;
  readonly readBy: string;
  readonly why: string;
  readonly below: readonly string[];
  readonly colour: (text: string) => string;
}

function table(judgement: Judgement, options: TextOptions): readonly string[] {
  const { artifacts } = judgement;
  const { paint, verbose } = options;
  const shared = sharedReasons(artifacts, verbose);
  const long = !verbose && artifacts.length > MAX_ROWS;
  const refused = artifacts.filter((one) => one.rank === 'quarantined');
  const told = long ? refused.slice(0, MAX_TOLD) : refused;
  const rest = artifacts.filter((one) => one.rank !== 'quarantined');
  const rows = long
    ? [...told.map((one) => rowOf(one, judgement, shared, options)), ...grouped(rest, judgement, shared, options)]
    : artifacts.map((one) => rowOf(one, judgement, shared, options));
  const width = Math.min(
    48,
    widest(
      rows.map((row) => row.name),
      4,
    ),
  );
  const readers = Math.min(
    30,
    widest(
      rows.map((row) => row.readBy),
      7,
    ),
  );
  const was = (row: string): string => (options.before ? `${row.padEnd(11)} ` : '');
  const head = paint.dim(
    `${was('before')}${(options.before ? 'now' : 'rank').padEnd(11)} ${'file'.padEnd(width)}  ${'read by'.padEnd(readers)}  why`,
  );
  const lines = rows.flatMap((row) => [
    `${paint.dim(was(row.before))}${row.colour(row.rank.padEnd(11))} ${row.name.padEnd(width)}  ${paint.dim(row.readBy.padEnd(readers))}  ${row.why}`.trimEnd(),
    ...row.below,
  ]);
  if (told.length < refused.length)
    lines.push(`and ${refused.length - told.length} more refused: writ check --verbose`);
  const legend = [...shared].map(
    ([code, { message, cure, count, cures }]) =>
      `  ${paint.dim(code)} (${count}): ${message}${cures && cure !== '' ? `\n    cure: ${cure}` : ''}`,
  );
  return [head, ...lines, ...(legend.length > 0 ? ['', ...legend] : [])];
}

type Shared = ReadonlyMap<
  string,
  { readonly message: string; readonly cure: string; readonly count: number; readonly cures: boolean }
>;

/** Reasons that several rows give in the same words: told once, below the table. */
function sharedReasons(artifacts: readonly Judged[], verbose: boolean): Shared {
  const shared = new Map<string, { message: string; cure: string; count: number; cures: boolean }>();
  if (verbose) return shared;
  const mixed = new Set<string>();
  for (const one of artifacts) {
    const reason = reasonOf(one);
    if (reason === null) continue;
    const known = shared.get(reason.code);
    if (known && known.message !== reason.message) mixed.add(reason.code);
    shared.set(reason.code, {
      message: reason.message,
      cure: reason.cure,
      count: (known?.count ?? 0) + 1,
      cures: known?.cures === true || one.rank === 'quarantined' || reason.code === 'outside-workspace',
    });
  }
  for (const [code, { count }] of shared) if (mixed.has(code) || count < 2) shared.delete(code);
  return shared;
}

function rowOf(
  one: Judged,
  { present }: Judgement,
  shared: Shared,
  { paint, verbose, before, home = false }: TextOptions,
): Row {
  const { candidate, line, aliasOf } = one.evidence.parsed;
  const reason = reasonOf(one);
  const isShared = reason !== null && shared.get(reason.code)?.message === reason.message;
  const below = one.findings
    .filter((found) => found !== reason && (verbose || found.effect === 'quarantine' || isCutShort(found, one)))
    .flatMap((found) =>
      renderFinding({ ...found, cure: fill(found.cure, one, home) }, paint.dim, '            ', verbose),
    );
  if (reason !== null && !isShared && (verbose || one.rank === 'quarantined'))
    below.push(`            ${paint.dim(`cure: ${fill(reason.cure, one, home)}`)}`);
  const declared = one.declaredClass === null ? '' : `${one.declaredClass}: `;
  const leads = aliasOf === null ? '' : ` -> ${escapePath(aliasOf)}`;
  return {
    before: before?.get(candidate.path) ?? 'new',
    rank: rankWord(one),
    name: `${escapePath(candidate.path)}${line === null ? leads : `:${line}`}`,
    readBy: readersOf(one, present),
    why:
      reason === null
        ? `${one.class}${approvals(one)}`
        : `${declared}${isShared ? reason.code : `${reason.code}: ${reason.message}`}`,
    below,
    colour: colourOf(one, paint),
  };
}

/** That rules do not reach their readers is told without being asked for. */
function isCutShort({ code }: Weighed, { rank }: Judged): boolean {
  return code === 'host-truncates' && rank === 'binding';
}

/** Files of one rank, reason and top folder as one row: five hundred files stay readable. */
function grouped(
  artifacts: readonly Judged[],
  judgement: Judgement,
  shared: Shared,
  options: TextOptions,
): readonly Row[] {
  const groups = new Map<string, Judged[]>();
  for (const one of artifacts) {
    const { path } = one.evidence.parsed.candidate;
    const board = one.evidence.parsed.line === null ? '' : path;
    const top =
      board !== '' ? board : path.includes('/') && !path.startsWith('/') ? `${path.slice(0, path.indexOf('/'))}/` : '';
    const key = JSON.stringify([
      top === '' ? path : top,
      options.before?.get(path),
      one.rank,
      reasonOf(one)?.code ?? '',
      one.declaredClass,
    ]);
    const group = groups.get(key);
    if (group) group.push(one);
    else groups.set(key, [one]);
  }
  return [...groups.values()].flatMap((members) => {
    const [first] = members;
    if (first === undefined || members.length < MIN_GROUP)
      return members.map((one) => rowOf(one, judgement, shared, options));
    const { candidate, line } = first.evidence.parsed;
    const place = line === null ? `${candidate.path.slice(0, candidate.path.indexOf('/'))}/` : candidate.path;
    const row = rowOf(first, judgement, shared, options);
    const hosts = [...new Set(members.flatMap((one) => readerNames(one, judgement.present)))].sort();
    const reason = reasonOf(first);
    return [
      {
        ...row,
        name: `${escapePath(place)} (${members.length} ${line === null ? 'files' : 'lines'})`,
        readBy: namesShort(hosts),
        why:
          reason === null
            ? first.class
            : `${first.declaredClass === null ? '' : `${first.declaredClass}: `}${reason.code}`,
        below: [],
      },
    ];
  });
}

/** Who reads it: hosts in use here before others; `lazy` or `spawn` where none reads it at the start. */
export function readersOf(one: Judged, present: readonly string[]): string {
  const { uses, kind } = one.evidence.parsed.candidate;
  if (kind === 'document') return 'writ load';
  const kinds = [...new Set(uses.map((use) => use.loads))];
  const when = kinds.length > 0 && !kinds.includes('launch') ? ` (${kinds.sort().join(', ')})` : '';
  const names = readerNames(one, present);
  return names.length === 0 ? '-' : `${namesShort(names)}${when}`;
}

function readerNames({ evidence }: Judged, present: readonly string[]): readonly string[] {
  const all = [...new Set(evidence.parsed.candidate.uses.map((use) => use.host))];
  const named = all.filter((host) => host !== 'generic');
  const order = (host: string): number => (present.includes(host) ? 0 : 1);
  return (named.length > 0 ? named : all).sort((a, b) => order(a) - order(b) || (a < b ? -1 : 1));
}

function namesShort(names: readonly string[]): string {
  return names.length > 3 ? `${names.slice(0, 2).join(', ')} +${names.length - 2}` : names.join(', ');
}

/** Names the artifact where a cure of the table says PATH. */
export function fill(cure: string, one: Judged, home = false): string {
  const { candidate } = one.evidence.parsed;
  const named = cure.replace(/\bPATH\b/g, () => shellWord(candidate.path));
  return candidate.outside || home
    ? named.replace(/\bwrit (approve|check|explain|revoke)\b/g, 'writ $1 --user')
    : named;
}

/** The finding that explains the rank: the first of the strongest effect; null where nothing lowers it. */
export function reasonOf(one: Judged): Weighed | null {
  // Of what nobody governs that says more than that it carries no manifest.
  const beyond = one.rank === 'quarantined' ? undefined : one.findings.find(({ code }) => code === 'outside-workspace');
  if (beyond) return beyond;
  for (const effect of ['quarantine', 'reference', 'advisory'] as const) {
    const found = one.findings.find((candidate) => candidate.effect === effect);
    if (found) return found;
  }
  return null;
}

/** The rank in one word: what of the quarantined stays in place is withheld, what could not be checked is unchecked. */
export function rankWord(one: Judged): string {
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
  return said === '' ? '' : `, ${said}`;
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

function nextSteps(judgement: Judgement, home: boolean): readonly string[] {
  const { artifacts } = judgement;
  if (artifacts.length === 0) return ['No init file found: nothing here would be read by a host at boot.'];
  const open = new Set(
    artifacts.filter(isUnclaimed).map(({ evidence }) => evidence.parsed.aliasOf ?? evidence.parsed.candidate.path),
  ).size;
  const texts = open === 1 ? 'the one text that is' : `the ${open} texts that are`;
  const user = home ? ' --user' : '';
  if (isUngoverned(judgement)) {
    const first = `writ init${user}`;
    const second = `${first} --adopt policy`;
    const row = (command: string, does: string): string => `  ${command.padEnd(second.length)}   ${does}`;
    return [
      'Nothing is governed here yet: hosts read these files as law, whoever wrote them.',
      row(first, 'sets up a policy set signed with your SSH key; changes none of these files'),
      ...(open > 0 ? [row(second, `the same, and approves ${texts} yours, so that what they say binds`)] : []),
    ];
  }
  if (open > 0 && judgement.set.intact)
    return [
      `${open} ${open === 1 ? 'text carries' : 'texts carry'} no manifest. To let one bind: writ approve${user} PATH --class policy`,
    ];
  return [];
}

/** Whether it is a text of this workspace that says nothing of itself yet: what can be adopted with a sidecar. */
export function isUnclaimed({ evidence, rank }: Judged): boolean {
  const { parsed, claimed } = evidence;
  const { candidate } = parsed;
  return (
    claimed === null &&
    rank === 'reference' &&
    parsed.line === null &&
    parsed.bytes !== null &&
    candidate.kind === 'prose' &&
    candidate.nested === null &&
    candidate.confusableWith === null &&
    !candidate.outside &&
    candidate.uses.length > 0
  );
}

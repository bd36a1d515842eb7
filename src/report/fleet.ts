import type { Judgement } from '../gate.ts';
import { escapePath, escapeText } from '../model/escaped.ts';
import type { Judged } from '../model/stages.ts';
import { exitOf, type Summary, summaryOf } from './verdicts.ts';
import type { Colours } from './verdicts-text.ts';

/** One repository of a fleet, as `check` would judge it. */
export interface FleetRow {
  /** Below the folder that was asked for, escaped and whole. */
  readonly path: string;
  /** The workspace id of its policy set; null where it has none. */
  readonly workspace: string | null;
  readonly root: 'pinned' | 'unpinned' | 'mismatch' | null;
  readonly policyVersion: number | null;
  readonly enforcement: 'enforce' | 'observe' | null;
  /** What `writ check` in it ends with. */
  readonly exit: number;
  readonly summary: Summary;
  /** Files that `load` would move to quarantine under `enforce`. */
  readonly wouldQuarantine: readonly FleetFile[];
  /** Files that want an approval which is not there, or no longer stands. */
  readonly lackApproval: readonly FleetFile[];
  /** Files below binding that a host reads as law where they lie. */
  readonly loadedRaw: readonly FleetFile[];
  /** Codes about the repository as a whole. */
  readonly findings: readonly string[];
  /** Why nothing could be judged; null where it was. */
  readonly error: string | null;
}

/** One file, with the codes that put it in the list. */
export interface FleetFile {
  readonly path: string;
  /** 1-based line of a board; null for a whole file. */
  readonly line: number | null;
  readonly codes: readonly string[];
}

/** The whole folder. */
export interface Fleet {
  readonly schema: 'writ.fleet/1';
  /** Absolute, escaped. */
  readonly folder: string;
  /** Unix ms. */
  readonly at: number;
  readonly total: FleetTotal;
  readonly repositories: readonly FleetRow[];
  /** Folders of which nothing is known: they count as unchecked. */
  readonly unsearched: readonly { readonly path: string; readonly why: string }[];
  /** Links, which are not followed. */
  readonly links: readonly string[];
}

export interface FleetTotal extends Summary {
  readonly repositories: number;
  /** With a policy set that this machine has a pin for and that stands. */
  readonly governed: number;
  /** That end in 0, in 1 and in 4. */
  readonly passed: number;
  readonly refused: number;
  readonly couldNotCheck: number;
  readonly wouldQuarantine: number;
  readonly lackApproval: number;
  readonly loadedRaw: number;
}

/** What a text that wants an approval says where it has none that stands. */
const UNAPPROVED: ReadonlySet<string> = new Set([
  'approval-missing',
  'approval-unproven',
  'approval-stale',
  'approval-expired',
  'approval-not-yet-valid',
  'approval-too-long',
  'approver-not-permitted',
  'approver-is-author',
  'approval-threshold',
  'executes-unapproved',
]);
const RAW: ReadonlySet<string> = new Set(['host-loads-raw']);
const NOTHING: Summary = { binding: 0, advisory: 0, reference: 0, quarantined: 0, unchecked: 0 };

/** The line of one repository. Files outside of it are judged with it and told nowhere: they are the same for all. */
export function toFleetRow(path: string, judgement: Judgement, strict: boolean): FleetRow {
  const { set, enforcement, findings } = judgement;
  const own = judgement.artifacts.filter((one) => one.evidence.parsed.candidate.outside !== true);
  return {
    path: whole(path),
    workspace: set.workspace === null ? null : whole(set.workspace),
    root: set.root,
    policyVersion: set.version,
    enforcement,
    exit: exitOf(judgement, strict),
    summary: summaryOf(own),
    wouldQuarantine: own.filter((one) => one.disposition === 'move').map((one) => toFile(one, refusing(one))),
    lackApproval: withCode(own, UNAPPROVED),
    loadedRaw: withCode(own, RAW),
    findings: [...new Set(findings.map((one) => one.code))],
    error: null,
  };
}

/** The line of a repository that could not be judged: never clean. */
export function failedRow(path: string, why: string): FleetRow {
  return {
    path: whole(path),
    workspace: null,
    root: null,
    policyVersion: null,
    enforcement: null,
    exit: 4,
    summary: NOTHING,
    wouldQuarantine: [],
    lackApproval: [],
    loadedRaw: [],
    findings: [],
    error: escapeText(why, 400),
  };
}

/** Adds up the rows. */
export function toFleet(
  folder: string,
  at: number,
  rows: readonly FleetRow[],
  beside: Pick<Fleet, 'unsearched' | 'links'>,
): Fleet {
  const count = (of: (row: FleetRow) => number): number => rows.reduce((sum, row) => sum + of(row), 0);
  const ended = (exit: number): number => count((row) => Number(row.exit === exit));
  return {
    schema: 'writ.fleet/1',
    folder: whole(folder),
    at,
    total: {
      repositories: rows.length,
      governed: count((row) => Number(isGoverned(row))),
      passed: ended(0),
      refused: ended(1),
      couldNotCheck: ended(4) + beside.unsearched.length,
      binding: count((row) => row.summary.binding),
      advisory: count((row) => row.summary.advisory),
      reference: count((row) => row.summary.reference),
      quarantined: count((row) => row.summary.quarantined),
      unchecked: count((row) => row.summary.unchecked),
      wouldQuarantine: count((row) => row.wouldQuarantine.length),
      lackApproval: count((row) => row.lackApproval.length),
      loadedRaw: count((row) => row.loadedRaw.length),
    },
    repositories: rows,
    unsearched: beside.unsearched.map(({ path, why }) => ({ path: whole(path), why })),
    links: beside.links.map(whole),
  };
}

/** 1 where any repository refuses, else 4 where any could not be judged whole, else 0. */
export function exitOfFleet({ total }: Fleet): 0 | 1 | 4 {
  if (total.refused > 0) return 1;
  return total.couldNotCheck > 0 ? 4 : 0;
}

/** One line a repository and a total. */
export function renderFleet(fleet: Fleet, paint: Colours, verbose: boolean): string {
  const { repositories, total, unsearched, links } = fleet;
  const width = Math.min(
    48,
    repositories.reduce((most, row) => Math.max(most, row.path.length), 10),
  );
  const columns = ['exit', 'policy', 'binding', 'quarantine', 'approval', 'raw'];
  const lines = [
    paint.dim(
      `${'repository'.padEnd(width)}  ${columns
        .map((one) => one.padEnd(10))
        .join(' ')
        .trimEnd()}`,
    ),
  ];
  for (const row of repositories) {
    const name = escapePath(row.path).padEnd(width);
    if (row.error !== null) {
      lines.push(`${name}  ${paint.red(`4          could not be judged: ${row.error}`)}`);
      continue;
    }
    const cells = [
      row.exit,
      row.workspace === null ? 'none' : row.root === 'pinned' ? (isGoverned(row) ? 'pinned' : 'refused') : row.root,
      row.summary.binding,
      row.wouldQuarantine.length,
      row.lackApproval.length,
      row.loadedRaw.length,
    ];
    const colour = row.exit === 1 ? paint.red : row.exit === 4 ? paint.yellow : (text: string): string => text;
    lines.push(
      colour(
        `${name}  ${cells
          .map((cell) => String(cell).padEnd(10))
          .join(' ')
          .trimEnd()}`,
      ),
    );
    if (!verbose) continue;
    const told = (label: string, files: readonly FleetFile[]): void => {
      for (const file of files)
        lines.push(
          paint.dim(
            `  ${label} ${escapePath(file.path)}${file.line === null ? '' : `:${file.line}`}  ${file.codes.join(', ')}`,
          ),
        );
    };
    told('would be quarantined:', row.wouldQuarantine);
    told('lacks approval:', row.lackApproval);
    told('a host loads it raw:', row.loadedRaw);
    if (row.findings.length > 0) lines.push(paint.dim(`  ${row.findings.join(', ')}`));
  }
  for (const { path, why } of unsearched) lines.push(paint.red(`${escapePath(path) || '.'}: not searched, ${why}`));
  if (links.length > 0) lines.push(paint.dim(`${links.length} links were not followed`));
  lines.push(
    '',
    paint.bold(
      `${total.repositories} repositories: ${total.passed} pass, ${total.refused} refused, ${total.couldNotCheck} could not be checked; ${total.governed} under a pinned policy set`,
    ),
    `${total.wouldQuarantine} files would be quarantined, ${total.lackApproval} lack an approval, ${total.loadedRaw} are read raw by a host`,
  );
  return `${lines.join('\n')}\n`;
}

function isGoverned(row: FleetRow): boolean {
  return row.root === 'pinned' && !row.findings.some((code) => REFUSED.has(code));
}

/** Findings under which nobody is proven although the root is pinned. */
const REFUSED: ReadonlySet<string> = new Set([
  'policy-unsigned',
  'policy-altered',
  'policy-invalid',
  'policy-below-floor',
  'policy-expired',
  'revocation-missing',
  'constitution-unavailable',
  'state-unavailable',
]);

function withCode(artifacts: readonly Judged[], codes: ReadonlySet<string>): readonly FleetFile[] {
  return artifacts
    .map((one) => ({
      one,
      // What was relieved, and what is only a note on a text that wants no approval, is not lacking.
      found: one.findings.filter(
        (found) => codes.has(found.code) && found.relief === undefined && (codes === RAW || found.effect !== 'note'),
      ),
    }))
    .filter(({ found }) => found.length > 0)
    .map(({ one, found }) =>
      toFile(
        one,
        found.map((each) => each.code),
      ),
    );
}

function refusing(one: Judged): readonly string[] {
  return one.findings.filter((found) => found.effect === 'quarantine').map((found) => found.code);
}

function toFile(one: Judged, codes: readonly string[]): FleetFile {
  const { parsed } = one.evidence;
  return { path: whole(parsed.candidate.path), line: parsed.line, codes: [...new Set(codes)] };
}

function whole(text: string): string {
  return escapeText(text, Number.POSITIVE_INFINITY);
}

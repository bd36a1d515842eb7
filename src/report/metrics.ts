import type { Judgement } from '../gate.ts';
import { escapeText } from '../model/escaped.ts';
import type { Judged } from '../model/stages.ts';
import type { OpenCount } from '../store/handoffs.ts';
import type { Catalogue } from './catalogue.ts';
import type { Summary } from './verdicts.ts';

/** What is measured besides the judgement. Times are unix milliseconds; null where there is none. */
export interface Measured {
  readonly catalogue: Pick<Catalogue, 'version' | 'entryOf'>;
  readonly summary: Summary;
  /** What `writ check` would end in. */
  readonly exit: number;
  /** Absolute path of the workspace: two clones on one machine are two series. */
  readonly root: string;
  readonly quarantine: {
    readonly held: number;
    readonly bytes: number;
    readonly faults: number;
    readonly oldest: number | null;
  };
  /** `rows: 0` for a ledger that is not there yet; null where it could not be read. */
  readonly ledger: { readonly rows: number; readonly at: number | null } | null;
  /** Handoffs somebody still owes a word on; null where state could not be read. */
  readonly handoffs: readonly OpenCount[] | null;
}

type Labels = Readonly<Record<string, string>>;
interface Family {
  readonly name: string;
  readonly help: string;
  readonly samples: readonly (readonly [Labels, number])[];
}

/** Most artifacts that get series of their own: those whose approval ends first. */
const MOST_PATHS = 1_000;

/** The state of one workspace in the text format of Prometheus, for the textfile collector. Every family is a gauge; times are seconds. */
export function renderMetrics(judgement: Judgement, measured: Measured): string {
  const common = { workspace: judgement.set.workspace ?? '', root: measured.root };
  return [...ofJudgement(judgement, measured), ...ofTimes(judgement.artifacts), ...ofMachine(measured)]
    .filter((family) => family.samples.length > 0)
    .map((family) => render(family, common))
    .join('');
}

function ofJudgement({ at, set, enforcement, artifacts, findings }: Judgement, measured: Measured): readonly Family[] {
  const { catalogue, summary, exit } = measured;
  const { unchecked, ...ranks } = summary;
  const counts = new Map<string, readonly [Labels, number]>();
  const count = (code: string, effect: string): void => {
    const key = `${code} ${effect}`;
    counts.set(key, [{ code, effect }, (counts.get(key)?.[1] ?? 0) + 1]);
  };
  for (const one of artifacts) for (const found of one.findings) count(found.code, found.effect);
  for (const found of findings) count(found.code, catalogue.entryOf(found).effect);
  return [
    one('writ_build_info', 'The writ that measured.', 1, { version: catalogue.version }),
    one('writ_last_judgement_timestamp_seconds', 'When the workspace was judged for this file.', at / 1_000),
    one('writ_check_exit_code', 'What writ check would have ended in: 0 clean, 1 refused, 4 not checked.', exit),
    one('writ_enforcing', 'Whether refusals act (1) or are only told (0).', Number(enforcement === 'enforce')),
    {
      name: 'writ_artifacts',
      help: 'Artifacts judged, by the rank they load at; what could not be checked is counted apart.',
      samples: Object.entries(ranks).map(([rank, value]) => [{ rank }, value]),
    },
    one('writ_artifacts_unchecked', 'Artifacts that could not be checked.', unchecked),
    {
      name: 'writ_findings',
      help: 'Findings by code and effect, those about the whole workspace included.',
      samples: [...counts.keys()].sort().flatMap((key) => [counts.get(key) ?? [{}, 0]]),
    },
    {
      name: 'writ_policy_root',
      help: 'How the policy set stands to the pin of this machine: 1 for the state it is in.',
      samples: ['pinned', 'unpinned', 'mismatch'].map((state) => [{ state }, Number(set.root === state)]),
    },
    one('writ_policy_intact', 'Whether the policy set is pinned, signed, unaltered and in force.', Number(set.intact)),
    one('writ_policy_version', 'Version of the policy set.', set.version),
  ];
}

function ofTimes(artifacts: readonly Judged[]): readonly Family[] {
  const files = artifacts.filter((one) => one.evidence.parsed.line === null);
  const ends = (one: Judged): number =>
    Math.min(one.approvalExpiresAt ?? Infinity, one.evidence.claimed?.manifest.expiresAt ?? Infinity);
  const timed = files.filter((one) => one.approvedBy.length > 0 || ends(one) !== Infinity);
  const shown = [...timed].sort((a, b) => ends(a) - ends(b) || 0).slice(0, MOST_PATHS);
  const by = (timeOf: (one: Judged) => number | null): Family['samples'] => {
    const samples = new Map<string, readonly [Labels, number]>();
    for (const judged of shown) {
      const value = timeOf(judged);
      // By the name as it is written: a series said twice makes the collector drop the whole file.
      const path = escapeText(judged.evidence.parsed.candidate.path, Number.POSITIVE_INFINITY);
      if (value !== null && !samples.has(path)) samples.set(path, [{ path }, value / 1_000]);
    }
    return [...samples.values()];
  };
  return [
    one('writ_approved_artifacts', 'Artifacts for which an approval stands.', count(files)),
    {
      name: 'writ_approval_issued_timestamp_seconds',
      help: 'When the newest approval that stands was given.',
      samples: by(issuedAt),
    },
    {
      name: 'writ_approval_expires_timestamp_seconds',
      help: 'When the first of the approvals that stand runs out.',
      samples: by((judged) => judged.approvalExpiresAt),
    },
    {
      name: 'writ_artifact_expires_timestamp_seconds',
      help: 'When the artifact runs out by its own manifest.',
      samples: by((judged) => judged.evidence.claimed?.manifest.expiresAt ?? null),
    },
    one(
      'writ_artifacts_without_series',
      'Artifacts with times of their own that are left out of this file.',
      timed.length - shown.length,
    ),
  ];
}

function count(files: readonly Judged[]): number {
  return files.filter((one) => one.approvedBy.length > 0).length;
}

function issuedAt({ evidence, approvedBy }: Judged): number | null {
  const { claimed, parsed, approvals } = evidence;
  const issued = approvals
    .filter(
      ({ predicate, subjects }) =>
        approvedBy.includes(predicate.approver) &&
        predicate.manifestDigest === claimed?.manifestDigest &&
        subjects.some((one) => one.name === parsed.candidate.path && one.sha256 === claimed.contentSha256),
    )
    .map((one) => one.issuedAt);
  return issued.length === 0 ? null : Math.max(...issued);
}

function ofMachine({ quarantine, ledger, handoffs }: Measured): readonly Family[] {
  const seconds = (ms: number | null): number | null => (ms === null ? null : ms / 1_000);
  return [
    one('writ_quarantine_artifacts', 'Artifacts held in quarantine.', quarantine.held),
    one('writ_quarantine_bytes', 'Size of what is held, as it was taken.', quarantine.bytes),
    one(
      'writ_quarantine_faults',
      'Things in quarantine that writ did not put there or cannot read.',
      quarantine.faults,
    ),
    one('writ_quarantine_oldest_timestamp_seconds', 'When the oldest of them was taken.', seconds(quarantine.oldest)),
    one('writ_ledger_readable', 'Whether the ledger of this machine could be read.', Number(ledger !== null)),
    one('writ_ledger_rows', 'Height of the ledger of this machine.', ledger?.rows ?? null),
    one('writ_ledger_last_decision_timestamp_seconds', 'When the newest row was written.', seconds(ledger?.at ?? null)),
    one('writ_handoffs_open', 'Handoffs that somebody still owes a word on.', total(handoffs)),
    {
      name: 'writ_handoffs',
      help: 'Open handoffs by side and state.',
      samples: (handoffs ?? []).map(({ side, state, count: value }) => [{ side, state }, value]),
    },
    {
      name: 'writ_handoffs_oldest_timestamp_seconds',
      help: 'When the oldest open handoff of a side and state was sent or received.',
      samples: (handoffs ?? []).map(({ side, state, since }) => [{ side, state }, since / 1_000]),
    },
  ];
}

function total(handoffs: readonly OpenCount[] | null): number | null {
  return handoffs === null ? null : handoffs.reduce((sum, open) => sum + open.count, 0);
}

/** A family of one sample; of none where there is no value: a made-up number would be believed. */
function one(name: string, help: string, value: number | null, labels: Labels = {}): Family {
  return { name, help, samples: value === null ? [] : [[labels, value]] };
}

function render({ name, help, samples }: Family, common: Labels): string {
  const lines = samples.map(([labels, value]) => {
    const pairs = Object.entries({ ...common, ...labels }).map(([key, text]) => `${key}="${label(text)}"`);
    return `${name}{${pairs.join(',')}} ${value}\n`;
  });
  return `# HELP ${name} ${help}\n# TYPE ${name} gauge\n${lines.join('')}`;
}

/** What hides or moves a cursor is spelt out first, line breaks among it; then as the text format asks. */
function label(text: string): string {
  return escapeText(text, Number.POSITIVE_INFINITY)
    .replaceAll('\\', '\\\\')
    .replaceAll('"', '\\"')
    .replaceAll('\n', '\\n');
}

import type { Judgement } from '../gate.ts';
import { CEILING } from '../model/artifact-class.ts';
import { entryOf } from '../model/codes.ts';
import { escapeText } from '../model/escaped.ts';
import type { Finding } from '../model/finding.ts';
import { isBelow } from '../model/rank.ts';
import type { Judged, Weighed } from '../model/stages.ts';

/** The stable answer of `check` and `load` (overview.md, faces). */
export interface VerdictsJson {
  readonly schema: 'writ.verdicts/1';
  readonly workspace: {
    readonly id: string | null;
    readonly constitution: string | null;
    readonly root: 'pinned' | 'unpinned' | 'mismatch';
    readonly policyVersion: number | null;
    readonly enforcement: 'enforce' | 'observe';
    readonly at: number;
  };
  readonly summary: Summary;
  readonly artifacts: readonly ArtifactJson[];
  readonly findings: readonly FindingJson[];
}

export interface Summary {
  readonly binding: number;
  readonly advisory: number;
  readonly reference: number;
  readonly quarantined: number;
  readonly unchecked: number;
}

export interface ArtifactJson {
  readonly path: string;
  readonly line: number | null;
  readonly id: string | null;
  readonly declaredClass: string | null;
  readonly class: string;
  readonly rank: string;
  readonly disposition: 'load' | 'withhold' | 'move';
  readonly digest: string | null;
  readonly writer: { readonly principal: string; readonly role: string; readonly via: string } | null;
  readonly approvedBy: readonly string[];
  /** Unix ms. */
  readonly expiresAt: number | null;
  readonly approvalExpiresAt: number | null;
  readonly hosts: readonly string[];
  readonly findings: readonly FindingJson[];
}

export interface FindingJson {
  readonly code: string;
  readonly effect: string;
  readonly message: string;
  readonly file?: string;
  readonly line: number | null;
  readonly column: number | null;
  readonly cure: string;
  readonly relief?: string;
}

/** Counts by rank; what could not be checked is counted apart, never as clean and never as quarantined. */
export function summaryOf(artifacts: readonly Judged[]): Summary {
  const count = (test: (one: Judged) => boolean): number => artifacts.filter(test).length;
  return {
    binding: count((one) => one.rank === 'binding'),
    advisory: count((one) => one.rank === 'advisory'),
    reference: count((one) => one.rank === 'reference'),
    quarantined: count((one) => one.rank === 'quarantined' && !one.unchecked),
    unchecked: count((one) => one.unchecked),
  };
}

export function toVerdictsJson(judgement: Judgement): VerdictsJson {
  const { set } = judgement;
  return {
    schema: 'writ.verdicts/1',
    workspace: {
      id: set.workspace,
      constitution: set.constitution,
      root: set.root,
      policyVersion: set.version,
      enforcement: judgement.enforcement,
      at: judgement.at,
    },
    summary: summaryOf(judgement.artifacts),
    artifacts: judgement.artifacts.map(toArtifactJson),
    findings: judgement.findings.map(toSetFindingJson),
  };
}

function toArtifactJson(judged: Judged): ArtifactJson {
  const { evidence, writer } = judged;
  const { parsed, claimed } = evidence;
  return {
    path: wholePath(parsed.candidate.path),
    line: parsed.line,
    id: claimed?.manifest.artifactId ?? parsed.post?.payloadDigest ?? parsed.handoff?.predicate.handoffId ?? null,
    declaredClass: judged.declaredClass,
    class: judged.class,
    rank: judged.rank,
    disposition: judged.disposition,
    digest: parsed.sha256 === null ? null : `sha256:${parsed.sha256}`,
    writer: writer === null ? null : { principal: writer.principal, role: writer.role, via: writer.via },
    approvedBy: judged.approvedBy,
    expiresAt:
      claimed?.manifest.expiresAt ?? parsed.post?.predicate.expiresAt ?? parsed.handoff?.predicate.finishBy ?? null,
    approvalExpiresAt: judged.approvalExpiresAt,
    hosts: [...new Set(parsed.candidate.uses.map((use) => use.host))].sort(),
    findings: judged.findings.map(toFindingJson),
  };
}

function toFindingJson(one: Weighed): FindingJson {
  return {
    code: one.code,
    effect: one.effect,
    message: one.message,
    ...(one.file === undefined ? {} : { file: wholePath(one.file) }),
    line: one.line,
    column: one.column,
    cure: one.cure,
    ...(one.relief === undefined ? {} : { relief: one.relief }),
  };
}

function toSetFindingJson(one: Finding): FindingJson {
  return toFindingJson({ ...one, effect: entryOf(one).effect });
}

/** A path for other tools: escaped, never cut, so that two long paths stay two. */
function wholePath(path: string): string {
  return escapeText(path, Number.POSITIVE_INFINITY);
}

/** Set findings by which the whole policy set was refused, although this machine has a pin for it. */
export const SET_REFUSALS: ReadonlySet<string> = new Set([
  'root-mismatch',
  'policy-unsigned',
  'policy-altered',
  'policy-invalid',
  'policy-below-floor',
  'policy-expired',
  'revocation-missing',
]);

/** Whether a finding says that the policy set of a workspace this machine has a pin for was refused. */
export function isSetRefusal({ set }: Judgement, { code }: Finding): boolean {
  const pinned = set.root !== 'unpinned' || set.findings.some((one) => one.code === 'policy-unsigned');
  return pinned && SET_REFUSALS.has(code);
}

/**
 * The exit code of a judgement (overview.md, faces): 1 something was refused, 4 something could not be checked, 0 neither.
 * @param strict also 1 where anything ranks below its class ceiling, or a binding artifact is missing.
 */
export function exitOf(judgement: Judgement, strict: boolean): 0 | 1 | 4 {
  const { artifacts, findings, enforcement } = judgement;
  const { quarantined, unchecked } = summaryOf(artifacts);
  // Where the machine could not look nobody is proven, and what is withheld for that alone was not refused (overview.md, state).
  const blind = findings.some((one) => entryOf(one).everywhere === true && entryOf(one).unchecked === true);
  const refused =
    (blind ? artifacts.some((one) => one.disposition === 'move') : quarantined > 0) ||
    findings.some((one) => isSetRefusal(judgement, one)) ||
    findings.some((one) => one.code === 'approval-removed');
  const below = strict && (artifacts.some(isDemoted) || findings.some((one) => one.code === 'binding-missing'));
  if ((refused || below) && enforcement === 'enforce') return 1;
  return unchecked > 0 || findings.some((one) => entryOf(one).unchecked === true) ? 4 : 0;
}

/** Whether it ranks below the ceiling of the class it declares. */
function isDemoted(judged: Judged): boolean {
  return isBelow(judged.rank, CEILING[judged.declaredClass ?? 'observation']);
}

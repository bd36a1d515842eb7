import { canBind } from '../model/artifact-class.ts';
import { type CodeName, finding } from '../model/codes.ts';
import type { Finding, FindingCode } from '../model/finding.ts';
import type { Instant } from '../model/instant.ts';
import type { PolicySet } from '../model/policy.ts';
import type { Claimed, Evidence } from '../model/stages.ts';
import { isTimed, matchesArtifact, type Standing, standingOf, standingOfCommit } from '../policy/approvals.ts';
import type { Verifying } from './verify.ts';

/** What the approvals of one artifact amount to. */
export interface Approval {
  readonly approved: boolean;
  readonly adopted: boolean;
  /** Principals whose approvals stand, sorted. */
  readonly approvedBy: readonly string[];
  readonly accepted: ReadonlySet<FindingCode>;
  readonly expiresAt: Instant | null;
  /** `<path> <sha256>` of every subject of the approvals that stand: what they cover besides the file itself. */
  readonly covered: ReadonlySet<string>;
  /** The approvals that match and stand. */
  readonly standing: readonly Standing[];
  readonly findings: readonly Finding[];
}

/**
 * Holds every approval against the artifact: all of workspace, path, bytes, id, class, level and manifest must match
 * (overview.md, approvals). Adding an approval never lowers the outcome: invalid ones are only named when nothing
 * valid stands (hard rule 5).
 */
export function weighApprovals(evidence: Evidence, claimed: Claimed, { set, spawns, now }: Verifying): Approval {
  const { manifest } = claimed;
  const matching = evidence.approvals.filter((approval) =>
    matchesArtifact(approval, evidence.parsed.candidate.path, claimed),
  );
  const { commitApproval = null } = evidence;
  const standings = [
    ...matching.map((approval) => standingOf(approval, set, spawns, now)),
    ...(commitApproval !== null && matchesArtifact(commitApproval, evidence.parsed.candidate.path, claimed)
      ? [standingOfCommit(commitApproval, set, spawns, now)]
      : []),
  ];
  const byOther = standings.filter(
    (one) => one.approver.role === 'sovereign' || one.approval.predicate.approver !== manifest.author,
  );
  const valid = byOther.filter((one) => one.problem === null);
  const names = distinct(valid);
  const needed = threshold(set, manifest.class);
  const named = manifest.approvedBy !== null && names.includes(manifest.approvedBy);
  const approved = names.length >= needed && named;
  return {
    approved,
    adopted: valid.some((one) => one.approver.role === 'sovereign'),
    approvedBy: names,
    accepted: new Set(
      valid.flatMap((one) => one.approval.predicate.accepts.map((accept) => `scan/${accept.rule}` as const)),
    ),
    expiresAt: earliest(valid),
    covered: new Set(
      valid.flatMap((one) => one.approval.subjects.map((subject) => `${subject.name} ${subject.sha256}`)),
    ),
    standing: valid,
    findings: approved
      ? []
      : (cutOff(evidence, claimed, set) ??
        explain(evidence, claimed, {
          standings,
          byOther,
          valid,
          needed,
          stale: matching.length < evidence.approvals.length,
        })),
  };
}

interface Weighing {
  readonly standings: readonly Standing[];
  readonly byOther: readonly Standing[];
  readonly valid: readonly Standing[];
  readonly needed: number;
  readonly stale: boolean;
}

function explain(evidence: Evidence, claimed: Claimed, weighing: Weighing): readonly Finding[] {
  const { manifest } = claimed;
  const { standings, byOther, valid, needed } = weighing;
  if (!canBind(manifest.class)) {
    const claims = manifest.approvedBy !== null && !distinct(valid).includes(manifest.approvedBy);
    return claims
      ? [
          finding('approval-unproven', {
            message: `approved_by names ${manifest.approvedBy}, who gave no valid approval.`,
          }),
        ]
      : [];
  }
  if (manifest.approvedBy === null) {
    return [
      finding(
        'approval-missing',
        standings.length > 0 ? { message: 'An approval exists, but approved_by is empty in the manifest.' } : {},
      ),
    ];
  }
  const inTime = [...valid, ...byOther.filter(isTimed)];
  if (distinct(inTime).length >= needed && distinct(inTime).includes(manifest.approvedBy)) {
    return byOther.filter(isTimed).map((one) => because(one.problem ?? 'approval-expired', one));
  }
  if (valid.length > 0 && distinct(valid).length < needed) {
    return [
      finding('approval-threshold', {
        message: `${distinct(valid).length} of the ${needed} principals asked for approved it.`,
      }),
    ];
  }
  const refused = byOther.filter((one) => one.problem !== null && !isTimed(one));
  if (refused.length > 0) return refused.map((one) => because(one.problem ?? 'approval-unproven', one));
  if (standings.length > byOther.length)
    return [finding('approver-is-author', { message: `The only approval comes from ${manifest.author}, the author.` })];
  if (weighing.stale) return [finding('approval-stale', { message: staleMessage(evidence, claimed) })];
  return [
    finding('approval-unproven', { message: `approved_by names ${manifest.approvedBy}, who gave no valid approval.` }),
  ];
}

/** Says which of the fields no longer matches: the reader wants to know what changed. */
function staleMessage(evidence: Evidence, claimed: Claimed): string {
  const { manifest, manifestDigest, contentSha256 } = claimed;
  const [nearest] = [...evidence.approvals].sort(
    (a, b) =>
      Number(b.predicate.artifactId === manifest.artifactId) - Number(a.predicate.artifactId === manifest.artifactId) ||
      b.issuedAt - a.issuedAt,
  );
  if (!nearest) return 'An approval exists, but not for this.';
  const subject = nearest.subjects.find((one) => one.name === evidence.parsed.candidate.path);
  const changed = [
    subject ? null : 'the path',
    subject && subject.sha256 !== contentSha256 ? 'the bytes' : null,
    nearest.predicate.artifactId === manifest.artifactId ? null : 'artifact_id',
    nearest.predicate.class === manifest.class ? null : 'class',
    nearest.predicate.level === manifest.level ? null : 'authority_level',
    nearest.predicate.manifestDigest === manifestDigest ? null : 'the manifest',
  ].filter((one) => one !== null);
  return `${nearest.predicate.approver} approved another version; since then changed: ${changed.join(', ')}.`;
}

function because(code: CodeName, standing: Standing): Finding {
  return finding(code, {
    message: `The approval of ${standing.approval.predicate.approver} does not stand: ${standing.why}.`,
    file: standing.approval.file,
  });
}

/** Where a commit of the one whom approved_by names would do, and the history is cut off, nobody can say that it is not approved. */
function cutOff({ commitHistory }: Evidence, { manifest }: Claimed, set: PolicySet): readonly Finding[] | null {
  const { approvedBy, class: cls } = manifest;
  const might = approvedBy !== null && canBind(cls) && set.policy.commits.approval.includes(approvedBy);
  return might && commitHistory === 'incomplete' ? [finding('history-incomplete')] : null;
}

function threshold(set: PolicySet, cls: Claimed['manifest']['class']): number {
  const { threshold: asked } = set.policy.approvals;
  return cls === 'constitution' ? asked.constitution : asked.policy;
}

function distinct(standings: readonly Standing[]): readonly string[] {
  return [...new Set(standings.map((one) => one.approver.principal))].sort();
}

function earliest(standings: readonly Standing[]): Instant | null {
  const ends = standings.map((one) => one.approval.predicate.expiresAt).filter((end): end is Instant => end !== null);
  return ends.length === 0 ? null : (Math.min(...ends) as Instant);
}

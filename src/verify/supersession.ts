import { canBind } from '../model/artifact-class.ts';
import { finding } from '../model/codes.ts';
import type { Finding } from '../model/finding.ts';
import type { Claimed, Evidence, LiveApproval } from '../model/stages.ts';
import { mayReplace, replaces, type Standing } from '../policy/approvals.ts';

/**
 * Supersession is read from approvals alone: a manifest's `supersedes` is a claim that has to agree with them, and an
 * unapproved artifact replaces nothing (WAJIB 8: the chain is preserved; hard rule 10).
 * @param standing the artifact's own approvals that stand.
 */
export function checkSupersession(
  evidence: Evidence,
  claimed: Claimed,
  standing: readonly Standing[],
): readonly Finding[] {
  const { manifest } = claimed;
  const { live } = evidence;
  const { path } = evidence.parsed.candidate;
  const ownDigests = new Set(standing.map((one) => one.approval.payloadDigest));
  const own = [
    ...live.filter((one) => ownDigests.has(one.payloadDigest) && one.path === path),
    ...standing.flatMap((one) => (one.approval === evidence.commitApproval ? [ofCommit(one, path)] : [])),
  ];
  const findings: Finding[] = [];
  const successor = successorOf(own, live, claimed);
  if (successor)
    findings.push(
      finding('superseded', { message: `It was replaced by ${successor.artifactId} at ${successor.path}.` }),
    );
  if (manifest.supersedes.includes(manifest.artifactId) || own.some((one) => inCircle(one, live)))
    findings.push(finding('supersession-cycle'));
  // An approval that reaches too far does not stand; the law is refused where none that stands is left. What needs no
  // approval is not refused for a void one, or dropping it would raise the rank (hard rule 5).
  const reach = own.map((one) => live.find((earlier) => isOtherArtifact(earlier, claimed) && isTooHigh(one, earlier)));
  const higher = canBind(manifest.class) && reach.every((earlier) => earlier !== undefined) ? reach[0] : undefined;
  if (higher)
    findings.push(
      finding('supersedes-higher-authority', {
        message: `It replaces ${higher.artifactId}, a ${higher.class} at ${higher.level}, which its approver could not have approved.`,
      }),
    );
  if (!successor && !higher) findings.push(...gaps(own, live, claimed, path));
  const unknown = manifest.supersedes.filter((id) => id !== manifest.artifactId && !evidence.knownIds.has(id));
  if (unknown.length > 0)
    findings.push(
      finding('supersedes-unknown', {
        message: `It claims to supersede ${unknown.join(', ')}, which no approval knows.`,
      }),
    );
  return findings;
}

/** A commit replaces nothing: it leaves no memory, so where an approval of another version still stands the two are a gap, and time cannot settle it. */
function ofCommit({ approval, approver }: Standing, path: string): LiveApproval {
  const { artifactId, class: cls, level, expiresAt } = approval.predicate;
  const { payloadDigest, issuedAt } = approval;
  const sha256 = approval.subjects[0]?.sha256 ?? '';
  return {
    payloadDigest,
    artifactId,
    class: cls,
    level,
    path,
    sha256,
    issuedAt,
    replaces: [],
    approver,
    expiresAt,
    lapsed: false,
  };
}

function successorOf(
  own: readonly LiveApproval[],
  live: readonly LiveApproval[],
  claimed: Claimed,
): LiveApproval | undefined {
  const { artifactId } = claimed.manifest;
  if (own.length === 0) {
    return live.find(
      (one) =>
        one.replaces.includes(artifactId) &&
        (one.artifactId !== artifactId || (!canBind(claimed.manifest.class) && isOtherArtifact(one, claimed))) &&
        live.every((earlier) => earlier.artifactId !== artifactId || mayReplace(one, earlier)),
    );
  }
  const replacing = own.map((one) => live.find((other) => replaces(other, one)));
  return replacing.every((one) => one !== undefined) ? replacing[0] : undefined;
}

function gaps(
  own: readonly LiveApproval[],
  live: readonly LiveApproval[],
  claimed: Claimed,
  path: string,
): readonly Finding[] {
  if (own.length === 0 || !canBind(claimed.manifest.class)) return [];
  const rival = live.find(
    (other) =>
      !other.lapsed &&
      other.companion === undefined &&
      other.path === path &&
      canBind(other.class) &&
      isOtherArtifact(other, claimed) &&
      !live.some((third) => replaces(third, other)) &&
      !own.some((one) => replaces(other, one)),
  );
  if (rival)
    return [
      finding('supersession-gap', {
        message: `${rival.artifactId} is approved for this path too, and neither replaces the other.`,
      }),
    ];
  const { artifactId, supersedes } = claimed.manifest;
  const claims = supersedes.filter((id) => id !== artifactId);
  const agrees = own.some((one) => {
    const named = one.replaces.filter((id) => id !== artifactId);
    return (
      named.every((id) => claims.includes(id)) &&
      claims.every((id) => named.includes(id) || !live.some((other) => other.artifactId === id))
    );
  });
  if (agrees) return [];
  const named = [...new Set(own.flatMap((one) => one.replaces))].filter((id) => id !== artifactId);
  return [
    finding('supersession-gap', {
      message: `Its approval replaces ${named.join(', ') || 'nothing'}, and its manifest supersedes ${claims.join(', ') || 'nothing'}.`,
    }),
  ];
}

/** Two approvals given in the same instant that replace each other: time does not say which came last. */
function inCircle(one: LiveApproval, live: readonly LiveApproval[]): boolean {
  return live.some(
    (other) =>
      other.artifactId !== one.artifactId &&
      other.issuedAt === one.issuedAt &&
      one.replaces.includes(other.artifactId) &&
      other.replaces.includes(one.artifactId),
  );
}

function isTooHigh(one: LiveApproval, earlier: LiveApproval): boolean {
  return one.replaces.includes(earlier.artifactId) && !mayReplace(one, earlier);
}

function isOtherArtifact(other: LiveApproval, claimed: Claimed): boolean {
  return other.artifactId !== claimed.manifest.artifactId || other.sha256 !== claimed.contentSha256;
}

import { canBind } from '../model/artifact-class.ts';
import { finding } from '../model/codes.ts';
import type { Finding, FindingCode } from '../model/finding.ts';
import { type Instant, isoOf, shift } from '../model/instant.ts';
import type { PolicySet } from '../model/policy.ts';
import type { Bound, Claimed, Evidence, Verified } from '../model/stages.ts';
import { revokesArtifact } from '../policy/approvals.ts';
import { SKEW_MS } from '../policy/key-lines.ts';
import type { SpawnIndex } from '../policy/spawn-life.ts';
import { weighApprovals } from './approval.ts';
import { checkSupersession } from './supersession.ts';

export const SOON_MS = 14 * 86_400_000;

export interface Verifying {
  readonly set: PolicySet;
  readonly spawns: SpawnIndex;
  readonly now: Instant;
}

/** WAJIB 8 checks 3, 4 and 5: what was approved, whether it still stands, and under which constitution. */
export function verify(bound: Bound, verifying: Verifying): Verified {
  const { evidence } = bound;
  const { parsed, claimed } = evidence;
  const { set } = verifying;
  const approval = claimed ? weighApprovals(evidence, claimed, verifying) : null;
  const findings: Finding[] = [];
  if (parsed.bytes !== null) {
    findings.push(...checkRevoked(evidence, verifying, bound.writer !== null || (approval?.standing.length ?? 0) > 0));
    if (parsed.candidate.kind === 'document' && set.documents.get(parsed.candidate.path) !== parsed.sha256) {
      findings.push(
        finding('approval-missing', {
          message: 'It is a document of the constitution, and no signed policy set covers these bytes.',
          cure: 'writ trust sign --as ROOT --key KEY',
        }),
      );
    }
    if (parsed.candidate.kind === 'executable' && !parsed.candidate.outside && approval?.approved !== true)
      findings.push(finding('executes-unapproved'));
    if (parsed.post)
      findings.push(
        ...checkTimes({ createdAt: parsed.post.issuedAt, expiresAt: parsed.post.predicate.expiresAt }, verifying.now),
      );
    if (parsed.handoff)
      findings.push(
        ...checkTimes(
          { createdAt: parsed.handoff.issuedAt, expiresAt: parsed.handoff.predicate.finishBy },
          verifying.now,
        ),
      );
    if (claimed && approval) {
      findings.push(...checkHash(evidence, claimed));
      findings.push(...checkTimes(claimed.manifest, verifying.now));
      if (claimed.manifest.class === 'operational_handoff' && claimed.manifest.expiresAt === null)
        findings.push(finding('expiry-missing'));
      findings.push(...checkConstitution(claimed, set));
      findings.push(...approval.findings);
      findings.push(...checkSupersession(evidence, claimed, approval.standing));
      findings.push(...checkClaim(claimed, approval.approved));
    }
  }
  const fields = {
    bound,
    approvedBy: approval?.approvedBy ?? documentApprovers(evidence, set),
    approvalExpiresAt: approval?.expiresAt ?? null,
    adopted: approval?.adopted ?? false,
    covered: approval?.covered ?? new Set<string>(),
    accepted: approval?.accepted ?? new Set<FindingCode>(),
    findings,
  };
  return fields as unknown as Verified;
}

/** A document of the constitution is approved by whoever is sovereign: the set's signature is their word. */
function documentApprovers(evidence: Evidence, set: PolicySet): readonly string[] {
  const { candidate, sha256 } = evidence.parsed;
  if (candidate.kind !== 'document' || set.documents.get(candidate.path) !== sha256) return [];
  return set.keys
    .filter((key) => set.roots.includes(key.fingerprint))
    .map((key) => key.principal)
    .sort();
}

/**
 * @param proven somebody is proven to have written or approved it. Only then do its class and level weigh: a claim must not lift
 * a text out of the reach of whoever revoked it (hard rule 6).
 */
function checkRevoked(evidence: Evidence, { set, spawns, now }: Verifying, proven: boolean): readonly Finding[] {
  const { parsed, claimed } = evidence;
  if (evidence.revocations.length === 0) return [];
  const digests = [parsed.sha256, claimed?.contentSha256].filter(
    (digest): digest is string => typeof digest === 'string',
  );
  const target = {
    artifactId: claimed?.manifest.artifactId ?? null,
    path: parsed.candidate.path,
    digests,
    class: proven ? (claimed?.manifest.class ?? null) : null,
    level: proven ? (claimed?.manifest.level ?? 'T1') : ('T1' as const),
  };
  const revocation = evidence.revocations.find((one) => revokesArtifact(one, target, set, spawns, now));
  return revocation
    ? [
        finding('revoked', {
          message: `It was revoked by ${revocation.predicate.by} at ${isoOf(revocation.issuedAt)}.`,
          file: revocation.file,
        }),
      ]
    : [];
}

function checkHash(evidence: Evidence, claimed: Claimed): readonly Finding[] {
  const { contentHash } = claimed.manifest;
  if (contentHash === null) return [finding('content-hash-missing')];
  if (contentHash === claimed.contentSha256) return [];
  const onlyEndings = evidence.lineEndingsOnly;
  return [
    finding('content-hash-mismatch', {
      message: onlyEndings
        ? 'The bytes differ from the ones the manifest was made for in line endings only (CRLF and LF).'
        : 'The bytes are not the ones the manifest was made for.',
      ...(onlyEndings ? { cure: 'Add `PATH -text` to .gitattributes and check the file out again.' } : {}),
    }),
  ];
}

function checkTimes(
  times: { readonly createdAt: Instant; readonly expiresAt: Instant | null },
  now: Instant,
): readonly Finding[] {
  const findings: Finding[] = [];
  if (times.createdAt > shift(now, SKEW_MS))
    findings.push(
      finding('not-yet-valid', { message: `created_at is ${isoOf(times.createdAt)}, which is still to come.` }),
    );
  if (times.expiresAt === null) return findings;
  if (times.expiresAt <= now)
    findings.push(
      finding('expired', {
        message: `It expired at ${isoOf(times.expiresAt)}: it loads as an observation, whatever its class.`,
      }),
    );
  else if (times.expiresAt <= shift(now, SOON_MS))
    findings.push(finding('expires-soon', { message: `It expires at ${isoOf(times.expiresAt)}.` }));
  return findings;
}

function checkConstitution(claimed: Claimed, set: PolicySet): readonly Finding[] {
  if (!set.intact || set.constitution === null) return [];
  const { constitution } = claimed.manifest;
  if (constitution === null)
    return canBind(claimed.manifest.class)
      ? [
          finding('constitution-mismatch', {
            message: 'The manifest does not say which constitution it was written under.',
          }),
        ]
      : [];
  const accepted = [
    set.constitution,
    ...set.policy.constitution.accepts,
    ...set.policy.constitution.accepts.map((one) => `sha256:${one}`),
  ];
  return accepted.includes(constitution) ? [] : [finding('constitution-mismatch')];
}

function checkClaim(claimed: Claimed, approved: boolean): readonly Finding[] {
  const { binding, class: cls } = claimed.manifest;
  if (!binding || (canBind(cls) && approved)) return [];
  return [finding('binding-claim')];
}

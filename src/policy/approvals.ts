import { matchesAny } from '../discover/globs.ts';
import { canBind, mayApprove } from '../model/artifact-class.ts';
import type { CodeName } from '../model/codes.ts';
import { type Instant, shift } from '../model/instant.ts';
import type { PolicySet } from '../model/policy.ts';
import type { Identity } from '../model/principal.ts';
import type { Claimed, LiveApproval } from '../model/stages.ts';
import type { ApprovalPredicate, RevocationPredicate, Statement } from '../model/statement.ts';
import { hasDeparted, type Traced, trace } from './identity.ts';
import { SKEW_MS } from './key-lines.ts';
import type { SpawnIndex } from './spawn-life.ts';

const DAY = 86_400_000;

/** How one approval stands by itself, before it is held against an artifact. */
export interface Standing {
  readonly approval: Statement<ApprovalPredicate>;
  readonly approver: Identity;
  /** Null: it stands. Otherwise the one code that says why not. */
  readonly problem: Extract<
    CodeName,
    'approval-unproven' | 'approver-not-permitted' | 'approval-expired' | 'approval-not-yet-valid' | 'approval-too-long'
  > | null;
  readonly why: string;
  /** It stands or once did: a key that was out of its window, or somebody who had gone, never replaced anything. */
  readonly stood: boolean;
}

const TIMED: ReadonlySet<string> = new Set(['approval-expired', 'approval-not-yet-valid', 'approval-too-long']);

/** @returns whether time alone keeps an approval from standing. */
export function isTimed(standing: Standing): boolean {
  return standing.problem !== null && TIMED.has(standing.problem);
}

/** Judges one approval: who signed it, may they approve this class, level and path, and is it within its window. */
export function standingOf(
  approval: Statement<ApprovalPredicate>,
  set: PolicySet,
  spawns: SpawnIndex,
  now: Instant,
): Standing {
  return standingIn('writ', approval, set, spawns, now);
}

/**
 * Judges what a signed commit says as an approval (policy.yaml, commits.approval). As any other, and: only the principals named there, and only a
 * key whose line of allowed_signers lists the namespace `git`. Spawned agents have no such line.
 */
export function standingOfCommit(
  approval: Statement<ApprovalPredicate>,
  set: PolicySet,
  spawns: SpawnIndex,
  now: Instant,
): Standing {
  const standing = standingIn('git', approval, set, spawns, now);
  const { approver } = approval.predicate;
  if (standing.problem !== null || set.policy.commits.approval.includes(approver)) return standing;
  const why = `commits.approval does not name ${approver}`;
  return { ...standing, problem: 'approver-not-permitted', why, stood: false };
}

function standingIn(
  namespace: 'writ' | 'git',
  approval: Statement<ApprovalPredicate>,
  set: PolicySet,
  spawns: SpawnIndex,
  now: Instant,
): Standing {
  const { predicate } = approval;
  let first: Standing | null = null;
  // The approver may have signed with several keys: one that stands is enough.
  for (const signer of approval.signers) {
    const found = trace(set, spawns, signer.fingerprint, namespace, now);
    if (!found || found.faults.length > 0 || found.identity.principal !== predicate.approver) continue;
    const approver = found.identity;
    const problem = permission(approval, approver, signer.userPresent, set) ?? timing(approval, found, set, now);
    if (problem === null) return { approval, approver, problem: null, why: '', stood: true };
    const stood = problem.code === 'approval-expired' && wasInWindow(approval, found);
    if (first === null || (stood && !first.stood))
      first = { approval, approver, problem: problem.code, why: problem.why, stood };
  }
  return (
    first ?? {
      approval,
      approver: { principal: predicate.approver, role: 'unknown', scopes: [], chain: [] },
      problem: 'approval-unproven',
      why: `no known key of ${predicate.approver} signed it`,
      stood: false,
    }
  );
}

/** @returns whether an approval was given for exactly this artifact: path, bytes, id, class, level and manifest all match. */
export function matchesArtifact(approval: Statement<ApprovalPredicate>, path: string, claimed: Claimed): boolean {
  const { predicate, subjects } = approval;
  const { manifest, manifestDigest, contentSha256 } = claimed;
  return (
    subjects.some((subject) => subject.name === path && subject.sha256 === contentSha256) &&
    predicate.artifactId === manifest.artifactId &&
    predicate.class === manifest.class &&
    predicate.level === manifest.level &&
    predicate.manifestDigest === manifestDigest
  );
}

/**
 * The memory of what may bind where (overview.md, approvals): approvals that stand, and those that stood once and have
 * run out or were revoked. A lapsed one approves nothing, but the version it replaced does not come back by itself.
 */
export function liveApprovals(
  standings: readonly Standing[],
  set: PolicySet,
  spawns: SpawnIndex,
  now: Instant,
): readonly LiveApproval[] {
  return standings.flatMap(({ approval, approver, problem, stood }) => {
    const { predicate, issuedAt, payloadDigest, subjects } = approval;
    if (!stood) return [];
    const { artifactId, class: cls, level, replaces: replaced, expiresAt } = predicate;
    return subjects.map((subject) => {
      const target = { artifactId, path: subject.name, digests: [subject.sha256], class: cls, level };
      const revoked = set.revocations.some((revocation) => revokesArtifact(revocation, target, set, spawns, now));
      return {
        payloadDigest,
        artifactId,
        class: cls,
        level,
        path: subject.name,
        sha256: subject.sha256,
        issuedAt,
        replaces: replaced,
        approver,
        expiresAt,
        lapsed: revoked || problem !== null,
        // Other names of the artifact have its bytes; what it imports has others.
        ...(subject.sha256 === subjects[0]?.sha256 ? {} : { companion: true as const }),
      };
    });
  });
}

/**
 * Whether a revocation that its signer was allowed to make names this artifact id or these bytes. Whoever speaks for some
 * paths only revokes nothing outside them, and somebody who departed nothing the root has not listed.
 */
export function revokesArtifact(
  revocation: Statement<RevocationPredicate>,
  target: {
    readonly artifactId: string | null;
    readonly path: string;
    readonly digests: readonly string[];
    readonly class: ApprovalPredicate['class'] | null;
    readonly level: ApprovalPredicate['level'];
  },
  set: PolicySet,
  spawns: SpawnIndex,
  now: Instant,
): boolean {
  const { predicate, signers, file, payloadDigest } = revocation;
  const named =
    (predicate.artifactId !== null && predicate.artifactId === target.artifactId) ||
    (predicate.digest !== null && target.digests.includes(predicate.digest));
  if (!named) return false;
  // What state remembers was checked when it was first seen; without an intact set nobody can be traced anew.
  if (!set.intact) return file.startsWith('state:');
  if (set.endorsed.has(payloadDigest)) return true;
  return signers.some((signer) => {
    const traced = trace(set, spawns, signer.fingerprint, 'writ', now);
    return (
      traced !== null &&
      traced.faults.length === 0 &&
      !hasDeparted(traced) &&
      mayApprove(traced.identity.role, target.class ?? 'observation', target.level) &&
      reaches(traced.identity, target.path)
    );
  });
}

/** Whether one live approval takes the place of another: it names the other's id and was given later. */
export function replaces(successor: LiveApproval, earlier: LiveApproval): boolean {
  return (
    successor.payloadDigest !== earlier.payloadDigest &&
    successor.replaces.includes(earlier.artifactId) &&
    successor.issuedAt > earlier.issuedAt &&
    !(successor.artifactId === earlier.artifactId && successor.sha256 === earlier.sha256) &&
    mayReplace(successor, earlier)
  );
}

/** @returns whether the approver of a successor could have approved what it replaces: its class, its level and its path. */
export function mayReplace({ approver }: LiveApproval, earlier: LiveApproval): boolean {
  return mayApprove(approver.role, earlier.class, earlier.level) && reaches(approver, earlier.path);
}

/** @returns whether every glob list somebody speaks for holds a path; true for every path where they have none. */
export function reaches({ scopes }: Identity, path: string): boolean {
  return scopes.every((scope) => matchesAny(path, scope));
}

/** @returns the approvals of classes that can bind which nothing live has replaced: what must be there (`binding-missing`). */
export function bindingApprovals(live: readonly LiveApproval[]): readonly LiveApproval[] {
  return live.filter(
    (approval) => !approval.lapsed && canBind(approval.class) && !live.some((other) => replaces(other, approval)),
  );
}

type Problem = { readonly code: Exclude<Standing['problem'], null>; readonly why: string };

function permission(
  approval: Statement<ApprovalPredicate>,
  approver: Identity,
  userPresent: boolean,
  set: PolicySet,
): Problem | null {
  const { predicate, subjects } = approval;
  if (!mayApprove(approver.role, predicate.class, predicate.level)) {
    return {
      code: 'approver-not-permitted',
      why: `${approver.principal} is ${approver.role}, which may not approve ${predicate.class} at ${predicate.level}`,
    };
  }
  if (!subjects.every((subject) => reaches(approver, subject.name))) {
    return { code: 'approver-not-permitted', why: `a path lies outside what ${approver.principal} speaks for` };
  }
  if (set.policy.approvals.presence === 'touch' && !userPresent) {
    return {
      code: 'approver-not-permitted',
      why: `this workspace asks for a touched security key, and ${approver.principal} signed without one`,
    };
  }
  return null;
}

/** Whether an approval was given while its key was valid; one kept when its approver departed was looked at by the root. */
function wasInWindow(approval: Statement<ApprovalPredicate>, traced: Traced): boolean {
  const { validAfter, validBefore } = traced.key ?? { validAfter: null, validBefore: null };
  return (
    isKept(approval, traced) ||
    ((validAfter === null || approval.issuedAt >= validAfter) &&
      (validBefore === null || approval.issuedAt < validBefore))
  );
}

function isKept({ payloadDigest }: Statement<ApprovalPredicate>, { entry }: Traced): boolean {
  return entry?.keeps.includes(payloadDigest) === true;
}

function timing(approval: Statement<ApprovalPredicate>, traced: Traced, set: PolicySet, now: Instant): Problem | null {
  const { predicate, issuedAt } = approval;
  const kept = isKept(approval, traced);
  if (hasDeparted(traced) && !kept)
    return { code: 'approver-not-permitted', why: `${predicate.approver} has departed` };
  if (!kept && traced.window === 'closed')
    return { code: 'approval-expired', why: `the key of ${predicate.approver} is no longer valid` };
  if (!kept && traced.window === 'early')
    return { code: 'approval-not-yet-valid', why: `the key of ${predicate.approver} is not valid yet` };
  if (issuedAt > shift(now, SKEW_MS)) return { code: 'approval-not-yet-valid', why: 'it was given in the future' };
  if (predicate.expiresAt === null || predicate.expiresAt - issuedAt > set.policy.approvals.maxDays * DAY + SKEW_MS) {
    return { code: 'approval-too-long', why: `it runs longer than ${set.policy.approvals.maxDays} days` };
  }
  if (predicate.expiresAt <= now) return { code: 'approval-expired', why: 'its time has passed' };
  return null;
}

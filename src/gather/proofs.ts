import type { WorkspaceRoot } from '../files/workspace-root.ts';
import { finding } from '../model/codes.ts';
import type { Finding } from '../model/finding.ts';
import type { Instant } from '../model/instant.ts';
import type { PolicySet } from '../model/policy.ts';
import type { ApprovalPredicate, AuthorshipPredicate, SpawnPredicate, Statement } from '../model/statement.ts';
import { liveApprovals, type Standing, standingOf } from '../policy/approvals.ts';
import { indexSpawns, NO_SPAWNS, type SpawnIndex, type SpawnLink } from '../policy/identity.ts';
import { readStatements } from '../policy/statements.ts';
import { parsePublicKey } from '../sign/public-key.ts';
import { indexLive, type LiveIndex } from './related.ts';

/** Every proof of a workspace, opened once and indexed. */
export interface Proofs {
  /** By `<path> <content sha256>`. */
  readonly authorship: ReadonlyMap<string, readonly Statement<AuthorshipPredicate>[]>;
  readonly approvals: ApprovalIndex;
  readonly spawns: SpawnIndex;
  readonly live: LiveIndex;
  readonly knownIds: ReadonlySet<string>;
  readonly findings: readonly Finding[];
}

export interface ApprovalIndex {
  readonly all: readonly Standing[];
  readonly byPath: ReadonlyMap<string, readonly Statement<ApprovalPredicate>[]>;
  readonly byId: ReadonlyMap<string, readonly Statement<ApprovalPredicate>[]>;
}

const NONE: Proofs = {
  authorship: new Map(),
  approvals: { all: [], byPath: new Map(), byId: new Map() },
  spawns: NO_SPAWNS,
  live: indexLive([]),
  knownIds: new Set(),
  findings: [],
};

/** Reads all statements under a policy set. Where no intact set judges nobody can be traced, so nothing is read. */
export function readProofs(root: WorkspaceRoot, set: PolicySet, now: Instant): Proofs {
  if (!set.intact || set.workspace === null) return NONE;
  const { dir, workspace } = set;
  const spawnFiles = readStatements(root, `${dir}/spawns`, 'spawn', workspace);
  const authorshipFiles = readStatements(root, `${dir}/authorship`, 'authorship', workspace);
  const approvalFiles = readStatements(root, `${dir}/approvals`, 'approval', workspace);
  // A proof that cannot be read may be the one that revokes, replaces or approves: what is left proves nothing by itself.
  const findings: Finding[] = [...spawnFiles.findings, ...authorshipFiles.findings, ...approvalFiles.findings];
  if (![spawnFiles, authorshipFiles, approvalFiles].every((one) => one.whole)) return { ...NONE, findings };
  const given = {
    spawns: spawnFiles.statements,
    authorship: authorshipFiles.statements,
    approvals: approvalFiles.statements,
  };
  return indexProofs(given, set, now, findings);
}

/** Every statement of a workspace, opened: what they are worth is decided against the policy set. */
export interface OpenedProofs {
  readonly spawns: readonly Statement<SpawnPredicate>[];
  readonly authorship: readonly Statement<AuthorshipPredicate>[];
  readonly approvals: readonly Statement<ApprovalPredicate>[];
}

/** Indexes opened statements under a policy set. Where no intact set judges, they prove nothing. */
export function indexProofs(given: OpenedProofs, set: PolicySet, now: Instant, before: readonly Finding[]): Proofs {
  if (!set.intact || set.workspace === null) return { ...NONE, findings: before };
  const links: SpawnLink[] = [];
  const findings = [...before];
  for (const statement of given.spawns) {
    const key = parsePublicKey(statement.predicate.publicKey);
    if (key) links.push({ statement, fingerprint: key.fingerprint });
    else
      findings.push(
        finding('statement-invalid', {
          message: `The spawn record of ${statement.predicate.actor} names no usable key.`,
          file: statement.file,
        }),
      );
  }
  const spawns = indexSpawns(links);
  const all = given.approvals.map((approval) => standingOf(approval, set, spawns, now));
  return {
    authorship: group(given.authorship, (one) => one.subjects.map((subject) => `${subject.name} ${subject.sha256}`)),
    approvals: {
      all,
      byPath: group(given.approvals, (one) => one.subjects.map((subject) => subject.name)),
      byId: group(given.approvals, (one) => [one.predicate.artifactId]),
    },
    spawns,
    live: indexLive(liveApprovals(all, set, spawns, now)),
    knownIds: new Set(
      all.filter((one) => one.approver.role !== 'unknown').map((one) => one.approval.predicate.artifactId),
    ),
    findings,
  };
}

function group<T>(list: readonly T[], keysOf: (one: T) => readonly string[]): ReadonlyMap<string, readonly T[]> {
  const groups = new Map<string, T[]>();
  for (const one of list) {
    for (const key of new Set(keysOf(one))) {
      const found = groups.get(key);
      if (found) found.push(one);
      else groups.set(key, [one]);
    }
  }
  return groups;
}

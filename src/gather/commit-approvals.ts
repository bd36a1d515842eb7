import { lstatSync, readlinkSync } from 'node:fs';
import { join, posix } from 'node:path';
import type { CommitFact } from '../git/batch.ts';
import type { Repository } from '../git/repository.ts';
import { type Instant, instantFromMs, shift } from '../model/instant.ts';
import type { PolicySet } from '../model/policy.ts';
import type { Identity } from '../model/principal.ts';
import type { Claimed, ImportFact, Parsed } from '../model/stages.ts';
import type { ApprovalPredicate, Signer, Statement, Subject } from '../model/statement.ts';
import { reaches } from '../policy/approvals.ts';
import { type SpawnIndex, trace } from '../policy/identity.ts';
import { SKEW_MS } from '../policy/key-lines.ts';
import { POLICY_FILE } from '../policy/policy-set.ts';
import { gitBlobId, sha256Hex } from '../sign/digest.ts';
import { dearmor, verifySshsig } from '../sign/sshsig.ts';

const DAY = 86_400_000;

/** What approvals by commit are looked up with. */
export interface CommitApprovals {
  /** What the commits that introduced an artifact and its manifest say as one approval; null where they say none. */
  of(one: Parsed, claimed: Claimed): Statement<ApprovalPredicate> | null;
  /** Whether the commit of the text or of a sidecar was not found because the history could not be searched to its end. */
  isCutOff(one: Parsed): boolean;
}

const NO_COMMIT_APPROVALS: CommitApprovals = { of: () => null, isCutOff: () => false };

interface Input {
  readonly parsed: readonly Parsed[];
  readonly set: PolicySet;
  readonly spawns: SpawnIndex;
  readonly repository: Repository | null;
  /** Path of the workspace within the repository, ending in `/`, or empty. */
  readonly prefix: string;
  /** Real path of the folder that was read, for where a link leads. */
  readonly root: string;
  readonly now: Instant;
  readonly imports: ReadonlyMap<string, readonly ImportFact[]>;
}

/** One commit, its signature checked and its signer traced. */
interface Approving {
  readonly fact: CommitFact;
  readonly identity: Identity;
  readonly signer: Signer;
}

/**
 * Reads what commits approve, where policy.yaml names whose commits do (`commits.approval`). Strictly: the last first-parent commit of the text, of
 * its sidecar and of every link to it must each be no merge, hold exactly these bytes, and be signed by one and the same of the principals named;
 * and the tree of each must carry this workspace’s policy.yaml with that principal named in it. So no commit of another repository counts, none made
 * before its signer knew that commits approve, and no key of a forge that merges or squashes for a person.
 */
export async function commitApprovals(input: Input): Promise<CommitApprovals> {
  const { parsed, set, repository, prefix } = input;
  const named = new Set(set.policy.commits.approval);
  if (!set.intact || repository === null || named.size === 0) return NO_COMMIT_APPROVALS;
  const paths = new Set<string>();
  const links = new Set<string>();
  for (const one of parsed) {
    if (
      one.line !== null ||
      one.bytes === null ||
      one.candidate.outside ||
      one.readings.every((reading) => reading.claimed === null)
    )
      continue;
    paths.add(prefix + (one.aliasOf ?? one.candidate.path));
    const link = one.aliasOf === null ? null : linkOn(input.root, one.candidate.path);
    if (link !== null) links.add(prefix + link.path);
    for (const reading of one.readings) if (reading.sidecar) paths.add(prefix + reading.sidecar.path);
    for (const fact of input.imports.get(one.candidate.path) ?? []) paths.add(prefix + fact.path);
  }
  for (const path of paths) links.delete(path);
  if (paths.size === 0) return NO_COMMIT_APPROVALS;
  const [{ lastCommits }, { headCommit }, { parsePolicyFile }] = await Promise.all([
    import('../git/batch.ts'),
    import('../git/git.ts'),
    import('../policy/policy-file.ts'),
  ]);
  const head = await headCommit(repository);
  if (head === null) return NO_COMMIT_APPROVALS;
  const beside = `${prefix}${set.dir}/${POLICY_FILE}`;
  const { facts, truncated } = await lastCommits(repository, head, new Set([...paths, ...links]), { links, beside });
  const policies = new Map<string, ReturnType<typeof parsePolicyFile>>();
  const policyOf = (bytes: Uint8Array): ReturnType<typeof parsePolicyFile> => {
    const text = Buffer.from(bytes).toString('utf8');
    const known = policies.get(text) ?? parsePolicyFile(text);
    policies.set(text, known);
    return known;
  };
  const approving = new Map<string, Approving | null>();
  for (const fact of facts.values()) {
    if (approving.has(fact.commit)) continue;
    const signed = signerOf(fact);
    const traced = signed === null ? null : trace(set, input.spawns, signed.fingerprint, 'git', input.now);
    const principal = traced?.identity.principal ?? '';
    const stood = traced !== null && traced.faults.length === 0 && named.has(principal) && fact.beside !== null;
    const then = stood && fact.beside ? await policyOf(fact.beside) : null;
    const knew =
      then !== null &&
      'policy' in then &&
      then.policy.workspace === set.workspace &&
      then.policy.commits.approval.includes(principal);
    approving.set(fact.commit, knew && traced && signed ? { fact, identity: traced.identity, signer: signed } : null);
  }
  const byPath = new Map(parsed.map((one) => [one.candidate.path, one]));
  const at = (path: string, bytes: Uint8Array): Approving | null => {
    const fact = facts.get(prefix + path);
    if (fact === undefined || fact.isMerge || fact.blob !== gitBlobId(bytes, repository.objectFormat)) return null;
    const found = approving.get(fact.commit);
    return found ? { ...found, fact } : null;
  };
  return {
    isCutOff(one) {
      const own = [
        one.aliasOf ?? one.candidate.path,
        ...one.readings.flatMap((reading) => reading.sidecar?.path ?? []),
      ];
      return truncated && own.some((path) => paths.has(prefix + path) && !facts.has(prefix + path));
    },
    of(one, claimed) {
      if (one.line !== null || one.bytes === null || one.candidate.outside) return null;
      const text = at(one.aliasOf ?? one.candidate.path, one.bytes);
      if (text === null) return null;
      const needed: (Approving | null)[] = [];
      // A link to a folder shows the sidecar of the file behind it once more: the one git knows speaks for both.
      const same = one.readings.filter(
        ({ claimed: other }) =>
          other === claimed ||
          (other?.manifestDigest === claimed.manifestDigest &&
            other.contentSha256 === claimed.contentSha256 &&
            other.manifest.approvedBy === claimed.manifest.approvedBy),
      );
      const carriers = same.map(({ sidecar }) => (sidecar === null ? text : at(sidecar.path, sidecar.bytes)));
      const carrier = carriers.find((found) => found !== null) ?? null;
      needed.push(carrier);
      if (one.aliasOf !== null) {
        const link = linkOn(input.root, one.candidate.path);
        // Only a link that leads straight there: a second one on the way would be a name nobody signed.
        const leads =
          link !== null &&
          posix.join(posix.dirname(link.path), link.target.toString('utf8'), link.rest) === one.aliasOf;
        needed.push(leads ? at(link.path, link.target) : null);
      }
      const { principal } = text.identity;
      if (carrier === null || needed.some((other) => other?.identity.principal !== principal)) return null;
      const subjects: Subject[] = [{ name: one.candidate.path, sha256: claimed.contentSha256 }];
      for (const fact of input.imports.get(one.candidate.path) ?? []) {
        const bytes = byPath.get(fact.path)?.bytes ?? null;
        if (fact.state !== 'judged' || fact.sha256 === null || bytes === null || fact.path === one.candidate.path)
          continue;
        const covers = at(fact.path, bytes)?.identity.principal === principal && reaches(text.identity, fact.path);
        if (covers) subjects.push({ name: fact.path, sha256: fact.sha256 });
      }
      return statementOf(
        carrier,
        [text, ...needed].flatMap((other) => other ?? []),
        subjects,
        claimed,
        input,
      );
    },
  };
}

/** Dated by the commit of the manifest, which says what was approved; one that is dated ahead of the clock is dated by that. */
function statementOf(
  carrier: Approving,
  all: readonly Approving[],
  subjects: readonly Subject[],
  { manifest, manifestDigest }: Claimed,
  { set, now }: Input,
): Statement<ApprovalPredicate> | null {
  const latest = Math.max(...all.map(({ fact }) => fact.committedAt));
  const issuedAt = instantFromMs(latest > now + SKEW_MS ? latest : carrier.fact.committedAt);
  if (issuedAt === null) return null;
  const { principal } = carrier.identity;
  return {
    predicate: {
      type: 'approval',
      artifactId: manifest.artifactId,
      class: manifest.class,
      level: manifest.level,
      approver: principal,
      manifestDigest,
      constitution: set.constitution,
      accepts: [],
      replaces: [],
      expiresAt: shift(issuedAt, set.policy.approvals.maxDays * DAY),
    },
    workspace: set.workspace ?? '',
    issuedAt,
    subjects,
    payloadDigest: sha256Hex(carrier.fact.payload),
    // Where a touch is asked for, every commit it rests on needs one.
    signers: [{ ...carrier.signer, userPresent: all.every(({ signer }) => signer.userPresent) }],
    file: `commit:${carrier.fact.commit}`,
  };
}

/** The key that signed a commit, never its author or committer field (facts 4.2). Null for a merge, and where no SSH signature verifies. */
function signerOf(fact: CommitFact): Signer | null {
  if (fact.isMerge || fact.signature === null) return null;
  const blob = dearmor(fact.signature);
  const checked = blob === null ? null : verifySshsig(blob, fact.payload, 'git');
  return checked !== null && 'signer' in checked ? checked.signer : null;
}

interface Link {
  /** Workspace-relative path of the link: the name itself, or a folder on its way. */
  readonly path: string;
  readonly target: Buffer;
  /** What of the name lies below the link; empty where the name is the link. */
  readonly rest: string;
}

/** @returns the first link on the way of a path, or null where there is none or it cannot be read. */
function linkOn(root: string, path: string): Link | null {
  const parts = path.split('/');
  for (let length = 1; length <= parts.length; length += 1) {
    const at = parts.slice(0, length).join('/');
    try {
      if (lstatSync(join(root, at)).isSymbolicLink())
        return { path: at, target: readlinkSync(join(root, at), 'buffer'), rest: parts.slice(length).join('/') };
    } catch {
      return null;
    }
  }
  return null;
}

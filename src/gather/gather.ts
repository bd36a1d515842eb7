import type { Kept } from '../files/kept.ts';
import type { CommitFact } from '../git/batch.ts';
import type { Repository } from '../git/repository.ts';
import { finding } from '../model/codes.ts';
import type { Instant } from '../model/instant.ts';
import type { PolicySet } from '../model/policy.ts';
import { ROLES } from '../model/role.ts';
import type { CommitProof, Evidence, ImportFact, Parsed } from '../model/stages.ts';
import { isTimed, matchesArtifact, standingOfCommit } from '../policy/approvals.ts';
import { trace } from '../policy/identity.ts';
import { gitBlobId, sha256Hex } from '../sign/digest.ts';
import { dearmor, verifySshsig } from '../sign/sshsig.ts';
import type { CommitApprovals } from './commit-approvals.ts';
import type { Proofs } from './proofs.ts';
import { relatedApprovals } from './related.ts';
import { type Settled, settle, type Weigh } from './settle.ts';

export interface GatherInput {
  readonly parsed: readonly Parsed[];
  readonly set: PolicySet;
  readonly proofs: Proofs;
  readonly repository: Repository | null;
  /** Path of the workspace within the repository, ending in `/`, or empty. */
  readonly prefix: string;
  readonly now: Instant;
  /** What a face that judges again and again keeps meanwhile; absent everywhere else. */
  readonly kept?: Kept | undefined;
  /** Imports by importing path. */
  readonly imports: ReadonlyMap<string, readonly ImportFact[]>;
  /** Real path of the folder that was read. */
  readonly root: string;
}

const NO_COMMITS: CommitApprovals = { of: () => null, isCutOff: () => false };

type Weighing = GatherInput & { readonly commitApprovals: CommitApprovals };

/** All the input and output that judging still needs; after this everything is pure (overview.md, the pipeline). */
export async function gather(given: GatherInput): Promise<readonly Evidence[]> {
  const { parsed, set, proofs } = given;
  const approving =
    set.policy.commits.approval.length === 0 || given.repository === null
      ? null
      : await import('./commit-approvals.ts').then((part) => part.commitApprovals({ ...given, spawns: proofs.spawns }));
  const input: Weighing = { ...given, commitApprovals: approving ?? NO_COMMITS };
  const settled = parsed.map((one) => ({ one, settled: settle(one, weigher(one, input), set) }));
  const [commits, ancestry] = await Promise.all([commitProofs(settled, input), sourceCommits(settled, input)]);
  const duplicates = findDuplicates(settled, commits, input);
  return settled.map(({ one, settled: found }) => {
    const { claimed } = found;
    const { path } = one.candidate;
    const id = claimed?.manifest.artifactId;
    const byPath = proofs.approvals.byPath.get(path) ?? [];
    const byId = id === undefined ? [] : (proofs.approvals.byId.get(id) ?? []);
    const approvals = byPath.length + byId.length === 0 ? byPath : [...new Set([...byPath, ...byId])];
    const duplicateOf = duplicates.get(one) ?? null;
    const evidence = {
      parsed: one,
      claimed,
      findings:
        duplicateOf === null
          ? found.findings
          : [
              ...found.findings,
              finding('artifact-id-duplicate', { message: `${duplicateOf} carries the same artifact_id.` }),
            ],
      strays: found.strays,
      authorship: claimed ? authorshipOf(one, claimed.contentSha256, proofs) : [],
      commit: commits.get(one.aliasOf ?? path) ?? null,
      approvals,
      commitApproval: claimed && approving !== null ? approving.of(one, claimed) : null,
      commitHistory: approving?.isCutOff(one) === true ? ('incomplete' as const) : null,
      revocations: set.revocations,
      live: claimed ? relatedApprovals(proofs.live, path, claimed) : [],
      knownIds: proofs.knownIds,
      sourceCommit: claimed ? (ancestry.get(claimed.manifest.sourceCommit ?? '') ?? 'unchecked') : 'unchecked',
      imports: input.imports.get(path) ?? [],
      lineEndingsOnly:
        claimed !== null && differsInLineEndings(claimed.content, claimed.manifest.contentHash, claimed.contentSha256),
      duplicateOf,
    };
    return evidence as unknown as Evidence;
  });
}

/** Who wrote a file is also who wrote what a link to it shows; the approval must still name the link. */
function authorshipOf(one: Parsed, contentSha256: string, proofs: Proofs): Evidence['authorship'] {
  const names = [one.candidate.path, ...(one.aliasOf === null ? [] : [one.aliasOf])];
  return names.flatMap((name) => proofs.authorship.get(`${name} ${contentSha256}`) ?? []);
}

type Pair = { readonly one: Parsed; readonly settled: Settled };

/** What stands behind a manifest of one file: an approval that stands, one that time alone keeps from standing, else the role of a proven writer. */
function weigher(one: Parsed, { proofs, set, now, commitApprovals }: Weighing): Weigh {
  const { path } = one.candidate;
  return (claimed) => {
    const approvals = proofs.approvals.all.filter((standing) => matchesArtifact(standing.approval, path, claimed));
    const byCommit = commitApprovals.of(one, claimed);
    if (byCommit !== null) approvals.push(standingOfCommit(byCommit, set, proofs.spawns, now));
    if (approvals.some((standing) => standing.problem === null)) return APPROVED + 1;
    if (approvals.some(isTimed)) return APPROVED;
    const roles = authorshipOf(one, claimed.contentSha256, proofs)
      .filter(({ predicate }) => predicate.manifestDigest === claimed.manifestDigest)
      .flatMap(({ signers }) =>
        signers.map(
          ({ fingerprint }) => trace(set, proofs.spawns, fingerprint, 'writ', now)?.identity.role ?? 'unknown',
        ),
      );
    return Math.max(0, ...roles.map((role) => ROLES.indexOf(role)));
  };
}

/** Signed commits, asked of git once for all artifacts whose writer a commit could prove; not at all where no key may sign commits. */
async function commitProofs(
  settled: readonly Pair[],
  { set, repository, prefix, kept }: GatherInput,
): Promise<ReadonlyMap<string, CommitProof>> {
  const proofs = new Map<string, CommitProof>();
  if (!set.intact || repository === null || !set.keys.some((key) => key.namespaces?.includes('git'))) return proofs;
  const wanted = settled.filter(
    ({ one, settled: found }) =>
      found.claimed !== null &&
      one.line === null &&
      one.aliasOf === null &&
      !one.candidate.outside &&
      one.bytes !== null,
  );
  if (wanted.length === 0) return proofs;
  const [{ lastCommits }, { headCommit }] = await Promise.all([import('../git/batch.ts'), import('../git/git.ts')]);
  const head = await headCommit(repository);
  if (head === null) return proofs;
  const facts = await askKept(
    kept,
    'commits',
    await historyOf(repository, head),
    wanted.map(({ one }) => prefix + one.candidate.path),
    async (paths) => {
      const found = await lastCommits(repository, head, new Set(paths));
      return { answers: found.facts, whole: !found.truncated && found.fault === null };
    },
  );
  const signers = new Map<string, string | null>();
  for (const { one } of wanted) {
    const fact = facts.get(prefix + one.candidate.path);
    if (!fact || one.bytes === null) continue;
    if (!signers.has(fact.commit)) signers.set(fact.commit, commitSigner(fact));
    const fingerprint = signers.get(fact.commit) ?? null;
    if (fingerprint !== null)
      proofs.set(one.candidate.path, {
        commit: fact.commit,
        fingerprint,
        sameBlob: gitBlobId(one.bytes, repository.objectFormat) === fact.blob,
      });
  }
  return proofs;
}

/** All that answers about the history behind HEAD depend on: the commit, and where a shallow clone cuts it off. Objects never change. */
async function historyOf(repository: Repository, head: string): Promise<string> {
  const { shallowStamp } = await import('../git/head.ts');
  return `${repository.gitDir} ${head} ${shallowStamp(repository)}`;
}

/** Asks git only what was not asked of the same history before; an answer that may be cut short is not kept. */
async function askKept<T>(
  kept: Kept | undefined,
  what: string,
  history: string,
  names: readonly string[],
  ask: (names: readonly string[]) => Promise<{ readonly answers: ReadonlyMap<string, T>; readonly whole: boolean }>,
): Promise<ReadonlyMap<string, T>> {
  const answers = new Map<string, T>();
  const open = names.filter((name) => {
    const known = kept?.get<{ readonly answer: T | undefined }>(`${what} ${name}`, history);
    if (known?.answer !== undefined) answers.set(name, known.answer);
    return known === undefined;
  });
  if (open.length === 0) return answers;
  const asked = await ask(open);
  for (const name of open) {
    const answer = asked.answers.get(name);
    if (answer !== undefined) answers.set(name, answer);
    if (asked.whole) kept?.put(`${what} ${name}`, history, { answer });
  }
  return answers;
}

/** The key that signed a commit, never its author field (facts 4.2). */
function commitSigner(fact: CommitFact): string | null {
  if (fact.signature === null) return null;
  const blob = dearmor(fact.signature);
  if (blob === null) return null;
  const checked = verifySshsig(blob, fact.payload, 'git');
  return 'signer' in checked ? checked.signer.fingerprint : null;
}

async function sourceCommits(
  settled: readonly Pair[],
  { set, repository, kept }: GatherInput,
): Promise<ReadonlyMap<string, Evidence['sourceCommit']>> {
  const states = new Map<string, Evidence['sourceCommit']>([['', 'missing']]);
  const named = [...new Set(settled.flatMap(({ settled: found }) => found.claimed?.manifest.sourceCommit ?? []))];
  if (named.length === 0 || !set.intact) return states;
  if (repository === null) return new Map([...states, ...named.map((commit) => [commit, 'unknown'] as const)]);
  const [{ ancestors, headCommit }, { isShallow }] = await Promise.all([
    import('../git/git.ts'),
    import('../git/head.ts'),
  ]);
  const head = await headCommit(repository);
  const known =
    head === null
      ? new Map<string, true>()
      : await askKept(kept, 'ancestor', await historyOf(repository, head), named, async (commits) => ({
          answers: new Map([...(await ancestors(repository, commits))].map((commit) => [commit, true] as const)),
          whole: true,
        }));
  const absent = known.size === named.length ? 'unknown' : isShallow(repository) ? 'shallow' : 'unknown';
  for (const commit of named) states.set(commit, known.has(commit) ? 'known' : absent);
  return states;
}

/**
 * Two artifacts with one id: only an approved one makes the other give way, and what nobody is proven to have written
 * gives way to any. So a copy that is not approved never lowers what is (hard rule 10). Names of one file are no duplicates.
 */
function findDuplicates(
  settled: readonly Pair[],
  commits: ReadonlyMap<string, CommitProof>,
  input: Weighing,
): ReadonlyMap<Parsed, string> {
  const byId = new Map<string, Pair[]>();
  for (const pair of settled) {
    const id = pair.settled.claimed?.manifest.artifactId;
    if (id === undefined) continue;
    const list = byId.get(id);
    if (list) list.push(pair);
    else byId.set(id, [pair]);
  }
  const duplicates = new Map<Parsed, string>();
  for (const pairs of byId.values()) {
    if (pairs.length < 2) continue;
    const held = pairs.map((pair) => ({ pair, weight: weightOf(pair, commits, input) }));
    for (const { pair, weight } of held) {
      if (weight > APPROVED) continue;
      const rival = held.find(
        (other) =>
          other.pair !== pair && (other.weight > APPROVED || weight === 0) && fileOf(other.pair) !== fileOf(pair),
      );
      if (rival) duplicates.set(pair.one, rival.pair.one.candidate.path);
    }
  }
  return duplicates;
}

const APPROVED = ROLES.length;

function fileOf({ one }: Pair): string {
  return `${one.aliasOf ?? one.candidate.path}:${one.line ?? ''}`;
}

function weightOf({ one, settled }: Pair, commits: ReadonlyMap<string, CommitProof>, input: Weighing): number {
  const { claimed } = settled;
  if (!claimed) return 0;
  const commit = one.line === null ? commits.get(one.candidate.path) : undefined;
  return Math.max(weigher(one, input)(claimed), commit?.sameBlob ? commitWeight(commit, input) : 0);
}

/** A commit proves no more than policy.yaml grants its signer: agents commit with the keys of people. */
function commitWeight({ fingerprint }: CommitProof, { set, proofs, now }: GatherInput): number {
  const signer = trace(set, proofs.spawns, fingerprint, 'git', now);
  if (signer === null) return 0;
  const { perPrincipal, authorship } = set.policy.commits;
  const { principal, role } = signer.identity;
  const granted = perPrincipal.has(principal) ? (perPrincipal.get(principal) ?? null) : authorship;
  return granted === null ? 0 : Math.min(ROLES.indexOf(granted), ROLES.indexOf(role));
}

function differsInLineEndings(content: string, wanted: string | null, found: string): boolean {
  if (wanted === null || wanted === found) return false;
  const unix = content.replaceAll('\r\n', '\n');
  return sha256Hex(unix) === wanted || sha256Hex(unix.replaceAll('\n', '\r\n')) === wanted;
}

import { matchesAny } from '../discover/globs.ts';
import { type ArtifactClass, classOfKind, type Level, mayAuthor, mayClaim } from '../model/artifact-class.ts';
import { CAP, effectOf, entryOf, finding } from '../model/codes.ts';
import { escapePath } from '../model/escaped.ts';
import type { Finding } from '../model/finding.ts';
import type { Instant } from '../model/instant.ts';
import type { PolicySet } from '../model/policy.ts';
import { RANKS } from '../model/rank.ts';
import { outranks, type Role } from '../model/role.ts';
import type { Bound, Evidence, Writer } from '../model/stages.ts';
import { type SpawnIndex, type Traced, trace } from '../policy/identity.ts';

/** What judging knows besides the evidence. */
export interface Judging {
  readonly set: PolicySet;
  readonly spawns: SpawnIndex;
  /** Taken once at the edge. */
  readonly now: Instant;
}

/** What the artifact says it is; every field is a claim. */
interface Claims {
  readonly class: ArtifactClass;
  readonly level: Level;
  /** Null where nothing names an author, as on a board line. */
  readonly author: string | null;
}

interface Candidate {
  readonly writer: Writer;
  readonly findings: readonly Finding[];
}

/**
 * WAJIB 8 check 1, and its write-side bind: ties the text to a key, the key to a principal, the principal to a role, and
 * asks whether that role may say this. The payload\u2019s own words for author, role or kind are never evidence.
 */
export function bind(evidence: Evidence, judging: Judging): Bound {
  const { parsed, claimed } = evidence;
  const result = (writer: Writer | null, findings: readonly Finding[]): Bound =>
    ({ evidence, writer, findings }) as unknown as Bound;
  if (parsed.post) {
    const { board } = parsed.post.predicate;
    if (board !== parsed.candidate.path || parsed.post.workspace !== judging.set.workspace)
      return result(null, [
        finding('board-kind-unproven', {
          message: `The signed line was made for ${escapePath(board)} in ${escapePath(parsed.post.workspace)}, not for this board: it loads as an observation.`,
        }),
      ]);
    const claims: Claims = {
      class: classOfKind(parsed.post.predicate.kind),
      level: 'T1',
      author: parsed.post.predicate.author,
    };
    const found = parsed.post.signers.flatMap((signer) =>
      candidate(trace(judging.set, judging.spawns, signer.fingerprint, 'writ', judging.now), 'post', claims, evidence),
    );
    return choose(found, claims, result);
  }
  if (parsed.handoff) return result(...envelopeOf(parsed.handoff, evidence, judging));
  if (!claimed) return result(null, parsed.line !== null ? [finding('board-kind-unproven')] : []);
  const { manifest } = claimed;
  const claims: Claims = { class: manifest.class, level: manifest.level, author: manifest.author };
  const commitFindings = sourceCommit(evidence);
  const candidates = [...fromStatements(evidence, judging, claims), ...fromCommit(evidence, judging, claims)];
  return choose(candidates, claims, (writer, findings) => result(writer, [...findings, ...commitFindings]));
}

/** A handoff envelope that lies in a file is as good as its sender is proven; else it is a text without a manifest, whatever it says of itself. */
function envelopeOf(
  { predicate, signers, workspace }: NonNullable<Evidence['parsed']['handoff']>,
  evidence: Evidence,
  judging: Judging,
): readonly [Writer | null, readonly Finding[]] {
  const claims: Claims = { class: 'operational_handoff', level: predicate.level, author: predicate.from };
  const found = signers
    .flatMap(({ fingerprint }) =>
      candidate(trace(judging.set, judging.spawns, fingerprint, 'writ', judging.now), 'statement', claims, evidence),
    )
    .find((one) => one.findings.length === 0);
  if (workspace === judging.set.workspace && found !== undefined) return [found.writer, []];
  const message = 'It is the envelope of a handoff whose sender is not proven here: it loads as an observation.';
  return [null, [finding('manifest-missing', { message })]];
}

/** Takes the candidate that costs the least rank, so that one more proof can never lower a verdict (hard rule 5). */
function choose(
  candidates: readonly Candidate[],
  claims: Claims,
  result: (writer: Writer | null, findings: readonly Finding[]) => Bound,
): Bound {
  const ranked = candidates.map((one) => ({ ...one, cost: cost(one.findings, claims.class) }));
  ranked.sort(
    (a, b) =>
      b.cost - a.cost ||
      a.findings.length - b.findings.length ||
      Number(outranks(b.writer.role, a.writer.role)) - Number(outranks(a.writer.role, b.writer.role)),
  );
  const [best] = ranked;
  if (!best) return result(null, [finding('writer-unproven')]);
  const known = best.writer.role !== 'unknown';
  return result(known ? best.writer : null, best.findings);
}

function cost(findings: readonly Finding[], declaredClass: ArtifactClass): number {
  return Math.min(
    ...findings.map((one) => RANKS.indexOf(CAP[effectOf(entryOf(one), { declaredClass, strict: false })])),
    RANKS.length,
  );
}

function fromStatements(evidence: Evidence, judging: Judging, claims: Claims): readonly Candidate[] {
  const { claimed, parsed } = evidence;
  if (!claimed) return [];
  const { manifest, manifestDigest, contentSha256 } = claimed;
  return evidence.authorship
    .filter(
      ({ predicate, subjects }) =>
        subjects.some(
          (subject) =>
            (subject.name === parsed.candidate.path || subject.name === parsed.aliasOf) &&
            subject.sha256 === contentSha256,
        ) &&
        predicate.artifactId === manifest.artifactId &&
        predicate.class === manifest.class &&
        predicate.level === manifest.level &&
        predicate.author === manifest.author &&
        predicate.sourceCommit === manifest.sourceCommit &&
        predicate.manifestDigest === manifestDigest,
    )
    .flatMap(({ signers, payloadDigest }) =>
      signers.flatMap((signer) =>
        candidate(
          trace(judging.set, judging.spawns, signer.fingerprint, 'writ', judging.now),
          'statement',
          claims,
          evidence,
          payloadDigest,
        ),
      ),
    );
}

function fromCommit(evidence: Evidence, judging: Judging, claims: Claims): readonly Candidate[] {
  const { commit } = evidence;
  if (!commit?.sameBlob) return [];
  const traced = trace(judging.set, judging.spawns, commit.fingerprint, 'git', judging.now);
  if (!traced) return [];
  const role = commitRole(judging.set, traced.identity.principal, traced.identity.role);
  return role === null
    ? []
    : candidate({ ...traced, identity: { ...traced.identity, role } }, 'commit', claims, evidence);
}

/** Agents on a developer's laptop commit with the developer's key: a commit proves at most what policy.yaml says, never more than the principal holds. */
function commitRole(set: PolicySet, principal: string, held: Role): Role | null {
  const { commits } = set.policy;
  const granted = commits.perPrincipal.has(principal)
    ? (commits.perPrincipal.get(principal) ?? null)
    : commits.authorship;
  if (granted === null) return null;
  return outranks(granted, held) ? held : granted;
}

function candidate(
  traced: Traced | null,
  via: Writer['via'],
  claims: Claims,
  evidence: Evidence,
  payloadDigest?: string,
): readonly Candidate[] {
  if (!traced) return [];
  const { identity, window, entry, faults } = traced;
  const kept = payloadDigest && entry?.keeps.includes(payloadDigest);
  if (!kept && (window !== 'open' || (entry !== null && entry.departed !== null))) return [];
  const findings: Finding[] = [...faults];
  const { principal, role, scopes, chain } = identity;
  const { path } = evidence.parsed.candidate;
  if (!scopes.every((scope) => matchesAny(path, scope))) {
    findings.push(finding('spawn-path', { message: `${principal} may not speak for this path.` }));
  }
  if (claims.author !== null && claims.author !== principal) {
    findings.push(
      finding('author-mismatch', {
        message: `The manifest names ${claims.author}; the proven writer is ${principal}.`,
      }),
    );
  }
  if (faults.length === 0) {
    if (!mayAuthor(role, claims.class))
      findings.push(
        finding('role-forbids-class', { message: `${principal} is ${role}, which may not author ${claims.class}.` }),
      );
    if (!mayClaim(role, claims.level))
      findings.push(
        finding('level-exceeds-writer', { message: `${principal} is ${role}, which may not claim ${claims.level}.` }),
      );
  }
  return [{ writer: { principal, role, via, chain }, findings }];
}

function sourceCommit(evidence: Evidence): readonly Finding[] {
  switch (evidence.sourceCommit) {
    case 'missing':
      return [finding('source-commit-missing')];
    case 'unknown':
      return [finding('source-commit-unknown')];
    case 'shallow':
      return [finding('source-commit-unknown', { message: 'The source commit is not in this shallow clone.' })];
    default:
      return [];
  }
}

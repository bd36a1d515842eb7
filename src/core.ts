import { kindByName, matcherOf } from './discover/matcher.ts';
import { judgeEvidence } from './gate.ts';
import { gather } from './gather/gather.ts';
import { givenImports } from './gather/given-imports.ts';
import { indexProofs, type Proofs } from './gather/proofs.ts';
import type { Finding } from './model/finding.ts';
import { type Instant, instantFromMs } from './model/instant.ts';
import type { PolicySet } from './model/policy.ts';
import type { Candidate } from './model/source.ts';
import type { Evidence, Judged, Parsed } from './model/stages.ts';
import type { Predicate, Statement } from './model/statement.ts';
import { parseBoard, type RawLine } from './parse/board.ts';
import { parseArtifact } from './parse/parse.ts';
import { type GivenPin, openGivenSet } from './policy/given-set.ts';
import { DEFAULT_RULES } from './scan/default-rules.ts';
import type { Rule } from './scan/rule.ts';
import { compileUserRules } from './scan/user-rules.ts';
import { isRelativePath } from './sign/field-form.ts';
import type { Refused } from './sign/refusal.ts';
import { openStatement } from './sign/statement.ts';

export type { ArtifactClass } from './model/artifact-class.ts';
export { CODES, type CodeEntry, type CodeName, entryOf, SCAN_CODES } from './model/codes.ts';
export type { Effect, FindingCode, Severity } from './model/finding.ts';
export type { Manifest } from './model/manifest.ts';
export { RANKS, type Rank } from './model/rank.ts';
export type { Weighed, Writer } from './model/stages.ts';
export type { Predicate, Signer, Subject } from './model/statement.ts';
export type { Evidence, Finding, GivenPin, Instant, Judged, Parsed, PolicySet, Refused, Statement };

/** One file as its reader found it. Strings are taken as UTF-8. */
export interface File {
  /** Workspace-relative, `/` as separator. What the hosts make of it follows from this. */
  readonly path: string;
  readonly content: Uint8Array | string;
  /** `<path>.manifest.yaml` and `<path>.manifest.json`, where they lie beside it. */
  readonly sidecars?: readonly { readonly path: string; readonly content: Uint8Array | string }[];
}

/** What people decided, opened and checked once. */
export interface Policy {
  readonly set: PolicySet;
  readonly proofs: Proofs;
  readonly rules: readonly Rule[];
  /** When it was opened: whether a signature still holds was asked then. */
  readonly at: Instant;
}

/** Everything signed that was found for a workspace. */
export interface Signed {
  /** `policy.dsse.json`. */
  readonly set: Uint8Array | string;
  /** The files it lists. */
  readonly files: readonly File[];
  /** The envelopes under `spawns/`, `authorship/`, `approvals/` and `revocations/`, in any order. All of them: one left out may be a revocation. */
  readonly statements: readonly (Uint8Array | string)[];
}

const places = matcherOf(null, [], false);

/** @returns the instant for a count of unix milliseconds. Throws a RangeError for what is none; a count of seconds is none. */
export function instant(ms: number): Instant {
  const at = instantFromMs(ms);
  if (at === null) throw new RangeError(`${ms} is no count of milliseconds since 1970`);
  return at;
}

/** What reading one file gave. */
export interface Read {
  /** One artifact, or one for each line of a board that can be read. */
  readonly artifacts: readonly Parsed[];
  /** About lines of a board that were skipped. */
  readonly findings: readonly Finding[];
}

/**
 * Reads a text and every manifest found for it. Never throws for what the bytes are: what can't be read carries the finding. Throws a TypeError for a
 * path that is not relative to a workspace. The caller bounds the size.
 */
export async function parse({ path, content, sidecars = [] }: File): Promise<Read> {
  if (!isRelativePath(path)) throw new TypeError('a path has to be relative to the workspace, with / as separator');
  const candidate = candidateOf(path);
  const bytes = toBytes(content);
  if (candidate.kind === 'board') {
    const { lines, findings } = parseBoard(candidate, linesOf(bytes));
    return { artifacts: lines, findings };
  }
  const read = (of: Uint8Array) => ({ bytes: of, mode: 0o644, links: 1, aliasOf: null });
  const beside = sidecars.map((one) => ({ path: one.path, read: read(toBytes(one.content)) }));
  return { artifacts: [await parseArtifact(candidate, read(bytes), beside)], findings: [] };
}

/** Verifies a signed statement and reads the very bytes verified. Proves which keys signed; who they are, and whether they may, is for `judge`. */
export function verifyStatement(envelope: Uint8Array | string, file = ''): Statement | Refused {
  return openStatement(toBytes(envelope), file);
}

/** Opens what people decided, under a pin from outside the workspace. Where the set doesn't hold nobody is proven, and its findings say why. A statement that does not verify proves nothing. */
export async function openPolicy(signed: Signed, pin: GivenPin, now: Instant): Promise<Policy> {
  const opened = signed.statements
    .map((one) => verifyStatement(one))
    .filter((one): one is Statement => !('refused' in one) && one.workspace === pin.workspace);
  const set = await openGivenSet(
    {
      envelope: toBytes(signed.set),
      files: new Map(signed.files.map((file) => [file.path, toBytes(file.content)])),
      revocations: only(opened, 'revocation'),
    },
    pin,
    now,
  );
  const own = await compileUserRules(set.ruleFiles, DEFAULT_RULES);
  const held = own.findings.length === 0 ? set : { ...set, intact: false };
  const given = {
    spawns: only(opened, 'spawn'),
    authorship: only(opened, 'authorship'),
    approvals: only(opened, 'approval'),
  };
  return { set: held, proofs: indexProofs(given, held, now, own.findings), rules: own.rules, at: now };
}

/** Gathers all evidence for artifacts that are judged together. There is no git here: no commit proves a writer, and an import of what is not given is missing. */
export async function evidenceFor(
  parsed: readonly Parsed[],
  policy: Policy,
  now: Instant,
): Promise<readonly Evidence[]> {
  const { set, proofs } = openedFor(policy, now);
  return gather({ parsed, set, proofs, repository: null, prefix: '', now, imports: givenImports(parsed), root: '/' });
}

/** Judges evidence: pure, no file, clock or process. The verdicts are those of the command, by path and line. Throws a RangeError for another instant than the policy was opened for. */
export function judge(evidence: readonly Evidence[], policy: Policy, now: Instant): readonly Judged[] {
  const { set, proofs, rules } = openedFor(policy, now);
  return judgeEvidence(evidence, {
    set,
    spawns: proofs.spawns,
    rules,
    setFindings: proofs.findings,
    now,
    isPlace: () => true,
    onProgress: null,
  });
}

/** A policy that is kept would outlive its own end. */
function openedFor(policy: Policy, now: Instant): Policy {
  if (policy.at !== now) throw new RangeError('the policy was opened for another instant: open it anew');
  return policy;
}

function candidateOf(path: string): Candidate {
  const slash = path.lastIndexOf('/');
  const folder = places.folder(slash < 0 ? '' : path.slice(0, slash));
  const hit = places.hit(path.slice(slash + 1), folder);
  return {
    path,
    kind: hit?.kind ?? kindByName(path),
    uses: hit?.uses ?? [],
    nested: folder.nested,
    confusableWith: hit?.confusableWith ?? null,
    outside: false,
    importHops: hit?.hops ?? 0,
  };
}

function* linesOf(bytes: Uint8Array): Generator<RawLine> {
  for (let from = 0, line = 1; from < bytes.length; line += 1) {
    const end = bytes.indexOf(0x0a, from);
    const to = end === -1 ? bytes.length : end;
    yield { line, bytes: bytes.subarray(from, to) };
    from = to + 1;
  }
}

function only<T extends Predicate['type']>(
  all: readonly Statement[],
  type: T,
): readonly Statement<Extract<Predicate, { type: T }>>[] {
  const seen = new Set<string>();
  return all.filter((one): one is Statement<Extract<Predicate, { type: T }>> => {
    if (one.predicate.type !== type || seen.has(one.payloadDigest)) return false;
    seen.add(one.payloadDigest);
    return true;
  });
}

function toBytes(content: Uint8Array | string): Uint8Array {
  return typeof content === 'string' ? Buffer.from(content, 'utf8') : content;
}

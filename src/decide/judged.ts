import { CEILING, classOfKind } from '../model/artifact-class.ts';
import { type CodeName, entryOf, finding } from '../model/codes.ts';
import { escapePath } from '../model/escaped.ts';
import type { Finding } from '../model/finding.ts';
import type { Instant } from '../model/instant.ts';
import type { Exception, PolicySet } from '../model/policy.ts';
import type { Candidate } from '../model/source.ts';
import type { Judged, Parsed, Reading, Scanned } from '../model/stages.ts';
import { sha256Hex } from '../sign/digest.ts';
import { type Case, decide } from './decide.ts';

/** What a verdict takes from outside the artifact. */
export interface Bench {
  readonly set: PolicySet;
  /** Findings about the whole workspace that came before the set was read. */
  readonly setFindings: readonly Finding[];
  readonly now: Instant;
}

/** The same bench with other codes in audit. */
export function withAudit(bench: Bench, audit: ReadonlySet<CodeName>): Bench {
  return { ...bench, set: { ...bench.set, policy: { ...bench.set.policy, audit } } };
}

/** Puts every finding of one artifact before `decide` and states the verdict. */
export function toJudged(scanned: Scanned, imports: readonly Finding[], { set, setFindings, now }: Bench): Judged {
  const { verified } = scanned;
  const { bound } = verified;
  const { evidence } = bound;
  const { parsed, claimed } = evidence;
  const declaredClass = claimed?.manifest.class ?? postClass(parsed) ?? handoffClass(parsed) ?? documentClass(parsed);
  const rises = declaredClass !== null && CEILING[declaredClass] !== 'reference';
  const everywhere = rises ? [...setFindings, ...set.findings].filter((one) => entryOf(one).everywhere === true) : [];
  const findings = [
    ...parsed.findings,
    ...evidence.findings,
    ...bound.findings,
    ...verified.findings,
    ...scanned.findings,
    ...imports,
    ...everywhere,
  ];
  const of: Case = {
    declaredClass,
    findings,
    accepted: verified.accepted,
    excepted: exceptedOf(findings, parsed, claimed?.manifest.artifactId ?? null, set.exceptions, now),
    audit: set.policy.audit,
    strict: set.policy.unmanifested === 'quarantined',
    adopted: verified.adopted,
    intact: set.intact,
    movable: isMovable(parsed),
    ceilings: set.policy.classes,
  };
  const decision = decide(of);
  // Executable configuration has no reference rank: approved or not used (overview.md, faces). Outside the workspace it is the user's own: told alone.
  const { kind, outside } = parsed.candidate;
  const executable = kind === 'executable' && !outside && decision.rank === 'reference';
  const judged = {
    ...(executable ? decide({ ...of, findings: [...findings, finding('executes-unapproved')] }) : decision),
    evidence,
    declaredClass,
    writer: bound.writer,
    approvedBy: verified.approvedBy,
    approvalExpiresAt: verified.approvalExpiresAt,
  };
  return withRawNote(judged as unknown as Judged);
}

/** A sidecar that lost against an approved manifest is an artifact of its own, refused alone. */
export function refuseStray(beside: Judged, stray: Reading): Judged {
  const sidecar = stray.sidecar ?? { path: beside.evidence.parsed.candidate.path, bytes: new Uint8Array() };
  const { parsed } = beside.evidence;
  const weighed = {
    ...finding('manifest-ambiguous', {
      message: `It claims to speak for ${escapePath(parsed.candidate.path)}, for which another manifest is approved.`,
    }),
    effect: 'quarantine' as const,
  };
  const evidence = {
    ...beside.evidence,
    parsed: {
      ...parsed,
      candidate: { ...parsed.candidate, path: sidecar.path, kind: 'prose' as const, uses: [] },
      bytes: sidecar.bytes,
      sha256: sha256Hex(sidecar.bytes),
      text: null,
      readings: [],
      aliasOf: null,
      findings: [],
    },
    claimed: null,
    strays: [],
    imports: [],
  };
  const judged = {
    ...beside,
    evidence,
    rank: 'quarantined',
    declaredClass: null,
    class: 'observation',
    writer: null,
    approvedBy: [],
    approvalExpiresAt: null,
    disposition: 'move',
    unchecked: false,
    findings: [weighed],
  };
  return judged as unknown as Judged;
}

/** Adds the note that a host will read the file as law all the same (overview.md, faces). */
function withRawNote(judged: Judged): Judged {
  const { candidate, line } = judged.evidence.parsed;
  if (
    judged.rank === 'binding' ||
    line !== null ||
    candidate.nested !== null ||
    candidate.kind === 'document' ||
    judged.disposition === 'move'
  )
    return judged;
  const raw = rawHosts(candidate.uses);
  if (raw === '' || candidate.confusableWith !== null) return judged;
  const note = {
    ...finding('host-loads-raw', {
      message:
        candidate.kind === 'executable'
          ? `It is not approved, but ${raw} will obey it where it lies.`
          : `It ranks ${judged.rank}, but ${raw} will read it as law where it lies.`,
    }),
    effect: 'note' as const,
  };
  return { ...judged, findings: [...judged.findings, note] };
}

const named = new WeakMap<Candidate['uses'], string>();

/** The hosts that load it at launch, as words; the files of a folder share one list of uses. */
function rawHosts(uses: Candidate['uses']): string {
  const known = named.get(uses);
  if (known !== undefined) return known;
  const hosts = uses.filter((use) => use.loads === 'launch' && use.host !== 'generic').map((use) => use.host);
  const made = [...new Set(hosts)].sort().join(', ');
  named.set(uses, made);
  return made;
}

const NONE: ReadonlySet<number> = new Set();

function exceptedOf(
  findings: readonly Finding[],
  parsed: Parsed,
  artifactId: string | null,
  exceptions: readonly Exception[],
  now: Instant,
): ReadonlySet<number> {
  if (exceptions.length === 0) return NONE;
  const standing = exceptions.filter(
    (one) =>
      one.until > now &&
      one.path === parsed.candidate.path &&
      (one.artifactId === null || one.artifactId === artifactId),
  );
  const covered = new Set<number>();
  // One exception, one match: the first finding of its code.
  for (const one of standing) {
    const index = findings.findIndex((found) => found.code === one.code);
    if (index !== -1) covered.add(index);
  }
  return covered;
}

function postClass({ post }: Parsed): Judged['declaredClass'] {
  return post ? classOfKind(post.predicate.kind) : null;
}

function handoffClass({ handoff }: Parsed): Judged['declaredClass'] {
  return handoff ? 'operational_handoff' : null;
}

function documentClass(parsed: Parsed): Judged['declaredClass'] {
  return parsed.candidate.kind === 'document' ? 'constitution' : null;
}

/** Never moved: dependencies, files outside, board lines, constitution documents, and what could not be read; a link that leads out is moved as a link. */
function isMovable({ candidate, line, bytes, findings }: Parsed): boolean {
  if (candidate.nested !== null || candidate.outside || candidate.kind === 'document' || line !== null) return false;
  return bytes !== null || findings.some((one) => one.code === 'path-escapes-root');
}

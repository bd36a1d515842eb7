import { bind } from '../../src/bind/bind.ts';
import { toJudged, withAudit } from '../../src/decide/judged.ts';
import { indexLive, relatedApprovals } from '../../src/gather/related.ts';
import type { ArtifactClass, Level } from '../../src/model/artifact-class.ts';
import { AUDITABLE, CODES, type CodeName, finding } from '../../src/model/codes.ts';
import type { Finding, Severity } from '../../src/model/finding.ts';
import type { Instant } from '../../src/model/instant.ts';
import type { Manifest } from '../../src/model/manifest.ts';
import type { Exception, Policy, PolicySet } from '../../src/model/policy.ts';
import type { AllowedKey, PrincipalEntry } from '../../src/model/principal.ts';
import type { Rank } from '../../src/model/rank.ts';
import type { Role } from '../../src/model/role.ts';
import type { Candidate } from '../../src/model/source.ts';
import type {
  Claimed,
  CommitProof,
  Evidence,
  ImportFact,
  Judged,
  LiveApproval,
  Parsed,
  Reading,
  Scanned,
  Verified,
} from '../../src/model/stages.ts';
import type {
  ApprovalPredicate,
  AuthorshipPredicate,
  RevocationPredicate,
  SpawnPredicate,
  Statement,
} from '../../src/model/statement.ts';
import { liveApprovals, standingOf } from '../../src/policy/approvals.ts';
import { DEFAULT_POLICY, unprovenSet } from '../../src/policy/defaults.ts';
import { indexSpawns, type SpawnIndex, type SpawnLink } from '../../src/policy/identity.ts';
import { CONTEXTS, type Family, type Rule } from '../../src/scan/rule.ts';
import { type ScanSettings, scanArtifact } from '../../src/scan/scan-artifact.ts';
import { checkImports } from '../../src/verify/imports.ts';
import { verify } from '../../src/verify/verify.ts';
import { type ApprovalFact, authorOf, BEST, type Facts, type WriterFact } from './facts.ts';

export const NOW = 1_790_000_000_000 as Instant;
export const HOUR = 3_600_000;
export const DAY = 24 * HOUR;
export const WORKSPACE = 'github.com/acme/app';
export const PATH = 'docs/rules.md';
export const ID = 'artifact-a';
export const CONSTITUTION = `sha256:${'c'.repeat(64)}`;
export const LABEL = 'F1-F13-2026.05.05';
export const OLD_HASH = 'd'.repeat(64);
const OTHER_ID = 'artifact-b';
const EARLIER_ID = 'artifact-c';

export function ago(ms: number): Instant {
  return (NOW - ms) as Instant;
}

export function fp(name: string): string {
  return `SHA256:${name}`;
}

/** A stand-in for sha256: distinct inputs give distinct digests, nothing else is asked of it here. */
export function digestOf(text: string): string {
  return `h(${text})`;
}

const ROLE_OF: Readonly<Record<string, Role>> = {
  f13: 'sovereign',
  lead: 'approver',
  lead2: 'approver',
  'lead-closed': 'approver',
  'lead-early': 'approver',
  'lead-gone': 'approver',
  'lead-pay': 'approver',
  orch: 'orchestrator',
  orch2: 'orchestrator',
  'orch-git': 'orchestrator',
  'orch-closed': 'orchestrator',
  'orch-gone': 'orchestrator',
  'orch-pay': 'orchestrator',
  spec: 'specialist',
};

const ENTRIES: ReadonlyMap<string, PrincipalEntry> = new Map(
  Object.entries(ROLE_OF).map(([name, role]) => [
    name,
    {
      role,
      paths: name.endsWith('-pay') ? ['services/pay/**'] : null,
      departed: name.endsWith('-gone') ? ago(DAY) : null,
      keeps: [],
    },
  ]),
);

const KEYS: readonly AllowedKey[] = Object.keys(ROLE_OF).map((name) => ({
  principal: name,
  fingerprint: fp(name),
  keyType: 'ssh-ed25519',
  publicKey: `ssh-ed25519 ${name}`,
  namespaces: ['writ', 'git'],
  validAfter: name.endsWith('-early') ? ((NOW + DAY) as Instant) : null,
  validBefore: name.endsWith('-closed') ? ago(DAY) : null,
}));

const POLICIES = [1, 2].map((threshold) =>
  (['none', 'touch'] as const).map(
    (presence): Policy => ({
      ...DEFAULT_POLICY,
      workspace: WORKSPACE,
      constitution: { documents: ['policies/constitution.md'], accepts: [LABEL, OLD_HASH] },
      principals: ENTRIES,
      approvals: { threshold: { policy: threshold, constitution: threshold }, maxDays: 365, presence },
      commits: { authorship: 'specialist', perPrincipal: new Map([['orch-git', 'orchestrator']]), approval: [] },
    }),
  ),
);

export const INTACT: PolicySet = {
  root: 'pinned',
  intact: true,
  workspace: WORKSPACE,
  version: 3,
  floor: 1,
  constitution: CONSTITUTION,
  dir: 'policies',
  policy: POLICIES[0]?.[0] as Policy,
  keys: KEYS,
  roots: [fp('f13')],
  exceptions: [],
  revocations: [],
  documents: new Map([['policies/constitution.md', digestOf('constitution')]]),
  ruleFiles: [],
  endorsed: new Set(),
  digest: 'set',
  findings: [],
};

// --- statements, as if opened -------------------------------------------------------------------------------------

let serial = 0;

export function statement<P extends Statement['predicate']>(
  predicate: P,
  signer: string,
  detail: { issuedAt?: number; subjects?: readonly (readonly [string, string])[]; touched?: boolean; file?: string },
): Statement<P> {
  serial += 1;
  return {
    predicate,
    workspace: WORKSPACE,
    issuedAt: (detail.issuedAt ?? NOW - 10 * DAY) as Instant,
    subjects: (detail.subjects ?? []).map(([name, sha256]) => ({ name, sha256 })),
    payloadDigest: `payload-${serial}`,
    signers: [{ fingerprint: fp(signer), keyType: 'ssh-ed25519', userPresent: detail.touched === true }],
    file: detail.file ?? `policies/statements/${serial}.dsse.json`,
  };
}

function spawn(
  actor: string,
  parent: string,
  role: SpawnPredicate['role'],
  detail: Partial<SpawnPredicate> & { key?: string } = {},
): SpawnLink {
  const predicate: SpawnPredicate = {
    type: 'spawn',
    actor,
    role,
    parent,
    publicKey: `ssh-ed25519 ${actor}`,
    paths: detail.paths ?? ['docs/**'],
    expiresAt: detail.expiresAt ?? ((NOW + 4 * HOUR) as Instant),
    session: null,
  };
  return { statement: statement(predicate, parent, { issuedAt: NOW - HOUR }), fingerprint: fp(detail.key ?? actor) };
}

export const LINKS: Readonly<Record<string, readonly SpawnLink[]>> = {
  'kid-o': [spawn('kid-o', 'orch', 'orchestrator')],
  'kid-s': [spawn('kid-s', 'orch', 'specialist')],
  grandkid: [
    spawn('middle', 'orch', 'orchestrator'),
    spawn('middle2', 'middle', 'orchestrator'),
    spawn('grandkid', 'middle2', 'orchestrator'),
  ],
  'kid-broken': [spawn('kid-broken', 'nobody', 'orchestrator')],
  'kid-expired': [spawn('kid-expired', 'orch', 'orchestrator', { expiresAt: ago(1) })],
  'kid-wide': [spawn('kid-wide', 'spec', 'orchestrator')],
  'kid-twice': [spawn('kid-twice', 'orch', 'orchestrator'), spawn('kid-twice', 'orch2', 'orchestrator')],
  'kid-away': [spawn('kid-away', 'orch', 'orchestrator', { paths: ['services/**'] })],
};

export const ALL_LINKS: readonly SpawnLink[] = Object.values(LINKS).flat();
export const SPAWNS: SpawnIndex = indexSpawns(ALL_LINKS);

// --- the artifact -------------------------------------------------------------------------------------------------

const EXPIRES: Readonly<Record<Facts['expires'], Instant | null>> = {
  never: null,
  past: ago(1),
  now: NOW,
  soon: (NOW + 13 * DAY) as Instant,
  far: (NOW + 15 * DAY) as Instant,
};
const CREATED: Readonly<Record<Facts['created'], Instant>> = {
  past: ago(20 * DAY),
  skewed: (NOW + 299_000) as Instant,
  future: (NOW + 301_000) as Instant,
};
const BASELINE: Readonly<Record<Facts['constitution'], string | null>> = {
  today: CONSTITUTION,
  label: LABEL,
  'bare hash': `sha256:${OLD_HASH}`,
  another: `sha256:${'e'.repeat(64)}`,
  null: null,
};
const CONTENT = digestOf('content');
const HASHES: Readonly<Record<Facts['hash'], string | null>> = {
  equal: CONTENT,
  another: digestOf('another'),
  'line endings': digestOf('crlf'),
  null: null,
};
const SUPERSEDES: Partial<Readonly<Record<Facts['chain'], readonly string[]>>> = {
  'replaces lower': [EARLIER_ID],
  'replaces higher': [EARLIER_ID],
  'claims unreplaced': [EARLIER_ID],
  'claims unknown': ['artifact-z'],
  'claims itself': [ID],
  circle: [OTHER_ID],
};

export function manifestOf(facts: Facts): Manifest {
  return {
    artifactId: ID,
    class: facts.class ?? 'observation',
    author: authorOf(facts),
    sourceCommit: facts.commit === 'missing' ? null : 'f'.repeat(40),
    level: facts.level,
    approvedBy: facts.approvedBy,
    binding: facts.binding,
    createdAt: CREATED[facts.created],
    expiresAt: EXPIRES[facts.expires],
    constitution: BASELINE[facts.constitution],
    supersedes: SUPERSEDES[facts.chain] ?? [],
    contentHash: HASHES[facts.hash],
    unknown: {},
  };
}

/** What formats.md says the manifest digest covers: everything but approved_by and binding. */
export function stamp(manifest: Manifest): string {
  const { approvedBy: _approved, binding: _binding, ...rest } = manifest;
  return JSON.stringify(rest);
}

export function claimedOf(manifest: Manifest, content: string, sidecar: string | null = null): Claimed {
  return {
    manifest,
    carrier: sidecar === null ? 'front-matter' : 'sidecar',
    manifestDigest: stamp(manifest),
    contentSha256: content,
    content: '',
    sidecar,
    line: 1,
    span: null,
  };
}

export function authorship(
  manifest: Manifest,
  key: string,
  subject: readonly [string, string],
): Statement<AuthorshipPredicate> {
  return statement(
    {
      type: 'authorship',
      artifactId: manifest.artifactId,
      class: manifest.class,
      level: manifest.level,
      author: manifest.author,
      manifestDigest: stamp(manifest),
      sourceCommit: manifest.sourceCommit,
    },
    key,
    { subjects: [subject] },
  );
}

interface Proof {
  readonly statements: readonly Statement<AuthorshipPredicate>[];
  readonly commit: CommitProof | null;
}

function proofOf(writer: WriterFact, manifest: Manifest): Proof {
  const signed = (key: string, content = CONTENT, of = manifest): Proof => ({
    statements: [authorship(of, key, [PATH, content])],
    commit: null,
  });
  const committed = (key: string, sameBlob = true): Proof => ({
    statements: [],
    commit: { commit: 'a'.repeat(40), fingerprint: fp(key), sameBlob },
  });
  switch (writer) {
    case 'none':
      return { statements: [], commit: null };
    case 'orch-commit':
      return committed('orch');
    case 'orch-git-commit':
      return committed('orch-git');
    case 'lead-commit':
      return committed('lead');
    case 'other-blob':
      return committed('orch-git', false);
    case 'other-bytes':
      return signed('orch', digestOf('other bytes'));
    case 'other-manifest':
      return signed('orch', CONTENT, { ...manifest, createdAt: ago(21 * DAY) });
    case 'closed':
    case 'gone':
    case 'pay':
      return signed(`orch-${writer}`);
    case 'spec+orch':
      return { statements: [...signed('spec').statements, ...signed('orch').statements], commit: null };
    case 'kid-broken+orch':
      return { statements: [...signed('kid-broken').statements, ...signed('orch').statements], commit: null };
    case 'spec+commit':
      return { statements: signed('spec').statements, commit: committed('orch-git').commit };
    default:
      return signed(writer);
  }
}

const OWN_ISSUED = NOW - 10 * DAY;

export function approvalOf(
  manifest: Manifest,
  fact: ApprovalFact,
  detail: {
    readonly issuedAt?: number;
    readonly replaces?: readonly string[];
    readonly path?: string;
    readonly content?: string;
  } = {},
): Statement<ApprovalPredicate> {
  const off = fact.off ?? null;
  const level: Level = off === 'level' ? (manifest.level === 'T1' ? 'T2' : 'T1') : manifest.level;
  const cls: ArtifactClass = off === 'class' ? (manifest.class === 'policy' ? 'guidance' : 'policy') : manifest.class;
  const issuedAt = fact.life === 'future' ? NOW + HOUR : (detail.issuedAt ?? OWN_ISSUED);
  const ends = { expired: NOW, future: NOW + 90 * DAY, long: issuedAt + 367 * DAY, endless: null } as const;
  return statement(
    {
      type: 'approval',
      artifactId: off === 'id' ? 'artifact-y' : manifest.artifactId,
      class: cls,
      level,
      approver: fact.by,
      manifestDigest: off === 'manifest' ? 'another' : stamp(manifest),
      constitution: CONSTITUTION,
      accepts: (fact.accepts ?? []).map((rule) => ({ rule, reason: 'known' })),
      replaces: [...(detail.replaces ?? []), ...(fact.replaces ?? [])],
      expiresAt: (fact.life ? ends[fact.life] : NOW + 90 * DAY) as Instant | null,
    },
    fact.key ?? fact.by,
    {
      issuedAt,
      touched: fact.touched === true,
      subjects: [
        [
          off === 'path' ? 'docs/moved.md' : (detail.path ?? PATH),
          off === 'bytes' ? digestOf('older') : (detail.content ?? CONTENT),
        ],
      ],
    },
  );
}

function another(
  id: string,
  by: string,
  detail: { level?: Level; path?: string; issuedAt?: number; replaces?: string[]; life?: 'expired' } = {},
) {
  const manifest: Manifest = { ...manifestOf(BEST), artifactId: id, level: detail.level ?? 'T1' };
  return approvalOf(
    manifest,
    { by, ...(detail.life ? { life: detail.life } : {}) },
    {
      issuedAt: detail.issuedAt ?? OWN_ISSUED + DAY,
      replaces: detail.replaces ?? [],
      path: detail.path ?? PATH,
      content: digestOf(`another ${id}`),
    },
  );
}

/** Approvals of other artifacts that each chain fact puts beside this one. */
const OTHERS: Readonly<Record<Facts['chain'], readonly Statement<ApprovalPredicate>[]>> = {
  alone: [],
  'successor by lead': [another(OTHER_ID, 'lead', { replaces: [ID] })],
  'successor by f13': [another(OTHER_ID, 'f13', { replaces: [ID] })],
  'successor elsewhere': [another(OTHER_ID, 'f13', { replaces: [ID], path: 'docs/new.md' })],
  'successor given before': [another(OTHER_ID, 'f13', { replaces: [ID], issuedAt: OWN_ISSUED - DAY })],
  'successor revoked': [another(OTHER_ID, 'f13', { replaces: [ID] })],
  'successor expired': [another(OTHER_ID, 'f13', { replaces: [ID], life: 'expired' })],
  'successor by spec': [another(OTHER_ID, 'spec', { replaces: [ID] })],
  rival: [another(OTHER_ID, 'f13')],
  'newer version': [another(ID, 'f13', { replaces: [ID] })],
  'replaces lower': [another(EARLIER_ID, 'lead', { path: 'docs/old.md', issuedAt: OWN_ISSUED - DAY })],
  'replaces higher': [another(EARLIER_ID, 'f13', { level: 'T3', path: 'docs/old.md', issuedAt: OWN_ISSUED - DAY })],
  'higher beside': [another(EARLIER_ID, 'f13', { level: 'T3', path: 'docs/old.md', issuedAt: OWN_ISSUED - DAY })],
  'replaces unclaimed': [another(EARLIER_ID, 'lead', { path: 'docs/old.md', issuedAt: OWN_ISSUED - DAY })],
  'claims unreplaced': [another(EARLIER_ID, 'lead', { path: 'docs/old.md', issuedAt: OWN_ISSUED - DAY })],
  'claims unknown': [],
  'claims itself': [],
  circle: [another(OTHER_ID, 'f13', { replaces: [ID], path: 'docs/new.md', issuedAt: OWN_ISSUED })],
};

const OWN_REPLACES: Partial<Readonly<Record<Facts['chain'], readonly string[]>>> = {
  'replaces lower': [EARLIER_ID],
  'replaces higher': [EARLIER_ID],
  'replaces unclaimed': [EARLIER_ID],
  circle: [OTHER_ID],
};

export function revocation(
  target: Partial<RevocationPredicate>,
  by: string,
  file?: string,
): Statement<RevocationPredicate> {
  return statement(
    {
      type: 'revocation',
      artifactId: null,
      digest: null,
      publicKey: null,
      actor: null,
      by,
      reason: 'wrong',
      ...target,
    },
    by,
    file === undefined ? {} : { file },
  );
}

const OF_OTHER = revocation({ artifactId: OTHER_ID }, 'f13');
const REVOKING: Readonly<Record<Facts['revoked'], readonly Statement<RevocationPredicate>[]>> = {
  none: [],
  'id by f13': [revocation({ artifactId: ID }, 'f13')],
  'id by lead': [revocation({ artifactId: ID }, 'lead')],
  'digest by f13': [revocation({ digest: CONTENT }, 'f13')],
  'digest by lead': [revocation({ digest: CONTENT }, 'lead')],
  'id by spec': [revocation({ artifactId: ID }, 'spec')],
  'id by stranger': [revocation({ artifactId: ID }, 'stranger')],
  'other id': [revocation({ artifactId: 'artifact-q' }, 'f13')],
  remembered: [revocation({ artifactId: ID }, 'f13', 'state:abc')],
};

// --- scan ---------------------------------------------------------------------------------------------------------

function scanRule(id: string, severity: Severity, family: Family = 'override'): Rule {
  return {
    id,
    family,
    severity,
    contexts: CONTEXTS,
    weak: [],
    literals: [`trip-${id}`],
    patterns: [[{ pattern: new RegExp(`trip-${id}`, 'g'), within: 0, lines: false }]],
    detector: null,
    why: 'A test rule.',
  };
}
export const RULES: readonly Rule[] = [
  scanRule('notice', 'notice'),
  scanRule('suspect', 'suspect'),
  scanRule('block', 'block'),
  scanRule('mismatch', 'suspect', 'intent-mismatch'),
  scanRule('claims', 'suspect', 'intent-claims-authority'),
];
const TEXTS: Readonly<Record<Facts['scan'], string>> = {
  clean: 'A plain line.',
  notice: 'trip-notice',
  suspect: 'trip-suspect',
  block: 'trip-block',
  incomplete: 'A plain line.',
  'intent-mismatch': 'trip-mismatch',
  'intent-claims-authority': 'trip-claims',
};

export function settingsOf(facts: Facts): ScanSettings {
  return { rules: RULES, workLimit: facts.scan === 'incomplete' ? 0 : 64 };
}

// --- the policy set -----------------------------------------------------------------------------------------------

const EVERY_CODE = new Set(Object.keys(CODES) as CodeName[]);
const EXCEPTED: readonly string[] = Object.keys(CODES).filter((code) => CODES[code as CodeName].exceptable === true);

function exceptions(path: string, until: number): readonly Exception[] {
  return EXCEPTED.map((code, index) => ({
    code,
    path,
    artifactId: null,
    owner: 'lead',
    reason: 'known',
    until: until as Instant,
    line: index + 1,
  }));
}

const SET_CACHE = new Map<string, { readonly set: PolicySet; readonly setFindings: readonly Finding[] }>();

export function setOf(facts: Facts): { readonly set: PolicySet; readonly setFindings: readonly Finding[] } {
  const key = `${facts.set} ${facts.mode} ${facts.threshold} ${facts.presence} ${facts.revoked} ${facts.chain === 'successor revoked'}`;
  const known = SET_CACHE.get(key);
  if (known) return known;
  const revocations = [...REVOKING[facts.revoked], ...(facts.chain === 'successor revoked' ? [OF_OTHER] : [])];
  const policy = POLICIES[facts.threshold - 1]?.[facts.presence === 'touch' ? 1 : 0] as Policy;
  const full: PolicySet = {
    ...INTACT,
    policy: {
      ...policy,
      unmanifested: facts.mode === 'strict' ? 'quarantined' : 'reference',
      audit: facts.mode === 'audit' ? EVERY_CODE : new Set(),
    },
    exceptions:
      facts.mode === 'excepted'
        ? exceptions(PATH, NOW + DAY)
        : facts.mode === 'excepted elsewhere'
          ? exceptions('docs/other.md', NOW + DAY)
          : facts.mode === 'exception over'
            ? exceptions(PATH, NOW)
            : [],
    revocations,
  };
  const made = ((): { set: PolicySet; setFindings: readonly Finding[] } => {
    switch (facts.set) {
      case 'intact':
        return { set: full, setFindings: [] };
      case 'state-unavailable':
        return { set: { ...full, intact: false }, setFindings: [finding('state-unavailable')] };
      case 'revocation-missing':
        return { set: { ...full, intact: false, findings: [finding('revocation-missing')] }, setFindings: [] };
      case 'constitution-unavailable':
        return {
          set: { ...full, intact: false, constitution: null, findings: [finding('constitution-unavailable')] },
          setFindings: [],
        };
      default:
        return {
          set: unprovenSet({
            root: facts.set === 'root-unpinned' ? 'unpinned' : facts.set === 'root-mismatch' ? 'mismatch' : 'pinned',
            workspace: WORKSPACE,
            version: 3,
            dir: 'policies',
            findings: [finding(facts.set)],
            revocations,
          }),
          setFindings: [],
        };
    }
  })();
  SET_CACHE.set(key, made);
  return made;
}

// --- evidence -----------------------------------------------------------------------------------------------------

const UNREAD: ReadonlySet<Facts['read']> = new Set([
  'path-unreadable',
  'too-large',
  'changed-while-reading',
  'path-escapes-root',
]);
const BYTES = new Uint8Array(1);
const COMPANION = 'docs/more.md';

const IMPORTED: Readonly<
  Record<Facts['imports'], { readonly facts: readonly ImportFact[]; readonly rank: Rank | null }>
> = {
  none: { facts: [], rank: null },
  missing: { facts: [imported('missing')], rank: null },
  escapes: { facts: [imported('escapes')], rank: null },
  lower: { facts: [imported('judged')], rank: 'reference' },
  'lower covered': { facts: [imported('judged')], rank: 'reference' },
  refused: { facts: [imported('judged')], rank: 'quarantined' },
  'refused covered': { facts: [imported('judged')], rank: 'quarantined' },
  binding: { facts: [imported('judged')], rank: 'binding' },
};

function imported(state: ImportFact['state']): ImportFact {
  return { path: COMPANION, line: 3, column: 1, state, sha256: state === 'judged' ? digestOf('companion') : null };
}

export function candidateAt(path: string, detail: Partial<Candidate> = {}): Candidate {
  return {
    path,
    kind: 'prose',
    uses: [],
    nested: null,
    confusableWith: null,
    outside: false,
    importHops: 4,
    ...detail,
  };
}

export function parsedAt(candidate: Candidate, detail: Partial<Parsed>): Parsed {
  return {
    candidate,
    line: null,
    bytes: BYTES,
    mode: 0o644,
    sha256: digestOf(candidate.path),
    text: { read: () => 'A plain line.' },
    readings: [],
    aliasOf: null,
    post: null,
    findings: [],
    ...detail,
  } as unknown as Parsed;
}

export function reading(claimed: Claimed, sidecar: string | null = null): Reading {
  return { claimed, fault: null, notes: [], sidecar: sidecar === null ? null : { path: sidecar, bytes: BYTES } };
}

export interface Built {
  readonly evidence: Evidence;
  readonly set: PolicySet;
  readonly setFindings: readonly Finding[];
  readonly spawns: SpawnIndex;
}

/** What may be taken away from a state, to see what a missing proof does. */
export interface Without {
  readonly spawns?: SpawnIndex;
  readonly approval?: number;
  readonly statement?: number;
  readonly commit?: true;
  /** The payload the reader finds, where it differs from the one the proofs were made for. */
  readonly payload?: Partial<Manifest>;
}

/** Builds the evidence of one state as `gather` would, with statements as already opened values. */
export function build(facts: Facts, without: Without = {}): Built {
  const { set, setFindings } = setOf(facts);
  const spawns = without.spawns ?? SPAWNS;
  const silent = UNREAD.has(facts.read) || facts.read === 'not-text';
  const manifest = manifestOf(facts);
  const has = facts.class !== null && !silent;
  const shown = without.payload ? { ...manifest, ...without.payload } : manifest;
  const claimed = has ? claimedOf(shown, CONTENT) : null;
  const covers = facts.imports === 'lower covered' || facts.imports === 'refused covered';
  const own = facts.approvals
    .map((fact) => approvalOf(manifest, fact, { replaces: OWN_REPLACES[facts.chain] ?? [] }))
    .map((one) =>
      covers ? { ...one, subjects: [...one.subjects, { name: COMPANION, sha256: digestOf('companion') }] } : one,
    )
    .filter((_, index) => index !== without.approval);
  const all = [...own, ...OTHERS[facts.chain]];
  const standings = all.map((one) => standingOf(one, set, spawns, NOW));
  const live: readonly LiveApproval[] = set.intact ? liveApprovals(standings, set, spawns, NOW) : [];
  const { statements, commit } = proofOf(facts.writer, manifest);
  const candidate = candidateAt(PATH, {
    nested: facts.read === 'nested-repository' ? 'vendor' : null,
    outside: facts.read === 'outside-workspace',
    confusableWith: facts.read === 'path-confusable' ? 'docs/rules2.md' : null,
  });
  const evidence = {
    parsed: parsedAt(candidate, {
      bytes: UNREAD.has(facts.read) ? null : BYTES,
      sha256: UNREAD.has(facts.read) ? null : has ? digestOf('file') : CONTENT,
      text: silent ? null : { read: () => TEXTS[facts.scan] },
      aliasOf: facts.read === 'symlink-alias' ? 'docs/real.md' : null,
      findings: facts.read === 'read' ? [] : [finding(facts.read)],
    }),
    claimed,
    findings: facts.class === null && !silent ? [finding('manifest-missing')] : [],
    strays: [],
    authorship: has ? statements.filter((_, index) => index !== without.statement) : [],
    commit: has && without.commit !== true ? commit : null,
    approvals: all.filter(
      (one) => one.predicate.artifactId === ID || one.subjects.some((subject) => subject.name === PATH),
    ),
    revocations: set.revocations,
    live: claimed ? relatedApprovals(indexLive(live), PATH, claimed) : [],
    knownIds: new Set(
      standings.filter((one) => one.approver.role !== 'unknown').map((one) => one.approval.predicate.artifactId),
    ),
    sourceCommit: has ? facts.commit : 'unchecked',
    imports: silent ? [] : IMPORTED[facts.imports].facts,
    lineEndingsOnly: facts.hash === 'line endings',
    duplicateOf: null,
  } as unknown as Evidence;
  return { evidence, set, setFindings, spawns };
}

const SCANNED = new Map<string, readonly Finding[]>();

/** The findings `scanArtifact` gives, kept by all it may depend on; a test holds the keeping against the real call. */
export function scanOnce(verified: Verified, settings: ScanSettings): Scanned {
  const { parsed, claimed } = verified.bound.evidence;
  const key = `${parsed.text?.read()} ${settings.workLimit} ${claimed?.manifest.class} ${parsed.candidate.kind}`;
  let findings = SCANNED.get(key);
  if (findings === undefined) {
    findings = scanArtifact(verified, settings).findings;
    SCANNED.set(key, findings);
  }
  return { verified, findings } as unknown as Scanned;
}

/** Takes a state through the real checks in the order of the gate. */
export function judgeFacts(facts: Facts, without: Without = {}, scan = scanOnce): Judged {
  return judgeBuilt(build(facts, without), settingsOf(facts), IMPORTED[facts.imports].rank, scan);
}

export function judgeBuilt(built: Built, settings: ScanSettings, importedRank: Rank | null, scan = scanOnce): Judged {
  const { evidence, set, setFindings, spawns } = built;
  const judging = { set, spawns, now: NOW };
  const bench = { set, setFindings, now: NOW };
  const scanned = scan(verify(bind(evidence, judging), judging), settings);
  const alone = toJudged(scanned, [], bench);
  const { rank } = toJudged(scanned, [], withAudit(bench, AUDITABLE));
  const found = checkImports(evidence.imports, rank, () => importedRank, scanned.verified.covered);
  return found.length === 0 ? alone : toJudged(scanned, found, bench);
}

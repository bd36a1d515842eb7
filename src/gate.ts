import { join } from 'node:path';
import { bind } from './bind/bind.ts';
import { type Bench, refuseStray, toJudged, withAudit } from './decide/judged.ts';
import { withTruncation } from './decide/truncation.ts';
import { type Expected, missingBindings, unusedExceptions } from './decide/workspace.ts';
import { discover } from './discover/discover.ts';
import { discoverOutside } from './discover/outside.ts';
import { discoverUser } from './discover/user.ts';
import { exists } from './files/read-once.ts';
import { openRoot, toRelative, type WorkspaceRoot } from './files/workspace-root.ts';
import { gather } from './gather/gather.ts';
import { type Proofs, readProofs } from './gather/proofs.ts';
import { orphanFindings, readCandidates } from './gather/read-candidates.ts';
import { type Memory, recall, type StandsFor } from './gather/recall.ts';
import type { Repository } from './git/repository.ts';
import { AUDITABLE, entryOf } from './model/codes.ts';
import type { Finding } from './model/finding.ts';
import type { Instant } from './model/instant.ts';
import type { PolicySet } from './model/policy.ts';
import type { Rank } from './model/rank.ts';
import type { Enforcement, Places, UserSession } from './model/settings.ts';
import type { Bytes, Candidate } from './model/source.ts';
import type { Evidence, Judged, Scanned } from './model/stages.ts';
import { bindingApprovals } from './policy/approvals.ts';
import type { Pins } from './policy/pins.ts';
import { readPolicySet } from './policy/policy-set.ts';
import { hasUserSet, userPlace } from './policy/user-set.ts';
import { DEFAULT_RULES } from './scan/default-rules.ts';
import type { Rule } from './scan/rule.ts';
import { type ScanSettings, scanArtifact } from './scan/scan-artifact.ts';
import { compileUserRules } from './scan/user-rules.ts';
import type { StateLocation } from './store/location.ts';
import { checkImports } from './verify/imports.ts';
import { verify } from './verify/verify.ts';

/** What a face asks of the gate. */
export interface Request {
  readonly root: WorkspaceRoot;
  readonly repository: Repository | null;
  /** Paths to judge, or null for every init path of the workspace. */
  readonly paths: readonly string[] | null;
  readonly places: Places;
  readonly state: StateLocation;
  /** Read once, at the edge. */
  readonly now: Instant;
  /** `--observe`; the machine\u2019s own settings may ask for it too. */
  readonly observe: boolean;
  /** Bytes to judge as if they lay at a path: a release or a write is judged before it is made. */
  readonly overlay: ReadonlyMap<string, Bytes>;
  /** Why state cannot be written, for a command that must write it; null where it can or need not. */
  readonly stateFault: string | null;
  /** Told after each artifact judged, with how many there are; null where nobody watches. */
  readonly onProgress: ((done: number, of: number) => void) | null;
  /** The folder is a tree of git laid out beside the workspace it stands for; absent where it is the workspace itself. */
  readonly standsFor?: StandsFor;
  /** The folder is the home, and the user's own set judges what hosts load from it; absent for a workspace. */
  readonly user?: UserSession;
}

/** Everything that was judged, and under which policy set. */
export interface Judgement {
  readonly at: Instant;
  readonly set: PolicySet;
  readonly pins: Pins | null;
  readonly memory: Memory;
  readonly proofs: Proofs;
  readonly enforcement: Enforcement;
  readonly artifacts: readonly Judged[];
  /** Findings about the workspace as a whole. */
  readonly findings: readonly Finding[];
  /** Hosts in use here. */
  readonly present: readonly string[];
}

/**
 * The order, and the only place that has it: discover, read once, parse, gather, bind, verify, scan, decide. Reads the
 * workspace, changes nothing.
 */
export async function judge(request: Request): Promise<Judgement> {
  const { root, repository, now } = request;
  const memory = await recall(request);
  const signed = await readPolicySet(
    { root, dir: memory.dir, file: memory.setFile, pins: memory.pins?.pins ?? [], now, base: memory.base },
    memory.remembered,
  );
  const own = await compileUserRules(signed.ruleFiles, DEFAULT_RULES);
  const held = heldBack(signed, [...memory.findings, ...own.findings]);
  const proofs = readProofs(root, held, now);
  const set = heldBack(
    held,
    proofs.findings.filter((one) => entryOf(one).everywhere === true),
  );
  const found = request.user
    ? discoverUser({
        home: root.path,
        moved: request.places.moved,
        start: request.user.start,
        hosts: set.policy.hosts,
        paths: request.paths,
      })
    : discover({
        root,
        policyHosts: set.policy.hosts,
        initPaths: set.policy.initPaths,
        maxFiles: set.policy.limits.files,
        paths: request.paths,
        documents:
          request.paths === null
            ? [...set.documents.keys()]
            : [...set.documents.keys()].filter((path) => request.paths?.includes(path)),
        first: [...proofs.live.byPath.keys()],
      });
  const beyond =
    request.paths === null && request.standsFor === undefined && request.user === undefined
      ? discoverOutside({
          home: request.places.home,
          moved: request.places.moved,
          start: root.path,
          topLevel: repository?.topLevel ?? null,
          hosts: set.policy.hosts,
        })
      : [];
  const home = await judgeHome(request, beyond);
  const outside = home === null ? beyond : beyond.filter((one) => !home.paths.has(one.path));
  const read = await readCandidates({
    root,
    candidates: [...found.candidates, ...outside],
    sidecars: found.sidecars,
    fileBytes: set.policy.limits.fileBytes,
    overlay: request.overlay,
    home: request.places.home,
    place: request.standsFor?.path ?? root.path,
  });
  const evidence = await gather({
    parsed: read.parsed,
    set,
    proofs,
    repository,
    prefix: prefixIn(repository, request.standsFor ?? root),
    now,
    imports: read.imports,
    kept: root.kept,
    root: root.path,
  });
  // Nothing in the home is ever moved.
  const places: ReadonlySet<Candidate> = request.user ? new Set() : read.asked;
  const before = [...memory.findings, ...own.findings, ...proofs.findings];
  const ranked = judgeEvidence(evidence, {
    set,
    spawns: proofs.spawns,
    rules: own.rules,
    setFindings: before,
    now,
    isPlace: (candidate) => places.has(candidate),
    onProgress: request.onProgress,
    again: root.kept?.memo.bind(root.kept),
  });
  const { hosts } = set.policy;
  const artifacts = withTruncation(
    ranked,
    // Whatever a host would read from the home lies there for it.
    (host) => request.user !== undefined || (hosts ?? found.present).includes(host),
  );
  const whole = request.paths === null;
  const findings = [
    ...memory.findings,
    ...set.findings,
    ...own.findings,
    ...proofs.findings,
    ...found.findings,
    ...read.findings,
    ...orphanFindings(found.orphans),
    ...missingBindings(artifacts, expectedBindings(proofs, request)),
    ...(whole ? unusedExceptions(artifacts, set, now) : []),
    ...(home?.findings ?? []),
  ];
  const enforcement = request.observe ? 'observe' : (memory.pins?.enforcement ?? 'enforce');
  return {
    at: now,
    set,
    pins: memory.pins,
    memory,
    proofs,
    enforcement,
    artifacts: home === null ? artifacts : [...artifacts, ...home.artifacts].sort(byPath),
    findings,
    present: found.present,
  };
}

/** What the user's own set says of the files hosts load from the home; paths as told are absolute. Null where the user has no set. */
async function judgeHome(
  request: Request,
  outside: readonly Candidate[],
): Promise<({ readonly paths: ReadonlySet<string> } & Pick<Judgement, 'artifacts' | 'findings'>) | null> {
  const place = outside.length === 0 ? null : userPlace(request.places.home);
  if (place === null || !hasUserSet(place) || toRelative(request.root, place.home) !== null) return null;
  const judged = await judge({
    ...request,
    root: openRoot(place.home),
    repository: null,
    overlay: new Map(),
    onProgress: null,
    user: { start: request.root.path },
  });
  const absolute = (path: string): string => join(place.home, path);
  const artifacts = judged.artifacts.map((one): Judged => {
    const { parsed } = one.evidence;
    const candidate = { ...parsed.candidate, path: absolute(parsed.candidate.path), outside: true };
    const aliasOf = parsed.aliasOf === null ? null : absolute(parsed.aliasOf);
    return { ...one, evidence: { ...one.evidence, parsed: { ...parsed, candidate, aliasOf } } };
  });
  const taken = new Set(judged.artifacts.map((one) => one.evidence.parsed.candidate.path));
  const isTaken = (path: string): boolean =>
    [request.places.home, place.home].some((home) => taken.has(toRelative({ path: home }, path) ?? ''));
  return {
    paths: new Set(outside.map((one) => one.path).filter(isTaken)),
    artifacts,
    findings: judged.findings.map((one) => ({ ...one, message: `Your own set: ${one.message}` })),
  };
}

/** What evidence is judged by. */
export interface JudgeBy extends Bench {
  readonly spawns: Proofs['spawns'];
  /** The workspace's own rules, besides those that ship. */
  readonly rules: readonly Rule[];
  /** False for what is judged only because another text imports it. */
  readonly isPlace: (candidate: Candidate) => boolean;
  readonly onProgress: Request['onProgress'];
  /** What a face that judges again and again keeps of the scan. */
  readonly again?: ScanSettings['again'];
}

/** Bind, verify, scan, decide: pure, and the same for whoever gathered the evidence. */
export function judgeEvidence(evidence: readonly Evidence[], by: JudgeBy): readonly Judged[] {
  const { set, setFindings, now } = by;
  const judging = { set, spawns: by.spawns, now };
  const scanning = {
    rules: by.rules.length === 0 ? DEFAULT_RULES : [...DEFAULT_RULES, ...by.rules],
    workLimit: set.policy.limits.scanWork,
    again: by.again,
  };
  const scanned = evidence.map((one, index) => {
    by.onProgress?.(index + 1, evidence.length);
    return scanArtifact(verify(bind(one, judging), judging), scanning);
  });
  return withImports(scanned, { set, setFindings, now }, by.isPlace);
}

/** Where state, a rule file or a folder of proofs cannot be used nobody is proven, whatever the set says: a forgotten revocation must not bind (overview.md, state). */
function heldBack(set: PolicySet, faults: readonly Finding[]): PolicySet {
  return faults.length === 0 ? set : { ...set, intact: false };
}

/**
 * Decides each artifact alone, then once more where what it imports ranks lower.
 * @param isPlace whether discovery found it. A file that is here only because another imports it is never moved: one stray `@src/app.ts`
 * must not take a source file or a board away (hard rule 10).
 */
function withImports(
  scanned: readonly Scanned[],
  bench: Bench,
  isPlace: (candidate: Candidate) => boolean,
): readonly Judged[] {
  const alone = scanned.map((one) => toJudged(one, [], bench));
  const unrelieved =
    bench.set.policy.audit.size === 0 ? alone : scanned.map((one) => toJudged(one, [], withAudit(bench, new Set())));
  const ranks = new Map<string, Rank>();
  for (const { evidence, rank } of unrelieved)
    if (evidence.parsed.line === null) ranks.set(evidence.parsed.candidate.path, rank);
  const judged = alone.map((first, index) => {
    const one = scanned[index];
    const { imports } = first.evidence;
    if (imports.length === 0 || one === undefined) return first;
    // Weighed as if every code that may be audited were, against the imported as if none were: no mode changes what is found (hard rule 8).
    const { rank } = toJudged(one, [], withAudit(bench, AUDITABLE));
    const capped = checkImports(imports, rank, (path) => ranks.get(path) ?? null, one.verified.covered);
    return capped.length === 0 ? first : toJudged(one, capped, bench);
  });
  const held = judged.map((one) =>
    one.disposition === 'move' && !isPlace(one.evidence.parsed.candidate)
      ? { ...one, disposition: 'withhold' as const }
      : one,
  );
  return [...held, ...straysOf(held)].sort(byPath);
}

/** Sidecars refused alone, each once: a link shows the sidecar of the file it leads to as well. */
function straysOf(judged: readonly Judged[]): readonly Judged[] {
  const refused = judged.flatMap((one) => one.evidence.strays.map((stray) => refuseStray(one, stray)));
  const byName = new Map(refused.map((one) => [one.evidence.parsed.candidate.path, one]));
  return [...byName.values()];
}

/** The approvals that must find their artifact; of named paths only those. */
function expectedBindings(proofs: Proofs, { paths, user, root }: Request): readonly Expected[] {
  return bindingApprovals(proofs.live.all)
    .filter(
      // Of the home only what is gone: a session does not see the memory of other projects, which is there.
      (approval) => user === undefined || !exists(join(root.path, approval.path)),
    )
    .filter(
      (approval) =>
        paths === null || paths.some((path) => approval.path === path || approval.path.startsWith(`${path}/`)),
    )
    .map((approval) => ({
      approval,
      companion: (proofs.approvals.byId.get(approval.artifactId) ?? []).every(
        (one) => one.subjects[0]?.name !== approval.path,
      ),
    }));
}

/** @returns the path of the workspace within its repository, ending in `/`; empty at its top and outside of one. */
export function prefixIn(repository: Repository | null, root: WorkspaceRoot): string {
  if (repository === null || repository.topLevel === root.path) return '';
  return root.path.startsWith(`${repository.topLevel}/`)
    ? `${root.path.slice(repository.topLevel.length + 1).replaceAll('\\', '/')}/`
    : '';
}

function byPath(a: Judged, b: Judged): number {
  const one = a.evidence.parsed;
  const other = b.evidence.parsed;
  return one.candidate.path < other.candidate.path
    ? -1
    : one.candidate.path > other.candidate.path
      ? 1
      : (one.line ?? 0) - (other.line ?? 0);
}

import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isInside, openRoot, type WorkspaceRoot } from '../files/workspace-root.ts';
import { type Judgement, judge, type Request } from '../gate.ts';
import { GitFault } from '../git/hardened.ts';
import type { Repository } from '../git/repository.ts';
import { finding } from '../model/codes.ts';
import { escapePath } from '../model/escaped.ts';
import type { Finding } from '../model/finding.ts';
import type { PolicyPredicate, Statement } from '../model/statement.ts';
import { type Pin, pinOf as pinFor } from '../policy/pins.ts';
import { type Change, concernedArtifacts, concernedFindings } from './concerned.ts';
import { layOut } from './lay-out.ts';
import { namesBehind } from './links.ts';
import { withoutOldLines } from './old-lines.ts';
import { readProofChanges, readSetOf, type SignedSet } from './proofs.ts';
import { changesOf, newOddities, type Tree } from './tree.ts';

/** A change to judge: what git holds before and after it. */
export interface TreeChange {
  readonly repository: Repository;
  /** What the change is counted from. */
  readonly base: Tree;
  readonly next: Tree;
  /** Full id of the commit `next` is, whose history proves writers; null for the index, which the work tree's HEAD stands behind. */
  readonly head: string | null;
  /** Where trust comes from in a range: the tree of its first commit. Null: from this machine's pins alone. */
  readonly trusted: Tree | null;
}

export interface TreeJudgement {
  /** Verdicts and findings the change is to answer for, and nothing else. */
  readonly judgement: Judgement;
  readonly changed: ReadonlySet<string>;
  /** Something that has to be there and bind is gone. */
  readonly takesBinding: boolean;
}

/**
 * Judges a tree of git by its blobs, and never the work tree: what judging needs of it is laid out in a private folder, where the same gate reads it as it reads
 * a checkout. Throws GitFault where git can't give what is needed.
 */
export async function judgeTree(request: Request, change: TreeChange): Promise<TreeJudgement> {
  const { repository, base, next } = change;
  const changed = changesOf(base, next);
  const { reach, removed } = await readProofChanges(repository, base, next, changed);
  const was = await readSetOf(repository, base);
  const signed = await readSetOf(repository, next);
  const trusted = change.trusted === null ? null : await readSetOf(repository, change.trusted);
  if (trusted === 'several')
    throw new GitFault('the range starts with several policy sets, and nothing says which decides');
  const paths = new Set([...changed, ...newOddities(base, next).map((one) => one.path)]);
  return withFolder(request.root, async (folder) => {
    const tree = join(folder, 'tree');
    mkdirSync(tree);
    const laid = await layOut(repository, next, tree);
    const touched: Change = { paths, reach, behind: (path) => namesBehind(laid.targets, path) };
    const whole = await judge({
      ...request,
      root: openRoot(tree),
      repository: change.head === null ? repository : withHead(repository, folder, change.head),
      paths: null,
      standsFor: { path: request.root.path, pin: trusted === null ? null : pinOf(trusted) },
    });
    const rollback = setFaults(whole, setOf(was), trusted?.set ?? null, setOf(signed));
    const concerned = concernedArtifacts(whole, touched);
    const artifacts = reach.all ? concerned : await withoutOldLines(repository, base, concerned);
    const told = laid.findings.filter((one) => isNew(one, touched));
    const findings = concernedFindings(
      [...rollback, ...removed, ...told, ...whole.findings],
      touched,
      artifacts.length > 0,
    );
    const isGone = rollback.some((one) => one.code === 'root-mismatch');
    return {
      judgement: { ...whole, set: isGone ? { ...whole.set, root: 'mismatch' } : whole.set, artifacts, findings },
      changed,
      takesBinding: findings.some((one) => one.code === 'binding-missing'),
    };
  });
}

function setOf(read: SignedSet | 'several' | null): Statement<PolicyPredicate> | null {
  return read === null || read === 'several' ? null : read.set;
}

/** What could not be read before either is nothing this change brings. */
function isNew({ file }: Finding, { paths }: Change): boolean {
  return file === undefined || paths.has(file);
}

/** A git folder with another HEAD and everything else of the real one, so that commit proofs count from the commit judged. */
function withHead(repository: Repository, folder: string, head: string): Repository {
  const gitDir = join(folder, 'git');
  mkdirSync(gitDir);
  writeFileSync(join(gitDir, 'HEAD'), `${head}\n`);
  return { ...repository, gitDir };
}

/** The first commit of a range is what was accepted before: its own roots decide where this machine has no pin. Null where nobody it names signed it. */
function pinOf({ dir, set }: SignedSet): Pin | null {
  const { roots, floor, version } = set.predicate;
  if (!set.signers.some((signer) => roots.includes(signer.fingerprint))) return null;
  return {
    workspace: set.workspace,
    roots,
    floor: Math.max(1, floor),
    version: Math.max(1, version),
    digest: null,
    dir,
    seen: null,
    from: 'environment',
  };
}

/** A change may only raise the policy set: not take it away, not change its id, not bring an older or another one of the same version. */
function setFaults(
  { set, pins }: Judgement,
  was: Statement<PolicyPredicate> | null,
  trusted: Statement<PolicyPredicate> | null,
  now: Statement<PolicyPredicate> | null,
): readonly Finding[] {
  if (was === null) return [];
  const pin = pinFor(pins?.pins ?? [], was.workspace);
  const roots = new Set([...(pin?.roots ?? []), ...set.roots, ...(trusted?.predicate.roots ?? [])]);
  // A set that no root known here signed never decided anything, so nothing is lost with it.
  if (!was.signers.some((signer) => roots.has(signer.fingerprint))) return [];
  const file = set.dir;
  if (now === null)
    return set.findings.some((one) => one.code === 'policy-unsigned')
      ? []
      : [
          finding('root-mismatch', {
            message: `The change takes the policy set of ${escapePath(was.workspace)} away.`,
            file,
            cure: 'Put the policy set back: git checkout HEAD -- policies',
          }),
        ];
  if (now.workspace !== was.workspace)
    return [
      finding('root-mismatch', {
        message: `The change turns the policy set of ${escapePath(was.workspace)} into one of ${escapePath(now.workspace)}.`,
        file,
      }),
    ];
  const { version } = now.predicate;
  const floor = trusted?.workspace === was.workspace ? trusted.predicate.floor : 0;
  const isOlder = now.payloadDigest !== was.payloadDigest && version <= was.predicate.version;
  if (!isOlder && version >= floor) return [];
  return [
    finding('policy-below-floor', {
      message: isOlder
        ? `The change brings version ${version} of the policy set over version ${was.predicate.version}: it may only go up.`
        : `The policy set is version ${version}, and the range starts at one whose floor is ${floor}.`,
      file,
      ...(isOlder
        ? { cure: 'Sign it anew as a higher version: writ trust sign' }
        : { cure: 'Merge the target branch, then check again.' }),
    }),
  ];
}

/** A private folder outside the workspace, gone afterwards, whatever ends the work. */
async function withFolder<T>(root: WorkspaceRoot, work: (folder: string) => Promise<T>): Promise<T> {
  if (isInside(root.path, tmpdir()))
    throw new GitFault('the folder for temporary files lies in the workspace: set TMPDIR to one outside');
  const folder = realpathSync.native(mkdtempSync(join(tmpdir(), 'writ-tree-')));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  const stop = (): void => {
    remove();
    process.exit(4);
  };
  process.on('exit', remove);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop);
  try {
    chmodSync(folder, 0o700);
    return await work(folder);
  } finally {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.off(signal, stop);
    process.off('exit', remove);
    remove();
  }
}

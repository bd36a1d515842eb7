import { readBlobs } from '../git/batch.ts';
import type { Repository } from '../git/repository.ts';
import { finding } from '../model/codes.ts';
import { escapePath } from '../model/escaped.ts';
import type { Finding } from '../model/finding.ts';
import type { PolicyPredicate, Statement } from '../model/statement.ts';
import { POLICY_DIR } from '../policy/defaults.ts';
import { SET_FILE } from '../policy/set-file.ts';
import { openStatement } from '../sign/statement.ts';
import type { Tree } from './tree.ts';
import { folderOf } from './wanted.ts';

const STATEMENT_BYTES = 65_536;
const SET_BYTES = 4_194_304;
const MAX_TOLD = 20;
const PROOF = /^(?:(.*)\/)?(approvals|authorship|revocations|spawns|roots|rules)\/[^/]+$/;

/** What a change of proofs reaches: named paths and artifact ids, or everything. */
export interface Reach {
  readonly all: boolean;
  readonly paths: ReadonlySet<string>;
  readonly ids: ReadonlySet<string>;
}

export interface ProofChanges {
  readonly reach: Reach;
  /** `approval-removed` for each approval and revocation that is no longer there as it was signed. */
  readonly removed: readonly Finding[];
}

/** @returns the folders that hold a policy set in either tree. */
function setFolders(trees: readonly Tree[]): ReadonlySet<string> {
  const found = trees.flatMap((tree) =>
    [...tree.files.keys()].filter((path) => path === SET_FILE || path.endsWith(`/${SET_FILE}`)).map(folderOf),
  );
  return new Set(found);
}

/** Reads what changed below the policy set. An approval or authorship proof reaches what it names; anything else of a set reaches everything. Throws GitFault where git fails. */
export async function readProofChanges(
  repo: Repository,
  base: Tree,
  next: Tree,
  changed: ReadonlySet<string>,
): Promise<ProofChanges> {
  const folders = setFolders([base, next]);
  const ofSet = [...changed].filter((path) => [...folders].some((dir) => dir === '' || path.startsWith(`${dir}/`)));
  const proofs = ofSet.filter(
    (path) => folders.has(PROOF.exec(path)?.[1] ?? '\0') || (folders.has('') && PROOF.test(path)),
  );
  const ids = proofs.flatMap((path) => [base, next].flatMap((tree) => tree.files.get(path)?.blob ?? []));
  const { blobs } = await readBlobs(repo, ids, STATEMENT_BYTES);
  const openIn = (tree: Tree, path: string): Statement | null => {
    const bytes = blobs.get(tree.files.get(path)?.blob ?? '');
    const opened = bytes === undefined ? null : openStatement(bytes, path);
    return opened === null || 'refused' in opened ? null : opened;
  };
  const paths = new Set<string>();
  const named = new Set<string>();
  let all = false;
  for (const path of ofSet) {
    const found = proofs.includes(path) ? [openIn(base, path), openIn(next, path)] : [];
    const statements = found.filter((one) => one !== null);
    if (statements.length === 0) all = true;
    for (const { predicate, subjects } of statements) {
      if (predicate.type !== 'approval' && predicate.type !== 'authorship') all = true;
      else {
        named.add(predicate.artifactId);
        if (predicate.type === 'approval') for (const id of predicate.replaces) named.add(id);
        for (const { name } of subjects) paths.add(name);
      }
    }
  }
  return { reach: { all, paths, ids: named }, removed: removals(proofs, base, next, openIn) };
}

function removals(
  proofs: readonly string[],
  base: Tree,
  next: Tree,
  openIn: (tree: Tree, path: string) => Statement | null,
): readonly Finding[] {
  const kept = proofs.flatMap((path) => {
    const statement = openIn(next, path);
    return statement === null ? [] : [{ folder: folderOf(path), statement }];
  });
  const found = proofs.flatMap((path) => {
    const was = openIn(base, path);
    if (was === null || (was.predicate.type !== 'approval' && was.predicate.type !== 'revocation')) return [];
    // Renamed in its folder, or signed once more: the statement still counts, with everybody who signed it.
    const stays = kept.some(
      ({ folder, statement }) =>
        folder === folderOf(path) &&
        statement.payloadDigest === was.payloadDigest &&
        was.signers.every((signer) => statement.signers.some((other) => other.fingerprint === signer.fingerprint)),
    );
    if (stays) return [];
    const what =
      was.predicate.type === 'approval' ? `approval by ${was.predicate.approver}` : `revocation by ${was.predicate.by}`;
    return [
      finding('approval-removed', { message: `The change takes away the ${what}: ${escapePath(path)}.`, file: path }),
    ];
  });
  const rest = found.length - MAX_TOLD;
  return rest > 0
    ? [...found.slice(0, MAX_TOLD), finding('approval-removed', { message: `The change takes away ${rest} more.` })]
    : found;
}

/** The signed policy set of a tree and its folder. */
export interface SignedSet {
  readonly dir: string;
  readonly set: Statement<PolicyPredicate>;
}

/** @returns the policy set of a tree, whoever signed it; null where there is none, none that opens, or several and no telling which (`'several'`). */
export async function readSetOf(repo: Repository, tree: Tree): Promise<SignedSet | 'several' | null> {
  const folders = [...setFolders([tree])];
  const top = folders.filter((dir) => !dir.includes('/'));
  const likely = folders.includes(POLICY_DIR) ? [POLICY_DIR] : top.length > 0 ? top : folders;
  const [dir] = likely;
  if (dir === undefined) return null;
  if (likely.length > 1) return 'several';
  const file = dir === '' ? SET_FILE : `${dir}/${SET_FILE}`;
  const blob = tree.files.get(file)?.blob ?? '';
  const bytes = (await readBlobs(repo, [blob], SET_BYTES)).blobs.get(blob);
  const opened = bytes === undefined ? null : openStatement(bytes, file);
  if (opened === null || 'refused' in opened || opened.predicate.type !== 'policy') return null;
  return { dir, set: opened as Statement<PolicyPredicate> };
}

import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { readOnce } from '../files/read-once.ts';
import type { WorkspaceRoot } from '../files/workspace-root.ts';
import { writeInside } from '../files/write-inside.ts';
import { type Instant, shift } from '../model/instant.ts';
import type { Policy } from '../model/policy.ts';
import { wasRead } from '../model/source.ts';
import type { PolicyPredicate, Statement } from '../model/statement.ts';
import { parseExceptions } from '../policy/exceptions.ts';
import { parsePolicyFile } from '../policy/policy-file.ts';
import { EXCEPTIONS_FILE, POLICY_FILE, SIGNERS_FILE } from '../policy/policy-set.ts';
import { SET_FILE } from '../policy/set-file.ts';
import { parseAllowedSigners } from '../sign/allowed-signers.ts';
import { sha256Hex } from '../sign/digest.ts';
import type { SigningKey } from '../sign/private-key.ts';
import { openStatement } from '../sign/statement.ts';
import { type Sealed, sealStatement } from './statement-file.ts';

const SET_FILE_BYTES = 4_194_304;

/** Where a set is and what it is to become. */
export interface SetDraft {
  readonly root: WorkspaceRoot;
  readonly dir: string;
  readonly now: Instant;
  /** Files to write before signing, workspace-relative path to text; null removes nothing and keeps what is there. */
  readonly changes: ReadonlyMap<string, string>;
  /** Raises the floor to the new version: older sets are then refused (remove, rotate, revoke). */
  readonly raiseFloor: boolean;
  /** New roots, or null to keep them. */
  readonly roots: readonly string[] | null;
  readonly recovery: string | null;
  /** Payload digests of revocations to list besides those listed before: the root thereby makes them its own. */
  readonly revocations: readonly string[];
  /**
   * `trust sign`: what was edited by hand since the last signature is signed as it lies. Everything else refuses it, so that
   * nobody’s edit rides along when a root signs something of its own.
   */
  readonly takesEdits?: true;
}

export interface SignedSet {
  readonly policy: Policy;
  readonly workspace: string;
  readonly version: number;
  readonly floor: number;
  readonly roots: readonly string[];
  readonly sealed: Sealed;
}

/** The set last signed here, its signature checked but not its signer. Null where there is none. */
export function readSigned(root: WorkspaceRoot, dir: string): Statement<PolicyPredicate> | null {
  const read = readOnce(root, `${dir}/${SET_FILE}`, SET_FILE_BYTES);
  if (!wasRead(read)) return null;
  const opened = openStatement(read.bytes, `${dir}/${SET_FILE}`);
  return 'refused' in opened || opened.predicate.type !== 'policy' ? null : (opened as Statement<PolicyPredicate>);
}

/**
 * Checks every file of the set as it will be, signs the whole and writes it: changed files first, the signature last, so
 * that a crash between leaves a set that is refused and can be signed again, never one that says more than was signed.
 * @returns the signed set, or what is wrong with a file, with its place.
 */
export async function signSet(
  draft: SetDraft,
  keys: readonly SigningKey[],
): Promise<SignedSet | { readonly refused: string }> {
  const { root, dir, now, changes } = draft;
  const prior = readSigned(root, dir);
  const contents = new Map<string, Uint8Array>();
  const take = (path: string): Uint8Array | null => {
    const changed = changes.get(path);
    if (changed !== undefined) return Buffer.from(changed);
    const read = readOnce(root, path, SET_FILE_BYTES);
    return wasRead(read) && read.aliasOf === null ? read.bytes : null;
  };
  const policyBytes = take(`${dir}/${POLICY_FILE}`);
  const signersBytes = take(`${dir}/${SIGNERS_FILE}`);
  if (policyBytes === null || signersBytes === null)
    return { refused: `${dir}/${POLICY_FILE} and ${dir}/${SIGNERS_FILE} must be readable files` };
  const parsed = await parsePolicyFile(Buffer.from(policyBytes).toString('utf8'));
  if ('fault' in parsed)
    return { refused: `${dir}/${POLICY_FILE}:${parsed.fault.line}:${parsed.fault.column}: ${parsed.fault.why}` };
  const signers = parseAllowedSigners(Buffer.from(signersBytes).toString('utf8'));
  const [fault] = signers.faults;
  if (fault) return { refused: `${dir}/${SIGNERS_FILE}:${fault.line}: ${fault.message}` };
  contents.set(`${dir}/${POLICY_FILE}`, policyBytes);
  contents.set(`${dir}/${SIGNERS_FILE}`, signersBytes);
  const exceptions = take(`${dir}/${EXCEPTIONS_FILE}`);
  if (exceptions !== null) {
    const read = await parseExceptions(Buffer.from(exceptions).toString('utf8'), shift(now, 0));
    if ('fault' in read) return { refused: `${dir}/${EXCEPTIONS_FILE}:${read.fault.line}: ${read.fault.why}` };
    contents.set(`${dir}/${EXCEPTIONS_FILE}`, exceptions);
  }
  for (const path of [...parsed.policy.constitution.documents, ...rulesOf(root, dir)]) {
    const bytes = take(path);
    if (bytes === null) return { refused: `${path} is part of the set and cannot be read` };
    contents.set(path, bytes);
  }
  const workspace = parsed.policy.workspace ?? '';
  if (prior && prior.workspace !== workspace)
    return {
      refused: `workspace in ${dir}/${POLICY_FILE} is ${workspace}, and the set was signed for ${prior.workspace}: an id never changes`,
    };
  const edited = prior && draft.takesEdits !== true ? editedSince(prior, root, dir) : null;
  if (edited !== null)
    return {
      refused: `${edited} is not as it was when the set was last signed: look at it (git diff ${dir}), take the edit back, or sign it first: writ trust sign`,
    };
  const version = (prior?.predicate.version ?? 0) + 1;
  const floor = draft.raiseFloor ? version : (prior?.predicate.floor ?? 1);
  const roots = draft.roots ?? prior?.predicate.roots ?? keys.map((key) => key.publicKey.fingerprint);
  const predicate: PolicyPredicate = {
    type: 'policy',
    version,
    floor,
    roots,
    recovery: draft.recovery ?? prior?.predicate.recovery ?? null,
    files: Object.fromEntries(
      [...contents].map(([path, bytes]) => [path, sha256Hex(bytes)] as const).sort(([a], [b]) => (a < b ? -1 : 1)),
    ),
    revocations: [...new Set([...(prior?.predicate.revocations ?? []), ...draft.revocations])].sort(),
    expiresAt: null,
  };
  const subjects = [{ name: `${dir}/${POLICY_FILE}`, sha256: sha256Hex(policyBytes) }];
  const sealed = await sealStatement({ predicate, workspace, issuedAt: now, subjects }, dir, keys);
  for (const [path, text] of changes) {
    const refused = writeInside(root, path, text, 0o644);
    if (refused) return { refused: refused.message };
  }
  const refused = writeInside(root, sealed.file, sealed.text, 0o644);
  return refused ? { refused: refused.message } : { policy: parsed.policy, workspace, version, floor, roots, sealed };
}

/** @returns the first file of the set that was changed, taken away or added since it was signed. */
function editedSince(prior: Statement<PolicyPredicate>, root: WorkspaceRoot, dir: string): string | null {
  const { files } = prior.predicate;
  for (const [path, digest] of Object.entries(files)) {
    const read = readOnce(root, path, SET_FILE_BYTES);
    if (!wasRead(read) || read.aliasOf !== null || sha256Hex(read.bytes) !== digest) return path;
  }
  const exceptions = `${dir}/${EXCEPTIONS_FILE}`;
  const there = [...(existsSync(join(root.path, exceptions)) ? [exceptions] : []), ...rulesOf(root, dir)];
  return there.find((path) => !Object.hasOwn(files, path)) ?? null;
}

function rulesOf(root: WorkspaceRoot, dir: string): readonly string[] {
  const folder = join(root.path, dir, 'rules');
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => name.endsWith('.yaml'))
    .sort()
    .map((name) => `${dir}/rules/${name}`);
}

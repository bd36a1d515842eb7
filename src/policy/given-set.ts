import { finding } from '../model/codes.ts';
import { escapePath } from '../model/escaped.ts';
import type { Finding } from '../model/finding.ts';
import { type Instant, isoOf } from '../model/instant.ts';
import type { PolicySet } from '../model/policy.ts';
import type { PolicyPredicate, RevocationPredicate, Statement } from '../model/statement.ts';
import { parseAllowedSigners } from '../sign/allowed-signers.ts';
import { sha256Hex } from '../sign/digest.ts';
import { openStatement } from '../sign/statement.ts';
import { constitutionHash } from './constitution.ts';
import { unprovenSet } from './defaults.ts';
import { parseExceptions } from './exceptions.ts';
import { parsePolicyFile } from './policy-file.ts';
import { EXCEPTIONS_FILE, POLICY_FILE, SIGNERS_FILE } from './policy-set.ts';

/** A policy set as bytes somebody else read. */
export interface GivenSet {
  /** The text of `policy.dsse.json`. */
  readonly envelope: Uint8Array;
  /** Every file it lists, by workspace-relative path: policy.yaml, allowed_signers, the constitution, exceptions, rules. */
  readonly files: ReadonlyMap<string, Uint8Array>;
  /** Every revocation known, opened. */
  readonly revocations: readonly Statement<RevocationPredicate>[];
}

/** Whom to trust, from outside the workspace. */
export interface GivenPin {
  readonly workspace: string;
  /** `SHA256:…` of the keys that may sign the set. A rotation is followed by naming the new ones here. */
  readonly roots: readonly string[];
  /** Lowest version still accepted. */
  readonly floor: number;
  /** The folder of the set in the workspace; `policies` unless `init --dir` chose another. */
  readonly dir: string;
}

/**
 * Judges a policy set that was read by the caller, in the order of `readPolicySet`: who signed, whether it is unaltered, old or run out, and only
 * then what it says. @returns a set in which nobody is proven, with the finding that says why, wherever one of these does not hold.
 */
export async function openGivenSet(given: GivenSet, pin: GivenPin, now: Instant): Promise<PolicySet> {
  const { files, revocations } = given;
  const opened = openStatement(given.envelope, 'policy.dsse.json');
  const refuse = (root: PolicySet['root'], version: number | null, found: readonly Finding[]): PolicySet =>
    unprovenSet({ root, workspace: pin.workspace, version, dir: pin.dir, findings: found, revocations });
  if ('refused' in opened || opened.predicate.type !== 'policy')
    return refuse('unpinned', null, [
      finding('policy-unsigned', { message: 'The policy set carries no signature that can be verified.' }),
    ]);
  const { predicate, workspace, signers, payloadDigest } = opened as Statement<PolicyPredicate>;
  const signed = new Set(signers.map((signer) => signer.fingerprint));
  const isTrusted = (root: string): boolean => pin.roots.includes(root);
  if (workspace !== pin.workspace || ![...signed].some(isTrusted))
    return refuse('mismatch', predicate.version, [finding('root-mismatch')]);
  if (!predicate.roots.every((root) => isTrusted(root) || signed.has(root)))
    return refuse('mismatch', predicate.version, [finding('root-mismatch')]);
  const faults = [
    ...(predicate.version < pin.floor ? [finding('policy-below-floor')] : []),
    ...(predicate.expiresAt !== null && predicate.expiresAt <= now
      ? [finding('policy-expired', { message: `The policy set ran out at ${isoOf(predicate.expiresAt)}.` })]
      : []),
    ...Object.entries(predicate.files)
      .filter(([path, digest]) => digestOf(files.get(path)) !== digest)
      .map(([path]) => finding('policy-altered', { message: `${escapePath(path)} is not the file that was signed.` })),
    ...predicate.revocations
      .filter((digest) => revocations.every((one) => one.payloadDigest !== digest))
      .map((digest) =>
        finding('revocation-missing', { message: `The revocation ${digest.slice(0, 16)} is not given.` }),
      ),
  ];
  if (faults.length > 0) return refuse('pinned', predicate.version, faults);
  const invalid = (why: string): PolicySet =>
    refuse('pinned', predicate.version, [finding('policy-invalid', { message: why })]);
  const listed = Object.keys(predicate.files);
  const text = (name: string): string | null => {
    const path = `${pin.dir}/${name}`;
    return listed.includes(path) ? Buffer.from(files.get(path) ?? []).toString('utf8') : null;
  };
  const [policyText, signersText] = [text(POLICY_FILE), text(SIGNERS_FILE)];
  if (policyText === null || signersText === null)
    return refuse('pinned', predicate.version, [
      finding('policy-altered', { message: `The signed set does not list ${POLICY_FILE} and ${SIGNERS_FILE}.` }),
    ]);
  const parsed = await parsePolicyFile(policyText);
  if ('fault' in parsed) return invalid(`policy.yaml: ${parsed.fault.why}.`);
  if (parsed.policy.workspace !== workspace) return invalid('policy.yaml: workspace is not the id that was signed.');
  const allowed = parseAllowedSigners(signersText);
  const [fault] = allowed.faults;
  if (fault) return invalid(`allowed_signers: ${fault.message}.`);
  const exceptions = await parseExceptions(text(EXCEPTIONS_FILE) ?? '[]', now);
  if ('fault' in exceptions) return invalid(`exceptions.yaml: ${exceptions.fault.why}.`);
  const named = parsed.policy.constitution.documents;
  const documents = new Map(
    named.flatMap((path) => (listed.includes(path) ? [[path, predicate.files[path] ?? '']] : [])),
  );
  const constitution = documents.size === named.length ? constitutionHash(documents) : null;
  if (constitution === null) return refuse('pinned', predicate.version, [finding('constitution-unavailable')]);
  return {
    root: 'pinned',
    intact: true,
    workspace,
    version: predicate.version,
    floor: predicate.floor,
    constitution,
    dir: pin.dir,
    policy: parsed.policy,
    keys: allowed.keys,
    roots: predicate.roots,
    exceptions: exceptions.exceptions,
    revocations,
    documents,
    endorsed: new Set(predicate.revocations),
    ruleFiles: listed
      .filter((path) => path.startsWith(`${pin.dir}/rules/`) && path.endsWith('.yaml'))
      .map((path) => ({ path, text: Buffer.from(files.get(path) ?? []).toString('utf8') })),
    digest: payloadDigest,
    findings: [],
  };
}

function digestOf(bytes: Uint8Array | undefined): string | null {
  return bytes === undefined ? null : sha256Hex(bytes);
}

import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { exists, readOnce } from '../files/read-once.ts';
import type { WorkspaceRoot } from '../files/workspace-root.ts';
import { finding } from '../model/codes.ts';
import { escapePath } from '../model/escaped.ts';
import type { Finding } from '../model/finding.ts';
import { type Instant, isoOf, shift } from '../model/instant.ts';
import type { PolicySet } from '../model/policy.ts';
import { wasRead } from '../model/source.ts';
import type { PolicyPredicate, RevocationPredicate, Statement } from '../model/statement.ts';
import { parseAllowedSigners } from '../sign/allowed-signers.ts';
import { sha256Hex } from '../sign/digest.ts';
import { openStatement } from '../sign/statement.ts';
import type { BaseLayer } from './base-set.ts';
import { constitutionHash } from './constitution.ts';
import { unprovenSet } from './defaults.ts';
import { matchesId } from './pin-pattern.ts';
import { type Pin, pinOf } from './pins.ts';
import { SET_FILE, SET_FILE_BYTES, type SetFile } from './set-file.ts';
import { readStatements } from './statements.ts';

export const POLICY_FILE = 'policy.yaml';
export const SIGNERS_FILE = 'allowed_signers';
export const EXCEPTIONS_FILE = 'exceptions.yaml';

/** What this machine remembers of a workspace, from state; empty where there is no state. */
export interface Remembered {
  /** The workspace id this checkout had when it was last loaded, or null. */
  readonly checkout: string | null;
  /** Lowest version still acceptable that any set seen here asked for. */
  readonly floor: number;
  /** Revocations seen before: payload digest to envelope text. */
  readonly revocations: ReadonlyMap<string, string>;
}

export const NOTHING_REMEMBERED: Remembered = { checkout: null, floor: 0, revocations: new Map() };

export interface SetPlace {
  readonly root: WorkspaceRoot;
  readonly dir: string;
  /** What lies there. */
  readonly file: SetFile;
  readonly pins: readonly Pin[];
  readonly now: Instant;
  /** Base sets of this machine; absent where there is none. */
  readonly base?: readonly BaseLayer[];
}

/**
 * Reads and judges the policy set of a workspace. Order follows TUF: who signed, then whether it is unaltered, then
 * whether it is too old or run out, and only then what it says. Nothing in the workspace is trusted because it is there.
 */
export async function readPolicySet(place: SetPlace, remembered: Remembered): Promise<PolicySet> {
  const { root, dir, now, file: opened } = place;
  const { known } = openRemembered(remembered);
  const none = (
    state: PolicySet['root'],
    workspace: string | null,
    version: number | null,
    found: readonly Finding[],
  ): PolicySet => unprovenSet({ root: state, workspace, version, dir, findings: found, revocations: known });
  if (opened === 'absent') {
    if (remembered.checkout !== null)
      return none('mismatch', null, null, [
        mismatch(`this checkout had the workspace id ${escapePath(remembered.checkout)}, and its policy set is gone`),
      ]);
    return none('unpinned', null, null, [finding('root-unpinned')]);
  }
  const file = `${dir}/${SET_FILE}`;
  if ('refused' in opened)
    return none('unpinned', null, null, [
      finding('policy-unsigned', {
        message: `The policy set carries no signature that can be verified (${opened.refused}).`,
        file,
      }),
    ]);
  if (opened.predicate.type !== 'policy')
    return none('unpinned', null, null, [
      finding('policy-unsigned', { message: 'The signed statement is no policy set.', file }),
    ]);
  const set = opened as Statement<PolicyPredicate>;
  const { workspace } = set;
  const { version } = set.predicate;
  const pin = pinOf(place.pins, workspace);
  if (remembered.checkout !== null && remembered.checkout !== workspace) {
    return none('mismatch', workspace, version, [
      mismatch(
        `this checkout had the workspace id ${escapePath(remembered.checkout)}, and the set says ${escapePath(workspace)}`,
      ),
    ]);
  }
  if (!pin) {
    return none('unpinned', workspace, version, [
      finding('root-unpinned', {
        message: `No pin on this machine for ${escapePath(workspace)}, signed by ${set.signers.map((signer) => signer.fingerprint).join(', ')}: nobody is proven.`,
      }),
    ]);
  }
  const floor = Math.max(pin.floor, remembered.floor);
  const trusted = trustedRoots(root, dir, pin, workspace, Math.max(pin.version, remembered.floor));
  if (!set.signers.some((signer) => trusted.has(signer.fingerprint))) {
    return none('mismatch', workspace, version, [
      mismatch(
        `it is signed by ${set.signers.map((signer) => signer.fingerprint).join(', ')}, and the pin names ${pin.roots.join(', ')}`,
      ),
    ]);
  }
  const signed = new Set(set.signers.map((signer) => signer.fingerprint));
  if (!set.predicate.roots.every((fingerprint) => trusted.has(fingerprint) || signed.has(fingerprint))) {
    return none('mismatch', workspace, version, [
      mismatch('it names a root that neither the pin knows nor has signed it'),
    ]);
  }
  const faults: Finding[] = [];
  if (version < floor)
    faults.push(
      finding('policy-below-floor', {
        message: `The policy set is version ${version}; the lowest still accepted here is ${floor}.`,
        file,
      }),
    );
  const { expiresAt } = set.predicate;
  if (expiresAt !== null && expiresAt <= now)
    faults.push(finding('policy-expired', { message: `The policy set ran out at ${isoOf(expiresAt)}.`, file }));
  if (pin.seen !== null && now < shift(pin.seen, -86_400_000))
    faults.push(
      finding('state-unavailable', {
        message: `The clock stands before ${isoOf(pin.seen)}, the last time seen here: times cannot be judged.`,
        cure: 'Correct the clock.',
      }),
    );
  const files = readListed(root, set.predicate.files);
  faults.push(...files.faults);
  return faults.length > 0
    ? none('pinned', workspace, version, faults)
    : await assemble(place, set, files.bytes, remembered);
}

/** Builds the set from files whose digests the root signed. */
async function assemble(
  place: SetPlace,
  set: Statement<PolicyPredicate>,
  files: ReadonlyMap<string, Uint8Array>,
  remembered: Remembered,
): Promise<PolicySet> {
  const { root, dir, now } = place;
  const { workspace, predicate } = set;
  const { known, lost } = openRemembered(remembered);
  const text = (name: string): string | null => {
    const bytes = files.get(`${dir}/${name}`);
    return bytes ? Buffer.from(bytes).toString('utf8') : null;
  };
  const refuse = (found: Finding): PolicySet =>
    unprovenSet({ root: 'pinned', workspace, version: predicate.version, dir, findings: [found], revocations: known });
  const invalid = (name: string, line: number, column: number, why: string): PolicySet =>
    refuse(finding('policy-invalid', { message: `${dir}/${name}: ${why}.`, line, column, file: `${dir}/${name}` }));
  const policyText = text(POLICY_FILE);
  const signersText = text(SIGNERS_FILE);
  if (policyText === null || signersText === null)
    return refuse(
      finding('policy-altered', { message: `The signed set does not list ${POLICY_FILE} and ${SIGNERS_FILE}.` }),
    );
  // Their schemas cost more to set up than an unpinned check takes, so only a set that stands pays for them.
  const [{ parsePolicyFile }, { parseExceptions }] = await Promise.all([
    import('./policy-file.ts'),
    import('./exceptions.ts'),
  ]);
  const parsed = await parsePolicyFile(policyText);
  if ('fault' in parsed) return invalid(POLICY_FILE, parsed.fault.line, parsed.fault.column, parsed.fault.why);
  if (parsed.policy.workspace !== workspace)
    return invalid(POLICY_FILE, lineOf(policyText, 'workspace:'), 1, 'workspace is not the id that was signed');
  const signers = parseAllowedSigners(signersText);
  const [fault] = signers.faults;
  if (fault) return invalid(SIGNERS_FILE, fault.line, 1, fault.message);
  const excepted = text(EXCEPTIONS_FILE);
  const exceptions = excepted === null ? { exceptions: [] } : await parseExceptions(excepted, now);
  if ('fault' in exceptions)
    return invalid(EXCEPTIONS_FILE, exceptions.fault.line, exceptions.fault.column, exceptions.fault.why);

  const { underLayers, tellConflict } = await import('./layers.ts');
  const bounds = (place.base ?? []).filter((layer) =>
    layer.workspaces.some((pattern) => pattern === '**' || matchesId(pattern, workspace)),
  );
  const bounded = underLayers(parsed.policy, `${dir}/${POLICY_FILE}`, bounds);
  if ('conflict' in bounded) {
    const key = bounded.conflict.setting.split('.').at(-1) ?? '';
    return invalid(POLICY_FILE, placeOfKey(policyText, key), 1, tellConflict(bounded.conflict));
  }

  const found: Finding[] = [];
  const documents = new Map<string, string>();
  for (const path of parsed.policy.constitution.documents) {
    const bytes = files.get(path);
    if (bytes) documents.set(path, sha256Hex(bytes));
    else
      found.push(
        finding('constitution-unavailable', {
          message: `${escapePath(path)} is a document of the constitution and not part of the signed set.`,
          file: path,
        }),
      );
  }
  const constitution = found.length > 0 ? null : constitutionHash(documents);
  if (constitution === null && found.length === 0)
    found.push(finding('constitution-unavailable', { message: 'policy.yaml names no constitution document.' }));

  const here = readStatements(root, `${dir}/revocations`, 'revocation', workspace);
  found.push(...here.findings);
  if (!here.whole)
    found.push(
      finding('revocation-missing', { message: `${dir}/revocations cannot be read whole: a revocation may be gone.` }),
    );
  const revocations = [...here.statements];
  const present = new Set(revocations.map((statement) => statement.payloadDigest));
  for (const statement of known) {
    if (present.has(statement.payloadDigest)) continue;
    revocations.push(statement);
    found.push(
      missing(`${statement.predicate.by}\u2019s revocation ${statement.payloadDigest.slice(0, 16)}`, dir, true),
    );
  }
  // Listed by the set or remembered here, and the text of it nowhere: it cannot be applied, so nobody is proven.
  const applied = new Set(revocations.map((statement) => statement.payloadDigest));
  for (const digest of new Set([...predicate.revocations, ...lost])) {
    if (!applied.has(digest)) found.push(missing(`The revocation ${digest.slice(0, 16)}`, dir, false));
  }
  const rules = listRules(root, dir);
  const beside = exists(join(root.path, dir, EXCEPTIONS_FILE)) ? [`${dir}/${EXCEPTIONS_FILE}`, ...rules] : rules;
  for (const path of beside.filter((path) => !files.has(path))) {
    found.push(
      finding('policy-file-unlisted', {
        message: `${escapePath(path)} is not listed in the signed set; it is ignored.`,
        file: path,
      }),
    );
  }
  return {
    root: 'pinned',
    intact: found.every((one) => one.code !== 'constitution-unavailable' && one.code !== 'revocation-missing'),
    workspace,
    version: predicate.version,
    floor: predicate.floor,
    constitution,
    dir,
    policy: bounded.policy,
    settings: bounded.settings,
    keys: signers.keys,
    roots: predicate.roots,
    exceptions: exceptions.exceptions,
    revocations,
    documents,
    endorsed: new Set(predicate.revocations),
    ruleFiles: rules.flatMap((path) => {
      const bytes = files.get(path);
      return bytes ? [{ path, text: Buffer.from(bytes).toString('utf8') }] : [];
    }),
    expiresAt: predicate.expiresAt,
    recovery: predicate.recovery,
    digest: set.payloadDigest,
    findings: found,
  };
}

function readListed(
  root: WorkspaceRoot,
  listed: Readonly<Record<string, string>>,
): { readonly bytes: ReadonlyMap<string, Uint8Array>; readonly faults: readonly Finding[] } {
  const bytes = new Map<string, Uint8Array>();
  const faults: Finding[] = [];
  for (const [path, digest] of Object.entries(listed)) {
    const read = readOnce(root, path, SET_FILE_BYTES);
    if (!wasRead(read)) faults.push(altered(path, 'cannot be read'));
    else if (read.aliasOf !== null) faults.push(altered(path, 'is a link'));
    else if (sha256Hex(read.bytes) !== digest) faults.push(altered(path, 'is not the file that was signed'));
    else bytes.set(path, read.bytes);
  }
  return { bytes, faults };
}

/**
 * Roots the pin leads to: itself, and what signed rotations hand on (`roots/<version>.dsse.json`, old and new root both signed). The pinned recovery key stands
 * for the old root, and only above the version seen here: an older recovery must not give the root back to who had it then.
 * @param seen the highest version known here.
 */
function trustedRoots(
  root: WorkspaceRoot,
  dir: string,
  pin: Pin,
  workspace: string,
  seen: number,
): ReadonlySet<string> {
  const trusted = new Set(pin.roots);
  const rotations = readStatements(root, `${dir}/roots`, 'policy', workspace).statements;
  for (const { predicate, signers } of [...rotations].sort((a, b) => a.predicate.version - b.predicate.version)) {
    const signed = new Set(signers.map((signer) => signer.fingerprint));
    const recovers = pin.recovery !== undefined && signed.has(pin.recovery) && predicate.version > seen;
    if (!recovers && ![...signed].some((fingerprint) => trusted.has(fingerprint))) continue;
    if (recovers && !predicate.roots.every((fingerprint) => signed.has(fingerprint))) continue;
    if (!predicate.roots.every((fingerprint) => signed.has(fingerprint) || trusted.has(fingerprint))) continue;
    // From here on only the new roots decide: the old ones are spent.
    trusted.clear();
    for (const fingerprint of predicate.roots) trusted.add(fingerprint);
  }
  return trusted;
}

/** Opens what state remembers. `lost`: digests whose envelope does not open or is not the one it is kept under. */
function openRemembered(remembered: Remembered): {
  readonly known: readonly Statement<RevocationPredicate>[];
  readonly lost: readonly string[];
} {
  const known: Statement<RevocationPredicate>[] = [];
  const lost: string[] = [];
  for (const [digest, text] of remembered.revocations) {
    const statement = openStatement(Buffer.from(text), `state:${digest.slice(0, 16)}`);
    if (!('refused' in statement) && statement.predicate.type === 'revocation' && statement.payloadDigest === digest)
      known.push(statement as Statement<RevocationPredicate>);
    else lost.push(digest);
  }
  return { known, lost };
}

function listRules(root: WorkspaceRoot, dir: string): readonly string[] {
  try {
    return readdirSync(join(root.path, dir, 'rules'))
      .filter((name) => name.endsWith('.yaml'))
      .sort()
      .map((name) => `${dir}/rules/${name}`);
  } catch {
    return [];
  }
}

/** 1-based line on which a key stands; 1 where it is not found. */
function placeOfKey(text: string, key: string): number {
  return (
    Math.max(
      0,
      text.split('\n').findIndex((line) => line.includes(`${key}:`) || line.includes(`"${key}"`)),
    ) + 1
  );
}

/** 1-based line that begins with a word; 1 where none does. */
function lineOf(text: string, word: string): number {
  return (
    Math.max(
      0,
      text.split('\n').findIndex((line) => line.startsWith(word)),
    ) + 1
  );
}

function mismatch(why: string): Finding {
  return finding('root-mismatch', { message: `The policy set is not the one this checkout is pinned to: ${why}.` });
}

function altered(path: string, why: string): Finding {
  return finding('policy-altered', { message: `${escapePath(path)} ${why}.`, file: path });
}

function missing(what: string, dir: string, applies: boolean): Finding {
  return finding('revocation-missing', {
    message: `${what} is gone from ${dir}/revocations${applies ? '; it still applies' : ''}.`,
  });
}

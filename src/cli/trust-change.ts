import { existsSync } from 'node:fs';
import { withLock } from '../files/lock.ts';
import { makeFolder } from '../files/make-folder.ts';
import { readOnce } from '../files/read-once.ts';
import { writeInside } from '../files/write-inside.ts';
import { type Judgement, judge } from '../gate.ts';
import { escapeText } from '../model/escaped.ts';
import { isoOf } from '../model/instant.ts';
import { PRINCIPAL_NAME, toRole } from '../model/role.ts';
import { wasRead } from '../model/source.ts';
import { pinOf } from '../policy/pins.ts';
import { POLICY_FILE, SIGNERS_FILE } from '../policy/policy-set.ts';
import { standingRevocations } from '../policy/revocations.ts';
import { readStatements } from '../policy/statements.ts';
import { parseAllowedSigners, renderAllowedSigner } from '../sign/allowed-signers.ts';
import type { SigningKey } from '../sign/private-key.ts';
import { changePins, withPin } from '../write/pins-file.ts';
import { editPrincipal } from '../write/policy-edit.ts';
import { readSigned, type SetDraft, type SignedSet, signSet } from '../write/policy-set.ts';
import { sealStatement, writeStatement } from '../write/statement-file.ts';
import { type Call, CannotError, EXIT, type Exit, flag, RefusedError, text, UsageError } from './command.ts';
import { tell } from './output.ts';
import { readPublicKey } from './root-key.ts';
import { openKey, openKeyFile, signingName } from './signing.ts';
import { openWorkspace, toRequest, type Workspace } from './workspace.ts';

/** `writ trust add`: a name, a role and a key; raises the version and re-signs. */
export async function add(call: Call): Promise<Exit> {
  const [name = ''] = call.positionals;
  if (!PRINCIPAL_NAME.test(name)) throw new UsageError('NAME is letters, digits, dot, dash and underscore, at most 64');
  const word = text(call, 'role') ?? '';
  const role = toRole(word);
  if (role === null) throw new UsageError('--role takes one of sovereign, approver, orchestrator, specialist');
  const file = text(call, 'pub');
  if (file === null) throw new UsageError('--pub FILE.pub names the public key');
  const key = readPublicKey(file);
  return change(call, ({ policy, signers }) => {
    const known = parseAllowedSigners(signers).keys;
    const other = known.find((one) => one.fingerprint === key.fingerprint && one.principal !== name);
    if (other) throw new RefusedError('spawn-collision', `the key ${key.fingerprint} is already ${other.principal}`);
    const line = renderAllowedSigner({
      principal: name,
      fingerprint: key.fingerprint,
      keyType: key.keyType,
      publicKey: key.line,
      namespaces: ['writ', 'git'],
      validAfter: null,
      validBefore: null,
    });
    const lines = known.some((one) => one.fingerprint === key.fingerprint)
      ? signers
      : `${signers.replace(/\n*$/, '\n')}${line}\n`;
    return {
      policy: editPrincipal(policy, { name, role }),
      signers: lines,
      raiseFloor: false,
      done: `${name} is ${role} with ${key.fingerprint}`,
    };
  });
}

/** `writ trust remove`: departed keeps what was approved; compromised revokes the name and raises the floor. */
export async function remove(call: Call): Promise<Exit> {
  const [name = ''] = call.positionals;
  const departed = flag(call, 'departed');
  const compromised = flag(call, 'compromised');
  if (departed && compromised) throw new UsageError('--departed and --compromised exclude each other');
  return change(call, async ({ policy, signers, workspace, judgement, keys }) => {
    const { set } = judgement;
    const entry = set.policy.principals.get(name);
    if (set.intact && !entry) throw new UsageError(`${name} is no principal here; writ trust show lists them`);
    if (
      entry?.role === 'sovereign' &&
      [...set.policy.principals.values()].filter((one) => one.role === 'sovereign').length === 1
    )
      throw new UsageError(`${name} is the only sovereign: hand the root on first, with writ trust rotate`);
    if (departed) {
      const own = new Set(set.keys.filter((key) => key.principal === name).map((key) => key.fingerprint));
      const id = set.workspace ?? '';
      const kept = [
        ...readStatements(workspace.root, `${set.dir}/approvals`, 'approval', id).statements,
        ...readStatements(workspace.root, `${set.dir}/authorship`, 'authorship', id).statements,
      ]
        .filter((one) => one.signers.some((signer) => own.has(signer.fingerprint)))
        .map((one) => one.payloadDigest)
        .sort();
      return {
        policy: editPrincipal(policy, { name, departed: isoOf(judgement.at), keeps: kept }),
        signers,
        raiseFloor: true,
        done: `${name} has departed; ${kept.length} of their statements still stand`,
      };
    }
    const made: string[] = [];
    if (compromised) {
      const predicate = {
        type: 'revocation' as const,
        artifactId: null,
        digest: null,
        publicKey: null,
        actor: name,
        by: signingName(call) ?? rootName(judgement, keys[0]),
        reason: 'key compromised',
      };
      const sealed = await sealStatement(
        { predicate, workspace: set.workspace ?? '', issuedAt: judgement.at, subjects: [] },
        set.dir,
        keys,
      );
      const fault = writeStatement(workspace.root, sealed);
      if (fault !== null) throw new CannotError(fault);
      made.push(sealed.payloadDigest);
    }
    const lines = signers.split('\n').filter((line) => line.trim().split(/\s+/)[0] !== name);
    return {
      policy: editPrincipal(policy, { name, gone: true }),
      signers: lines.join('\n'),
      raiseFloor: true,
      made,
      done: `${name} is removed${compromised ? ' and revoked' : ''}; sets before this version are refused from now on`,
    };
  });
}

/** `writ trust sign`: re-signs after a hand edit of policy.yaml, allowed_signers, the constitution or exceptions.yaml. */
export async function sign(call: Call): Promise<Exit> {
  return change(call, ({ policy, signers }) => ({
    policy,
    signers,
    raiseFloor: flag(call, 'raise-floor'),
    takesEdits: true,
    done: 'signed',
  }));
}

/** `writ trust rotate`: the set signed by old and new root; the double-signed set is kept so that older pins find their way. */
export async function rotate(call: Call): Promise<Exit> {
  const to = text(call, 'to');
  if (to === null)
    throw new UsageError('--to names the new key: its private file, or a .pub whose private half is in ssh-agent');
  const workspace = openWorkspace(call);
  const old = await openKey(call);
  const fresh = await openKeyFile(to.endsWith('.pub') && hasPrivateHalf(to) ? to.slice(0, -4) : to);
  if (fresh.publicKey.fingerprint === old.publicKey.fingerprint) throw new UsageError('the new key is the old one');
  const judgement = await judge(toRequest(workspace, call, []));
  const recovers = requireRoot(workspace, judgement, old, true);
  if (!recovers) requireName(call, judgement, old);
  const name = (recovers ? signingName(call) : null) ?? rootName(judgement, old);
  const signed = await underLock(workspace, async () => {
    const { policy, signers } = readSetFiles(workspace, judgement.set.dir);
    const line = renderAllowedSigner({
      principal: name,
      fingerprint: fresh.publicKey.fingerprint,
      keyType: fresh.publicKey.keyType,
      publicKey: fresh.publicKey.line,
      namespaces: ['writ', 'git'],
      validAfter: null,
      validBefore: null,
    });
    const lines = signers.includes(fresh.publicKey.line) ? signers : `${signers.replace(/\n*$/, '\n')}${line}\n`;
    return signAndPin(
      workspace,
      judgement,
      // What a thief signed is put right by hand first.
      { policy, signers: lines, raiseFloor: true, ...(recovers ? { takesEdits: true as const } : {}) },
      [old, fresh],
      [fresh.publicKey.fingerprint],
    );
  });
  const kept = writeInside(
    workspace.root,
    `${judgement.set.dir}/roots/${signed.version}.dsse.json`,
    signed.sealed.text,
    0o644,
  );
  if (kept) throw new CannotError(kept.message);
  await tell(
    `the root is now ${fresh.publicKey.fingerprint}; ${name} keeps the old key for what it approved. To retire the old key, delete its line in ${judgement.set.dir}/${SIGNERS_FILE} and run writ trust sign`,
  );
  return EXIT.ok;
}

interface Changing {
  readonly policy: string;
  readonly signers: string;
  readonly workspace: Workspace;
  readonly judgement: Judgement;
  readonly keys: readonly SigningKey[];
}

interface Changed {
  readonly policy: string;
  readonly signers: string;
  readonly raiseFloor: boolean;
  /** Payload digests of revocations made with the change. */
  readonly made?: readonly string[];
  /** What was edited by hand since is signed too. */
  readonly takesEdits?: true;
  readonly done: string;
}

async function change(call: Call, edit: (of: Changing) => Changed | Promise<Changed>): Promise<Exit> {
  const workspace = openWorkspace(call);
  const key = await openKey(call);
  return underLock(workspace, async () => {
    const judgement = await judge(toRequest(workspace, call, []));
    requireRoot(workspace, judgement, key, false);
    requireName(call, judgement, key);
    const files = readSetFiles(workspace, judgement.set.dir);
    const changed = await edit({ ...files, workspace, judgement, keys: [key] });
    const signed = await signAndPin(workspace, judgement, changed, [key], null);
    await tell(
      `${changed.done}; policy version ${signed.version}, floor ${signed.floor}. Commit ${judgement.set.dir}/.`,
    );
    return EXIT.ok;
  });
}

/**
 * Only a root the pin knows may sign: an altered set can be signed again, somebody else\u2019s cannot be taken over.
 * @param rotates the pinned recovery key may sign too. @returns whether it is that key.
 */
function requireRoot(workspace: Workspace, judgement: Judgement, key: SigningKey, rotates: boolean): boolean {
  const { set, pins } = judgement;
  const prior = readSigned(workspace.root, set.dir);
  if (prior === null) throw new UsageError(`${set.dir}/ holds no signed policy set: run writ init`);
  const pin = pinOf(pins?.pins ?? [], prior.workspace);
  const { fingerprint } = key.publicKey;
  const recovers = rotates && pin?.recovery === fingerprint;
  // A thief may have put a root of his own in: the recovery key takes it back.
  if (set.root !== 'pinned' && !recovers)
    throw new RefusedError(
      set.root === 'mismatch' ? 'root-mismatch' : 'root-unpinned',
      judgement.findings[0]?.message ?? 'no pin on this machine judges this set: run writ trust pin',
    );
  if (!recovers && !prior.predicate.roots.includes(fingerprint) && !pin?.roots.includes(fingerprint))
    throw new RefusedError(
      'root-mismatch',
      `${fingerprint} is no root here; the roots are ${prior.predicate.roots.join(', ')}`,
    );
  if (judgement.findings.some((one) => one.code === 'policy-below-floor'))
    throw new RefusedError(
      'policy-below-floor',
      'this checkout holds an old policy set: bring the current one in before you sign',
    );
  return recovers;
}

/** Whoever signs as somebody holds that name’s key; under an altered set no name can be told. */
export function requireName(call: Call, { set }: Judgement, key: SigningKey): void {
  const name = signingName(call);
  if (name === null || !set.intact) return;
  const holds = set.keys.some((one) => one.principal === name && one.fingerprint === key.publicKey.fingerprint);
  if (!holds)
    throw new RefusedError(
      'author-mismatch',
      `the key ${key.publicKey.fingerprint} is not one of ${escapeText(name, 64)}`,
    );
}

function rootName(judgement: Judgement, key: SigningKey | undefined): string {
  const { set } = judgement;
  return (
    set.keys.find((one) => one.fingerprint === key?.publicKey.fingerprint)?.principal ??
    [...set.policy.principals].find(([, entry]) => entry.role === 'sovereign')?.[0] ??
    'f13'
  );
}

function readSetFiles(workspace: Workspace, dir: string): { readonly policy: string; readonly signers: string } {
  const read = (name: string): string => {
    const found = readOnce(workspace.root, `${dir}/${name}`, 4_194_304);
    if (!wasRead(found)) throw new CannotError(`${dir}/${name}: ${found.finding.message}`);
    return Buffer.from(found.bytes).toString('utf8');
  };
  return { policy: read(POLICY_FILE), signers: read(SIGNERS_FILE) };
}

async function signAndPin(
  workspace: Workspace,
  judgement: Judgement,
  changed: Omit<Changed, 'done'>,
  keys: readonly SigningKey[],
  roots: readonly string[] | null,
): Promise<SignedSet> {
  const { dir } = judgement.set;
  const changes = new Map([
    [`${dir}/${POLICY_FILE}`, changed.policy],
    [`${dir}/${SIGNERS_FILE}`, changed.signers],
  ]);
  const draft: SetDraft = {
    root: workspace.root,
    dir,
    now: workspace.now,
    changes,
    raiseFloor: changed.raiseFloor,
    roots,
    recovery: null,
    revocations: [...standingDigests(judgement), ...(changed.made ?? [])],
    ...(changed.takesEdits ? { takesEdits: true } : {}),
  };
  const signed = await signSet(draft, keys);
  if ('refused' in signed) throw new UsageError(signed.refused);
  await repin(workspace, dir, signed);
  return signed;
}

/** The revocations that stand now: what the root lists, and so keeps whatever becomes of who signed them. */
export function standingDigests({ set, proofs, at }: Judgement): readonly string[] {
  return standingRevocations(set, proofs.spawns, proofs.approvals.all, at).map((one) => one.payloadDigest);
}

/** The pin follows what its own root signed. A pin of the administrator stays as it is. */
export async function repin(workspace: Workspace, dir: string, signed: SignedSet): Promise<void> {
  const fault = await changePins(workspace.places, (pins) => {
    const known = pinOf(pins.pins, signed.workspace);
    if (known?.from !== 'user') return pins;
    return withPin(pins, {
      ...known,
      roots: signed.roots,
      floor: Math.max(known.floor, signed.floor),
      version: signed.version,
      digest: signed.sealed.payloadDigest,
      dir,
      seen: workspace.now,
    });
  });
  if (fault !== null) throw new CannotError(fault);
}

async function underLock<T>(workspace: Workspace, work: () => Promise<T>): Promise<T> {
  makeFolder(workspace.places.configDir, 0o700);
  return withLock(workspace.places.configDir, 'set', work);
}

function hasPrivateHalf(file: string): boolean {
  return existsSync(file.slice(0, -'.pub'.length));
}

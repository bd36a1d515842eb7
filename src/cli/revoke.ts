import { type Judgement, judge } from '../gate.ts';
import { mayApprove } from '../model/artifact-class.ts';
import { escapePath } from '../model/escaped.ts';
import type { RevocationPredicate, Subject } from '../model/statement.ts';
import { isOpen, openStore } from '../store/store.ts';
import { readSigned, signSet } from '../write/policy-set.ts';
import type { KnownSigner } from '../write/signer.ts';
import { sealStatement, writeStatement } from '../write/statement-file.ts';
import { type Call, CannotError, EXIT, type Exit, RefusedError, text, UsageError } from './command.ts';
import { tell } from './output.ts';
import { openSigner } from './signing.ts';
import { repin, standingDigests } from './trust-change.ts';
import { openWorkspace, toPath, toRequest, type Workspace } from './workspace.ts';

type Target = Pick<RevocationPredicate, 'artifactId' | 'digest' | 'publicKey' | 'actor'>;
const NOTHING: Target = { artifactId: null, digest: null, publicKey: null, actor: null };

/** `writ revoke`: withdraws an artifact, a principal or a spawn. A revocation is never undone. */
export async function revoke(call: Call): Promise<Exit> {
  const [path] = call.positionals;
  const given = [path ?? null, text(call, 'id'), text(call, 'principal'), text(call, 'spawn')].filter(
    (one) => one !== null,
  );
  if (given.length !== 1) throw new UsageError('name exactly one of PATH, --id ID, --principal NAME, --spawn ACTOR');
  const reason = text(call, 'reason');
  if (!reason) throw new UsageError('--reason TEXT is needed: it is kept with the revocation');
  const workspace = openWorkspace(call);
  const judgement = await judge(toRequest(workspace, call, path === undefined ? [] : [toPath(workspace, path)]));
  const signer = await openSigner(call, judgement);
  const found = path === undefined ? fromFlags(call, judgement, signer) : fromPath(judgement, signer);
  await revokeFound(workspace, judgement, signer, found, reason);
  return EXIT.ok;
}

/** Withdraws the one artifact that was judged: by its id, or these very bytes where it has none. Throws RefusedError where the signer may not. */
export async function revokeJudged(
  workspace: Workspace,
  judgement: Judgement,
  signer: KnownSigner,
  reason: string,
): Promise<void> {
  await revokeFound(workspace, judgement, signer, fromPath(judgement, signer), reason);
}

async function revokeFound(
  workspace: Workspace,
  judgement: Judgement,
  signer: KnownSigner,
  found: Found,
  reason: string,
): Promise<void> {
  const { set } = judgement;
  const predicate: RevocationPredicate = {
    type: 'revocation',
    ...found.target,
    by: signer.identity.principal,
    reason: reason.slice(0, 500),
  };
  const sealed = await sealStatement(
    { predicate, workspace: set.workspace ?? '', issuedAt: workspace.now, subjects: found.subjects },
    set.dir,
    [signer.key],
  );
  const fault = writeStatement(workspace.root, sealed);
  if (fault !== null) throw new CannotError(fault);
  await remember(workspace, set.workspace ?? '', sealed.payloadDigest, sealed.text);
  await tell(`revoked ${found.what}; record in ${sealed.file}`);
  await listInSet(workspace, judgement, signer, sealed.payloadDigest);
}

interface Found {
  readonly target: Target;
  readonly subjects: readonly Subject[];
  readonly what: string;
}

function fromPath({ artifacts }: Judgement, signer: KnownSigner): Found {
  const [judged] = artifacts;
  const { claimed, parsed } = judged?.evidence ?? { claimed: null, parsed: null };
  if (!judged || parsed?.sha256 === null || parsed === null)
    throw new UsageError('there is no such file; name it by --id');
  const { path } = parsed.candidate;
  permit(
    signer,
    mayApprove(signer.identity.role, claimed?.manifest.class ?? 'observation', claimed?.manifest.level ?? 'T1'),
  );
  if (claimed === null)
    return {
      target: { ...NOTHING, digest: parsed.sha256 },
      subjects: [{ name: path, sha256: parsed.sha256 }],
      what: `${escapePath(path)} (these bytes)`,
    };
  return {
    target: { ...NOTHING, artifactId: claimed.manifest.artifactId },
    subjects: [{ name: path, sha256: claimed.contentSha256 }],
    what: `${escapePath(path)} (${claimed.manifest.artifactId})`,
  };
}

function fromFlags(call: Call, { set, proofs }: Judgement, signer: KnownSigner): Found {
  const { role, principal } = signer.identity;
  const id = text(call, 'id');
  if (id !== null) {
    const known = proofs.approvals.byId.get(id)?.[0]?.predicate;
    permit(signer, mayApprove(role, known?.class ?? 'observation', known?.level ?? 'T1'));
    return { target: { ...NOTHING, artifactId: id }, subjects: [], what: `artifact ${escapePath(id)}` };
  }
  const name = text(call, 'principal');
  if (name !== null) {
    const entry = set.policy.principals.get(name);
    if (!entry) throw new UsageError(`${escapePath(name)} is no principal here`);
    permit(
      signer,
      role === 'sovereign' || (role === 'approver' && entry.role !== 'approver' && entry.role !== 'sovereign'),
    );
    return { target: { ...NOTHING, actor: name }, subjects: [], what: `principal ${name}` };
  }
  const actor = text(call, 'spawn') ?? '';
  const record = proofs.spawns.byActor.get(actor)?.[0];
  if (!record) throw new UsageError(`${escapePath(actor)} has no spawn record here`);
  const chain = ancestors(actor, proofs.spawns.byActor);
  permit(signer, role === 'sovereign' || role === 'approver' || chain.includes(principal));
  return { target: { ...NOTHING, actor }, subjects: [], what: `spawn ${actor}` };
}

function ancestors(actor: string, byActor: Judgement['proofs']['spawns']['byActor']): readonly string[] {
  const names: string[] = [];
  for (
    let name: string | undefined = actor;
    name !== undefined && names.length < 8;
    name = byActor.get(name)?.[0]?.statement.predicate.parent
  )
    names.push(name);
  return names.slice(1);
}

function permit({ identity }: KnownSigner, allowed: boolean): void {
  if (!allowed)
    throw new RefusedError(
      'approver-not-permitted',
      `${identity.principal} is ${identity.role}, which may not revoke this`,
    );
}

/** State keeps the revocation even if its file is deleted before anybody loads again. */
async function remember(workspace: Workspace, id: string, payloadDigest: string, envelope: string): Promise<void> {
  const store = await openStore(workspace.state, 'write');
  if (store === null) return;
  if (!isOpen(store)) {
    await tell(`the revocation is written, but this machine\u2019s state cannot keep it: ${store.unavailable}`);
    return;
  }
  try {
    await store.revocations.remember(id, payloadDigest, envelope);
  } finally {
    await store.close();
  }
}

/** A root lists its revocation at once and raises the floor; another signer\u2019s stands by itself until the next signing. */
async function listInSet(workspace: Workspace, judgement: Judgement, signer: KnownSigner, made: string): Promise<void> {
  const { dir } = judgement.set;
  const roots = readSigned(workspace.root, dir)?.predicate.roots ?? [];
  if (!roots.includes(signer.key.publicKey.fingerprint)) return;
  const signed = await signSet(
    {
      root: workspace.root,
      dir,
      now: workspace.now,
      changes: new Map(),
      raiseFloor: true,
      roots: null,
      recovery: null,
      revocations: [...standingDigests(judgement), made],
    },
    [signer.key],
  );
  if ('refused' in signed)
    throw new CannotError(`the revocation stands, but the set could not be signed: ${signed.refused}`);
  await repin(workspace, dir, signed);
  await tell(`policy version ${signed.version}, floor ${signed.floor}. Commit ${dir}/.`);
}

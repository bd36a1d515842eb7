import { isValidGlob } from '../discover/globs.ts';
import { judge } from '../gate.ts';
import { instantFromDuration, isoOf, shift } from '../model/instant.ts';
import { outranks, PRINCIPAL_NAME, toRole } from '../model/role.ts';
import { sha256Hex } from '../sign/digest.ts';
import { sealStatement, writeStatement } from '../write/statement-file.ts';
import { type Call, CannotError, EXIT, type Exit, list, RefusedError, text, UsageError } from './command.ts';
import { tell } from './output.ts';
import { readPublicKey } from './root-key.ts';
import { openSigner } from './signing.ts';
import { openWorkspace, toRequest } from './workspace.ts';

const HOUR = 3_600_000;

/** `writ spawn`: the parent's signed word for a child: key, role, paths, life. */
export async function spawn(call: Call): Promise<Exit> {
  const [actor = ''] = call.positionals;
  if (!PRINCIPAL_NAME.test(actor))
    throw new UsageError('ACTOR is letters, digits, dot, dash and underscore, at most 64');
  const role = toRole(text(call, 'role') ?? '');
  if (role !== 'orchestrator' && role !== 'specialist')
    throw new UsageError('--role takes orchestrator or specialist: nobody is spawned into approving');
  const file = text(call, 'pub');
  if (file === null) throw new UsageError('--pub FILE.pub names the child\u2019s public key');
  const paths = list(call, 'paths');
  const bad = paths.find((glob) => !isValidGlob(glob));
  if (bad !== undefined) throw new UsageError(`--paths takes globs relative to the workspace, not ${bad}`);
  const workspace = openWorkspace(call);
  const { now, root } = workspace;
  const judgement = await judge(toRequest(workspace, call, []));
  const { set, proofs } = judgement;
  const signer = await openSigner(call, judgement);
  const { principal } = signer.identity;
  const longest = set.policy.spawns.maxHours * HOUR;
  const expiresAt =
    text(call, 'expires') === null
      ? shift(now, Math.min(8 * HOUR, longest))
      : instantFromDuration(text(call, 'expires') ?? '', now);
  if (expiresAt === null || expiresAt <= now)
    throw new UsageError('--expires takes a duration like 8h or a time to come');
  if (expiresAt - now > longest)
    throw new RefusedError(
      'spawn-role-widened',
      `spawns live at most ${set.policy.spawns.maxHours} hours here (policy.yaml spawns.maxHours)`,
    );
  if (outranks(role, signer.identity.role))
    throw new RefusedError('spawn-role-widened', `${principal} is ${signer.identity.role} and cannot give ${role}`);
  if (signer.identity.chain.length > 3)
    throw new RefusedError('spawn-chain-broken', `${principal} is already three links from a principal`);
  const parent = proofs.spawns.byActor.get(principal)?.[0];
  if (parent && expiresAt > parent.statement.predicate.expiresAt)
    throw new RefusedError(
      'spawn-role-widened',
      `${principal} itself ends at ${isoOf(parent.statement.predicate.expiresAt)}; a child cannot outlive it`,
    );
  const key = readPublicKey(file);
  const taken = proofs.spawns.byActor.get(actor)?.[0];
  if (set.policy.principals.has(actor) || set.keys.some((one) => one.fingerprint === key.fingerprint))
    throw new RefusedError('spawn-collision', `${actor} or its key is already a principal here`);
  if (taken && taken.statement.predicate.expiresAt > now && taken.fingerprint !== key.fingerprint)
    throw new RefusedError(
      'spawn-collision',
      `${actor} is spawned already, until ${isoOf(taken.statement.predicate.expiresAt)}`,
    );
  if ((proofs.spawns.byKey.get(key.fingerprint) ?? []).some((one) => one.statement.predicate.actor !== actor))
    throw new RefusedError('spawn-collision', 'that key is already another actor');
  const predicate = {
    type: 'spawn' as const,
    actor,
    role,
    parent: principal,
    publicKey: key.line,
    paths,
    expiresAt,
    session: null,
  };
  const subjects = [{ name: `${actor}.pub`, sha256: sha256Hex(key.blob) }];
  const sealed = await sealStatement({ predicate, workspace: set.workspace ?? '', issuedAt: now, subjects }, set.dir, [
    signer.key,
  ]);
  const fault = writeStatement(root, sealed);
  if (fault !== null) throw new CannotError(fault);
  const reach = paths.length === 0 ? 'every path its parent reaches' : paths.join(', ');
  await tell(
    `${actor} is ${role}, spawned by ${principal} until ${isoOf(expiresAt)}, for ${reach}; record in ${sealed.file}`,
  );
  return EXIT.ok;
}

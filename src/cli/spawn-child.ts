import type { Judgement } from '../gate.ts';
import { type Instant, instantFromDuration, isoOf, shift } from '../model/instant.ts';
import { outranks, PRINCIPAL_NAME, toRole } from '../model/role.ts';
import { sha256Hex } from '../sign/digest.ts';
import type { PublicKey } from '../sign/public-key.ts';
import type { KnownSigner } from '../write/signer.ts';
import { type Sealed, sealStatement, writeStatement } from '../write/statement-file.ts';
import { type Call, CannotError, RefusedError, text, UsageError } from './command.ts';
import type { Workspace } from './workspace.ts';

const HOUR = 3_600_000;

export type ChildRole = 'orchestrator' | 'specialist';

/** Whom a parent declares. */
export interface Child {
  readonly actor: string;
  readonly role: ChildRole;
  /** Globs it may write; none: all its parent reaches. */
  readonly paths: readonly string[];
  /** Asked for once everything else was found in order. */
  readonly readKey: () => PublicKey;
}

/** The role of `--role`, for an actor whose name will do. Throws UsageError. */
export function childRole(call: Call, actor: string): ChildRole {
  if (!PRINCIPAL_NAME.test(actor))
    throw new UsageError('ACTOR is letters, digits, dot, dash and underscore, at most 64');
  const role = toRole(text(call, 'role') ?? '');
  if (role !== 'orchestrator' && role !== 'specialist')
    throw new UsageError('--role takes orchestrator or specialist: nobody is spawned into approving');
  return role;
}

/** When `--expires` says a child ends, null where it says nothing. Throws UsageError. */
export function childEnd(call: Call, now: Instant): Instant | null {
  const given = text(call, 'expires');
  if (given === null) return null;
  const end = instantFromDuration(given, now);
  if (end === null || end <= now) throw new UsageError('--expires takes a duration like 8h or a time to come');
  return end;
}

/** Signs and writes the record of a child, with at most the role and life of its parent. Throws UsageError, RefusedError, CannotError. */
export async function declareChild(
  call: Call,
  workspace: Workspace,
  judgement: Judgement,
  signer: KnownSigner,
  child: Child,
): Promise<{ readonly sealed: Sealed; readonly expiresAt: Instant }> {
  const { actor, role, paths } = child;
  const { set, proofs } = judgement;
  const { now, root } = workspace;
  const { principal } = signer.identity;
  const longest = set.policy.spawns.maxHours * HOUR;
  const expiresAt = childEnd(call, now) ?? shift(now, Math.min(8 * HOUR, longest));
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
  const key = child.readKey();
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
  return { sealed, expiresAt };
}

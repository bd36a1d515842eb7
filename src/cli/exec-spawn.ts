import { unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { readOnce } from '../files/read-once.ts';
import { type Judgement, judge } from '../gate.ts';
import type { PrivateFolder } from '../launch/private-folder.ts';
import { instantFromMs, isoOf } from '../model/instant.ts';
import { wasRead } from '../model/source.ts';
import { newKeyPair } from '../sign/new-key.ts';
import type { Sealed } from '../write/statement-file.ts';
import { type Call, text, UsageError } from './command.ts';
import { tell } from './output.ts';
import { openSigner, signingFile } from './signing.ts';
import { type ChildRole, childEnd, childRole, declareChild } from './spawn-child.ts';
import { toRequest, type Workspace } from './workspace.ts';

/** Most bytes of a spawn record. */
const RECORD_BYTES = 65_536;

/** A child with an identity of its own for one start. */
export interface Spawned {
  readonly actor: string;
  readonly fingerprint: string;
  readonly record: Sealed;
  readonly env: Readonly<Record<string, string>>;
}

/** @returns the actor and role of `--spawn`, or null where there is none. Throws UsageError. */
export function spawnAsked(call: Call): { readonly actor: string; readonly role: ChildRole } | null {
  const actor = text(call, 'spawn');
  if (actor === null) {
    const stray = ['role', 'expires'].find((name) => text(call, name) !== null);
    if (stray !== undefined) throw new UsageError(`--${stray} belongs to --spawn ACTOR`);
    return null;
  }
  const role = childRole(call, actor);
  // What is wrong with the command line has to be known before anything is moved.
  const now = instantFromMs(Date.now());
  if (now !== null) childEnd(call, now);
  if (signingFile(call) === null)
    throw new UsageError('--spawn is signed by the parent: name its key with --key FILE or WRIT_KEY');
  return { actor, role };
}

/** Makes a key that lives as long as this start, and has the parent declare it. The record is the parent's signed word; the key lies in the private folder. */
export async function identify(
  call: Call,
  workspace: Workspace,
  judgement: Judgement,
  child: { readonly actor: string; readonly role: ChildRole },
  folder: PrivateFolder,
): Promise<Spawned> {
  const signer = await openSigner(call, judgement);
  const pair = newKeyPair(child.actor);
  const { sealed, expiresAt } = await declareChild(call, workspace, judgement, signer, {
    ...child,
    paths: [],
    readKey: () => pair.publicKey,
  });
  const key = folder.write('key', pair.privateKey);
  await tell(
    `writ: ${child.actor} is ${child.role} here, spawned by ${signer.identity.principal}, until it ends or ${isoOf(expiresAt)}`,
  );
  return {
    actor: child.actor,
    fingerprint: pair.publicKey.fingerprint,
    record: sealed,
    env: { WRIT_AS: child.actor, WRIT_KEY: key },
  };
}

/**
 * Ends the identity once its key is gone. The record goes too, unless the child signed something: then it is the only proof of who wrote
 * that, and it stays until it runs out by itself. Nobody holds the key any more, so nothing new can be signed under it.
 * What cannot be found out leaves the record where it is.
 */
export async function endSpawn(spawned: Spawned, workspace: Workspace): Promise<void> {
  const { actor, record } = spawned;
  try {
    const there = readOnce(workspace.root, record.file, RECORD_BYTES);
    if (!wasRead(there) || Buffer.from(there.bytes).toString('utf8') !== record.text) return;
    const now = instantFromMs(Date.now());
    if (now === null) return;
    const call = { values: {}, positionals: [], rest: [] };
    const judgement = await judge({ ...toRequest({ ...workspace, now }, call, null), onProgress: null });
    if (!judgement.set.intact) return;
    if (hasSpoken(judgement, spawned)) {
      await tell(
        `writ: the key of ${actor} is gone; its record ${record.file} stays, because it signed something here`,
      );
      return;
    }
    unlinkSync(join(workspace.root.path, record.file));
  } catch {
    await tell(`writ: the key of ${actor} is gone; its record ${record.file} stays until it runs out`);
  }
}

/** Whether anything here rests on the word of a child. */
function hasSpoken({ proofs, set, artifacts }: Judgement, { actor, fingerprint }: Spawned): boolean {
  const by = (one: { readonly signers: readonly { readonly fingerprint: string }[] }): boolean =>
    one.signers.some((signer) => signer.fingerprint === fingerprint);
  return (
    [...proofs.authorship.values()].flat().some(by) ||
    set.revocations.some(by) ||
    [...proofs.spawns.byActor.values()].flat().some(({ statement }) => by(statement)) ||
    artifacts.some((one) => one.writer?.principal === actor || one.writer?.chain.includes(actor) === true) ||
    artifacts.some((one) => one.evidence.parsed.post !== null && by(one.evidence.parsed.post))
  );
}

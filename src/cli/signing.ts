import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Judgement } from '../gate.ts';
import { PRINCIPAL_NAME } from '../model/role.ts';
import { openSigningKey, type SigningKey } from '../sign/private-key.ts';
import { REFUSALS } from '../sign/refusal.ts';
import { type KnownSigner, knowSigner } from '../write/signer.ts';
import { type Call, RefusedError, text, UsageError } from './command.ts';

/** The name given by `--as` or WRIT_AS, or null. */
export function signingName(call: Call): string | null {
  const name = text(call, 'as') ?? (process.env.WRIT_AS || null);
  if (name !== null && !PRINCIPAL_NAME.test(name))
    throw new UsageError('--as takes a name of letters, digits, dot, dash and underscore, at most 64');
  return name;
}

/** The key file given by `--key` or WRIT_KEY, or null. */
export function signingFile(call: Call): string | null {
  const file = text(call, 'key') ?? (process.env.WRIT_KEY || null);
  return file?.startsWith('~/') ? join(homedir(), file.slice(2)) : file;
}

/** Opens the key a signing command was given. */
export async function openKey(call: Call): Promise<SigningKey> {
  const file = signingFile(call);
  if (file === null)
    throw new UsageError(
      'this command signs: name the key with --key FILE or WRIT_KEY (an OpenSSH private key, or a .pub whose private half is in ssh-agent)',
    );
  return openKeyFile(file);
}

export async function openKeyFile(file: string): Promise<SigningKey> {
  const key = await openSigningKey(file);
  if ('refused' in key) throw new UsageError(`the key ${file} cannot be used: ${REFUSALS[key.refused]}`);
  return key;
}

/** The signer of a command, traced to a name and role under the policy set that was judged. */
export async function openSigner(call: Call, judgement: Judgement): Promise<KnownSigner> {
  const known = knowSigner(
    await openKey(call),
    signingName(call),
    judgement.set,
    judgement.proofs.spawns,
    judgement.at,
  );
  if ('refused' in known) throw new RefusedError('writer-unproven', known.refused);
  return known;
}

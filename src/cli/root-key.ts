import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { makeFolder } from '../files/make-folder.ts';
import { writeAtomic } from '../files/write-atomic.ts';
import { newKeyPair } from '../sign/new-key.ts';
import type { SigningKey } from '../sign/private-key.ts';
import { type PublicKey, parsePublicKey } from '../sign/public-key.ts';
import { findSshKeygen } from '../sign/ssh-keygen.ts';
import { type Call, CannotError, flag, UsageError } from './command.ts';
import { tell } from './output.ts';
import { openKeyFile, signingFile } from './signing.ts';
import type { Workspace } from './workspace.ts';

const DEFAULT_KEYS = ['id_ed25519', 'id_ecdsa', 'id_rsa'] as const;

/** The key that becomes root, and the file `--key` would name. */
export interface RootKey {
  readonly key: SigningKey;
  readonly file: string;
}

/** The root key of `writ init`: the one given, a new one with `--new-key`, else the first of the usual SSH keys. */
export async function rootKey(call: Call, { places }: Workspace, name: string): Promise<RootKey> {
  const given = signingFile(call);
  if (given !== null) return { key: await openKeyFile(given), file: given };
  if (flag(call, 'new-key')) {
    const file = join(places.configDir, 'keys', name);
    if (existsSync(file) || existsSync(`${file}.pub`))
      throw new UsageError(`${file} is there already: name it with --key`);
    await makeKey(file, name, flag(call, 'yes'));
    return { key: await openKeyFile(file), file };
  }
  const file = DEFAULT_KEYS.map((one) => join(homedir(), '.ssh', one)).find((one) => existsSync(one));
  if (file === undefined)
    throw new UsageError('no SSH key was found: name one with --key FILE, or make one with --new-key');
  return { key: await openKeyFile(file), file };
}

/** Through ssh-keygen, which asks for a passphrase on a terminal; in this process where it is not installed. */
async function makeKey(file: string, name: string, yes: boolean): Promise<void> {
  makeFolder(join(file, '..'), 0o700);
  const program = findSshKeygen(process.env.PATH ?? '', process.cwd());
  const asks = !yes && process.stdin.isTTY === true && process.stderr.isTTY === true;
  if (program === null) {
    const pair = newKeyPair(name);
    writeAtomic(file, pair.privateKey, 0o600);
    writeAtomic(`${file}.pub`, `${pair.publicKey.line} ${name}\n`, 0o644);
    await tell(`made a key: ${file} (without a passphrase: ssh-keygen is not installed)`);
    return;
  }
  const done = spawnSync(program, ['-q', '-t', 'ed25519', '-C', name, '-f', file, ...(asks ? [] : ['-N', ''])], {
    // What it prints must not mix with what a script reads of us.
    stdio: [asks ? 'inherit' : 'ignore', asks ? process.stderr.fd : 'ignore', asks ? 'inherit' : 'pipe'],
    encoding: 'utf8',
  });
  if (done.status !== 0)
    throw new CannotError(`ssh-keygen made no key: ${(done.stderr ?? '').trim() || `it ended in ${done.status}`}`);
  await tell(`made a key: ${file}${asks ? '' : ` (without a passphrase; add one with ssh-keygen -p -f ${file})`}`);
}

/** @returns the OpenSSH public key in a file. Throws UsageError where there is none. */
export function readPublicKey(file: string): PublicKey {
  let line: string;
  try {
    line = readFileSync(file, 'utf8').slice(0, 65_536).trim();
  } catch {
    throw new UsageError(`${file} cannot be read`);
  }
  const key = line.includes('\n') ? null : parsePublicKey(line);
  if (key === null)
    throw new UsageError(
      `${file} is no OpenSSH public key of a kind writ takes (ed25519, ecdsa, rsa of 2048 bits or more, sk-)`,
    );
  return key;
}

import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { resolve } from 'node:path';
import { parsePrivateKeyFile, signNatively } from './openssh-key.ts';
import { knownKey, type PublicKey, parsePublicKey } from './public-key.ts';
import { type Refused, SigningRefused } from './refusal.ts';
import { dearmor, toBeSigned, toSshsig, verifySshsig } from './sshsig.ts';

const MAX_KEY_FILE = 65_536;
const SIGN_TIMEOUT_MS = 120_000;

/** A key that can sign, in this process or through ssh-keygen. */
export interface SigningKey {
  readonly publicKey: PublicKey;
  /** @returns an SSHSIG blob that was verified before it is handed out. Throws SigningRefused where no signature could be made. */
  sign(message: Uint8Array, namespace: string): Promise<Uint8Array>;
}

type MakeSignature = (message: Uint8Array, namespace: string) => Promise<Uint8Array>;

function checkedKey(publicKey: PublicKey, make: MakeSignature): SigningKey {
  return {
    publicKey,
    async sign(message, namespace) {
      const blob = await make(message, namespace);
      const checked = verifySshsig(blob, message, namespace);
      const good = 'signer' in checked && checked.signer.fingerprint === publicKey.fingerprint;
      if (!good) throw new SigningRefused('sign-unverified');
      return blob;
    },
  };
}

/** Encrypted files, public halves of agent keys and authenticators: ssh-keygen knows how to ask the person. */
function externalKey(publicKey: PublicKey, file: string): SigningKey {
  return checkedKey(publicKey, async (message, namespace) => {
    const { findSshKeygen, signWithSshKeygen } = await import('./ssh-keygen.ts');
    const program = findSshKeygen(process.env.PATH ?? '', process.cwd());
    if (program === null) throw new SigningRefused('ssh-keygen-missing');
    const showMessages = publicKey.keyType.startsWith('sk-') && process.stderr.isTTY === true;
    const request = { program, file, namespace, message, timeoutMs: SIGN_TIMEOUT_MS, showMessages };
    const armored = await signWithSshKeygen(request);
    if (typeof armored !== 'string') throw new SigningRefused(armored.refused);
    const blob = dearmor(armored);
    if (blob === null) throw new SigningRefused('sign-failed');
    return blob;
  });
}

async function readBounded(handle: FileHandle): Promise<string | Refused> {
  const stat = await handle.stat();
  if (!stat.isFile()) return { refused: 'key-not-regular' };
  if (stat.size > MAX_KEY_FILE) return { refused: 'key-too-large' };
  const buffer = Buffer.alloc(MAX_KEY_FILE + 1);
  const { bytesRead } = await handle.read(buffer, 0, buffer.length, 0);
  return bytesRead > MAX_KEY_FILE ? { refused: 'key-too-large' } : buffer.toString('latin1', 0, bytesRead);
}

/** A FIFO would hang a plain open, so it is opened without blocking and judged by what it is. */
async function readKeyFile(file: string): Promise<string | Refused> {
  let handle: FileHandle | null = null;
  try {
    handle = await open(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    return await readBounded(handle);
  } catch {
    return { refused: 'key-unreadable' };
  } finally {
    await handle?.close();
  }
}

/**
 * Opens a key to sign with: an OpenSSH private key file, or a public key file whose private half is in ssh-agent or beside it.
 * Open files sign in this process; encrypted ones, agent keys and sk- keys through ssh-keygen, which may ask on the terminal
 * when `sign` is called. Permissions of the file are the caller's business.
 */
export async function openSigningKey(file: string): Promise<SigningKey | Refused> {
  const text = await readKeyFile(file);
  if (typeof text !== 'string') return text;
  const path = resolve(file);
  const agentKey = parsePublicKey(text);
  if (agentKey !== null) return externalKey(agentKey, path);
  const parsed = parsePrivateKeyFile(text);
  if (parsed === null) return { refused: /^[a-z][a-z0-9@.-]+ AAAA/.test(text) ? 'key-unsupported' : 'key-format' };
  if (parsed === 'unsupported') return { refused: 'key-unsupported' };
  const { publicKey, native } = parsed;
  if (native === null) return externalKey(publicKey, path);
  const known = knownKey(publicKey.blob);
  if (known === null) return { refused: 'key-unsupported' };
  return checkedKey(publicKey, async (message, namespace) => {
    const inner = signNatively(native, known, toBeSigned(message, namespace, 'sha512'));
    return toSshsig(publicKey.blob, namespace, 'sha512', inner);
  });
}

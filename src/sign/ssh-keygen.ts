import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, isAbsolute, join, parse, relative } from 'node:path';
import type { Refusal, Refused } from './refusal.ts';

const MAX_OUTPUT = 65_536;
const NAMES = process.platform === 'win32' ? ['ssh-keygen.exe'] : ['ssh-keygen'];

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

function isOutside(folder: string, cwd: string): boolean {
  if (parse(cwd).root === cwd) return true;
  const way = relative(cwd, folder);
  return way.startsWith('..') || isAbsolute(way);
}

/**
 * @returns the absolute path of ssh-keygen on a PATH, or null. Relative folders, folders inside `cwd` and every node_modules
 * are passed over: `npx` puts the workspace's own node_modules/.bin first, and a repository could plant a program there that reads passphrases.
 */
export function findSshKeygen(path: string, cwd: string): string | null {
  const folders = path.split(delimiter).filter((folder) => isAbsolute(folder) && isOutside(folder, cwd));
  const safe = folders.filter((folder) => !/(?:^|[\\/])node_modules(?:[\\/]|$)/.test(folder));
  return safe.flatMap((folder) => NAMES.map((name) => join(folder, name))).find(isProgram) ?? null;
}

/** What to sign, with which program and key file. */
export interface KeygenRequest {
  readonly program: string;
  /** Absolute path of a private key, or of a public key whose private half an agent holds. */
  readonly file: string;
  readonly namespace: string;
  readonly message: Uint8Array;
  readonly timeoutMs: number;
  /** The person must see "confirm user presence" on the terminal, so its messages are not captured. */
  readonly showMessages: boolean;
}

function reasonOf(stderr: string): Refusal {
  if (/incorrect passphrase/i.test(stderr)) return 'passphrase-wrong';
  if (/agent|couldn't load (?:public|private)|no such file|no private key/i.test(stderr)) return 'agent-missing';
  return 'sign-failed';
}

/** Signs through `ssh-keygen -Y sign`, message on stdin, no shell. It asks for a passphrase on the terminal if there is one. @returns the armored signature, or why there is none. */
export async function signWithSshKeygen(request: KeygenRequest): Promise<string | Refused> {
  const { spawn } = await import('node:child_process');
  const child = spawn(request.program, ['-Y', 'sign', '-n', request.namespace, '-f', request.file], {
    stdio: ['pipe', 'pipe', request.showMessages ? 'inherit' : 'pipe'],
    windowsHide: true,
  });
  return new Promise((resolve) => {
    const output: { readonly out: Buffer[]; readonly err: Buffer[] } = { out: [], err: [] };
    let overdue = false;
    const keep = (into: Buffer[]) => (chunk: Buffer) => {
      if (into.reduce((sum, one) => sum + one.length, chunk.length) <= MAX_OUTPUT) into.push(chunk);
    };
    const timer = setTimeout(() => {
      overdue = true;
      child.kill('SIGKILL');
    }, request.timeoutMs);
    child.stdout?.on('data', keep(output.out));
    child.stderr?.on('data', keep(output.err));
    child.stdin?.on('error', () => {});
    child.on('error', () => {
      clearTimeout(timer);
      resolve({ refused: 'ssh-keygen-missing' });
    });
    child.on('close', (code) => {
      clearTimeout(timer);
      if (overdue) resolve({ refused: 'sign-timeout' });
      else if (code !== 0) resolve({ refused: reasonOf(Buffer.concat(output.err).toString('utf8')) });
      else resolve(Buffer.concat(output.out).toString('latin1'));
    });
    child.stdin?.end(request.message);
  });
}

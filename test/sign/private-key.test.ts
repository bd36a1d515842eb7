import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, test, vi } from 'vitest';
import { newKeyPair } from '../../src/sign/new-key.ts';
import { openSigningKey, type SigningKey } from '../../src/sign/private-key.ts';
import { SigningRefused } from '../../src/sign/refusal.ts';
import { findSshKeygen, signWithSshKeygen } from '../../src/sign/ssh-keygen.ts';
import { armor, dearmor, verifySshsig } from '../../src/sign/sshsig.ts';
import { hasSshKeygen, keygen, SK_ED25519_BLOB, scratch } from './forge.ts';

const folder = scratch();
const MESSAGE = Buffer.from('the message\n');
afterEach(() => vi.unstubAllEnvs());
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function opened(file: string): Promise<SigningKey> {
  const key = await openSigningKey(file);
  if ('refused' in key) throw new Error(key.refused);
  return key;
}

async function refusalOf(signing: Promise<unknown>): Promise<string> {
  const thrown = await signing.then(
    () => 'signed',
    (error: unknown) => error,
  );
  return thrown instanceof SigningRefused ? thrown.refused : String(thrown);
}

function made(name: string, args: readonly string[], passphrase = ''): string {
  const file = join(folder, name);
  keygen(['-q', ...args, '-N', passphrase, '-C', 'test', '-f', file]);
  return file;
}

function opensshAccepts(blob: Uint8Array, publicLine: string, namespace: string): void {
  const where = scratch();
  writeFileSync(join(where, 'sig'), armor(blob));
  writeFileSync(join(where, 'allowed'), `f13 ${publicLine}\n`);
  const args = ['-Y', 'verify', '-f', join(where, 'allowed'), '-I', 'f13', '-n', namespace, '-s', join(where, 'sig')];
  expect(keygen(args, MESSAGE)).toContain(`Good "${namespace}" signature`);
}

const KINDS: readonly (readonly [string, readonly string[]])[] = [
  ['ed25519', ['-t', 'ed25519']],
  ['ecdsa-256', ['-t', 'ecdsa', '-b', '256']],
  ['ecdsa-384', ['-t', 'ecdsa', '-b', '384']],
  ['ecdsa-521', ['-t', 'ecdsa', '-b', '521']],
  ['rsa-2048', ['-t', 'rsa', '-b', '2048']],
  ['rsa-3072', ['-t', 'rsa', '-b', '3072']],
  ['rsa-4096', ['-t', 'rsa', '-b', '4096']],
];

describe.skipIf(!hasSshKeygen)('both ways with ssh-keygen', () => {
  for (const [name, args] of KINDS) {
    test(name, async () => {
      const file = made(name, args);
      vi.stubEnv('PATH', '');
      const key = await opened(file);
      const native = await Promise.all(Array.from({ length: 8 }, () => key.sign(MESSAGE, 'writ')));
      vi.unstubAllEnvs();
      for (const blob of native.slice(0, 2)) opensshAccepts(blob, key.publicKey.line, 'writ');
      for (const hash of ['sha256', 'sha512']) {
        const theirs = dearmor(keygen(['-Y', 'sign', '-n', 'writ', '-O', `hashalg=${hash}`, '-f', file], MESSAGE));
        expect(verifySshsig(theirs ?? new Uint8Array(0), MESSAGE, 'writ')).toMatchObject({
          signer: { fingerprint: keygen(['-lf', file]).split(' ')[1], userPresent: false },
        });
      }
    });
  }

  test('a new key is read by ssh-keygen and signs', async () => {
    const pair = newKeyPair('a comment');
    const file = join(folder, 'new');
    writeFileSync(file, pair.privateKey, { mode: 0o600 });
    expect(keygen(['-y', '-f', file]).trim()).toBe(`${pair.publicKey.line} a comment`);
    expect(keygen(['-lf', file])).toContain(pair.publicKey.fingerprint);
    const key = await opened(file);
    opensshAccepts(await key.sign(MESSAGE, 'git'), pair.publicKey.line, 'git');
  });

  test('a key in ssh-agent, through its .pub and through its encrypted file', async () => {
    const file = made('agent', ['-t', 'ed25519'], 'secret words');
    const agent = execFileSync('ssh-agent', ['-s'], { encoding: 'utf8' });
    const [, socket = ''] = /SSH_AUTH_SOCK=([^;]+)/.exec(agent) ?? [];
    const [, pid = ''] = /SSH_AGENT_PID=(\d+)/.exec(agent) ?? [];
    try {
      vi.stubEnv('SSH_AUTH_SOCK', socket);
      askWith('secret words');
      execFileSync('ssh-add', [file], { stdio: ['ignore', 'pipe', 'pipe'] });
      askWith('not asked for');
      for (const path of [`${file}.pub`, file]) {
        const key = await opened(path);
        opensshAccepts(await key.sign(MESSAGE, 'writ'), key.publicKey.line, 'writ');
      }
    } finally {
      process.kill(Number(pid));
    }
  });

  test('an encrypted key asks, and says when the answer was wrong', async () => {
    const key = await opened(made('encrypted', ['-t', 'ed25519'], 'secret words'));
    vi.stubEnv('SSH_AUTH_SOCK', '');
    askWith('secret words');
    opensshAccepts(await key.sign(MESSAGE, 'writ'), key.publicKey.line, 'writ');
    askWith('wrong');
    expect(await refusalOf(key.sign(MESSAGE, 'writ'))).toBe('passphrase-wrong');
  });

  test('a .pub without agent or private half', async () => {
    const file = made('lonely', ['-t', 'ed25519']);
    rmSync(file);
    vi.stubEnv('SSH_AUTH_SOCK', '');
    const key = await opened(`${file}.pub`);
    expect(await refusalOf(key.sign(MESSAGE, 'writ'))).toBe('agent-missing');
  });
});

function askWith(answer: string): void {
  const script = join(folder, `ask-${Math.abs(answer.length)}`);
  writeFileSync(script, `#!/bin/sh\necho '${answer}'\n`, { mode: 0o700 });
  vi.stubEnv('SSH_ASKPASS', script);
  vi.stubEnv('SSH_ASKPASS_REQUIRE', 'force');
  vi.stubEnv('DISPLAY', ':none');
}

describe('refused to open', () => {
  const file = (name: string, text: string) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const good = newKeyPair('x').privateKey;
  const lines = good.trim().split('\n');
  const bodyOf = (bend: (bytes: Buffer) => void) => {
    const bytes = Buffer.from(lines.slice(1, -1).join(''), 'base64');
    bend(bytes);
    return [lines[0], bytes.toString('base64'), lines.at(-1), ''].join('\n');
  };
  const cases: readonly (readonly [string, string, string])[] = [
    ['nothing there', join(folder, 'absent'), 'key-unreadable'],
    ['a folder', folder, 'key-not-regular'],
    ['a large file', file('large', 'x'.repeat(70_000)), 'key-too-large'],
    ['prose', file('prose', 'hello'), 'key-format'],
    ['another PEM', file('pem', good.replaceAll('OPENSSH', 'RSA')), 'key-format'],
    ['a cut file', file('cut', good.slice(0, 200)), 'key-format'],
    [
      'two check numbers',
      file(
        'checks',
        bodyOf((b) => b.writeUInt32BE((b.readUInt32BE(98) ^ 1) >>> 0, 98)),
      ),
      'key-format',
    ],
    [
      'another magic',
      file(
        'magic',
        bodyOf((b) => b.writeUInt8(0x4f, 0)),
      ),
      'key-format',
    ],
    [
      'two keys',
      file(
        'two',
        bodyOf((b) => b.writeUInt32BE(2, 35)),
      ),
      'key-format',
    ],
    ['a dss public key', file('dss', `ssh-dss ${'A'.repeat(100)}\n`), 'key-unsupported'],
  ];
  for (const [name, path, refused] of cases) {
    test(name, async () => expect(await openSigningKey(path)).toEqual({ refused }));
  }
  test('a FIFO does not hang', async () => {
    const fifo = join(folder, 'fifo');
    if (spawnSync('mkfifo', [fifo]).status !== 0) return console.log('skipped: no mkfifo');
    expect(await openSigningKey(fifo)).toEqual({ refused: 'key-not-regular' });
  });
  test('a public half that is not of the private one: the signature is checked before it leaves', async () => {
    const bytes = Buffer.from(lines.slice(1, -1).join(''), 'base64');
    const other = Buffer.from(newKeyPair('x').privateKey.trim().split('\n').slice(1, -1).join(''), 'base64');
    other.copy(bytes, 39, 39, 39 + 4 + 51);
    const bent = file('bent', [lines[0], bytes.toString('base64'), lines.at(-1), ''].join('\n'));
    const key = await openSigningKey(bent);
    expect('refused' in key ? key.refused : await refusalOf(key.sign(MESSAGE, 'writ'))).toMatch(
      /sign-unverified|key-format/,
    );
  });
  test('a link to a key is followed', async () => {
    const target = file('target', good);
    symlinkSync(target, join(folder, 'link'));
    expect(await openSigningKey(join(folder, 'link'))).toHaveProperty('publicKey');
  });
});

describe('ssh-keygen that is missing or lies', () => {
  const pub = join(folder, 'sk.pub');
  writeFileSync(pub, `sk-ssh-ed25519@openssh.com ${SK_ED25519_BLOB.toString('base64')}\n`);
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  const fake = (script: string) => writeFileSync(join(bin, 'ssh-keygen'), `#!/bin/sh\n${script}\n`, { mode: 0o700 });
  const signing = async () => refusalOf((await opened(pub)).sign(MESSAGE, 'writ'));
  const cases: readonly (readonly [string, string, string])[] = [
    ['fails', 'exit 255', 'sign-failed'],
    [
      'fails without an agent',
      'echo "Could not open a connection to your authentication agent" >&2; exit 255',
      'agent-missing',
    ],
    ['prints something else', 'echo hello', 'sign-failed'],
    ['prints too much', 'head -c 300000 /dev/zero', 'sign-failed'],
    [
      'prints a signature of nobody',
      "printf -- '-----BEGIN SSH SIGNATURE-----\\nAAAA\\n-----END SSH SIGNATURE-----\\n'",
      'sign-unverified',
    ],
    ['closes its ears', 'exec 0<&-; exit 3', 'sign-failed'],
  ];
  for (const [name, script, refused] of cases) {
    test(name, async () => {
      fake(script);
      vi.stubEnv('PATH', `${bin}:/usr/bin:/bin`);
      expect(await signing()).toBe(refused);
    });
  }
  test('is not there', async () => {
    vi.stubEnv('PATH', '');
    expect(await signing()).toBe('ssh-keygen-missing');
  });
  test('takes too long', async () => {
    fake('exec sleep 30');
    const request = {
      program: join(bin, 'ssh-keygen'),
      file: pub,
      namespace: 'writ',
      message: MESSAGE,
      timeoutMs: 200,
      showMessages: false,
    };
    expect(await signWithSshKeygen(request)).toEqual({ refused: 'sign-timeout' });
  });
  test('is never taken from the workspace, node_modules or a relative folder', () => {
    const inside = join(folder, 'work', 'node_modules', '.bin');
    mkdirSync(inside, { recursive: true });
    fake('exit 0');
    copyFileSync(join(bin, 'ssh-keygen'), join(inside, 'ssh-keygen'));
    chmodSync(join(inside, 'ssh-keygen'), 0o700);
    expect(findSshKeygen(`${inside}:.:bin:`, '/elsewhere')).toBeNull();
    expect(findSshKeygen(bin, folder)).toBeNull();
    expect(findSshKeygen(`${inside}:${bin}`, join(folder, 'work'))).toBe(join(bin, 'ssh-keygen'));
  });
});

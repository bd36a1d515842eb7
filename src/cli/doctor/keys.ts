import { spawnSync } from 'node:child_process';
import { lstatSync, readdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { readOutside } from '../../files/read-once.ts';
import { escapePath } from '../../model/escaped.ts';
import type { AllowedKey } from '../../model/principal.ts';
import { wasRead } from '../../model/source.ts';
import { windowOf } from '../../policy/key-lines.ts';
import { parsePrivateKeyFile } from '../../sign/openssh-key.ts';
import { parsePublicKey } from '../../sign/public-key.ts';
import { signingFile } from '../signing.ts';
import { type Check, fail, ok, type Patient, type Subject, unchecked, warn } from './check.ts';

const KEY_BYTES = 65_536;
const MAX_FILES = 64;
/** Below so many bits an RSA key is taken, and weak. */
const GOOD_RSA_BITS = 3_072;
const SHORT = 10_000;

/** Who can sign here, with what, and whether a person has to be there. */
export const KEYS: readonly Subject[] = [
  { id: 'keys', run: checkKeys },
  { id: 'key-files', run: checkFiles },
  { id: 'agent', run: checkAgent },
  { id: 'presence', run: checkPresence },
];

/** The keys whose signature can make something bind: of approvers and the sovereign. */
function deciding({ judgement }: Patient): readonly AllowedKey[] {
  const { set } = judgement;
  return set.keys.filter((key) => {
    const entry = set.policy.principals.get(key.principal);
    return entry !== undefined && entry.departed === null && (entry.role === 'sovereign' || entry.role === 'approver');
  });
}

function checkKeys(patient: Patient): readonly Check[] {
  const { set } = patient.judgement;
  if (!set.intact) return [];
  const keys = deciding(patient);
  const checks = keys.flatMap((key): readonly Check[] => {
    const whose = `The key of ${key.principal} (${key.keyType})`;
    const window = windowOf(key, patient.workspace.now);
    if (window !== 'open')
      return [
        warn(
          'keys',
          `${whose} is ${window === 'early' ? 'not valid yet' : 'no longer valid'}.`,
          `Edit ${set.dir}/allowed_signers, then: writ trust sign`,
        ),
      ];
    const bits = rsaBits(key);
    if (bits !== null && bits < GOOD_RSA_BITS)
      return [warn('keys', `${whose} has ${bits} bits.`, 'Use ed25519, or a security key: writ trust rotate --to NEW')];
    return [];
  });
  const without = [...set.policy.principals].filter(
    ([name, entry]) => entry.departed === null && !set.keys.some((key) => key.principal === name),
  );
  for (const [name] of without)
    checks.push(warn('keys', `${name} has a role and no key.`, `writ trust remove ${name}`));
  return checks.length > 0
    ? checks
    : [ok('keys', `${keys.map((key) => `${key.principal} ${key.keyType}`).join(', ')}.`)];
}

function rsaBits({ publicKey }: AllowedKey): number | null {
  const blob = parsePublicKey(publicKey)?.blob;
  if (blob === undefined || !publicKey.startsWith('ssh-rsa ')) return null;
  const view = Buffer.from(blob);
  // string type, mpint e, mpint n; the modulus may begin with a zero byte.
  let at = 4 + view.readUInt32BE(0);
  at += 4 + view.readUInt32BE(at);
  const length = view.readUInt32BE(at);
  return (length - (view[at + 4] === 0 ? 1 : 0)) * 8;
}

/** Private keys this user has that decide here: others must not read them, and without a passphrase any program of the user can use them. */
function checkFiles(patient: Patient): readonly Check[] {
  const wanted = new Map(deciding(patient).map((key) => [key.fingerprint, key.principal]));
  const { configDir } = patient.workspace.places;
  const touch = patient.judgement.set.policy.approvals.presence === 'touch';
  const given = signingFile({ values: {}, positionals: [], rest: [] });
  const files = [
    ...below(join(homedir(), '.ssh')),
    ...below(join(configDir, 'keys')),
    ...(given === null ? [] : [given]),
  ];
  const checks = [...new Set(files)].flatMap((file): readonly Check[] => {
    const read = readOutside(file, KEY_BYTES);
    if (!wasRead(read)) return [];
    const parsed = parsePrivateKeyFile(Buffer.from(read.bytes).toString('latin1'));
    if (parsed === null || parsed === 'unsupported') return [];
    const name = wanted.get(parsed.publicKey.fingerprint);
    const told = escapePath(file);
    const isOwn = process.platform === 'win32' || (read.mode & 0o077) === 0;
    // Whose a key is nobody can say where the set does not stand; that others may read one of writ's own is wrong in any case.
    if (!isOwn && (name !== undefined || file === given || file.startsWith(configDir)))
      return [
        fail(
          'key-files',
          `${told}${name === undefined ? '' : `, the key of ${name},`} may be read by others than you.`,
          `chmod 600 ${told}`,
        ),
      ];
    if (name === undefined) return [];
    const whose = name;
    if (parsed.native !== null && !touch)
      return [
        warn(
          'key-files',
          `${told}, the key of ${whose}, has no passphrase: any program you run can sign with it.`,
          `ssh-keygen -p -f ${told}`,
        ),
      ];
    return [
      ok(
        'key-files',
        `${told}, the key of ${whose}, is readable by you alone${parsed.native === null ? ' and protected' : ''}.`,
      ),
    ];
  });
  return checks;
}

function below(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
      .filter((name) => !/\.pub$|^(?:known_hosts|authorized_keys|config)/.test(name))
      .slice(0, MAX_FILES)
      .map((name) => join(folder, name))
      .filter((path) => lstatSync(path).isFile());
  } catch {
    return [];
  }
}

/** What ssh-agent holds, whoever runs as this user may sign with, without being asked. */
function checkAgent(patient: Patient): readonly Check[] {
  if (!patient.env.SSH_AUTH_SOCK) return [ok('agent', 'No ssh-agent runs here.')];
  const asked = spawnSync('ssh-add', ['-l', '-E', 'sha256'], {
    encoding: 'utf8',
    timeout: SHORT,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  // 1: it holds no key.
  if (asked.error !== undefined || (asked.status !== 0 && asked.status !== 1))
    return [unchecked('agent', 'ssh-agent did not answer.', 'ssh-add -l')];
  const held = deciding(patient).filter(
    (key) => asked.status === 0 && asked.stdout.includes(`${key.fingerprint} `) && !key.keyType.startsWith('sk-'),
  );
  if (held.length === 0) return [ok('agent', 'ssh-agent holds no key that approves here.')];
  return held.map((key) =>
    warn(
      'agent',
      `ssh-agent holds the key of ${key.principal}: any program you run can sign with it.`,
      'ssh-add -D, or add it again with: ssh-add -c FILE',
    ),
  );
}

function checkPresence(patient: Patient): readonly Check[] {
  const { set } = patient.judgement;
  if (!set.intact) return [];
  if (set.policy.approvals.presence !== 'touch')
    return [
      warn(
        'presence',
        'No touch is asked for: an agent that runs as the same user as you can sign as you, and writ cannot tell.',
        'Use a security key (ssh-keygen -t ed25519-sk) and set approvals: {presence: touch} in policy.yaml, then: writ trust sign',
      ),
    ];
  const keys = deciding(patient);
  const able = keys.filter((key) => key.keyType.startsWith('sk-'));
  if (able.length === 0)
    return [
      fail(
        'presence',
        'A touch is asked for, and nobody who approves has a security key.',
        'writ trust add NAME --role approver --pub KEY_sk.pub',
      ),
    ];
  return [
    ok('presence', `A touch is asked for; ${[...new Set(able.map((key) => key.principal))].join(', ')} can give it.`),
  ];
}

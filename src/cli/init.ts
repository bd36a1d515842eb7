import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, join } from 'node:path';
import { writeAtomic } from '../files/write-atomic.ts';
import { judge } from '../gate.ts';
import { checkoutKeys } from '../gather/recall.ts';
import { CONSTITUTION_TEMPLATE } from '../generated/template.ts';
import { remoteUrl } from '../git/git.ts';
import { POLICY_DIR } from '../policy/defaults.ts';
import { readPins } from '../policy/pins.ts';
import { POLICY_FILE, SET_FILE, SIGNERS_FILE } from '../policy/policy-set.ts';
import { renderJudgement } from '../report/verdicts-text.ts';
import { renderAllowedSigner } from '../sign/allowed-signers.ts';
import { newKeyPair } from '../sign/new-key.ts';
import type { SigningKey } from '../sign/private-key.ts';
import { type PublicKey, parsePublicKey } from '../sign/public-key.ts';
import { isOpen, openStore } from '../store/store.ts';
import { keepBytes } from '../write/git-attributes.ts';
import { changePins, withPin } from '../write/pins-file.ts';
import { signSet } from '../write/policy-set.ts';
import { type Call, CannotError, EXIT, type Exit, flag, text, UsageError } from './command.ts';
import { paintFor, print, STDOUT, tell } from './output.ts';
import { openKeyFile, signingFile, signingName } from './signing.ts';
import { openWorkspace, toRequest, type Workspace } from './workspace.ts';

const WORKSPACE_ID = /^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,255}$/;
const DEFAULT_KEYS = ['id_ed25519', 'id_ecdsa', 'id_rsa'] as const;

/** `writ init`: policies/, the first signature, the pin; then what each file would load as. */
export async function init(call: Call): Promise<Exit> {
  const workspace = openWorkspace(call);
  const { root, places, now } = workspace;
  const name = signingName(call) ?? 'f13';
  const dir = (text(call, 'dir') ?? POLICY_DIR).replace(/\/+$/, '');
  if (!/^[A-Za-z0-9._-]+(?:\/[A-Za-z0-9._-]+)*$/.test(dir) || dir.split('/').includes('..'))
    throw new UsageError('--dir takes a plain folder inside the workspace');
  if (existsSync(join(root.path, dir, SET_FILE)))
    throw new UsageError(
      `${dir}/${SET_FILE} is there already: in a clone run writ trust pin, to change the set writ trust sign`,
    );
  const id = text(call, 'workspace') ?? (await proposeId(workspace));
  if (!WORKSPACE_ID.test(id)) throw new UsageError('--workspace takes an id like github.com/acme/app');
  const pins = await readPins({ systemDir: places.systemDir, configDir: places.configDir, environment: places.root });
  if ('fault' in pins) throw new CannotError(pins.fault);
  if (pins.pins.some((pin) => pin.workspace === id))
    throw new UsageError(
      `a pin for ${id} is on this machine already; to give this workspace another id use --workspace, to replace the root writ trust rotate`,
    );
  await refuseKnownCheckout(workspace);
  const key = await rootKey(call, workspace, name);
  const recovery = text(call, 'recovery');
  const existed = ['constitution.md', 'exceptions.yaml', 'rules', 'policy.yaml', 'allowed_signers']
    .filter((name) => existsSync(join(root.path, dir, name)))
    .map((name) => `${dir}/${name}`);
  const signed = await signSet(
    {
      root,
      dir,
      now,
      changes: startingFiles(workspace, dir, id, name, key),
      raiseFloor: false,
      roots: [key.publicKey.fingerprint],
      recovery: recovery === null ? null : readPublicKey(recovery).fingerprint,
      revocations: [],
    },
    [key],
  );
  if ('refused' in signed) throw new UsageError(signed.refused);
  const fault = await changePins(places, (old) =>
    withPin(old, {
      workspace: id,
      roots: signed.roots,
      floor: signed.floor,
      version: signed.version,
      digest: signed.sealed.payloadDigest,
      dir,
      seen: now,
      from: 'user',
    }),
  );
  if (fault !== null) throw new CannotError(fault);
  if (workspace.repository) keepBytes(root, [`${dir}/**`]);
  const found =
    existed.length > 0
      ? `\nThere already, and now signed or replaced: ${existed.join(', ')}. Read what is signed: writ trust show.`
      : '';
  const judgement = await judge(toRequest(workspace, call, null));
  await tell(
    `${id}: ${name} is sovereign with ${key.publicKey.fingerprint}; policy set signed and pinned on this machine.${found}\nCommit ${dir}/. In other clones run: writ trust pin --fingerprint ${key.publicKey.fingerprint}\n`,
  );
  await print(renderJudgement(judgement, { paint: paintFor(STDOUT), verbose: false }));
  return EXIT.ok;
}

/** The remote only proposes an id; it decides nothing later (overview.md, policy set). */
async function proposeId({ root, repository }: Workspace): Promise<string> {
  const url = repository === null ? null : await remoteUrl(repository);
  const parsed =
    url === null
      ? null
      : /^(?:[a-z+]+:\/\/(?:[^@/]+@)?|[^@/]+@)?([A-Za-z0-9.-]+)(?::\d+)?[:/]+(.+?)(?:\.git)?\/*$/.exec(url);
  const proposed = parsed ? `${parsed[1]}/${parsed[2]}` : '';
  if (WORKSPACE_ID.test(proposed)) return proposed;
  const folder =
    basename(root.path)
      .replace(/[^A-Za-z0-9._-]/g, '-')
      .replace(/^[^A-Za-z0-9]+/, '') || 'workspace';
  return `local/${folder}-${randomBytes(4).toString('hex')}`;
}

async function refuseKnownCheckout(workspace: Workspace): Promise<void> {
  const store = await openStore(workspace.state, 'read');
  if (store === null) return;
  if (!isOpen(store)) throw new CannotError(`the state of this machine cannot be used: ${store.unavailable}`);
  try {
    let known: string | null = null;
    for (const key of checkoutKeys(workspace)) known ??= await store.checkouts.get(key);
    if (known !== null)
      throw new UsageError(
        `this checkout had the workspace id ${known}, whose policy set is gone: restore it (git checkout), or ask its root before you start anew`,
      );
  } finally {
    await store.close();
  }
}

async function rootKey(call: Call, { places }: Workspace, name: string): Promise<SigningKey> {
  const given = signingFile(call);
  if (given !== null) return openKeyFile(given);
  if (flag(call, 'new-key')) {
    const file = join(places.configDir, 'keys', name);
    if (existsSync(file)) throw new UsageError(`${file} is there already: name it with --key`);
    const pair = newKeyPair(name);
    mkdirSync(join(places.configDir, 'keys'), { recursive: true, mode: 0o700 });
    writeAtomic(file, pair.privateKey, 0o600);
    writeAtomic(`${file}.pub`, `${pair.publicKey.line} ${name}\n`, 0o644);
    await tell(`made a key: ${file} (without a passphrase; add one with ssh-keygen -p -f ${file})`);
    return openKeyFile(file);
  }
  const found = DEFAULT_KEYS.map((one) => join(homedir(), '.ssh', one)).find((file) => existsSync(file));
  if (found === undefined)
    throw new UsageError('no SSH key was found: name one with --key FILE, or make one with --new-key');
  return openKeyFile(found);
}

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

function startingFiles(
  { root }: Workspace,
  dir: string,
  id: string,
  name: string,
  key: SigningKey,
): ReadonlyMap<string, string> {
  const constitution = `${dir}/constitution.md`;
  const files = new Map<string, string>();
  const { keyType, fingerprint, line } = key.publicKey;
  const signer = renderAllowedSigner({
    principal: name,
    fingerprint,
    keyType,
    publicKey: line,
    namespaces: ['writ', 'git'],
    validAfter: null,
    validBefore: null,
  });
  files.set(`${dir}/${POLICY_FILE}`, policyText(id, constitution, name));
  files.set(
    `${dir}/${SIGNERS_FILE}`,
    `# Who may sign here, and with which key. OpenSSH allowed_signers format, one principal a line.\n${signer}\n`,
  );
  if (!existsSync(join(root.path, constitution))) files.set(constitution, CONSTITUTION_TEMPLATE);
  return files;
}

function policyText(id: string, constitution: string, name: string): string {
  return [
    '# What this workspace asks of the texts its agents read. After an edit run: writ trust sign',
    'version: 1',
    `workspace: ${id}`,
    'constitution:',
    `  documents: [${constitution}]`,
    '  accepts: []            # earlier hashes or labels still accepted',
    'principals:',
    `  ${name}: sovereign`,
    'approvals: {threshold: {policy: 1, constitution: 1}, maxDays: 365, presence: none}   # presence: touch asks for a security key',
    'commits: {authorship: specialist, approval: none}',
    'spawns: {maxHours: 24}',
    'unmanifested: reference  # or quarantined',
    'initPaths: []            # more init paths: - {path: "prompts/**/*.md", loads: launch}',
    '',
  ].join('\n');
}

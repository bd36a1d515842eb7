import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, join } from 'node:path';
import { makeFolder } from '../files/make-folder.ts';
import { readOnce } from '../files/read-once.ts';
import type { WorkspaceRoot } from '../files/workspace-root.ts';
import { judge } from '../gate.ts';
import { checkoutKeys } from '../gather/recall.ts';
import { remoteUrl } from '../git/git.ts';
import { wasRead } from '../model/source.ts';
import { DEFAULT_LIMITS, POLICY_DIR } from '../policy/defaults.ts';
import { PINS_FILE, pinOf, readPins } from '../policy/pins.ts';
import { parsePolicyFile } from '../policy/policy-file.ts';
import { POLICY_FILE } from '../policy/policy-set.ts';
import { SET_FILE } from '../policy/set-file.ts';
import { pinsFor, USER_DIR, USER_ID, userPlace } from '../policy/user-set.ts';
import { renderJudgement } from '../report/verdicts-text.ts';
import { isOpen, openStore } from '../store/store.ts';
import { keepBytes } from '../write/git-attributes.ts';
import { changePins, withPin } from '../write/pins-file.ts';
import { signSet } from '../write/policy-set.ts';
import { knowSigner } from '../write/signer.ts';
import { adopt, adoptionOf, printNext, ranksOf, writeCi } from './adopt.ts';
import { type Call, CannotError, EXIT, type Exit, RefusedError, text, UsageError } from './command.ts';
import { installIn } from './hook.ts';
import { paintFor, print, STDOUT, tell } from './output.ts';
import { readPublicKey, rootKey } from './root-key.ts';
import { signingName } from './signing.ts';
import { startingFiles } from './starting-set.ts';
import { openWorkspace, toRequest, type Workspace } from './workspace.ts';
import { idFromRemote, WORKSPACE_ID } from './workspace-id.ts';

/** `writ init`: policies/, the first signature, the pin; what each file loads as before and after; what to do next. */
export async function init(call: Call): Promise<Exit> {
  const workspace = openWorkspace(call);
  const { root, places, now, user } = workspace;
  const wish = adoptionOf(call, workspace);
  const name = signingName(call) ?? 'f13';
  const dir = dirOf(call, workspace);
  if (existsSync(join(root.path, dir, SET_FILE)))
    throw new UsageError(
      `${dir}/${SET_FILE} is there already: in a clone run writ trust pin, to change the set writ trust sign`,
    );
  const id = text(call, 'workspace') ?? (user ? proposeUserId() : await proposeId(workspace));
  if (!WORKSPACE_ID.test(id)) throw new UsageError('--workspace takes an id like github.com/acme/app');
  if (id.startsWith(USER_ID) !== (user !== undefined))
    throw new UsageError(`an id that begins with ${USER_ID} is for your own set (writ init --user), and only for that`);
  await refusePinned(workspace, id);
  await refuseKnownCheckout(workspace);
  try {
    makeFolder(places.configDir, 0o700);
  } catch (error) {
    // Said before anything is signed: a set without its pin would decide nothing and be in the way.
    throw new CannotError(
      `the pin cannot be kept in ${places.configDir}: ${(error as NodeJS.ErrnoException).code ?? ''}`,
    );
  }
  const foreign = `${dir}/${POLICY_FILE}`;
  if (existsSync(join(root.path, foreign)) && 'fault' in (await parsePolicyFile(textAt(root, foreign))))
    throw new UsageError(
      `${foreign} is there and is none of writ's; it would be overwritten: move it away, or name another folder with --dir`,
    );
  const before = await judge(toRequest(workspace, call, null));
  const { key, file } = await rootKey(call, workspace, name);
  await refuseOtherRoot(workspace, id, key.publicKey.fingerprint);
  const recovery = text(call, 'recovery');
  const existed = ['constitution.md', 'exceptions.yaml', 'rules', 'policy.yaml', 'allowed_signers']
    .filter((name) => existsSync(join(root.path, dir, name)))
    .map((name) => `${dir}/${name}`);
  const signed = await signSet(
    {
      root,
      dir,
      now,
      changes: startingFiles(root, { dir, id, name, key: key.publicKey }),
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
      ...(recovery === null ? {} : { recovery: readPublicKey(recovery).fingerprint }),
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
  const { fingerprint } = key.publicKey;
  await tell(`${id}: ${name} is sovereign with ${fingerprint}; policy set signed and pinned on this machine.${found}`);
  const set = await judge(toRequest(workspace, call, null));
  const signer = knowSigner(key, name, set.set, set.proofs.spawns, now);
  if ('refused' in signer) throw new CannotError(signer.refused);
  const adopted = await adopt(call, workspace, set, signer, wish);
  const judgement = adopted.approved === 0 ? set : await judge(toRequest(workspace, call, null));
  await print(
    renderJudgement(judgement, {
      paint: paintFor(STDOUT),
      verbose: false,
      before: ranksOf(before),
      home: user !== undefined,
    }),
  );
  await printNext(workspace, judgement, `--as ${name} --key ${tilde(file)}`);
  if (wish.gitHook) await installIn(workspace, false);
  if (wish.ci !== null) await writeCi(workspace, id, fingerprint);
  await tell(
    user
      ? 'Your home is governed on this machine. For its files: writ check --user, writ approve --user PATH'
      : `Commit ${dir}/${adopted.approved > 0 ? ' and the sidecars' : ''}. In other clones run: writ trust pin --fingerprint ${fingerprint}`,
  );
  return adopted.refused > 0 ? EXIT.refused : EXIT.ok;
}

/** @returns a file's text; empty where it cannot be read, which no policy file is. */
function textAt(root: WorkspaceRoot, path: string): string {
  const there = readOnce(root, path, DEFAULT_LIMITS.fileBytes);
  return wasRead(there) ? Buffer.from(there.bytes).toString('utf8') : '';
}

function dirOf(call: Call, { root, user }: Workspace): string {
  const given = text(call, 'dir');
  if (user) {
    if (given !== null) throw new UsageError('--user has its own folder; --dir is for a workspace');
    return userPlace(root.path)?.dir ?? USER_DIR;
  }
  const dir = (given ?? POLICY_DIR).replace(/\/+$/, '');
  if (!/^[A-Za-z0-9._-]+(?:\/[A-Za-z0-9._-]+)*$/.test(dir) || dir.split('/').includes('..'))
    throw new UsageError('--dir takes a plain folder inside the workspace');
  return dir;
}

async function refusePinned({ places, user }: Workspace, id: string): Promise<void> {
  const pins = await readPins({ systemDir: places.systemDir, configDir: places.configDir, environment: places.root });
  if ('fault' in pins) throw new CannotError(pins.fault);
  const own = user ? pinsFor(pins, true).pins[0] : undefined;
  if (own !== undefined)
    throw new UsageError(
      `your own set ${own.workspace} is pinned on this machine, and its files are gone: restore them, or take its pin out of ${places.configDir}/${PINS_FILE}`,
    );
  if (pins.pins.some((pin) => pin.workspace === id))
    throw new UsageError(
      `a pin for ${id} is on this machine already; to give this workspace another id use --workspace, to replace the root writ trust rotate`,
    );
}

/** Where a pattern of this machine says whose workspaces these are, only that root starts one. */
async function refuseOtherRoot({ places }: Workspace, id: string, fingerprint: string): Promise<void> {
  const pins = await readPins({ systemDir: places.systemDir, configDir: places.configDir, environment: places.root });
  const pin = 'fault' in pins ? null : pinOf(pins.pins, id);
  if (pin?.pattern !== undefined && !pin.roots.includes(fingerprint))
    throw new RefusedError(
      'root-mismatch',
      `the ${pin.from} pin for ${pin.pattern} names ${pin.roots.join(', ')}, and ${fingerprint} is none of them`,
    );
}

/** A path below the home as a person types it. */
function tilde(file: string): string {
  const home = `${homedir()}/`;
  return file.startsWith(home) ? `~/${file.slice(home.length)}` : file;
}

function proposeUserId(): string {
  return `${USER_ID}${randomBytes(6).toString('hex')}`;
}

/** The remote only proposes an id; it decides nothing later (overview.md, policy set). */
async function proposeId({ root, repository }: Workspace): Promise<string> {
  const url = repository === null ? null : await remoteUrl(repository);
  const proposed = url === null ? null : idFromRemote(url);
  if (proposed !== null) return proposed;
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

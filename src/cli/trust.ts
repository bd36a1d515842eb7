import { judge } from '../gate.ts';
import { checkoutKeys, recall } from '../gather/recall.ts';
import { escapePath, escapeText } from '../model/escaped.ts';
import { BASE_ID } from '../policy/pin-pattern.ts';
import { pinOf, readPins } from '../policy/pins.ts';
import { USER_ID } from '../policy/user-set.ts';
import { isOpen, openStore } from '../store/store.ts';
import { changePins, withPin } from '../write/pins-file.ts';
import { readSigned } from '../write/policy-set.ts';
import { confirm } from './ask.ts';
import { type Call, CannotError, EXIT, type Exit, flag, oneOf, RefusedError, text, UsageError } from './command.ts';
import { print, tell } from './output.ts';
import { openWorkspace, toRequest } from './workspace.ts';

/** `writ trust show`: who decides here, and what this machine holds against it. */
export async function show(call: Call): Promise<Exit> {
  const format = oneOf(call, 'format', ['text', 'json']) ?? 'text';
  const workspace = openWorkspace(call);
  const judgement = await judge(toRequest(workspace, call, []));
  const { set, pins } = judgement;
  const pin = pinOf(pins?.pins ?? [], set.workspace);
  const principals = [...set.policy.principals].map(([name, entry]) => ({
    name,
    role: entry.role,
    paths: entry.paths,
    departed: entry.departed,
    keys: set.keys
      .filter((key) => key.principal === name)
      .map((key) => ({
        fingerprint: key.fingerprint,
        type: key.keyType,
        namespaces: key.namespaces,
        validAfter: key.validAfter,
        validBefore: key.validBefore,
      })),
  }));
  const shown = {
    schema: 'writ.trust/1',
    workspace: set.workspace,
    root: set.root,
    intact: set.intact,
    dir: set.dir,
    version: set.version,
    floor: set.floor,
    constitution: set.constitution,
    roots: set.roots,
    pin:
      pin === null
        ? null
        : {
            roots: pin.roots,
            floor: pin.floor,
            version: pin.version,
            from: pin.from,
            recovery: pin.recovery ?? null,
            ...(pin.pattern === undefined ? {} : { pattern: pin.pattern }),
          },
    principals,
    revocations: set.revocations.length,
    base: judgement.memory.base.map(({ name, file, version, workspaces }) => ({
      layer: name,
      file,
      version,
      workspaces,
    })),
    settings: (set.settings ?? []).map(({ name, value, layer }) => ({ name, value, layer })),
    enforcement: judgement.enforcement,
    findings: judgement.findings.map((one) => ({ code: one.code, message: one.message, cure: one.cure })),
  };
  if (format === 'json') {
    await print(`${JSON.stringify(shown, null, 1)}\n`);
    return set.intact || set.root === 'unpinned' ? EXIT.ok : EXIT.refused;
  }
  const lines = [
    `workspace     ${set.workspace === null ? 'none' : escapePath(set.workspace)}`,
    `root          ${set.root}${pin ? `, by the ${pin.from} pin ${pin.pattern === undefined ? '' : `for ${pin.pattern}: `}${pin.roots.join(', ')}` : ''}`,
    `policy set    ${set.intact ? 'intact' : 'not proven'}, ${set.dir}/, version ${set.version ?? 'none'}, floor ${set.floor ?? 'none'}`,
    `constitution  ${set.constitution ?? 'none'}`,
    `enforcement   ${judgement.enforcement}`,
    ...principals.map(
      (one) =>
        `principal     ${one.name}: ${one.role}${one.departed === null ? '' : ' (departed)'}  ${one.keys.map((key) => key.fingerprint).join(', ') || 'no key'}`,
    ),
    ...judgement.memory.base.map((one) => `base set      ${one.name}: ${one.file}, version ${one.version}`),
    ...(set.settings ?? []).map(
      (one) =>
        `setting       ${one.name} = ${escapeText(Array.isArray(one.value) ? one.value.join(', ') : String(one.value), 240)}  (${one.layer})`,
    ),
    `revocations   ${set.revocations.length}`,
    ...judgement.findings.map((one) => `${one.code}: ${one.message}\n  cure: ${one.cure}`),
  ];
  await print(`${lines.join('\n')}\n`);
  return set.intact || set.root === 'unpinned' ? EXIT.ok : EXIT.refused;
}

/** `writ trust pin`: in a clone, pins the root this workspace claims, after showing it and asking. */
export async function pin(call: Call): Promise<Exit> {
  const workspace = openWorkspace(call);
  const { root, places, now } = workspace;
  const memory = await recall({ ...workspace, stateFault: null });
  if (memory.pins === null) throw new CannotError(memory.findings[0]?.message ?? 'the pins cannot be read');
  const signed = readSigned(root, memory.dir);
  if (signed === null)
    throw new UsageError(`${memory.dir}/ holds no signed policy set: in a new workspace run writ init`);
  if (signed.workspace.startsWith(BASE_ID))
    throw new RefusedError(
      'root-mismatch',
      `${escapePath(signed.workspace)} is a base set, which governs no workspace`,
    );
  if (signed.workspace.startsWith(USER_ID) !== (workspace.user !== undefined))
    throw new RefusedError(
      'root-mismatch',
      `${signed.workspace} ${workspace.user ? 'is the set of a workspace, not of a home' : "is somebody's own set for a home, and decides in no workspace"}`,
    );
  const signers = signed.signers.map((signer) => signer.fingerprint);
  const asked = text(call, 'fingerprint');
  if (asked !== null && !signers.includes(asked))
    throw new RefusedError('root-mismatch', `the set is signed by ${signers.join(', ')}, not by ${asked}`);
  const pins = await readPins({ systemDir: places.systemDir, configDir: places.configDir, environment: null });
  if ('fault' in pins) throw new CannotError(pins.fault);
  const known = pinOf(pins.pins, signed.workspace);
  const replace = flag(call, 'replace');
  const changes = known !== null && !known.roots.some((one) => signers.includes(one));
  const moved = memory.remembered.checkout !== null && memory.remembered.checkout !== signed.workspace;
  if (known?.from === 'system' && changes)
    throw new RefusedError(
      'root-mismatch',
      'the pin of this machine is set by its administrator in /etc/writ and cannot be replaced here',
    );
  if ((changes || moved) && !replace)
    throw new RefusedError(
      'root-mismatch',
      moved
        ? `this checkout had the workspace id ${memory.remembered.checkout}; if a human changed it on purpose: writ trust pin --replace, on a terminal`
        : `the pin names ${known?.roots.join(', ')}; if a human changed the root on purpose: writ trust pin --replace, on a terminal`,
    );
  if (changes || moved) {
    if (process.stdin.isTTY !== true)
      throw new RefusedError('root-mismatch', 'a pin is replaced on a terminal only, so that no agent can do it');
    await confirm(`Replace the pin of ${signed.workspace} by ${signers.join(', ')}?`, false, 'a terminal');
  } else if (asked === null && known === null) {
    await tell(
      `${signed.workspace} claims the root ${signers.join(', ')} (policy version ${signed.predicate.version}).\nCompare it with what its owner tells you by another way.`,
    );
    await confirm(`Pin ${signers.join(', ')} for ${signed.workspace}?`, flag(call, 'yes'), '--fingerprint SHA256:...');
  }
  const first = (changes ? undefined : known?.recovery) ?? signed.predicate.recovery;
  const recovery = first === null ? {} : { recovery: first };
  const roots = signed.predicate.roots.filter((one) => signers.includes(one));
  const fault = await changePins(places, (old) => ({
    // A deliberate `trust pin` is also how a person says that a lost ledger is known (overview.md, state).
    ...withPin(old, {
      workspace: signed.workspace,
      roots: roots.length > 0 ? roots : signers,
      ...recovery,
      floor: Math.max(signed.predicate.floor, changes ? 0 : (known?.floor ?? 0)),
      version: signed.predicate.version,
      digest: signed.payloadDigest,
      dir: memory.dir,
      seen: now,
      from: 'user',
    }),
    ledger: memory.findings.length > 0 ? null : old.ledger,
  }));
  if (fault !== null) throw new CannotError(fault);
  if (moved) await forgetCheckout(call);
  await tell(`pinned ${signed.workspace} to ${signers.join(', ')}`);
  return EXIT.ok;
}

async function forgetCheckout(call: Call): Promise<void> {
  const workspace = openWorkspace(call);
  const signed = readSigned(workspace.root, (await recall({ ...workspace, stateFault: null })).dir);
  const store = await openStore(workspace.state, 'write');
  if (!isOpen(store) || signed === null) return;
  for (const key of checkoutKeys(workspace)) await store.checkouts.set(key, signed.workspace);
  await store.close();
}

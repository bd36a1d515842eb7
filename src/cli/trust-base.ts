import { existsSync, readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { writeAtomic } from '../files/write-atomic.ts';
import type { PolicyPredicate, Statement } from '../model/statement.ts';
import { BASE_DIR, BASE_FILE, BASE_SET, isBaseId } from '../policy/base-set.ts';
import { BASE_ID } from '../policy/pin-pattern.ts';
import { sha256Hex } from '../sign/digest.ts';
import { openStatement } from '../sign/statement.ts';
import { changePins } from '../write/pins-file.ts';
import { sealStatement } from '../write/statement-file.ts';
import { type Call, CannotError, EXIT, type Exit, flag, RefusedError, text, UsageError } from './command.ts';
import { print, tell } from './output.ts';
import { openKey } from './signing.ts';
import { openWorkspace } from './workspace.ts';

const MAX_BYTES = 262_144;

/** `writ trust base`: signs the base.yaml of a folder; with `--pin`, for the user's own folder, also pins who signed it. */
export async function base(call: Call): Promise<Exit> {
  const { places, now } = openWorkspace(call);
  const own = join(places.configDir, BASE_DIR);
  const dir = resolve(call.positionals[0] ?? own);
  const file = join(dir, BASE_FILE);
  if (!existsSync(file) || !statSync(file).isFile() || statSync(file).size > MAX_BYTES)
    throw new UsageError(`${file} is the file to sign, and it is not there`);
  const pin = flag(call, 'pin');
  if (pin && dir !== own)
    throw new UsageError(`--pin is for ${own}; the pin for /etc/writ/policies is written by its administrator`);
  const yaml = readFileSync(file);
  const { parseBaseFile } = await import('../policy/base-file.ts');
  const parsed = await parseBaseFile(yaml.toString('utf8'));
  if ('fault' in parsed)
    throw new UsageError(`${file}:${parsed.fault.line}:${parsed.fault.column}: ${parsed.fault.why}`);
  const key = await openKey(call);
  const { fingerprint } = key.publicKey;
  const prior = readPrior(join(dir, BASE_SET));
  const named = text(call, 'id');
  const id = named === null ? (prior?.workspace ?? `${BASE_ID}local`) : `${BASE_ID}${named}`;
  if (!isBaseId(id)) throw new UsageError('--id takes letters, digits, dot, dash and underscore, at most 64');
  if (prior !== null && !prior.signers.some((one) => one.fingerprint === fingerprint) && !flag(call, 'replace'))
    throw new RefusedError(
      'root-mismatch',
      `the set there is signed by ${prior.signers.map((one) => one.fingerprint).join(', ')}; to sign it with another key add --replace, and change its pin`,
    );
  const version = (prior?.predicate.version ?? 0) + 1;
  const predicate: PolicyPredicate = {
    type: 'policy',
    version,
    floor: version,
    roots: [fingerprint],
    recovery: null,
    files: { [BASE_FILE]: sha256Hex(yaml) },
    revocations: [],
    expiresAt: null,
  };
  const subjects = [{ name: BASE_FILE, sha256: sha256Hex(yaml) }];
  const sealed = await sealStatement({ predicate, workspace: id, issuedAt: now, subjects }, BASE_DIR, [key]);
  writeAtomic(join(dir, BASE_SET), sealed.text, 0o644);
  if (pin) {
    const fault = await changePins(places, (pins) => ({
      ...pins,
      base: { system: pins.base?.system ?? null, user: { id, roots: [fingerprint], floor: version } },
    }));
    if (fault !== null) throw new CannotError(fault);
  }
  await tell(`signed ${id} version ${version} with ${fingerprint}${pin ? '; pinned for this user' : ''}`);
  // What goes into pins.yaml beside the folder.
  if (!pin) await print(`base:\n  id: "${id}"\n  roots: ["${fingerprint}"]\n  floor: ${version}\n`);
  return EXIT.ok;
}

function readPrior(file: string): Statement<PolicyPredicate> | null {
  if (!existsSync(file) || statSync(file).size > MAX_BYTES) return null;
  const opened = openStatement(readFileSync(file), BASE_SET);
  return 'refused' in opened || opened.predicate.type !== 'policy' ? null : (opened as Statement<PolicyPredicate>);
}

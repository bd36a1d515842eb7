import { lstatSync, readFileSync, type Stats, statSync } from 'node:fs';
import { join } from 'node:path';
import { escapePath } from '../model/escaped.ts';
import { type Instant, isoOf } from '../model/instant.ts';
import type { PolicyPredicate, Statement } from '../model/statement.ts';
import { sha256Hex } from '../sign/digest.ts';
import { openStatement } from '../sign/statement.ts';
import type { BaseFile } from './base-file.ts';
import { conflictOf, type Layer, tellConflict } from './layers.ts';
import { BASE_ID } from './pin-pattern.ts';
import type { BasePin } from './pins.ts';

/** The folder beside pins.yaml, in `/etc/writ` and in the user's config folder. */
export const BASE_DIR = 'policies';
export const BASE_FILE = 'base.yaml';
export const BASE_SET = 'base.dsse.json';
const MAX_BYTES = 262_144;

/** A base set that stands, with the ids it is about. */
export interface BaseLayer extends Layer {
  readonly workspaces: readonly string[];
  readonly version: number;
}

export interface BasePlaces {
  readonly systemDir: string;
  readonly configDir: string;
  readonly pins: { readonly system: BasePin | null; readonly user: BasePin | null };
  readonly now: Instant;
}

/**
 * Reads the base sets of this machine, the administrator's first. Where one is there and does not stand, or one is pinned and not there, nobody knows what it
 * forbids: the caller lets nothing bind. Two that contradict each other are such a fault too.
 */
export async function readBaseSets(places: BasePlaces): Promise<readonly BaseLayer[] | { readonly fault: string }> {
  const layers: BaseLayer[] = [];
  for (const name of ['system', 'user'] as const) {
    const dir = join(name === 'system' ? places.systemDir : places.configDir, BASE_DIR);
    const pin = places.pins[name];
    let there: boolean;
    try {
      there = lstatSync(join(dir, BASE_SET), { throwIfNoEntry: false }) !== undefined;
    } catch {
      return { fault: `${escapePath(dir)} cannot be reached` };
    }
    if (!there && pin === null) continue;
    const set = escapePath(join(dir, BASE_SET));
    if (!there) return { fault: `${set} is gone, and a pin names its root` };
    if (pin === null) return { fault: `${set} is there, and no pin names its root: base in pins.yaml` };
    const read = await readOne(dir, pin, name, places.now);
    if ('fault' in read) return { fault: `${set}: ${read.fault}` };
    layers.push(read);
  }
  const conflict = conflictOf(layers);
  return conflict === null ? layers : { fault: tellConflict(conflict) };
}

async function readOne(
  dir: string,
  pin: BasePin,
  name: 'system' | 'user',
  now: Instant,
): Promise<BaseLayer | { readonly fault: string }> {
  const bytes = readOwn(dir, BASE_SET, name);
  if (typeof bytes === 'string') return { fault: bytes };
  const opened = openStatement(bytes, BASE_SET);
  if ('refused' in opened || opened.predicate.type !== 'policy') return { fault: 'no signature on it can be verified' };
  const { predicate, signers, workspace } = opened as Statement<PolicyPredicate>;
  if (workspace !== pin.id) return { fault: `it is ${escapePath(workspace)}, and the pin names ${pin.id}` };
  if (!signers.some((signer) => pin.roots.includes(signer.fingerprint)))
    return {
      fault: `it is signed by ${signers.map((one) => one.fingerprint).join(', ')}, and the pin names ${pin.roots.join(', ')}`,
    };
  if (predicate.version < pin.floor)
    return { fault: `it is version ${predicate.version}, and the lowest still accepted is ${pin.floor}` };
  if (predicate.expiresAt !== null && predicate.expiresAt <= now)
    return { fault: `it ran out at ${isoOf(predicate.expiresAt)}` };
  const yaml = readOwn(dir, BASE_FILE, name);
  if (typeof yaml === 'string') return { fault: yaml };
  if (predicate.files[BASE_FILE] !== sha256Hex(yaml))
    return { fault: `${BASE_FILE} beside it is not the file that was signed` };
  const { parseBaseFile } = await import('./base-file.ts');
  const parsed: BaseFile | { readonly fault: { readonly line: number; readonly why: string } } = await parseBaseFile(
    Buffer.from(yaml).toString('utf8'),
  );
  if ('fault' in parsed) return { fault: `${BASE_FILE}:${parsed.fault.line}: ${parsed.fault.why}` };
  return { ...parsed, name, file: escapePath(join(dir, BASE_FILE)), version: predicate.version };
}

/** What the administrator says must be the administrator's alone to change, folder and file. @returns the bytes, or why not. */
function readOwn(dir: string, file: string, name: 'system' | 'user'): Uint8Array | string {
  const path = join(dir, file);
  try {
    const stat = statSync(path);
    if (!stat.isFile() || stat.size > MAX_BYTES) return `${file} is no ordinary file`;
    if (name === 'system' && ![stat, statSync(dir)].every(isRootsOwn))
      return `${file} and its folder must belong to root and be writable by root alone`;
    return readFileSync(path);
  } catch {
    return `${file} cannot be read`;
  }
}

function isRootsOwn(stat: Stats): boolean {
  return process.platform === 'win32' || (stat.uid === 0 && (stat.mode & 0o022) === 0);
}

/** @returns whether a text may be the id of a base set. */
export function isBaseId(text: string): boolean {
  return text.startsWith(BASE_ID) && /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(text.slice(BASE_ID.length));
}

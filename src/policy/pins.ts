import { lstatSync, readFileSync, type Stats, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { escapePath } from '../model/escaped.ts';
import { type Instant, instantFromIso, isoOf } from '../model/instant.ts';
import { readPlainSettings } from '../parse/plain-settings.ts';
import { parseStrictYaml } from '../parse/strict-yaml.ts';
import { BASE_ID, isIdPattern, matchesId, precision } from './pin-pattern.ts';

/** What this machine holds against a workspace: who its root is, and how far its history has come. */
export interface Pin {
  readonly workspace: string;
  /** `SHA256:…` fingerprints; one of them must have signed the set. */
  readonly roots: readonly string[];
  /** Lowest set version still accepted here. */
  readonly floor: number;
  /** Version and digest of the set last seen. */
  readonly version: number;
  readonly digest: string | null;
  readonly dir: string;
  /** Ledger head last written for any workspace of this machine, and when; null before the first. */
  readonly seen: Instant | null;
  readonly from: 'system' | 'user' | 'environment';
  /** `SHA256:…` of the key that may hand the root on where its own key is lost or stolen. Kept as it was first seen, whatever a later set says. */
  readonly recovery?: string;
  /** The pattern it was made from, where it is not a pin of this workspace alone. */
  readonly pattern?: string;
}

/** The ledger head the pins remember, so that a state file cut short shows. */
export interface LedgerMark {
  /** The state file it was taken from; a mark says nothing of another. */
  readonly state: string;
  readonly head: string;
  readonly rows: number;
}

/** Who signs the base set of a layer (docs/fleet.md). */
export interface BasePin {
  /** `base/NAME`. */
  readonly id: string;
  readonly roots: readonly string[];
  /** Lowest version still accepted. */
  readonly floor: number;
}

export interface Pins {
  /** Base sets by layer; absent where none was read. */
  readonly base?: { readonly system: BasePin | null; readonly user: BasePin | null };
  readonly pins: readonly Pin[];
  readonly ledger: LedgerMark | null;
  /** Enforcement set outside every repo. */
  readonly enforcement: 'enforce' | 'observe';
  readonly quarantine: 'move' | 'withhold';
  /** What to run where a handoff is escalated: program and words. Only a person’s own file names one, never a repo (formats.md, policy.yaml). */
  readonly escalate: readonly string[] | null;
}

export interface PinPlaces {
  /** `/etc/writ`, read first; only root may write there. */
  readonly systemDir: string;
  /** The user's config folder. */
  readonly configDir: string;
  /** `<id>=SHA256:…` of WRIT_ROOT; counts only where no pin exists. */
  readonly environment: string | null;
}

export const PINS_FILE = 'pins.yaml';
const FINGERPRINT = /^SHA256:[A-Za-z0-9+/]{43}$/;
const LIMITS = { bytes: 4_194_304, depth: 8 };

/** Reads every pin this machine has. @returns a fault where a pins file is there and cannot be trusted or read: then nothing binds (exit 4). */
export async function readPins(places: PinPlaces): Promise<Pins | { readonly fault: string }> {
  const system = await readFile(join(places.systemDir, PINS_FILE), 'system');
  if ('fault' in system) return system;
  const user = await readFile(join(places.configDir, PINS_FILE), 'user');
  if ('fault' in user) return user;
  const pins = [
    ...system.pins,
    ...user.pins.filter((pin) => !system.pins.some((first) => first.workspace === pin.workspace)),
  ];
  const given = places.environment === null ? null : pinFromEnvironment(places.environment);
  if (given !== null && 'fault' in given) return given;
  if (given && !pins.some((pin) => pin.workspace === given.workspace)) pins.push(given);
  const strict = system.enforcement ?? user.enforcement ?? 'enforce';
  return {
    ...(system.base === null && user.base === null ? {} : { base: { system: system.base, user: user.base } }),
    pins,
    ledger: user.ledger,
    enforcement: strict,
    quarantine: system.quarantine ?? user.quarantine ?? 'move',
    escalate: user.escalate ?? system.escalate,
  };
}

/**
 * The pin that decides in a workspace: the administrator's before the user's before the environment's; of one place the exact one, then the pattern that says
 * most. A pattern is told as a pin of this very workspace. Null where there is none.
 */
export function pinOf(pins: readonly Pin[], workspace: string | null): Pin | null {
  if (workspace === null || workspace.startsWith(BASE_ID)) return null;
  const order = ['system', 'user', 'environment'];
  const [first] = pins
    .filter((pin) => matchesId(pin.workspace, workspace))
    .sort((a, b) => order.indexOf(a.from) - order.indexOf(b.from) || precision(b.workspace) - precision(a.workspace));
  if (first === undefined || first.workspace === workspace) return first ?? null;
  return { ...first, workspace, pattern: first.workspace };
}

/** @returns the pins file as text a person can diff; the caller writes it under the lock. */
export function renderPins(pins: Pins): string {
  const lines = [
    '# Pins of this machine: which root decides in which workspace. Written by writ trust pin.',
    'version: 1',
  ];
  if (pins.enforcement !== 'enforce') lines.push(`enforcement: ${pins.enforcement}`);
  if (pins.quarantine !== 'move') lines.push(`quarantine: ${pins.quarantine}`);
  if (pins.escalate !== null) lines.push('handoffs:', `  escalate: {command: ${JSON.stringify(pins.escalate)}}`);
  if (pins.ledger)
    lines.push(
      'ledger:',
      `  state: ${JSON.stringify(pins.ledger.state)}`,
      `  head: "${pins.ledger.head}"`,
      `  rows: ${pins.ledger.rows}`,
    );
  if (pins.base?.user)
    lines.push(
      'base:',
      `  id: "${pins.base.user.id}"`,
      '  roots:',
      ...pins.base.user.roots.map((root) => `    - "${root}"`),
      `  floor: ${pins.base.user.floor}`,
    );
  const own = pins.pins.filter((pin) => pin.from === 'user');
  lines.push(own.length === 0 ? 'pins: []' : 'pins:');
  for (const pin of [...own].sort((a, b) => (a.workspace < b.workspace ? -1 : 1))) {
    lines.push(`  - workspace: "${pin.workspace}"`, '    roots:');
    for (const root of pin.roots) lines.push(`      - "${root}"`);
    lines.push(`    floor: ${pin.floor}`, `    version: ${pin.version}`, `    dir: ${JSON.stringify(pin.dir)}`);
    if (pin.recovery !== undefined) lines.push(`    recovery: "${pin.recovery}"`);
    if (pin.digest) lines.push(`    digest: "${pin.digest}"`);
    if (pin.seen !== null) lines.push(`    seen: "${isoOf(pin.seen)}"`);
  }
  return `${lines.join('\n')}\n`;
}

interface FileRead {
  readonly base: BasePin | null;
  readonly pins: readonly Pin[];
  readonly ledger: LedgerMark | null;
  readonly enforcement: 'enforce' | 'observe' | null;
  readonly quarantine: 'move' | 'withhold' | null;
  readonly escalate: readonly string[] | null;
}

async function readFile(file: string, from: 'system' | 'user'): Promise<FileRead | { readonly fault: string }> {
  const named = escapePath(file);
  let text: string;
  try {
    // Absent is one thing; there and out of reach is another, and must not let a weaker pin count.
    if (lstatSync(file, { throwIfNoEntry: false }) === undefined)
      return { base: null, pins: [], ledger: null, enforcement: null, quarantine: null, escalate: null };
    const stat = statSync(file);
    if (from === 'system' && !(isRootsOwn(stat) && isRootsOwn(statSync(dirname(file)))))
      return { fault: `${named} and its folder must belong to root and be writable by root alone` };
    if (!stat.isFile() || stat.size > LIMITS.bytes) return { fault: `${named} is no ordinary file` };
    text = readFileSync(file, 'utf8');
  } catch {
    return { fault: `${named} cannot be read` };
  }
  const plain = readPlainSettings(text);
  const short = plain === undefined ? null : toFile(plain.value, from);
  if (short !== null) return short;
  const read = await parseStrictYaml(text, 1, LIMITS);
  if ('fault' in read) return { fault: `${named}, line ${read.line}: ${read.fault}` };
  return toFile(read.value, from) ?? { fault: `${named} is not a pins file of version 1` };
}

function isRootsOwn(stat: Stats): boolean {
  return process.platform === 'win32' || (stat.uid === 0 && (stat.mode & 0o022) === 0);
}

function toFile(value: unknown, from: 'system' | 'user'): FileRead | null {
  if (!isRecord(value) || value.version !== 1) return null;
  const list = value.pins ?? [];
  if (!Array.isArray(list)) return null;
  const pins: Pin[] = [];
  for (const entry of list as unknown[]) {
    const pin = toPin(entry, from);
    if (pin === null || pins.some((other) => other.workspace === pin.workspace)) return null;
    pins.push(pin);
  }
  const ledger = value.ledger === undefined ? null : toMark(value.ledger);
  if (value.ledger !== undefined && ledger === null) return null;
  const base = value.base === undefined ? null : toBasePin(value.base);
  if (value.base !== undefined && base === null) return null;
  const { enforcement, quarantine } = value;
  if (enforcement !== undefined && enforcement !== 'enforce' && enforcement !== 'observe') return null;
  if (quarantine !== undefined && quarantine !== 'move' && quarantine !== 'withhold') return null;
  const escalate = toCommand(value.handoffs);
  if (escalate === undefined) return null;
  return { base, pins, ledger, enforcement: enforcement ?? null, quarantine: quarantine ?? null, escalate };
}

/** `handoffs: {escalate: {command: [program, word…]}}`; null where it names none, undefined where it is no such thing. */
function toCommand(handoffs: unknown): readonly string[] | null | undefined {
  if (handoffs === undefined) return null;
  const command = isRecord(handoffs) && isRecord(handoffs.escalate) ? handoffs.escalate.command : undefined;
  const words: unknown = typeof command === 'string' ? [command] : command;
  if (!Array.isArray(words) || words.length === 0 || words.length > 64) return undefined;
  const plain = words.every((one): one is string => typeof one === 'string' && one !== '' && one.length <= 4_096);
  return plain && words.every((one) => !one.includes('\0')) ? words : undefined;
}

function toPin(entry: unknown, from: 'system' | 'user'): Pin | null {
  if (!isRecord(entry)) return null;
  const { workspace, roots, floor = 1, version = 1, digest = null, dir = 'policies', seen = null, recovery } = entry;
  if (recovery !== undefined && !isRoots([recovery])) return null;
  if (typeof workspace !== 'string' || !isIdPattern(workspace)) return null;
  if (!isRoots(roots)) return null;
  if (!isCount(floor) || !isCount(version) || !isFolder(dir)) return null;
  if (digest !== null && (typeof digest !== 'string' || !/^[0-9a-f]{64}$/.test(digest))) return null;
  const at = typeof seen === 'string' ? instantFromIso(seen) : null;
  if (seen !== null && at === null) return null;
  return {
    workspace,
    roots,
    floor,
    version,
    digest,
    dir,
    seen: at,
    from,
    ...(recovery === undefined ? {} : { recovery: recovery as string }),
  };
}

function toBasePin(value: unknown): BasePin | null {
  if (!isRecord(value)) return null;
  const { id, roots, floor = 1 } = value;
  if (typeof id !== 'string' || !/^base\/[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(id)) return null;
  return isRoots(roots) && isCount(floor) ? { id, roots, floor } : null;
}

function isRoots(value: unknown): value is readonly string[] {
  return (
    Array.isArray(value) &&
    value.length > 0 &&
    value.every((root) => typeof root === 'string' && FINGERPRINT.test(root))
  );
}

function toMark(value: unknown): LedgerMark | null {
  if (!isRecord(value) || typeof value.head !== 'string' || !/^[0-9a-f]{64}$/.test(value.head)) return null;
  const { state, head, rows } = value;
  return typeof state === 'string' && Number.isSafeInteger(rows) && (rows as number) >= 0
    ? { state, head, rows: rows as number }
    : null;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 1;
}

function isFolder(value: unknown): value is string {
  return (
    typeof value === 'string' &&
    value.length <= 512 &&
    !/^[A-Za-z]:|[\\\u0000-\u001f]/.test(value) &&
    value.split('/').every((part) => part !== '' && part !== '.' && part !== '..')
  );
}

/** Reads `WRIT_ROOT`. @returns the pin it stands for, or how it has to be spelled. */
export function pinFromEnvironment(text: string): Pin | { readonly fault: string } {
  const cut = text.lastIndexOf('=SHA256:');
  const workspace = text.slice(0, Math.max(0, cut));
  const root = text.slice(cut + 1);
  if (cut < 1 || !isIdPattern(workspace) || !FINGERPRINT.test(root))
    return { fault: 'WRIT_ROOT is not spelled <workspace id>=SHA256:<fingerprint>' };
  return {
    workspace,
    roots: [root],
    floor: 1,
    version: 1,
    digest: null,
    dir: 'policies',
    seen: null,
    from: 'environment',
  };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

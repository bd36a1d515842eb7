import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { WorkspaceRoot } from '../files/workspace-root.ts';
import type { Repository } from '../git/repository.ts';
import { finding } from '../model/codes.ts';
import type { Finding } from '../model/finding.ts';
import type { Instant } from '../model/instant.ts';
import type { Places, UserSession } from '../model/settings.ts';
import { type BaseLayer, readBaseSets } from '../policy/base-set.ts';
import { POLICY_DIR } from '../policy/defaults.ts';
import { type Pin, type Pins, pinOf, readPins } from '../policy/pins.ts';
import { NOTHING_REMEMBERED, type Remembered } from '../policy/policy-set.ts';
import { readSetFile, SET_FILE, type SetFile } from '../policy/set-file.ts';
import { pinsFor, USER_DIR, userPlace } from '../policy/user-set.ts';
import type { StateLocation } from '../store/location.ts';
import { isOpen, openStore } from '../store/store.ts';

/** A workspace whose files were laid out in another folder, to be judged there. */
export interface StandsFor {
  /** Real path of the workspace. */
  readonly path: string;
  /** Counts only where this machine has no pin for its workspace. */
  readonly pin: Pin | null;
}

export interface RecallInput {
  readonly root: WorkspaceRoot;
  readonly repository: Repository | null;
  readonly places: Places;
  readonly state: StateLocation;
  readonly stateFault: string | null;
  readonly now: Instant;
  readonly standsFor?: StandsFor;
  /** The home is judged, under the user's own set. */
  readonly user?: UserSession;
}

/** What this machine knows before it looks at the workspace: pins and state. */
export interface Memory {
  /** Null where the pins could not be read. */
  readonly pins: Pins | null;
  readonly remembered: Remembered;
  /** Workspace-relative folder of the policy set. */
  readonly dir: string;
  /** The signed policy set found there. */
  readonly setFile: SetFile;
  /** Base sets of this machine that stand; none where there are none, or where the fault is among the findings. */
  readonly base: readonly BaseLayer[];
  readonly findings: readonly Finding[];
}

/** Reads pins and, where a state file is there, what it remembers; opens nothing for writing. */
export async function recall(input: RecallInput): Promise<Memory> {
  const own = await readPins({
    systemDir: input.places.systemDir,
    configDir: input.places.configDir,
    environment: input.places.root,
  });
  if ('fault' in own) {
    const found = finding('state-unavailable', {
      message: `The pins cannot be read: ${own.fault}.`,
      cure: 'Repair or remove the pins file, then: writ trust pin',
    });
    const dir = findDir(input.root, null);
    const setFile = readSetFile(input.root, dir);
    return { pins: null, remembered: NOTHING_REMEMBERED, dir, setFile, base: [], findings: [found] };
  }
  const pins = withPin(pinsFor(own, input.user !== undefined), input.standsFor?.pin ?? null);
  const dir = input.user ? userDir(input) : findDir(input.root, pins);
  const setFile = readSetFile(input.root, dir);
  const claimed = setFile === 'absent' || 'refused' in setFile ? null : setFile.workspace;
  const known = await recallState(input, pins, claimed);
  // A set of the user's own has a version of its own.
  const least = input.user === undefined ? (input.places.minVersion ?? 0) : 0;
  const state = { ...known, remembered: { ...known.remembered, floor: Math.max(known.remembered.floor, least) } };
  const base = await readBaseSets({
    systemDir: input.places.systemDir,
    configDir: input.places.configDir,
    pins: own.base ?? { system: null, user: null },
    now: input.now,
  });
  if (!('fault' in base)) return { pins, dir, setFile, base, ...state };
  const fault = finding('state-unavailable', {
    message: `The base set of this machine does not stand: ${base.fault}.`,
    cure: 'Put the base set and its pin right: see docs/fleet.md, base sets.',
  });
  return { pins, dir, setFile, base: [], ...state, findings: [...state.findings, fault] };
}

/** The key a checkout is remembered by: shared by all work trees of one clone. */
export function checkoutKey(input: Pick<RecallInput, 'root' | 'repository'>): string {
  return input.repository?.commonDir ?? input.root.path;
}

/** Every key a checkout is remembered by, the one that counts first: its clone, then its folder, so that taking `.git` away forgets nothing. */
export function checkoutKeys(input: Pick<RecallInput, 'root' | 'repository' | 'standsFor'>): readonly string[] {
  return [...new Set([checkoutKey(input), input.standsFor?.path ?? input.root.path])];
}

function withPin(pins: Pins, pin: Pin | null): Pins {
  if (pin === null || pinOf(pins.pins, pin.workspace) !== null) return pins;
  return { ...pins, pins: [...pins.pins, pin] };
}

async function recallState(
  input: RecallInput,
  pins: Pins,
  workspace: string | null,
): Promise<Pick<Memory, 'remembered' | 'findings'>> {
  if (input.stateFault !== null) return unavailable(input.stateFault);
  const store = await openStore(input.state, 'read');
  const mark =
    pins.ledger !== null && input.state.kind === 'sqlite' && pins.ledger.state === input.state.file
      ? pins.ledger
      : null;
  if (store === null) {
    if (mark === null) return { remembered: NOTHING_REMEMBERED, findings: [] };
    return unavailable(`the state file is gone, and the pins remember ${mark.rows} decisions`);
  }
  if (!isOpen(store)) return unavailable(store.unavailable);
  try {
    const tail = await store.ledger.tail();
    if (mark !== null && (tail?.seq ?? 0) < mark.rows)
      return unavailable(`it holds ${tail?.seq ?? 0} decisions, and the pins remember ${mark.rows}`);
    const ids: string[] = [];
    for (const key of checkoutKeys(input)) {
      const id = await store.checkouts.get(key);
      if (id !== null) ids.push(id);
    }
    // One that is not the id claimed now counts before one that is: a `.git` that leads to another clone must not hide what this folder was.
    const checkout = ids.find((id) => id !== workspace) ?? ids[0] ?? null;
    if (workspace === null) return { remembered: { ...NOTHING_REMEMBERED, checkout }, findings: [] };
    const floor = (await store.floors.get(workspace))?.floor ?? 0;
    const revocations = new Map(
      (await store.revocations.of(workspace)).map((one) => [one.payloadDigest, one.envelope]),
    );
    return { remembered: { checkout, floor, revocations }, findings: [] };
  } catch {
    return unavailable('it cannot be read');
  } finally {
    await store.close();
  }
}

function unavailable(why: string): Pick<Memory, 'remembered' | 'findings'> {
  return {
    remembered: NOTHING_REMEMBERED,
    findings: [finding('state-unavailable', { message: `writ\u2019s state cannot be used: ${why}.` })],
  };
}

/** The folder of the policy set: `policies`, or the only top-level folder with a set, for workspaces made with `init --dir`. */
function findDir(root: WorkspaceRoot, pins: Pins | null): string {
  const has = (dir: string): boolean => existsSync(join(root.path, dir, SET_FILE));
  if (has(POLICY_DIR)) return POLICY_DIR;
  const pinned = [...new Set((pins?.pins ?? []).map((pin) => pin.dir))].find((dir) => dir !== POLICY_DIR && has(dir));
  if (pinned) return pinned;
  try {
    const found = readdirSync(root.path, { withFileTypes: true }).filter(
      (entry) => entry.isDirectory() && has(entry.name),
    );
    return found.length === 1 && found[0] ? found[0].name : POLICY_DIR;
  } catch {
    return POLICY_DIR;
  }
}

function userDir({ root }: RecallInput): string {
  return userPlace(root.path)?.dir ?? USER_DIR;
}

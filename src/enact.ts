import { accessSync, constants, existsSync, readlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { followLinks } from './files/follow-links.ts';
import { readOnce } from './files/read-once.ts';
import type { Judgement, Request } from './gate.ts';
import { checkoutKeys } from './gather/recall.ts';
import { finding } from './model/codes.ts';
import { escapePath } from './model/escaped.ts';
import type { Finding } from './model/finding.ts';
import { type Bytes, wasRead } from './model/source.ts';
import type { Judged, Reading } from './model/stages.ts';
import { type Pin, type Pins, pinOf } from './policy/pins.ts';
import { standingRevocations } from './policy/revocations.ts';
import { quarantine } from './quarantine/move.ts';
import { sweep } from './quarantine/sweep.ts';
import { recordDecisions } from './record/ledger.ts';
import { sha256Hex } from './sign/digest.ts';
import type { OpenCount } from './store/handoffs.ts';
import { isOpen, openStore, type Store } from './store/store.ts';
import { changePins, withPin } from './write/pins-file.ts';

/** One artifact that was to be moved. */
export interface MoveResult {
  readonly path: string;
  readonly id: string | null;
  readonly moved: boolean;
}

/** What acting on a judgement came to. */
export interface Enacted {
  readonly quarantine: readonly MoveResult[];
  /** `quarantine-failed`, and what a crash left behind. */
  readonly findings: readonly Finding[];
  /** Handoffs of this workspace that somebody still owes a word on; none where no state is kept. */
  readonly handoffs: readonly OpenCount[];
}

/** Ends what a crash cut off, before anything is judged (formats.md, quarantine record). */
export function settleLeftovers(request: Request): readonly string[] {
  return sweep(request.root, request.now).faults.map((one) =>
    escapePath(typeof one === 'string' ? one : JSON.stringify(one)),
  );
}

/** @returns why state cannot be written, or null: asked before judging, so that what cannot be recorded never binds. */
export async function stateFault(request: Pick<Request, 'state' | 'places'>): Promise<string | null> {
  const store = await openStore(request.state, 'write');
  if (store === null) return null;
  if (!isOpen(store)) return store.unavailable;
  await store.close();
  return pinsFault(request.places.configDir);
}

/** Every recorded boot also moves the mark in the pins on, so a config folder that takes no file stops it as early as state does. */
function pinsFault(configDir: string): string | null {
  let folder = configDir;
  while (!existsSync(folder) && dirname(folder) !== folder) folder = dirname(folder);
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
    return null;
  } catch {
    return `the pins in ${escapePath(configDir)} cannot be written`;
  }
}

/**
 * Acts on a judgement: moves what breaks the rules, records every decision, then remembers. Under `observe` nothing is moved.
 * Only the bytes judged are ever taken away.
 */
export async function enact(judgement: Judgement, request: Request, actor: string): Promise<Enacted> {
  const moving =
    judgement.enforcement === 'enforce' && judgement.pins?.quarantine !== 'withhold'
      ? judgement.artifacts.filter((one) => one.disposition === 'move')
      : [];
  const results: MoveResult[] = [];
  const findings: Finding[] = [];
  for (const one of moving) {
    const { path } = one.evidence.parsed.candidate;
    const moved = move(one, request);
    if ('failed' in moved) {
      results.push({ path: escapePath(path), id: null, moved: moved.gone });
      if (!moved.gone)
        findings.push(
          finding('quarantine-failed', {
            file: path,
            message: `${escapePath(path)} could not be moved to quarantine: ${moved.failed}; it is withheld where it lies.`,
          }),
        );
    } else results.push({ path: escapePath(path), id: moved.id, moved: true });
  }
  const keeps = request.state.kind !== 'none' && request.stateFault === null;
  return { quarantine: results, findings, handoffs: keeps ? await record(judgement, request, actor) : [] };
}

function move(one: Judged, request: Request): ReturnType<typeof quarantine> {
  const { parsed } = one.evidence;
  const { path } = parsed.candidate;
  // The file behind a link to a folder has a name of its own and is judged by that: taking it away by this one would evict it.
  if (isBehindLink(request, path)) return { failed: 'it lies behind a link to a folder: remove the link', gone: false };
  const bytes = parsed.bytes ?? linkBytes(join(request.root.path, path));
  return quarantine(request.root, {
    path,
    sha256: parsed.sha256 ?? sha256Hex(bytes),
    bytes,
    mode: parsed.mode,
    class: one.declaredClass,
    findings: one.findings,
    at: request.now,
    writer: one.writer === null ? null : { principal: one.writer.principal, role: one.writer.role },
    sidecars: parsed.aliasOf === null ? parsed.readings.flatMap(sidecarOf) : [],
  });
}

/** A link that leads out is held by where it leads, never by what lies there. */
function linkBytes(path: string): Uint8Array {
  try {
    return readlinkSync(path, 'buffer');
  } catch {
    return new Uint8Array();
  }
}

function isBehindLink({ root }: Request, path: string): boolean {
  const cut = path.lastIndexOf('/');
  if (cut === -1) return false;
  const folder = followLinks(root, path.slice(0, cut));
  return !('path' in folder) || folder.path !== path.slice(0, cut);
}

function sidecarOf({
  sidecar,
}: Reading): readonly { readonly path: string; readonly bytes: Uint8Array; readonly mode: number }[] {
  return sidecar ? [{ path: sidecar.path, bytes: sidecar.bytes, mode: 0o644 }] : [];
}

async function record(judgement: Judgement, request: Request, actor: string): Promise<readonly OpenCount[]> {
  const store = await openStore(request.state, 'write');
  if (store === null) return [];
  if (!isOpen(store)) throw new Error(`the ledger could not be written: ${store.unavailable}`);
  try {
    const { set } = judgement;
    const decisions = judgement.artifacts.map((one) => ({
      workspace: set.workspace,
      path: one.evidence.parsed.candidate.path,
      line: one.evidence.parsed.line,
      digest: one.evidence.parsed.sha256,
      rank: one.rank,
      class: one.class,
      codes: [...new Set(one.findings.map((found) => found.code))],
    }));
    const tail = await recordDecisions(store, decisions, judgement.at, actor);
    if (set.intact) await remember(store, judgement, request);
    await keepPin(judgement, request, tail);
    return set.intact && set.workspace !== null ? await store.handoffs.open(set.workspace) : [];
  } finally {
    await store.close();
  }
}

/** What must not be forgotten between two boots: which id this checkout had, the floor, and every revocation somebody was allowed to make. */
async function remember(store: Store, { set, proofs }: Judgement, request: Request): Promise<void> {
  const { workspace, version, floor, digest } = set;
  if (workspace === null || version === null || digest === null) return;
  for (const key of checkoutKeys(request)) await store.checkouts.set(key, workspace);
  await store.floors.raise(workspace, { version, floor: floor ?? 1, digest });
  for (const one of standingRevocations(set, proofs.spawns, proofs.approvals.all, request.now)) {
    if (one.file.startsWith('state:')) continue;
    const read = readOnce(request.root, one.file, 65_536);
    if (wasRead(read)) await store.revocations.remember(workspace, one.payloadDigest, textOf(read));
  }
}

function textOf(read: Bytes): string {
  return Buffer.from(read.bytes).toString('utf8');
}

/** The first recovery key seen stays: whoever steals a root must not name another. */
function recoveryOf(pin: Pin, { recovery }: Judgement['set']): Pick<Pin, 'recovery'> {
  if (pin.recovery !== undefined) return { recovery: pin.recovery };
  return typeof recovery === 'string' ? { recovery } : {};
}

async function keepPin(
  judgement: Judgement,
  request: Request,
  tail: { readonly seq: number; readonly hash: string } | null,
): Promise<void> {
  const { set } = judgement;
  const { state } = request;
  const fault = await changePins(request.places, (pins): Pins => {
    const rows = pins.ledger?.state === (state.kind === 'sqlite' ? state.file : '') ? pins.ledger.rows : 0;
    const marked =
      tail !== null && state.kind === 'sqlite' && tail.seq > rows
        ? { ...pins, ledger: { state: state.file, head: tail.hash, rows: tail.seq } }
        : pins;
    const pin = pinOf(marked.pins, set.workspace);
    if (!set.intact || pin?.from !== 'user' || set.version === null) return marked;
    return withPin(marked, {
      ...pin,
      roots: set.roots.length > 0 ? set.roots : pin.roots,
      ...recoveryOf(pin, set),
      floor: Math.max(pin.floor, set.floor ?? 1),
      version: Math.max(pin.version, set.version),
      digest: set.digest,
      dir: set.dir,
      seen: request.now > (pin.seen ?? 0) ? request.now : pin.seen,
    });
  });
  if (fault !== null) throw new Error(`the pins could not be written: ${fault}`);
}

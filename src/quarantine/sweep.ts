import { lstatSync, readdirSync } from 'node:fs';
import path from 'node:path';
import type { WorkspaceRoot } from '../files/workspace-root.ts';
import { settleRetired } from './held.ts';
import { findQuarantine, pendingFile, type QuarantineDir, removeFile, toInFlight, whyOf } from './layout.ts';
import { abandon, settle } from './settle.ts';

/** What a sweep did. */
export interface Swept {
  /** Paths whose move was cut off and is complete now. */
  readonly completed: readonly string[];
  /** Moves that took the wrong bytes and were put back. */
  readonly putBack: number;
  /** What could not be ended, in words. */
  readonly faults: readonly string[];
}

const NOTHING: Swept = { completed: [], putBack: 0, faults: [] };
/** A move that took nothing is dropped only when its process cannot be alive any more, ms. It holds no text, so it can wait. */
const STALE_MS = 24 * 3_600_000;

/**
 * Ends what a killed process left in quarantine/. Called before a load judges; one directory listing where there is nothing to do.
 * Safe beside moves of living processes: it only takes the steps they would take.
 * @param now unix ms.
 */
export function sweep(root: WorkspaceRoot, now: number): Swept {
  let dir: QuarantineDir | null;
  let names: string[];
  try {
    dir = findQuarantine(root);
    if (dir === null) return NOTHING;
    names = readdirSync(dir.path).filter((name) => name.startsWith('.'));
  } catch (error) {
    return { ...NOTHING, faults: [whyOf(error)] };
  }
  const completed: string[] = [];
  const faults: string[] = [];
  let putBack = 0;
  for (const name of names) {
    try {
      const done = sweepOne(dir, name, now);
      if (typeof done === 'string') completed.push(done);
      else putBack += done;
    } catch (error) {
      faults.push(`${name.slice(0, 12)}: ${whyOf(error)}`);
    }
  }
  return { completed, putBack, faults };
}

/** @returns the path of a move completed, or how many were put back. */
function sweepOne(dir: QuarantineDir, name: string, now: number): string | number {
  const file = path.join(dir.path, name);
  if (/^\.tmp-[0-9a-f]{12}$/.test(name)) {
    if (isStale(file, now)) removeFile(file);
    return 0;
  }
  const found = toInFlight(name);
  if (found?.kind === 'retired') settleRetired(dir, found.sha256, file, {});
  if (found?.kind !== 'pending' || file !== pendingFile(dir, found.sha256, found.id)) return 0;
  const settled = settle(dir, found.sha256, found.id, false);
  if ('moved' in settled) return settled.moved.path;
  const putBack = 'changed' in settled;
  if (putBack || isStale(file, now)) abandon(dir, found.sha256, found.id);
  return putBack ? 1 : 0;
}

function isStale(file: string, now: number): boolean {
  return now - (lstatSync(file, { throwIfNoEntry: false })?.mtimeMs ?? now) > STALE_MS;
}

import { statSync } from 'node:fs';
import { type Checkouts, checkoutsOf } from './checkouts.ts';
import { type Contracts, contractsOf } from './contracts.ts';
import { type Floors, floorsOf } from './floors.ts';
import { type Handoffs, handoffsOf } from './handoffs.ts';
import { type Ledger, ledgerOf } from './ledger.ts';
import type { StateLocation } from './location.ts';
import { type Nonces, noncesOf } from './nonces.ts';
import { type Revocations, revocationsOf } from './revocations.ts';
import { type Segments, segmentsOf } from './segments.ts';
import type { Unavailable } from './sqlite.ts';

/** What writ remembers outside the workspace. Its calls throw where the file breaks or the disk fills while it is open: the machine is broken, exit 4. */
export interface Store {
  readonly ledger: Ledger;
  readonly checkouts: Checkouts;
  readonly revocations: Revocations;
  readonly floors: Floors;
  readonly nonces: Nonces;
  readonly contracts: Contracts;
  readonly segments: Segments;
  readonly handoffs: Handoffs;
  /** May be called twice. */
  close(): Promise<void>;
}

/**
 * Opens state.
 * @param mode `read` creates and changes nothing; writing through such a store throws.
 * @returns null where there is no state to open: kind `none`, or in read mode a file that is not there yet. `unavailable` (corrupt, unreadable, unwritable, of a newer schema) is `state-unavailable`, never "nothing there".
 */
export async function openStore(location: StateLocation, mode: 'read' | 'write'): Promise<Store | Unavailable | null> {
  if (location.kind === 'none') return null;
  if (location.kind === 'unsupported') {
    return { unavailable: 'WRIT_STATE names a database that this build cannot open; name a folder, or none' };
  }
  if (mode === 'read') {
    const there = isThere(location.file);
    if (there !== true) return there;
  }
  // libsql and kysely cost tens of ms to load, so only a command that found state pays for them.
  const { openReading, openWriting } = await import('./sqlite.ts');
  const opened = mode === 'read' ? await openReading(location.file) : await openWriting(location.file);
  if ('unavailable' in opened) return opened;
  return {
    ledger: ledgerOf(opened.db),
    checkouts: checkoutsOf(opened.db),
    revocations: revocationsOf(opened.db),
    floors: floorsOf(opened.db),
    nonces: noncesOf(opened.db),
    contracts: contractsOf(opened.db),
    segments: segmentsOf(opened.db),
    handoffs: handoffsOf(opened.db),
    close: opened.close,
  };
}

/** @returns whether `openStore` found state that can be used. */
export function isOpen(store: Store | Unavailable | null): store is Store {
  return store !== null && 'ledger' in store;
}

function isThere(file: string): true | null | Unavailable {
  try {
    statSync(file);
    return true;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
    return code === 'ENOENT' ? null : { unavailable: `the state file ${file} cannot be reached: ${code}` };
  }
}

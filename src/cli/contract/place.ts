import type { ContractPlace } from '../../contract/draft.ts';
import type { Contracts, ContractTables } from '../../store/contracts.ts';
import type { StateLocation } from '../../store/location.ts';
import { isOpen, openStore, type Store } from '../../store/store.ts';
import { type Call, CannotError } from '../command.ts';
import { placeOf } from '../contract-place.ts';
import { openWorkspace, type Workspace } from '../workspace.ts';

/** Where a contract command works. */
export interface ContractDesk {
  readonly workspace: Workspace;
  readonly place: ContractPlace;
  readonly store: Store;
}

/** Opens the rows for writing, runs the work and closes them. Throws CannotError where there is no state to keep them in (exit 4). */
export async function atDesk<T>(call: Call, work: (desk: ContractDesk) => Promise<T>): Promise<T> {
  const workspace = openWorkspace(call);
  const place = placeOf(workspace);
  const store = await openPatiently(workspace.state, 'write');
  if (store === null || place === null)
    throw new CannotError('contracts are kept in state, and this machine keeps none (WRIT_STATE=none)');
  if (!isOpen(store)) throw new CannotError(store.unavailable);
  try {
    return await work({ workspace, place, store });
  } finally {
    await store.close();
  }
}

/** Opens the rows for reading. `work` is given null where nothing was ever written. */
export async function reading<T>(
  call: Call,
  work: (desk: { workspace: Workspace; place: ContractPlace; contracts: ContractTables | null }) => Promise<T>,
): Promise<T> {
  const workspace = openWorkspace(call);
  const place = placeOf(workspace);
  if (place === null)
    throw new CannotError('contracts are kept in state, and this machine keeps none (WRIT_STATE=none)');
  const store = await openPatiently(workspace.state, 'read');
  if (store !== null && !isOpen(store)) throw new CannotError(store.unavailable);
  try {
    return await work({ workspace, place, contracts: store?.contracts ?? null });
  } finally {
    await store?.close();
  }
}

/** How often a lock that others hold is waited for; each wait is the store's own few seconds. */
const TRIES = 10;
const LOCKED = /SQLITE_BUSY|database is locked|being recovered/;

/** Many agents may close their turns at once, and opening state takes its lock too: that they are busy is no damage. */
async function openPatiently(state: StateLocation, mode: 'read' | 'write'): ReturnType<typeof openStore> {
  for (let attempt = 1; ; attempt += 1) {
    const store = await openStore(state, mode);
    if (store === null || isOpen(store) || !LOCKED.test(store.unavailable) || attempt >= TRIES) return store;
  }
}

/** Runs work under the lock of the rows. Waits for others, and never runs the work twice. */
export async function inTurn<T>(contracts: Contracts, work: (tables: ContractTables) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    let began = false;
    try {
      return await contracts.change((tables) => {
        began = true;
        return work(tables);
      });
    } catch (error) {
      const busy = LOCKED.test(`${(error as { code?: string }).code} ${(error as Error).message}`);
      if (began || !busy) throw error;
      if (attempt >= TRIES) throw new CannotError('the contract rows are locked by another process; nothing was done');
    }
  }
}

import type { ContractTables } from '../store/contracts.ts';
import { type ContractPlace, listDrafts, removeDraft, removeLeftovers } from './draft.ts';
import { DRAFT_LIFE } from './reconcile.ts';

/** Takes old drafts off the disk, once a row holds what they held. A draft without a row is never lost. @returns the ids. */
export async function retireDrafts(
  tables: ContractTables,
  place: ContractPlace,
  now: number,
): Promise<readonly string[]> {
  const gone: string[] = [];
  for (const { id, changed } of listDrafts(place)) {
    if (now - changed < DRAFT_LIFE) continue;
    const row = await tables.row(place.workspace, id);
    if (row === null || row.state === 'DISPATCHED') continue;
    removeDraft(place, id);
    gone.push(id);
  }
  removeLeftovers(place, now - DRAFT_LIFE);
  return gone;
}

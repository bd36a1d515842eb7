import type { HandoffRefused, VerifiedHandoff } from '../model/handoff.ts';
import type { Instant } from '../model/instant.ts';
import type { HandoffRow } from '../store/handoffs.ts';
import type { Authority } from './authority.ts';
import { openHandoff } from './open.ts';

/**
 * Opens the envelope of a row anew. Taken in time it may be read after that: it is opened as of when it was taken.
 * @param wire the envelope file the row keeps.
 */
export function openRow(
  row: HandoffRow,
  wire: string,
  by: Authority & { readonly now: Instant },
): Promise<VerifiedHandoff | HandoffRefused> {
  const now = Math.min(by.now, Math.max(row.at, 0)) as Instant;
  return openHandoff(Buffer.from(wire), { ...by, now, audience: row.receiver, seen: () => false });
}

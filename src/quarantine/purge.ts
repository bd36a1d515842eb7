import path from 'node:path';
import type { WorkspaceRoot } from '../files/workspace-root.ts';
import { dropHeld } from './held.ts';
import { findQuarantine, lstatOrNull, pendingFile, whyOf } from './layout.ts';
import { type Found, findRecord, type Refused } from './list.ts';
import { settle } from './settle.ts';

export interface Purged {
  readonly id: string;
  readonly path: string;
}

/** Removes one record for good, and the bytes where it was the last that named them. Works for a record whose bytes are damaged, too. */
export function purge(root: WorkspaceRoot, id: string): Purged | Refused {
  const found = findRecord(root, id);
  return 'refused' in found ? found : dropRecord(root, found);
}

/** Removes a record that was found. */
export function dropRecord(root: WorkspaceRoot, { record, file }: Found): Purged | Refused {
  try {
    const dir = findQuarantine(root);
    // A record whose move still runs would be linked again by whoever ends that move.
    if (dir !== null && lstatOrNull(pendingFile(dir, record.sha256, record.id)))
      settle(dir, record.sha256, record.id, false);
    if (dir !== null) dropHeld(dir, record.sha256, path.basename(file));
    return { id: record.id, path: record.path };
  } catch (error) {
    return { refused: whyOf(error) };
  }
}

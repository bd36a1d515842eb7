import { dirname, join } from 'node:path';
import type { ContractPlace } from '../contract/draft.ts';
import { sha256Hex } from '../sign/digest.ts';
import type { Workspace } from './workspace.ts';

/** Where the contracts of a checkout lie; null where this machine keeps no state. Loads nothing of contracts. */
export function placeOf({
  repository,
  root,
  state,
}: Pick<Workspace, 'repository' | 'root' | 'state'>): ContractPlace | null {
  if (state.kind !== 'sqlite') return null;
  const workspace = repository?.commonDir ?? root.path;
  return { workspace, folder: join(dirname(state.file), 'contracts', sha256Hex(workspace).slice(0, 32)) };
}

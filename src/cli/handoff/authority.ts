import { type Judgement, judge } from '../../gate.ts';
import { type Authority, authorityOf } from '../../handoff/authority.ts';
import { instantFromMs } from '../../model/instant.ts';
import { isOpen, openStore, type Store } from '../../store/store.ts';
import type { KnownSigner } from '../../write/signer.ts';
import { type Call, CannotError } from '../command.ts';
import { openSigner } from '../signing.ts';
import { openWorkspace, toRequest, type Workspace } from '../workspace.ts';

/** Where a handoff command works. */
export interface Reader {
  readonly workspace: Workspace;
  readonly judgement: Judgement;
  readonly authority: Authority;
  /** The id of the governed workspace; empty where no intact set names one. */
  readonly id: string;
}

/** And as whom. */
export interface Desk extends Reader {
  readonly signer: KnownSigner;
}

/** Opens the workspace and what people decided in it. Throws CannotError where state cannot be read. */
export async function openReader(call: Call): Promise<Reader> {
  const workspace = openWorkspace(call);
  const judgement = await judge(toRequest(workspace, call, []));
  const unread = judgement.findings.find((one) => one.code === 'state-unavailable');
  if (unread !== undefined) throw new CannotError(unread.message);
  return { workspace, judgement, authority: await authorityOf(judgement), id: judgement.set.workspace ?? '' };
}

/** The same, with the key of whoever acts. Throws RefusedError where the key is nobody’s. */
export async function openDesk(call: Call): Promise<Desk> {
  const reader = await openReader(call);
  return { ...reader, signer: await openSigner(call, reader.judgement) };
}

/** Who is who now: read anew, as a server that runs for days must. */
export async function readAuthority(call: Call, workspace: Workspace): Promise<Authority> {
  const now = instantFromMs(Date.now()) ?? workspace.now;
  return authorityOf(await judge({ ...toRequest(workspace, call, []), now, onProgress: null }));
}

/** Opens state, which handoffs cannot do without. Throws CannotError. Null: in read mode there is none yet. */
export async function openRows(workspace: Workspace, mode: 'read'): Promise<Store | null>;
export async function openRows(workspace: Workspace, mode: 'write'): Promise<Store>;
export async function openRows({ state }: Workspace, mode: 'read' | 'write'): Promise<Store | null> {
  if (state.kind === 'none')
    throw new CannotError('WRIT_STATE=none keeps no rows, and handoffs need them: name a folder');
  const store = await openStore(state, mode);
  if (store === null) return null;
  if (!isOpen(store)) throw new CannotError(`state cannot be used: ${store.unavailable}`);
  return store;
}

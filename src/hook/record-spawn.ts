import type { Request } from '../gate.ts';
import { recordDecisions } from '../record/ledger.ts';
import { isOpen, openStore } from '../store/store.ts';
import type { HookEvent } from './event.ts';

/** Longest name of an agent or a kind of agent kept, in characters. */
const MAX_NAME = 128;

/**
 * Writes into the ledger that a host says it started a subagent: seen, not proven. The path is `spawn:HOST/TYPE/ID`, a `-` where the host does not say.
 * Throws where state cannot be written; without state nothing is kept.
 */
export async function recordSpawn(
  { agent }: HookEvent,
  host: string,
  { state, now }: Pick<Request, 'state' | 'now'>,
  workspace: string | null,
  actor: string,
): Promise<void> {
  const store = await openStore(state, 'write');
  if (store === null) return;
  if (!isOpen(store)) throw new Error(`the ledger could not be written: ${store.unavailable}`);
  const path = `spawn:${[host, agent.type, agent.id].map((one) => one?.slice(0, MAX_NAME).replaceAll('/', '_') ?? '-').join('/')}`;
  try {
    const seen = {
      workspace,
      path,
      line: null,
      digest: null,
      rank: 'reference',
      class: 'observation',
      codes: [],
    } as const;
    await recordDecisions(store, [seen], now, actor);
  } finally {
    await store.close();
  }
}

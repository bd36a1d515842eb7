import { judge } from '../gate.ts';
import { listQuarantine } from '../quarantine/list.ts';
import { catalogue } from '../report/catalogue.ts';
import { exitOf, summaryOf } from '../report/verdicts.ts';
import type { OpenCount } from '../store/handoffs.ts';
import type { StateLocation } from '../store/location.ts';
import { isOpen, openStore } from '../store/store.ts';
import { type Call, EXIT, type Exit, text } from './command.ts';
import { print, tell } from './output.ts';
import { openWorkspace, toRequest } from './workspace.ts';
import { writeOut } from './write-out.ts';

/** `writ metrics`: measures and refuses nothing. Ends in 4 where something could not be checked; what is known is written all the same. */
export async function metrics(call: Call): Promise<Exit> {
  const workspace = openWorkspace(call);
  const judgement = await judge(toRequest(workspace, call, null));
  const { entries, faults } = listQuarantine(workspace.root);
  const state = await measureState(workspace.state, judgement.set.workspace);
  const ledger = state?.ledger ?? null;
  if (ledger === null) await tell('writ: the ledger of this machine could not be read; see: writ log verify');
  const exit = exitOf(judgement, false);
  const { renderMetrics } = await import('../report/metrics.ts');
  const rendered = renderMetrics(judgement, {
    catalogue: catalogue(),
    summary: summaryOf(judgement.artifacts),
    exit,
    root: workspace.root.path,
    quarantine: {
      held: entries.length,
      bytes: entries.reduce((sum, one) => sum + one.bytes, 0),
      faults: faults.length,
      oldest: entries[0]?.at ?? null,
    },
    ledger,
    handoffs: state?.handoffs ?? null,
  });
  const file = text(call, 'out');
  if (file === null) await print(rendered);
  else await writeOut(file, rendered);
  return exit === EXIT.unchecked || ledger === null ? EXIT.unchecked : EXIT.ok;
}

interface Held {
  readonly ledger: { readonly rows: number; readonly at: number | null };
  readonly handoffs: readonly OpenCount[];
}

/** What this machine keeps; null where it could not be read. */
async function measureState(state: StateLocation, workspace: string | null): Promise<Held | null> {
  const store = await openStore(state, 'read');
  if (store === null) return { ledger: { rows: 0, at: null }, handoffs: [] };
  if (!isOpen(store)) return null;
  try {
    const tail = await store.ledger.tail();
    const handoffs = workspace === null ? [] : await store.handoffs.open(workspace);
    return { ledger: { rows: tail?.seq ?? 0, at: tail?.at ?? null }, handoffs };
  } catch {
    return null;
  } finally {
    await store.close();
  }
}

import { judge } from '../gate.ts';
import { listQuarantine } from '../quarantine/list.ts';
import { catalogue } from '../report/catalogue.ts';
import { exitOf, summaryOf } from '../report/verdicts.ts';
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
  const ledger = await measureLedger(workspace.state);
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
  });
  const file = text(call, 'out');
  if (file === null) await print(rendered);
  else await writeOut(file, rendered);
  return exit === EXIT.unchecked || ledger === null ? EXIT.unchecked : EXIT.ok;
}

async function measureLedger(
  state: StateLocation,
): Promise<{ readonly rows: number; readonly at: number | null } | null> {
  const store = await openStore(state, 'read');
  if (store === null) return { rows: 0, at: null };
  if (!isOpen(store)) return null;
  try {
    const tail = await store.ledger.tail();
    return { rows: tail?.seq ?? 0, at: tail?.at ?? null };
  } catch {
    return null;
  } finally {
    await store.close();
  }
}

import { type Judgement, judge } from '../gate.ts';
import { authorityOf } from '../handoff/authority.ts';
import { isVerified } from '../handoff/open.ts';
import { openRow } from '../handoff/open-row.ts';
import { entryOf } from '../model/codes.ts';
import { escapePath } from '../model/escaped.ts';
import type { PageHandoff } from '../page/data.ts';
import { listQuarantine } from '../quarantine/list.ts';
import { catalogue } from '../report/catalogue.ts';
import { toPageData } from '../report/page-data.ts';
import { renderPage } from '../report/page-html.ts';
import { exitOf } from '../report/verdicts.ts';
import { isOpen, openStore } from '../store/store.ts';
import { type Call, EXIT, type Exit, text, UsageError } from './command.ts';
import { isTerminal, print, STDOUT, tell } from './output.ts';
import { openWorkspace, toRequest, type Workspace } from './workspace.ts';
import { writeOut } from './write-out.ts';

/** `writ report`: the page is a picture and refuses nothing. Ends in 4 where something could not be checked; what is known is shown all the same. */
export async function report(call: Call): Promise<Exit> {
  const file = text(call, 'out');
  if (file === null && isTerminal(STDOUT))
    throw new UsageError('the page is HTML, not for a terminal: name a file with --out report.html');
  const workspace = openWorkspace(call);
  const judgement = await judge(toRequest(workspace, call, null));
  const { entries, faults } = listQuarantine(workspace.root);
  const exit = exitOf(judgement, false);
  const page = renderPage(
    toPageData(judgement, {
      catalogue: catalogue(),
      exit,
      held: entries,
      heldFaults: faults,
      handoffs: await openHandoffs(judgement, workspace),
    }),
  );
  if (file === null) await print(page);
  else {
    await writeOut(file, page);
    await tell(`wrote ${escapePath(file)}: ${judgement.artifacts.length} texts`);
  }
  const blind =
    judgement.artifacts.some((one) => one.unchecked) ||
    judgement.findings.some((one) => entryOf(one).unchecked === true);
  return blind || faults.length > 0 ? EXIT.unchecked : EXIT.ok;
}

/** Handoffs looked up for one page. */
const MOST = 2_000;

/** Handoffs somebody still owes a word on; null where there is no state to ask. What they ask for is told only where it can be verified still. */
async function openHandoffs(judgement: Judgement, { state, now }: Workspace): Promise<readonly PageHandoff[] | null> {
  if (state.kind === 'none') return null;
  const store = await openStore(state, 'read');
  if (!isOpen(store)) return store === null ? [] : null;
  try {
    const rows = await store.handoffs.list({ workspace: judgement.set.workspace ?? '', open: true, limit: MOST });
    if (rows.length === 0) return [];
    const by = { ...(await authorityOf(judgement)), now };
    const told: PageHandoff[] = [];
    for (const row of rows) {
      const opened = await openRow(row, (await store.handoffs.wire(row)) ?? '', by);
      told.push({
        id: row.handoffId,
        from: row.sender,
        to: row.receiver,
        intent: isVerified(opened) ? opened.artifact.task_intent : `It cannot be verified: ${opened.refused.code}`,
        state: `${row.side}, ${row.state}`,
        at: row.at,
        expiresAt: row.expiresAt,
      });
    }
    return told;
  } finally {
    await store.close();
  }
}

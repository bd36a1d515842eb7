import { judge } from '../gate.ts';
import { entryOf } from '../model/codes.ts';
import { escapePath } from '../model/escaped.ts';
import { listQuarantine } from '../quarantine/list.ts';
import { catalogue } from '../report/catalogue.ts';
import { toPageData } from '../report/page-data.ts';
import { renderPage } from '../report/page-html.ts';
import { exitOf } from '../report/verdicts.ts';
import { type Call, EXIT, type Exit, text, UsageError } from './command.ts';
import { isTerminal, print, STDOUT, tell } from './output.ts';
import { openWorkspace, toRequest } from './workspace.ts';
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
      handoffs: null,
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

import { judge } from '../gate.ts';
import { exitOf, toVerdictsJson } from '../report/verdicts.ts';
import { renderJudgement } from '../report/verdicts-text.ts';
import { type Call, type Exit, flag, oneOf } from './command.ts';
import { paintFor, print } from './output.ts';
import { openWorkspace, toPaths, toRequest } from './workspace.ts';

/** `writ check`: verdicts only; changes nothing, opens state for reading. */
export async function check(call: Call): Promise<Exit> {
  const format = oneOf(call, 'format', ['text', 'json']) ?? 'text';
  const workspace = openWorkspace(call);
  const paths = call.positionals.length === 0 ? null : toPaths(workspace, call.positionals);
  const judgement = await judge(toRequest(workspace, call, paths));
  if (format === 'json') await print(`${JSON.stringify(toVerdictsJson(judgement), null, 1)}\n`);
  else await print(renderJudgement(judgement, { paint: paintFor(process.stdout), verbose: flag(call, 'verbose') }));
  return exitOf(judgement, flag(call, 'strict'));
}

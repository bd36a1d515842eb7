import { judge } from '../gate.ts';
import { exitOf, toVerdictsJson } from '../report/verdicts.ts';
import { renderJudgement } from '../report/verdicts-text.ts';
import { type Call, type Exit, flag, oneOf, text, UsageError } from './command.ts';
import { paintFor, print, STDOUT } from './output.ts';
import { openWorkspace, toPaths, toRequest } from './workspace.ts';

/** `writ check`: verdicts only; changes nothing, opens state for reading. */
export async function check(call: Call): Promise<Exit> {
  const format = oneOf(call, 'format', ['text', 'json']) ?? 'text';
  const workspace = openWorkspace(call);
  const paths = call.positionals.length === 0 ? null : toPaths(workspace, call.positionals);
  const asked = asksForTree(call) ? await (await import('./tree.ts')).judgeAsked(call, workspace) : null;
  const judgement = asked?.judgement ?? (await judge(toRequest(workspace, call, paths)));
  const tree = asked === null ? {} : { tree: { compared: asked.about, changed: asked.changed } };
  if (asked !== null && format === 'text')
    await print(`judged ${asked.about}: ${asked.changed} ${asked.changed === 1 ? 'path differs' : 'paths differ'}\n`);
  if (format === 'json') await print(`${JSON.stringify({ ...toVerdictsJson(judgement), ...tree }, null, 1)}\n`);
  else if (asked !== null && judgement.artifacts.length + judgement.findings.length === 0)
    await print('Nothing that writ judges changes here.\n');
  else
    await print(
      renderJudgement(judgement, {
        paint: paintFor(STDOUT),
        verbose: flag(call, 'verbose'),
        home: workspace.user !== undefined,
      }),
    );
  return asked?.exit ?? exitOf(judgement, flag(call, 'strict'));
}

/** Whether a tree of git is asked for instead of the work tree. */
function asksForTree(call: Call): boolean {
  const asked = [flag(call, 'staged'), text(call, 'rev') !== null, text(call, 'commit') !== null].filter(Boolean);
  if (asked.length > 1) throw new UsageError('give one of --staged, --rev A..B and --commit SHA');
  if (asked.length === 1 && call.positionals.length > 0)
    throw new UsageError('--staged, --rev and --commit judge what the change touches; name no paths with them');
  return asked.length === 1;
}

import { type Judgement, judge, prefixIn } from '../gate.ts';
import { exitOf, summaryOf, toVerdictsJson } from '../report/verdicts.ts';
import { renderJudgement } from '../report/verdicts-text.ts';
import { type Call, type Exit, flag, oneOf, text, UsageError } from './command.ts';
import { paintFor, print, STDOUT } from './output.ts';
import { openWorkspace, toPaths, toRequest, type Workspace } from './workspace.ts';

/** `writ check`: verdicts only; changes nothing, opens state for reading. */
export async function check(call: Call): Promise<Exit> {
  const each = text(call, 'each');
  if (each !== null) return (await import('./check-each.ts')).checkEach(call, each);
  const format = oneOf(call, 'format', ['text', 'json', 'sarif', 'github']) ?? 'text';
  const workspace = openWorkspace(call);
  const paths = call.positionals.length === 0 ? null : toPaths(workspace, call.positionals);
  const asked = asksForTree(call) ? await (await import('./tree.ts')).judgeAsked(call, workspace) : null;
  const judgement = asked?.judgement ?? (await judge(toRequest(workspace, call, paths)));
  const tree = asked === null ? {} : { tree: { compared: asked.about, changed: asked.changed } };
  const exit = asked?.exit ?? exitOf(judgement, flag(call, 'strict'));
  const other = format === 'sarif' || format === 'github' ? format : null;
  const told =
    other === null && text(call, 'sarif') === null ? null : await toldApart(call, workspace, judgement, exit);
  if (told !== null && other !== null) {
    await print(other === 'sarif' ? told.sarif() : told.github());
    return exit;
  }
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
  return exit;
}

/** The formats for CI, built apart from the command; with `--sarif FILE` the log is written first, so that nothing else can end the step before it. */
async function toldApart(call: Call, { root, repository }: Workspace, judgement: Judgement, exit: Exit) {
  const [{ renderSarif }, { renderAnnotations }, { catalogue }] = await Promise.all([
    import('../report/sarif.ts'),
    import('../report/annotations.ts'),
    import('../report/catalogue.ts'),
  ]);
  const options = {
    catalogue: catalogue(),
    prefix: prefixIn(repository, root),
    summary: summaryOf(judgement.artifacts),
    exit,
  };
  const sarif = (): string => renderSarif(judgement, options);
  const file = text(call, 'sarif');
  if (file !== null) await (await import('./write-out.ts')).writeOut(file, sarif());
  return { sarif, github: () => renderAnnotations(judgement, options) };
}

/** Whether a tree of git is asked for instead of the work tree. */
function asksForTree(call: Call): boolean {
  const asked = [flag(call, 'staged'), text(call, 'rev') !== null, text(call, 'commit') !== null].filter(Boolean);
  if (asked.length > 1) throw new UsageError('give one of --staged, --rev A..B and --commit SHA');
  if (asked.length === 1 && call.positionals.length > 0)
    throw new UsageError('--staged, --rev and --commit judge what the change touches; name no paths with them');
  return asked.length === 1;
}

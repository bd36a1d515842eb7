import { realpathSync } from 'node:fs';
import { join, relative } from 'node:path';
import { isInside } from '../files/workspace-root.ts';
import type { Judgement } from '../gate.ts';
import type { Repository } from '../git/repository.ts';
import { entryOf } from '../model/codes.ts';
import { escapePath } from '../model/escaped.ts';
import type { Judged } from '../model/stages.ts';
import { exitOf } from '../report/verdicts.ts';
import { fill } from '../report/verdicts-text.ts';
import { BEFORE, HOOK, hookPlace, hookScript, installHook, managersOf, uninstallHook } from '../write/git-hook.ts';
import { type Call, CannotError, EXIT, type Exit, flag, list, UsageError } from './command.ts';
import { print, tell } from './output.ts';
import { judgeForHook } from './tree.ts';
import { openWorkspace, type Workspace } from './workspace.ts';

/** Refusals told one by one. */
const MAX_TOLD = 20;
/** Reasons told of one artifact. */
const MAX_REASONS = 3;

/** `writ hook pre-commit`: judges the index of the commit being made; quiet where nothing is refused. */
export async function preCommit(call: Call): Promise<Exit> {
  const asked = await judgeForHook(call, openWorkspace(call));
  const { about } = asked;
  const waiting = asked.judgement.artifacts.filter((one) => waitsForCommit(one, asked.judgement));
  const judgement = {
    ...asked.judgement,
    artifacts: asked.judgement.artifacts.filter((one) => !waiting.includes(one)),
  };
  const takes = judgement.findings.some((one) => one.code === 'binding-missing');
  const exit = waiting.length === 0 || takes ? asked.exit : exitOf(judgement, false);
  if (exit === EXIT.ok)
    for (const { evidence } of waiting)
      await tell(
        `writ: ${escapePath(evidence.parsed.candidate.path)} binds once ${evidence.claimed?.manifest.approvedBy} has signed this commit (git commit -S); until then it does not: writ check --commit HEAD`,
      );
  const lines = refusals(judgement);
  if (exit === EXIT.ok) {
    if (lines.length > 0 && judgement.enforcement === 'observe')
      await tell(`writ: observe, so nothing is blocked; would be refused:\n${lines.join('\n')}`);
    return exit;
  }
  const rest = lines.length - MAX_TOLD;
  const shown = rest > 0 ? [...lines.slice(0, MAX_TOLD), `and ${rest} more: writ check --staged`] : lines;
  await tell(
    `writ: ${exit === EXIT.refused ? 'refused' : 'could not check everything'}, nothing was committed (${about})\n${shown.join('\n')}`,
  );
  return exit;
}

/**
 * Whether all that is missing is the signature of the very commit being made (policy.yaml, commits.approval). It cannot be there yet, so the hook
 * lets the commit be made; nothing binds by that, and CI judges what was committed.
 */
function waitsForCommit({ findings, evidence }: Judged, { set }: Judgement): boolean {
  const by = evidence.claimed?.manifest.approvedBy ?? null;
  const refusing = findings.filter((one) => one.effect === 'quarantine');
  return (
    by !== null &&
    set.policy.commits.approval.includes(by) &&
    refusing.length > 0 &&
    refusing.every((one) => one.code === 'approval-unproven' || one.code === 'approval-stale')
  );
}

/** One entry each: file and line, code, what is wrong, and the cure. */
function refusals({ artifacts, findings }: Judgement): readonly string[] {
  const told = findings.filter((one) => {
    const entry = entryOf(one);
    return (
      entry.unchecked === true || entry.everywhere === true || /^(?:binding-missing|approval-removed)$/.test(one.code)
    );
  });
  return [
    ...told.map((one) => `  ${one.code}: ${one.message}\n    cure: ${one.cure}`),
    ...artifacts.filter((one) => one.rank === 'quarantined').flatMap(reasons),
  ];
}

function reasons(one: Judged): readonly string[] {
  const { candidate, line } = one.evidence.parsed;
  const at = `${escapePath(candidate.path)}${line === null ? '' : `:${line}`}`;
  return one.findings
    .filter((found) => found.effect === 'quarantine')
    .slice(0, MAX_REASONS)
    .map((found) => `  ${at}: ${found.code}: ${found.message}\n    cure: ${fill(found.cure, one)}`);
}

/** `writ hook install`: the pre-commit hook of this repository, or what to give the program that manages its hooks; with `--host` those of hosts. */
export async function install(call: Call): Promise<Exit> {
  if (isForHosts(call)) {
    const exit = await (await import('./hook-install.ts')).installHosts(call);
    if (exit !== EXIT.ok || !flag(call, 'git')) return exit;
  }
  return installIn(openWorkspace(call), flag(call, 'dry-run'));
}

/** Writes the hook of one workspace, or says what to give the program that manages its hooks. */
export async function installIn(
  { repository, root }: Pick<Workspace, 'repository' | 'root'>,
  dry: boolean,
): Promise<Exit> {
  if (repository === null) throw new CannotError('this is no git work tree, so there are no git hooks');
  const managers = managersOf(repository);
  for (const { name, file, snippet, calls } of managers) {
    if (calls) await tell(`${name} manages the hooks here, and ${file} calls writ already`);
    else {
      await tell(`${name} manages the hooks here; nothing was written. Add to ${file}:`);
      await print(snippet);
    }
  }
  if (managers.length > 0) return EXIT.ok;
  const place = placeOf(repository);
  const command = realpathSync(process.argv[1] ?? '');
  const script = hookScript(process.execPath, command, relative(repository.topLevel, root.path));
  const path = join(place.folder, HOOK);
  if (place.outside)
    throw new CannotError(
      `core.hooksPath sends git to ${place.folder}, outside this repository, where other repositories may share it; nothing was written. Call there: "${process.execPath}" "${command}" hook pre-commit`,
    );
  if (dry) {
    await tell(`would write ${path}, and keep a hook that is there as ${BEFORE}:`);
    await print(script);
    return EXIT.ok;
  }
  const done = installHook(place.folder, script);
  if (typeof done === 'object') throw new CannotError(done.fault);
  await tell(
    done === 'same'
      ? `${path} is there already`
      : done === 'chained'
        ? `wrote ${path}; the hook that was there is now ${BEFORE} and runs first`
        : `wrote ${path}`,
  );
  if (isInside(repository.topLevel, command))
    await tell(
      `${command} lies in this repository: whoever may write here may change what the hook runs. Outside it is safer.`,
    );
  if (/[\\/]_npx[\\/]/.test(command))
    await tell(
      'writ runs from a cache of npx; once that is cleared the hook blocks every commit. Install writ, then run this again.',
    );
  return EXIT.ok;
}

/** `writ hook uninstall`: takes writ's hook away and puts back what was there; with `--host` those of hosts. */
export async function uninstall(call: Call): Promise<Exit> {
  if (isForHosts(call)) {
    const exit = await (await import('./hook-install.ts')).uninstallHosts(call);
    if (exit !== EXIT.ok || !flag(call, 'git')) return exit;
  }
  const { repository } = openWorkspace(call);
  if (repository === null) throw new CannotError('this is no git work tree, so there are no git hooks');
  const { folder } = placeOf(repository);
  const path = join(folder, HOOK);
  if (flag(call, 'dry-run')) {
    await tell(`would take ${path} away where it is writ's, and put ${BEFORE} back`);
    return EXIT.ok;
  }
  const said = {
    none: `there is no ${path}`,
    other: `${path} is not writ's; left as it is`,
    removed: `took ${path} away`,
    restored: `took ${path} away and put back the hook that was there before`,
  };
  await tell(said[uninstallHook(folder)]);
  return EXIT.ok;
}

function isForHosts(call: Call): boolean {
  const asked = list(call, 'host').length > 0;
  if (!asked && flag(call, 'project'))
    throw new UsageError('--project says whose settings of a host are meant: name it with --host');
  return asked;
}

function placeOf(repository: Repository): { readonly folder: string; readonly outside: boolean } {
  const place = hookPlace(repository, process.env);
  if (place === null)
    throw new CannotError('git could not say where its hooks lie: is git installed, and its config whole?');
  return place;
}

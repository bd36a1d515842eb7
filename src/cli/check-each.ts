import { existsSync, realpathSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { findRepositories } from '../discover/repositories.ts';
import { judge } from '../gate.ts';
import { POLICY_DIR } from '../policy/defaults.ts';
import { SET_FILE } from '../policy/set-file.ts';
import { exitOfFleet, type FleetRow, failedRow, renderFleet, toFleet, toFleetRow } from '../report/fleet.ts';
import { type Call, type Exit, flag, oneOf, UsageError } from './command.ts';
import { paintFor, print, STDOUT } from './output.ts';
import { progressBar } from './progress.ts';
import { openWorkspace, toRequest } from './workspace.ts';

/** `writ check --each DIR`: what a fleet would see under writ, one line a repository. Changes nothing. */
export async function checkEach(call: Call, given: string): Promise<Exit> {
  const format = oneOf(call, 'format', ['text', 'json']) ?? 'text';
  for (const name of ['staged', 'rev', 'commit', 'sarif', 'user', 'root'])
    if (call.values[name] !== undefined && call.values[name] !== false)
      throw new UsageError(`--each judges whole repositories; it takes no --${name}`);
  if (call.positionals.length > 0) throw new UsageError('--each judges whole repositories; name no paths with it');
  const dir = folderOf(given);
  const { found, unsearched, links } = findRepositories(dir, (folder) =>
    existsSync(join(folder, POLICY_DIR, SET_FILE)),
  );
  if (found.length === 0 && unsearched.length === 0)
    throw new UsageError(`--each ${given}: there is no folder in it to judge`);
  const progress = progressBar();
  const rows: FleetRow[] = [];
  for (const path of found) {
    rows.push(await judgeOne(call, dir, path));
    progress?.(rows.length, found.length);
  }
  const fleet = toFleet(dir, Date.now(), rows, { unsearched, links });
  await print(
    format === 'json'
      ? `${JSON.stringify(fleet, null, 1)}\n`
      : renderFleet(fleet, paintFor(STDOUT), flag(call, 'verbose')),
  );
  return exitOfFleet(fleet);
}

/** One repository that cannot be judged takes nothing from the others. */
async function judgeOne(call: Call, dir: string, path: string): Promise<FleetRow> {
  const root = join(dir, path);
  try {
    const workspace = openWorkspace({ ...call, values: { ...call.values, root } });
    const judgement = await judge({ ...toRequest(workspace, call, null), onProgress: null });
    return toFleetRow(path, judgement, flag(call, 'strict'));
  } catch (error) {
    // Where pins and state lie is the same for all: what is wrong with that is wrong usage, and no repository's fault.
    if (error instanceof UsageError && existsSync(root)) throw new UsageError(`${path}: ${error.message}`);
    return failedRow(path, error instanceof Error ? error.message : String(error));
  }
}

function folderOf(given: string): string {
  if (given === '' || !existsSync(given) || !statSync(given).isDirectory())
    throw new UsageError(`--each ${given} is no folder`);
  return realpathSync.native(given);
}

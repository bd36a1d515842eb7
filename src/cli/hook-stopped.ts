import { existsSync } from 'node:fs';
import { type HookEvent, isRecord, own } from '../hook/event.ts';
import { type HookHost, stopAnswer } from '../hook/hosts.ts';
import { supervise } from '../hook/supervise.ts';
import { type Call, CannotError, EXIT, type Exit, text } from './command.ts';
import { placeOf } from './contract-place.ts';
import { print, tell } from './output.ts';
import { openWorkspace } from './workspace.ts';

/** What the backstop takes for an id. */
const ID = /^[\w.:@/-]{1,128}$/;

/**
 * A subagent has stopped: where this checkout uses contracts, its turn gets its row (`writ contract reconcile`), and the summary it wrote for people is
 * handed to the host. Where none is used nothing is done and nothing loaded.
 */
export async function stopped(call: Call, host: HookHost, given: HookEvent, deadline: number): Promise<Exit> {
  const workspace = openWorkspace(call);
  const place = placeOf(workspace);
  if (place === null || !existsSync(place.folder)) return EXIT.ok;
  const { id, type } = given.agent;
  if (id === null || !ID.test(id)) {
    await tell(
      'writ: the host does not say which agent stopped, so its contract was not looked at: writ contract reconcile',
    );
    return EXIT.ok;
  }
  const words = ['contract', 'reconcile', '--root', text(call, 'root') ?? workspace.root.path, '--agent-id', id];
  if (type !== null && ID.test(type)) words.push('--agent-name', type);
  if (given.stopReason !== null && /^[\w.-]{1,64}$/.test(given.stopReason))
    words.push('--stop-reason', given.stopReason);
  const said = await supervise(words, deadline);
  if ('fault' in said) throw new CannotError(said.fault);
  const summary = summaryIn(said.stdout.toString('utf8'));
  const answer = summary === null ? null : stopAnswer(host, summary);
  if (answer !== null) await print(`${answer}\n`);
  return EXIT.ok;
}

/** The summary of the contract that was written last, where the agent closed that one clean; else null. */
function summaryIn(stdout: string): string | null {
  const told: unknown = JSON.parse(stdout);
  const rows = isRecord(told) ? own(told, 'reconciled') : null;
  const [last] = (Array.isArray(rows) ? rows : [])
    .filter(isRecord)
    .sort((a, b) => Number(own(b, 'updated_at')) - Number(own(a, 'updated_at')));
  const summary = last === undefined ? null : own(last, 'systemMessage');
  return typeof summary === 'string' ? summary : null;
}

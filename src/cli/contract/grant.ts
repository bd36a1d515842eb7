import { error } from '../../contract/error.ts';
import { decide, type GrantResult, reserve, settle, viewGrant } from '../../contract/grant.ts';
import { judge } from '../../gate.ts';
import { escapeText } from '../../model/escaped.ts';
import type { ContractTables, GrantRow } from '../../store/contracts.ts';
import { suggestion } from '../arguments.ts';
import { confirm, readStdin } from '../ask.ts';
import { type Call, EXIT, type Exit, flag, RefusedError, text, UsageError } from '../command.ts';
import { tell } from '../output.ts';
import { printJson } from '../print-json.ts';
import { openSigner } from '../signing.ts';
import { toRequest } from '../workspace.ts';
import { refused, tellDone } from './draft.ts';
import { atDesk, type ContractDesk, inTurn, reading } from './place.ts';
import { findRow } from './respond.ts';

const VERBS = ['show', 'approve', 'reject', 'reserve', 'settle'] as const;
const MAX_COMMAND = 65_536;

/** `writ contract grant`: the request, the decision and the progress of a set of commands. */
export async function grant(call: Call): Promise<Exit> {
  const [word = '', id = ''] = call.positionals;
  const verb = VERBS.find((one) => one === word);
  if (verb === undefined)
    throw new UsageError(
      `writ contract grant takes ${VERBS.join(', ')}${suggestion(word, VERBS, 'writ contract grant ')}`,
    );
  if (id === '') throw new UsageError(`writ contract grant ${verb} takes the id of a request, or of its contract`);
  switch (verb) {
    case 'show':
      return show(call, id);
    case 'approve':
    case 'reject':
      return decideOn(call, id, verb);
    case 'reserve': {
      const command = text(call, 'command') ?? (await readStdin(MAX_COMMAND)).toString('utf8');
      return change(call, id, (found, { workspace }) => reserve(found, command, byOf(call, found), workspace.now));
    }
    case 'settle': {
      if (flag(call, 'ok') === flag(call, 'failed')) throw new UsageError('give one of --ok and --failed');
      const outcome = { ok: flag(call, 'ok'), reason: text(call, 'reason')?.slice(0, 2_000) ?? null };
      return change(call, id, (found) => settle(found, outcome, byOf(call, found)));
    }
  }
}

function byOf(call: Call, found: GrantRow): string {
  const by = text(call, 'by') ?? found.agentId;
  if (!/^[\w.:@/-]{1,200}$/.test(by)) throw new UsageError('--by takes a name without spaces');
  return by;
}

async function show(call: Call, id: string): Promise<Exit> {
  return reading(call, async ({ workspace, place, contracts }) => {
    const found = contracts === null ? null : await findGrant(contracts, place, id);
    if (found === null) return tellDone(unknown(id));
    await printJson(viewGrant(found, workspace.now));
    return EXIT.ok;
  });
}

async function change(
  call: Call,
  id: string,
  work: (found: GrantRow, desk: ContractDesk) => GrantResult,
): Promise<Exit> {
  return atDesk(call, async (desk) => {
    const done = await inTurn(desk.store.contracts, async (tables) => {
      const found = await findGrant(tables, desk.place, id);
      if (found === null) return unknown(id);
      const result = work(found, desk);
      if ('refused' in result)
        return {
          ...refused(result.refused, 'plan_status'),
          value: { ok: false, errors: [result.refused], ...viewGrant(found, desk.workspace.now) },
        };
      await tables.putGrant(result.grant);
      return { value: { ok: true, ...viewGrant(result.grant, desk.workspace.now) } };
    });
    return tellDone(done);
  });
}

/** A person decides: the signer is traced to a name and role, and only an approver or the sovereign may. */
async function decideOn(call: Call, id: string, decision: 'approve' | 'reject'): Promise<Exit> {
  return atDesk(call, async (desk) => {
    const found = await findGrant(desk.store.contracts, desk.place, id);
    if (found === null) return tellDone(unknown(id));
    const signer = await openSigner(call, await judge(toRequest(desk.workspace, call, [])));
    const { principal, role } = signer.identity;
    if (role !== 'approver' && role !== 'sovereign')
      throw new RefusedError('approver-not-permitted', `${principal} is ${role}, which may not decide on commands`);
    const asker = await desk.store.contracts.row(desk.place.workspace, found.contractId);
    if (asker?.signer === principal && role !== 'sovereign')
      throw new RefusedError('approver-is-author', `${principal} signed the contract that asks for these commands`);
    const { commands } = viewGrant(found, desk.workspace.now);
    await tell(`${found.approvalId} of ${found.agentId} asks to run, in this order:`);
    for (const command of commands) await tell(`  ${escapeText(command, 16_384)}`);
    await confirm(
      `${decision === 'approve' ? 'Approve' : 'Reject'} exactly these ${commands.length} commands?`,
      flag(call, 'yes'),
      '--yes',
    );
    const done = await inTurn(desk.store.contracts, async (tables) => {
      const now = await tables.grant(desk.place.workspace, found.approvalId);
      if (now === null || now.fingerprint !== found.fingerprint) return unknown(id);
      const result = decide(now, decision, principal, desk.workspace.now);
      if ('refused' in result) return refused(result.refused, 'plan_status');
      await tables.putGrant(result.grant);
      return { value: { ok: true, ...viewGrant(result.grant, desk.workspace.now) } };
    });
    return tellDone(done);
  });
}

/** The grant of an id, or the newest of the contract an id names. */
async function findGrant(tables: ContractTables, place: ContractDesk['place'], id: string): Promise<GrantRow | null> {
  const named = await tables.grant(place.workspace, id);
  if (named !== null) return named;
  const row = await findRow(tables, place, id);
  return row === null ? null : ((await tables.grantsOf(place.workspace, row.contractId))[0] ?? null);
}

function unknown(id: string): ReturnType<typeof refused> {
  return refused(error('GRANT_UNKNOWN', 'grant', `there is no grant ${escapeText(id, 100)}`), 'plan_status');
}

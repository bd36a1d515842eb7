import { readFileSync, statSync } from 'node:fs';
import { sealCancel } from '../../handoff/answer.ts';
import { mayInterrupt } from '../../handoff/authority.ts';
import { type Brief, parseBrief } from '../../handoff/brief.ts';
import { escalate } from '../../handoff/escalate.ts';
import { taskOf } from '../../handoff/receive.ts';
import { sealHandoff } from '../../handoff/seal.ts';
import { escapePath, escapeText } from '../../model/escaped.ts';
import { type Instant, instantFromMs, isoOf } from '../../model/instant.ts';
import { openHop, readWire } from '../../parse/handoff-envelope.ts';
import type { HandoffRow } from '../../store/handoffs.ts';
import type { Store } from '../../store/store.ts';
import { type Call, CannotError, type Exit, RefusedError, text, UsageError } from '../command.ts';
import { tell } from '../output.ts';
import { printJson } from '../print-json.ts';
import { writeOut } from '../write-out.ts';
import { type Desk, openDesk, openRows } from './authority.ts';
import { refusedBy, tellFindings, timesOf } from './create.ts';
import { millisOf, outcome, targetsOf, tellEscalation, urlOf } from './send.ts';

const MAX_BRIEF = 65_536;
const STOPPABLE = ['sent', 'received', 'accepted', 'escalated', 'late'] as const;

/**
 * `writ handoff interrupt`: stops a running child and starts it anew. First the signed cancel, then the wait for the cancelled state, and only then a new
 * envelope; where the cancel is not confirmed nothing new is sent and it is escalated.
 */
export async function interrupt(call: Call): Promise<Exit> {
  const [word = ''] = call.positionals;
  const url = urlOf(call);
  const brief = readBrief(text(call, 'envelope') ?? '');
  const desk = await openDesk(call);
  const { workspace, authority, signer, judgement, id } = desk;
  const timeoutMs = millisOf(call, 'timeout') ?? authority.set.policy.handoffs.ackSeconds * 1_000;
  const store = await openRows(workspace, 'write');
  try {
    const { cancelTask } = await import('../../handoff/interrupt.ts');
    const { row, target, task } = await find(word, url, timeoutMs, desk, store);
    if (!mayInterrupt(signer.identity, target.to, authority, workspace.now))
      throw new RefusedError(
        'handoff-cancel-unproven',
        `${signer.identity.principal} is neither the parent of ${target.to} nor the sovereign; nothing was sent`,
      );
    const order = await sealCancel(target, brief.task, signer, authority, clock(workspace.now));
    const why = await cancelTask(task, order, { url, timeoutMs });
    if (why !== null) {
      const reason = `the cancel was not confirmed: ${why}`;
      if (row !== null)
        await store.handoffs.move(row, STOPPABLE, {
          state: 'escalated',
          changed: clock(workspace.now),
          code: 'handoff-cancel-unconfirmed',
          reason,
        });
      const told = await escalate(targetsOf(authority.set, judgement.pins, workspace), {
        schema: 'writ.escalation/1',
        workspace: id,
        handoffId: target.handoffId,
        taskId: row?.taskId ?? null,
        from: signer.identity.principal,
        to: target.to,
        code: 'handoff-cancel-unconfirmed',
        reason,
        url,
        at: isoOf(clock(workspace.now)),
      });
      await tellEscalation(`${target.to} was told to stop`, reason, told);
      await printJson(
        { handoffId: target.handoffId, state: 'escalated', code: 'handoff-cancel-unconfirmed', reason, sent: null },
        0,
      );
      throw new RefusedError('handoff-cancel-unconfirmed', `nothing new was sent: ${why}`);
    }
    if (row !== null)
      await store.handoffs.move(row, STOPPABLE, {
        state: 'cancelled',
        changed: clock(workspace.now),
        reason: 'interrupted',
      });
    await tell(`writ: ${target.to} stopped work on ${target.handoffId}`);
    return await sendNew(call, brief, { target, taskId: row?.taskId ?? null, url, timeoutMs }, desk, store);
  } finally {
    await store.close();
  }
}

interface Anew {
  readonly target: { readonly handoffId: string; readonly to: string };
  readonly taskId: string | null;
  readonly url: string;
  readonly timeoutMs: number;
}

async function sendNew(
  call: Call,
  brief: Brief,
  { target, taskId, url, timeoutMs }: Anew,
  desk: Desk,
  store: Store,
): Promise<Exit> {
  const { workspace, authority, signer, judgement } = desk;
  const now = clock(workspace.now);
  const sealed = await sealHandoff(
    {
      to: target.to,
      intent: brief.task,
      constraints: brief.constraints,
      evidence: brief.stateIn,
      steps: [],
      floors: {},
      next: [],
      note: `takes the place of ${target.handoffId}, which was cancelled`,
      level: 'T1',
      taskId,
      supersedes: target.handoffId,
      returns: null,
      ...timesOf(call, now),
      prev: null,
    },
    signer,
    authority,
    now,
  );
  if ('refused' in sealed) throw refusedBy(sealed.refused);
  await tellFindings(sealed.findings);
  const out = text(call, 'out');
  if (out !== null) await writeOut(out, sealed.text);
  const wire = readWire(Buffer.from(sealed.text));
  const statement = 'code' in wire ? wire : openHop(wire, 'It');
  if ('code' in wire || 'code' in statement) throw new CannotError('the new envelope does not open');
  const { sendHandoff } = await import('../../handoff/send.ts');
  const sent = await sendHandoff(
    wire,
    statement,
    {
      url,
      timeoutMs,
      lateMs: Math.min(5_000, timeoutMs),
      targets: targetsOf(authority.set, judgement.pins, workspace),
      onEscalated: (reason, told) => tellEscalation(`no signed ACK from ${target.to}`, reason, told),
    },
    { rows: store.handoffs, authority, now: () => clock(workspace.now) },
  );
  if (sent === null) throw new CannotError('the new envelope was not new');
  const { state, row, reason } = sent;
  await printJson(
    { handoffId: row.handoffId, supersedes: target.handoffId, state, from: row.sender, to: row.receiver, reason },
    0,
  );
  return outcome(state, row.receiver, row.handoffId, reason);
}

/** The handoff a word means: one sent from here, else the task of the receiver itself, by what it signed. */
async function find(
  word: string,
  url: string,
  timeoutMs: number,
  { authority, id, workspace }: Desk,
  store: Store,
): Promise<{
  readonly row: HandoffRow | null;
  readonly target: { readonly handoffId: string; readonly digest: string; readonly to: string };
  readonly task: string;
}> {
  const rows = (await store.handoffs.named(id, word)).filter(
    (row) => row.side === 'sent' && STOPPABLE.some((state) => state === row.state),
  );
  const row = rows.at(-1) ?? null;
  if (row !== null)
    return { row, target: { ...row, to: row.receiver }, task: row.task === '' ? taskOf(row.digest) : row.task };
  const { targetOf } = await import('../../handoff/interrupt.ts');
  const target = await targetOf(word, url, authority, workspace.now, timeoutMs);
  if (target === null)
    throw new UsageError(
      `no handoff sent from here is ${escapeText(word, 80)}, and the receiver says nothing signed about such a task; see: writ handoff list`,
    );
  return { row: null, target, task: word };
}

function readBrief(file: string): Brief {
  if (file === '') throw new UsageError('--envelope names the file that says TASK, STATE_IN and CONSTRAINT');
  let given: string;
  try {
    if (!statSync(file).isFile() || statSync(file).size > MAX_BRIEF)
      throw new UsageError(`${escapePath(file)} is no short text`);
    given = readFileSync(file, 'utf8');
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`${escapePath(file)} cannot be read`);
  }
  const brief = parseBrief(given);
  if ('code' in brief) throw refusedBy(brief);
  return brief;
}

function clock(fallback: Instant): Instant {
  return instantFromMs(Date.now()) ?? fallback;
}

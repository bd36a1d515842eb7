import { openAck } from '../../handoff/answer.ts';
import { isVerified } from '../../handoff/open.ts';
import { openRow } from '../../handoff/open-row.ts';
import { escapeText } from '../../model/escaped.ts';
import { OPEN_STATES } from '../../model/handoff.ts';
import { type Instant, isoOf } from '../../model/instant.ts';
import type { HandoffRow } from '../../store/handoffs.ts';
import { type Call, EXIT, type Exit, flag, oneOf } from '../command.ts';
import { print, tell } from '../output.ts';
import { printJson } from '../print-json.ts';
import { openReader, openRows } from './authority.ts';
import { one } from './decide.ts';

const MOST = 10_000;

/** `writ handoff list`: what was sent and received on this machine. */
export async function list(call: Call): Promise<Exit> {
  const format = oneOf(call, 'format', ['text', 'json']) ?? 'text';
  const { workspace, id } = await openReader(call);
  const store = await openRows(workspace, 'read');
  try {
    const rows = (await store?.handoffs.list({ workspace: id, open: flag(call, 'open'), limit: MOST })) ?? [];
    if (format === 'json')
      await printJson(
        rows.map((row) => toJson(row, workspace.now)),
        1,
      );
    else await print(rows.map((row) => toLine(row, workspace.now)).join(''));
    return EXIT.ok;
  } finally {
    await store?.close();
  }
}

/** `writ handoff show`: one handoff, its answer, and what it hands over where that can be verified still. */
export async function show(call: Call): Promise<Exit> {
  const format = oneOf(call, 'format', ['text', 'json']) ?? 'json';
  const { workspace, id, authority } = await openReader(call);
  const store = await openRows(workspace, 'read');
  try {
    const row = await one(call, { id }, store ?? { handoffs: NOTHING }, ['received', 'sent']);
    const ack =
      row.ack === null ? null : openAck(JSON.parse(row.ack), { ...row, to: row.receiver }, authority, workspace.now);
    const wire = (await store?.handoffs.wire(row)) ?? '';
    const opened = await openRow(row, wire, { ...authority, now: workspace.now });
    const shown = {
      ...toJson(row, workspace.now),
      ack:
        ack === null
          ? null
          : 'why' in ack
            ? { fault: ack.why }
            : { decision: ack.decision, by: ack.by, reason: ack.reason },
      artifact: isVerified(opened) ? opened.artifact : null,
      ...(isVerified(opened) ? {} : { refused: { code: opened.refused.code, message: opened.refused.message } }),
    };
    if (format === 'json') await printJson(shown, 1);
    else await print(`${toLine(row, workspace.now)}${escapeLines(JSON.stringify(shown.artifact, null, 1))}\n`);
    if (!isVerified(opened)) await tell(`writ: ${opened.refused.code}: ${opened.refused.message}`);
    return isVerified(opened) ? EXIT.ok : EXIT.refused;
  } finally {
    await store?.close();
  }
}

const NOTHING = { named: async () => [] } as unknown as Parameters<typeof one>[2]['handoffs'];

/** One row as `list --format json` tells it. Times are unix ms. */
function toJson(row: HandoffRow, now: Instant): Readonly<Record<string, unknown>> {
  const {
    handoffId,
    side,
    sender,
    receiver,
    state,
    digest,
    taskId,
    task,
    code,
    reason,
    url,
    at,
    changed,
    expiresAt,
    finishBy,
  } = row;
  return {
    id: handoffId,
    side,
    from: sender,
    to: receiver,
    state,
    open: OPEN_STATES.includes(state),
    expired: expiresAt <= now && (state === 'sent' || state === 'received'),
    code,
    reason,
    taskId,
    task: task === '' ? null : task,
    digest,
    url,
    at,
    changedAt: changed,
    expiresAt,
    finishBy,
  };
}

function toLine(row: HandoffRow, now: Instant): string {
  const { handoffId, side, sender, receiver, state, reason, at, expiresAt } = row;
  const over = expiresAt <= now && (state === 'sent' || state === 'received') ? ', expired' : '';
  const why = reason === null ? '' : `  ${escapeText(reason, 120)}`;
  return `${handoffId}  ${side.padEnd(8)}  ${`${state}${over}`.padEnd(18)}  ${sender} -> ${receiver}  ${isoOf(at as Instant)}${why}\n`;
}

function escapeLines(json: string): string {
  return json
    .split('\n')
    .map((line) => escapeText(line, Number.POSITIVE_INFINITY))
    .join('\n');
}

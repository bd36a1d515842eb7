import type { HandoffState } from '../model/handoff.ts';
import type { Instant } from '../model/instant.ts';
import { isoOf } from '../model/instant.ts';
import type { AckPredicate, HandoffPredicate, Statement } from '../model/statement.ts';
import { renderWire, type Wire } from '../parse/handoff-envelope.ts';
import { isJsonObject, type Json } from '../sign/field-reader.ts';
import type { HandoffRow, Handoffs } from '../store/handoffs.ts';
import { openAck } from './answer.ts';
import type { Authority } from './authority.ts';
import { type Answered, connect, type HandoffClient } from './client.ts';
import { type Escalation, type EscalationTargets, escalate, type Told } from './escalate.ts';

export interface SendOptions {
  readonly url: string;
  /** How long a signed answer is waited for, ms, before it is escalated. */
  readonly timeoutMs: number;
  /** How long an answer that is under way is still listened for after that, ms: it is recorded as late. */
  readonly lateMs: number;
  readonly targets: EscalationTargets;
  /** Told as soon as it is escalated, with how each target was told. */
  readonly onEscalated: (reason: string, told: readonly Told[]) => Promise<void>;
}

export interface Sender {
  readonly rows: Handoffs;
  readonly authority: Authority;
  readonly now: () => Instant;
}

/** What became of a handoff that was sent. */
export interface Sent {
  readonly state: HandoffState;
  readonly row: HandoffRow;
  readonly reason: string | null;
}

const PAUSE = 400;
/** Between two questions whether a queued handoff was decided, ms. */
const POLL = 500;

/**
 * Sends a handoff and waits for the signed answer. One row, whatever happens: sent again it asks again, and the receiver gives the answer it gave.
 * @returns null where id or nonce belong to another envelope sent before. Throws where state breaks.
 */
export async function sendHandoff(
  wire: Wire,
  statement: Statement<HandoffPredicate>,
  options: SendOptions,
  sender: Sender,
): Promise<Sent | null> {
  const { rows } = sender;
  const begun = await rows.begin(toRow(statement, options.url, sender.now()), renderWire(wire));
  if (begun === null) return null;
  const { row } = begun;
  if (!begun.made && !['sent', 'received', 'escalated', 'late'].includes(row.state))
    return { state: row.state, row, reason: row.reason };
  const stopping = new AbortController();
  const asking = ask(wire, row, options, sender, stopping.signal);
  try {
    const first = await Promise.race([asking, after(options.timeoutMs, stopping.signal)]);
    const answered = first === 'time' ? null : first;
    if (answered !== null && 'ack' in answered) return settle(row, answered, sender);
    // Of two that race, one escalates.
    const reason = answered === null ? `no signed answer within ${options.timeoutMs / 1_000} s` : answered.why;
    await escalateRow(row, reason, options, sender);
    // An end that came by itself was the last word; a question still under way may be answered yet.
    const late = answered !== null ? null : await Promise.race([asking, after(options.lateMs, stopping.signal)]);
    if (late !== null && late !== 'time' && 'ack' in late) return settle(row, late, sender);
    return { state: await stateOf(row, rows), row, reason };
  } finally {
    stopping.abort();
  }
}

/** The envelope as it travels. */
function toJson(wire: Wire): Json {
  return JSON.parse(renderWire(wire)) as Json;
}

type Asked = { readonly ack: AckPredicate; readonly raw: string; readonly task: string } | { readonly why: string };

/** Asks until there is a signed decision, or none will come. Never throws. */
async function ask(
  wire: Wire,
  row: HandoffRow,
  { url, timeoutMs }: SendOptions,
  sender: Sender,
  signal: AbortSignal,
): Promise<Asked> {
  const until = performance.now() + timeoutMs;
  let received: Asked | null = null;
  let why = 'the receiver could not be reached';
  let client: HandoffClient | null = null;
  while (!signal.aborted) {
    try {
      client ??= await connect(url, signal);
      const answered: Answered =
        received === null || !('ack' in received)
          ? await client.send(toJson(wire), row.handoffId)
          : await client.get(received.task);
      const found = ackIn(answered, row, sender);
      if (found === null) return { why: unsignedWhy(answered) };
      if (found.ack.decision !== 'received') return found;
      received = found;
      await note(row, found, sender);
    } catch (error) {
      why = error instanceof Error ? error.message : why;
    }
    // What was only received is not decided: the last word counts when the time is over.
    if (performance.now() + POLL > until) return received ?? { why };
    await pause(received === null ? PAUSE : POLL, signal);
  }
  return received ?? { why };
}

function ackIn(
  { data, task }: Answered,
  row: HandoffRow,
  { authority, now }: Sender,
): Extract<Asked, { readonly ack: AckPredicate }> | null {
  for (const value of data) {
    const opened = openAck(value, { ...row, to: row.receiver }, authority, now());
    if (!('why' in opened)) return { ack: opened, raw: JSON.stringify(value), task };
  }
  return null;
}

function unsignedWhy({ data, said, state, metadata }: Answered): string {
  const code = typeof metadata.code === 'string' && /^[a-z-]{1,40}$/.test(metadata.code) ? metadata.code : null;
  if (data.some((one) => isJsonObject(one) && 'payload' in one)) return 'what it signed is no answer to this handoff';
  const words = said ?? code;
  return words === null ? `it answered ${state} and signed nothing` : `it answered without a signature: ${words}`;
}

async function note(
  row: HandoffRow,
  { raw, task }: Extract<Asked, { readonly ack: AckPredicate }>,
  { rows, now }: Sender,
): Promise<void> {
  await rows.move(row, ['sent'], { state: 'received', changed: now(), ack: raw, task });
}

/** Takes an answer down. One that comes after the escalation is late: it takes no ownership until the sender confirms it. */
async function settle(
  row: HandoffRow,
  { ack, raw, task }: Extract<Asked, { readonly ack: AckPredicate }>,
  { rows, now }: Sender,
): Promise<Sent> {
  const change = { changed: now(), ack: raw, task, reason: ack.reason };
  if (ack.decision === 'rejected')
    await rows.move(row, ['sent', 'received', 'escalated', 'late'], {
      ...change,
      state: 'rejected',
      code: codeIn(ack.reason),
    });
  else if (ack.decision === 'accepted') {
    const inTime = await rows.move(row, ['sent', 'received'], { ...change, state: 'accepted' });
    if (!inTime)
      await rows.move(row, ['escalated'], {
        ...change,
        state: 'late',
        reason: 'the answer came after it was escalated',
      });
  } else await rows.move(row, ['sent'], { ...change, state: 'received' });
  const there = (await rows.get(row)) ?? row;
  return { state: there.state, row: there, reason: there.reason };
}

function codeIn(reason: string | null): string | null {
  return /^([a-z]+(?:-[a-z]+)+): /.exec(reason ?? '')?.[1] ?? null;
}

async function escalateRow(
  row: HandoffRow,
  reason: string,
  options: SendOptions,
  { rows, now }: Sender,
): Promise<void> {
  const at = now();
  const change = { state: 'escalated', changed: at, code: 'handoff-unanswered', reason } as const;
  // What was received is answered for, if not decided; told once already it is not told again.
  if (!(await rows.move(row, ['sent'], change))) return;
  const escalation: Escalation = {
    schema: 'writ.escalation/1',
    workspace: row.workspace,
    handoffId: row.handoffId,
    taskId: row.taskId,
    from: row.sender,
    to: row.receiver,
    code: 'handoff-unanswered',
    reason,
    url: options.url,
    at: isoOf(at),
  };
  await options.onEscalated(reason, await escalate(options.targets, escalation));
}

async function stateOf(row: HandoffRow, rows: Handoffs): Promise<HandoffState> {
  return (await rows.get(row))?.state ?? row.state;
}

function toRow(
  { predicate, payloadDigest, workspace }: Statement<HandoffPredicate>,
  url: string,
  now: Instant,
): HandoffRow {
  return {
    workspace,
    side: 'sent',
    sender: predicate.from,
    handoffId: predicate.handoffId,
    nonce: predicate.nonce,
    receiver: predicate.to,
    digest: payloadDigest,
    task: '',
    taskId: predicate.taskId,
    messageId: predicate.handoffId,
    state: 'sent',
    ack: null,
    code: null,
    reason: null,
    url,
    at: now,
    changed: now,
    expiresAt: predicate.expiresAt,
    finishBy: predicate.finishBy,
  };
}

async function after(ms: number, signal: AbortSignal): Promise<'time'> {
  await pause(ms, signal);
  return 'time';
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((done) => {
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      done();
    });
  });
}

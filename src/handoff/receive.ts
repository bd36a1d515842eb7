import type { CodeName } from '../model/codes.ts';
import type { Finding } from '../model/finding.ts';
import type { HandoffState, VerifiedHandoff } from '../model/handoff.ts';
import type { Instant } from '../model/instant.ts';
import { openHop, readWire, renderWire } from '../parse/handoff-envelope.ts';
import { fromAnyBase64 } from '../sign/base64.ts';
import { sha256Hex } from '../sign/digest.ts';
import { isJsonObject } from '../sign/field-reader.ts';
import type { HandoffKey, HandoffRow, Handoffs } from '../store/handoffs.ts';
import { type KnownSigner, knowSigner } from '../write/signer.ts';
import { type EnvelopeName, openCancel, sealAck } from './answer.ts';
import type { Authority } from './authority.ts';
import { isVerified, openHandoff } from './open.ts';

/** One agent that takes handoffs. */
export interface Receiver {
  readonly rows: Handoffs;
  readonly signer: KnownSigner;
  /** Who is who now. */
  readonly authority: () => Promise<Authority>;
  readonly now: () => Instant;
  /** Leaves the decision to somebody else: answers `received`. */
  readonly queue: boolean;
}

/** What became of one envelope that came in. */
export interface Reception {
  readonly state: HandoffState;
  /** The signed answer, one line of JSON; null where it may not be signed: then nothing about the envelope is proven. */
  readonly ack: string | null;
  readonly code: CodeName | null;
  readonly reason: string | null;
  /** Null where nothing was taken down. */
  readonly row: HandoffRow | null;
  /** The same envelope was answered before: this is that answer. */
  readonly again: boolean;
  readonly findings: readonly Finding[];
}

/** What this machine calls the task of a handoff: the same after a crash, and nobody else’s. */
export function taskOf(digest: string): string {
  return `handoff-${digest.slice(0, 40)}`;
}

/**
 * Answers one envelope, exactly once: verified, taken down with its answer in one step, and answered the same ever after. Never throws for what the
 * envelope is; throws where state breaks, and then nothing was answered.
 * @param messageId the client’s own name for the task.
 */
export async function receive(envelope: unknown, messageId: string, receiver: Receiver): Promise<Reception> {
  const { rows, signer } = receiver;
  const by = await receiver.authority();
  const now = receiver.now();
  const me = signer.identity.principal;
  const known = knowSigner(signer.key, me, by.set, by.spawns, now);
  if ('refused' in known) return unsigned('writer-unproven', `the receiver is not proven now: ${known.refused}`);
  const workspace = by.set.workspace ?? '';
  const bytes = Buffer.from(JSON.stringify(envelope) ?? '');
  const before = await answeredBefore(envelope, bytes, rows, workspace, me);
  if (before !== null) return { ...ofRow(before), again: true };
  const opened = await openHandoff(bytes, {
    ...by,
    now,
    audience: me,
    // The same envelope is no replay: whoever was faster with it has answered, and `begin` finds that answer.
    seen: async (question) => (await rows.seen(question)).some((row) => row.digest !== question.digest),
  });
  if (!isVerified(opened)) {
    const { refused, proven } = opened;
    const code = refused.code as CodeName;
    if (proven === null) return unsigned(code, refused.message);
    return reject(proven, code, refused.message, receiver, by, now);
  }
  const name = { handoffId: opened.artifact.handoff_id, digest: opened.digest };
  if (opened.supersedes !== null && (await isRunning(opened.supersedes, rows, workspace)))
    return reject(name, 'handoff-cancel-unconfirmed', 'What it supersedes was not cancelled here.', receiver, by, now);
  const state = receiver.queue ? 'received' : 'accepted';
  const ack = await sealAck(name, { decision: state, reason: null }, signer, by, now);
  const wire = readWire(bytes);
  const row = toRow(opened, { workspace, messageId, me, state, ack, now });
  const begun = await rows.begin(row, 'code' in wire ? '' : renderWire(wire));
  if (begun === null) return reject(name, 'handoff-replayed', 'Its id or nonce was used before.', receiver, by, now);
  if (!begun.made) return { ...ofRow(begun.row), again: true };
  if (state === 'accepted') await takeBack(opened, rows, workspace, me, now);
  return { ...ofRow(row), findings: opened.findings };
}

/** A row of the receiver’s side that was decided about, with the decision. */
export async function decide(
  row: HandoffRow,
  decision: { readonly state: 'accepted' | 'rejected'; readonly reason: string | null },
  receiver: Omit<Receiver, 'queue' | 'authority'>,
  by: Authority,
): Promise<{ readonly ack: string } | { readonly code: CodeName; readonly why: string }> {
  const { rows, signer } = receiver;
  const now = receiver.now();
  if (row.receiver !== signer.identity.principal)
    return {
      code: 'handoff-audience',
      why: `it is for ${row.receiver} to decide about, not for ${signer.identity.principal}`,
    };
  if (row.state === decision.state && row.ack !== null) return { ack: row.ack };
  if (row.state !== 'received') return { code: 'handoff-replayed', why: `it is ${row.state} already` };
  if (row.expiresAt <= now) return { code: 'handoff-expired', why: 'the time to decide about it has passed' };
  if (decision.state === 'accepted') {
    const again = await reopen(row, rows, by, now);
    if (again !== null) return again;
  }
  const ack = await sealAck(row, { decision: decision.state, reason: decision.reason }, signer, by, now);
  const moved = await rows.move(row, ['received'], {
    state: decision.state,
    changed: now,
    ack,
    reason: decision.reason,
  });
  if (moved) return { ack };
  const there = await rows.get(row);
  return there?.state === decision.state && there.ack !== null
    ? { ack: there.ack }
    : { code: 'handoff-replayed', why: `somebody else decided: it is ${there?.state ?? 'gone'}` };
}

/** Stops work on a handoff where the order to is proven. */
export async function cancel(
  row: HandoffRow,
  order: unknown,
  receiver: Receiver,
): Promise<{ readonly row: HandoffRow } | { readonly code: CodeName | null; readonly why: string }> {
  const by = await receiver.authority();
  const now = receiver.now();
  const opened = openCancel(order, { ...row, to: row.receiver }, by, now);
  if ('why' in opened) return { code: 'handoff-cancel-unproven', why: opened.why };
  const { rows } = receiver;
  const change = { state: 'cancelled', changed: now, reason: opened.reason } as const;
  if (!(await rows.move(row, ['received', 'accepted'], change))) {
    const there = await rows.get(row);
    return there?.state === 'cancelled'
      ? { row: there }
      : { code: null, why: `it is ${there?.state ?? 'gone'} already` };
  }
  return { row: { ...row, ...change } };
}

/** The same bytes once more, by their digest; their signature is checked again, for the answer is about what was signed. */
async function answeredBefore(
  envelope: unknown,
  bytes: Uint8Array,
  rows: Handoffs,
  workspace: string,
  me: string,
): Promise<HandoffRow | null> {
  const payload =
    isJsonObject(envelope) && typeof envelope.payload === 'string' ? fromAnyBase64(envelope.payload) : null;
  if (payload === null) return null;
  // By nothing but the digest: a client may call its own task by the digest of another handoff.
  const digest = sha256Hex(payload);
  const known = (await rows.named(workspace, digest)).find(
    (row) => row.side === 'received' && row.receiver === me && row.digest === digest,
  );
  if (known === undefined) return null;
  const wire = readWire(bytes);
  return 'code' in wire || 'code' in openHop(wire, 'It') ? null : known;
}

/** Verified when it came, and verified again when it is accepted: who sent it may have been revoked meanwhile. */
async function reopen(
  row: HandoffRow,
  rows: Handoffs,
  by: Authority,
  now: Instant,
): Promise<{ readonly code: CodeName; readonly why: string } | null> {
  const wire = await rows.wire(row);
  const opened = await openHandoff(Buffer.from(wire ?? ''), { ...by, now, audience: row.receiver, seen: () => false });
  return isVerified(opened) ? null : { code: opened.refused.code as CodeName, why: opened.refused.message };
}

async function isRunning(handoffId: string, rows: Handoffs, workspace: string): Promise<boolean> {
  const named = await rows.named(workspace, handoffId);
  return named.some(
    (row) => row.side === 'received' && row.handoffId === handoffId && ['received', 'accepted'].includes(row.state),
  );
}

/** What comes back to its sender is theirs again. */
async function takeBack(
  { returns }: VerifiedHandoff,
  rows: Handoffs,
  workspace: string,
  me: string,
  now: Instant,
): Promise<void> {
  if (returns === null) return;
  const key: HandoffKey = { workspace, side: 'sent', sender: me, handoffId: returns };
  await rows.move(key, ['sent', 'received', 'accepted', 'escalated', 'late'], { state: 'returned', changed: now });
}

async function reject(
  of: EnvelopeName,
  code: CodeName,
  why: string,
  { signer }: Receiver,
  by: Authority,
  now: Instant,
): Promise<Reception> {
  const reason = `${code}: ${why}`;
  const ack = await sealAck(of, { decision: 'rejected', reason }, signer, by, now);
  return { state: 'rejected', ack, code, reason, row: null, again: false, findings: [] };
}

function unsigned(code: CodeName, why: string): Reception {
  return { state: 'rejected', ack: null, code, reason: `${code}: ${why}`, row: null, again: false, findings: [] };
}

function ofRow(row: HandoffRow): Reception {
  const { state, ack, reason } = row;
  return { state, ack, code: row.code as CodeName | null, reason, row, again: false, findings: [] };
}

function toRow(
  opened: VerifiedHandoff,
  of: {
    readonly workspace: string;
    readonly messageId: string;
    readonly me: string;
    readonly state: HandoffState;
    readonly ack: string;
    readonly now: Instant;
  },
): HandoffRow {
  return {
    workspace: of.workspace,
    side: 'received',
    sender: opened.sender.principal,
    handoffId: opened.artifact.handoff_id,
    nonce: opened.nonce,
    receiver: of.me,
    digest: opened.digest,
    task: taskOf(opened.digest),
    taskId: opened.taskId,
    messageId: of.messageId,
    state: of.state,
    ack: of.ack,
    code: null,
    reason: null,
    url: null,
    at: of.now,
    changed: of.now,
    expiresAt: opened.expiresAt,
    finishBy: opened.finishBy,
  };
}

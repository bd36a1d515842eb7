import type { EscalationTargets, Told } from '../../handoff/escalate.ts';
import { isVerified, openHandoff } from '../../handoff/open.ts';
import { isCodeName } from '../../model/codes.ts';
import { escapeText } from '../../model/escaped.ts';
import { durationMs, instantFromMs } from '../../model/instant.ts';
import type { PolicySet } from '../../model/policy.ts';
import { openHop } from '../../parse/handoff-envelope.ts';
import type { Pins } from '../../policy/pins.ts';
import { type Call, EXIT, type Exit, RefusedError, text, UsageError } from '../command.ts';
import { tell } from '../output.ts';
import { printJson } from '../print-json.ts';
import type { Workspace } from '../workspace.ts';
import { openReader, openRows } from './authority.ts';
import { readEnvelopeFile, refusedBy } from './create.ts';

/** Longest an answer under way is listened for after the escalation, ms. */
const LATE = 5_000;

/** `writ handoff send`: 0 on a signed accepted ACK, 1 where it was rejected, escalated or not decided yet. */
export async function send(call: Call): Promise<Exit> {
  const { wire, bytes } = readEnvelopeFile(call.positionals[0] ?? '');
  const url = urlOf(call);
  const { workspace, authority, judgement } = await openReader(call);
  const timeoutMs = millisOf(call, 'timeout') ?? authority.set.policy.handoffs.ackSeconds * 1_000;
  const lateMs = millisOf(call, 'late') ?? Math.min(LATE, timeoutMs);
  const statement = openHop(wire, 'It');
  if ('code' in statement) throw refusedBy(statement);
  // What no receiver would take is not sent, nor escalated.
  const opened = await openHandoff(bytes, {
    ...authority,
    now: workspace.now,
    audience: statement.predicate.to,
    seen: () => false,
  });
  const store = await openRows(workspace, 'write');
  try {
    const { workspace: id, predicate } = statement;
    const known = await store.handoffs.get({
      workspace: id,
      side: 'sent',
      sender: predicate.from,
      handoffId: predicate.handoffId,
    });
    // Sent in time it is asked about for as long as it takes.
    if (!isVerified(opened) && !(known !== null && opened.refused.code === 'handoff-expired'))
      throw refusedBy(opened.refused);
    const { sendHandoff } = await import('../../handoff/send.ts');
    const sent = await sendHandoff(
      wire,
      statement,
      {
        url,
        timeoutMs,
        lateMs,
        targets: targetsOf(authority.set, judgement.pins, workspace),
        onEscalated: (reason, told) => tellEscalation(`no signed ACK from ${statement.predicate.to}`, reason, told),
      },
      { rows: store.handoffs, authority, now: () => instantFromMs(Date.now()) ?? workspace.now },
    );
    if (sent === null)
      throw new RefusedError('handoff-replayed', 'its id or nonce belongs to another handoff sent before');
    const { state, row, reason } = sent;
    await printJson({ handoffId: row.handoffId, state, from: row.sender, to: row.receiver, reason }, 0);
    return outcome(state, row.receiver, row.handoffId, reason);
  } finally {
    await store.close();
  }
}

/** What is told of a handoff that was sent, and what the command ends in. */
export async function outcome(state: string, to: string, id: string, reason: string | null): Promise<Exit> {
  const said = escapeText(reason ?? '', 600);
  switch (state) {
    case 'accepted':
      await tell(`writ: ${to} accepted ${id}`);
      return EXIT.ok;
    case 'rejected': {
      const code = /^([a-z]+(?:-[a-z]+)+): /.exec(said)?.[1] ?? '';
      if (isCodeName(code)) throw new RefusedError(code, `${to} rejected it: ${said.slice(code.length + 2)}`);
      await tell(`writ: ${to} rejected ${id}: ${said}`);
      return EXIT.refused;
    }
    case 'received':
      await tell(
        `writ: ${to} received ${id} and has not decided; run this again to ask, or look: writ handoff list --open`,
      );
      return EXIT.refused;
    case 'late':
      await tell(
        `writ: late: ${to} accepted ${id} after it was escalated, and owns nothing until you confirm: writ handoff accept ${id}`,
      );
      return EXIT.refused;
    case 'escalated':
      await tell(`writ: handoff-unanswered: ${id} is escalated: ${said}`);
      return EXIT.refused;
    default:
      await tell(`writ: ${id} is ${state} already`);
      return EXIT.refused;
  }
}

/** Says who was told, and where nobody could be. */
export async function tellEscalation(what: string, reason: string, told: readonly Told[]): Promise<void> {
  await tell(`writ: escalated: ${what}: ${escapeText(reason, 600)}`);
  if (told.length === 0)
    await tell(
      'writ: nobody was told: set handoffs.escalate.url in policy.yaml, or a command of your own in pins.yaml (docs/handoffs.md)',
    );
  for (const { target, fault } of told)
    await tell(
      fault === null
        ? `writ: told the escalation ${target}`
        : `writ: the escalation ${target} was not told: ${escapeText(fault, 200)}`,
    );
}

/** Whom this machine tells. */
export function targetsOf(set: PolicySet, pins: Pins | null, { places }: Workspace): EscalationTargets {
  return { url: set.policy.handoffs.escalateUrl, command: pins?.escalate ?? null, home: places.home };
}

/** `--url`; throws UsageError. */
export function urlOf(call: Call): string {
  const given = text(call, 'url') ?? '';
  if (!URL.canParse(given) || !/^https?:$/.test(new URL(given).protocol))
    throw new UsageError('--url takes the http or https address of the receiver');
  const { username, password } = new URL(given);
  if (username !== '' || password !== '') throw new UsageError('--url holds no name and no password');
  return new URL(given).href;
}

/** A duration in ms; null where the option was not given. */
export function millisOf(call: Call, name: string): number | null {
  const given = text(call, name);
  if (given === null) return null;
  const ms = durationMs(given);
  if (ms === null || ms === 0 || ms > 86_400_000)
    throw new UsageError(`--${name} takes a duration like 10s, at most 1d`);
  return ms;
}

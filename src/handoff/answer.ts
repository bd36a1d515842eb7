import type { Instant } from '../model/instant.ts';
import { shift } from '../model/instant.ts';
import type { AckPredicate, CancelPredicate, Statement } from '../model/statement.ts';
import { sealEnvelope } from '../sign/envelope.ts';
import { isJsonObject } from '../sign/field-reader.ts';
import { openStatement, toPayload } from '../sign/statement.ts';
import type { KnownSigner } from '../write/signer.ts';
import { type Authority, mayInterrupt, provenAs } from './authority.ts';

/** Exactly one envelope: what answers and cancels speak of. */
export interface EnvelopeName {
  readonly handoffId: string;
  /** Bare hex sha256 of the payload. */
  readonly digest: string;
}

const LONGEST_REASON = 2_048;
/** A cancel is for now: a copy of one must not stop what is started later, ms. */
const CANCEL_LIFE = 600_000;
const SKEW = 300_000;

/** Signs an answer to one envelope. @returns the envelope text of a `urn:writ:ack:v1`. */
export async function sealAck(
  of: EnvelopeName,
  answer: Pick<AckPredicate, 'decision' | 'reason'>,
  signer: KnownSigner,
  by: Authority,
  now: Instant,
): Promise<string> {
  const predicate: AckPredicate = {
    type: 'ack',
    handoffId: of.handoffId,
    envelope: of.digest,
    by: signer.identity.principal,
    decision: answer.decision,
    reason: answer.reason === null ? null : answer.reason.slice(0, LONGEST_REASON),
  };
  return compact(await sealEnvelope(toPayload(predicate, context(by, now)), [signer.key]));
}

/** @returns the answer, where the one the envelope was addressed to signed it for exactly this envelope; else why it is none. */
export function openAck(
  value: unknown,
  of: EnvelopeName & { readonly to: string },
  by: Authority,
  now: Instant,
): AckPredicate | { readonly why: string } {
  const statement = openOne(value, by);
  if ('why' in statement) return statement;
  if (statement.predicate.type !== 'ack') return { why: 'what was answered is no ACK' };
  const { predicate } = statement as Statement<AckPredicate>;
  if (predicate.handoffId !== of.handoffId || predicate.envelope !== of.digest)
    return { why: 'the ACK is for another handoff' };
  if (predicate.by !== of.to) return { why: `the ACK is by ${predicate.by}, not by ${of.to}` };
  if (statement.issuedAt > shift(now, SKEW)) return { why: 'the ACK was signed in the future' };
  const who = provenAs(of.to, statement.signers, by, now);
  return 'why' in who ? { why: `the ACK is not proven: ${who.why}` } : predicate;
}

/** @returns which envelope an answer speaks of, where the one it names signed it; null for everything else. */
export function envelopeOfAck(
  value: unknown,
  by: Authority,
  now: Instant,
): (EnvelopeName & { readonly to: string }) | null {
  const statement = openOne(value, by);
  if ('why' in statement || statement.predicate.type !== 'ack') return null;
  const { handoffId, envelope: digest, by: to } = statement.predicate;
  return 'why' in provenAs(to, statement.signers, by, now) ? null : { handoffId, digest, to };
}

/** Signs the order to stop working on one handoff. @returns the envelope text of a `urn:writ:cancel:v1`. */
export async function sealCancel(
  of: EnvelopeName,
  reason: string,
  signer: KnownSigner,
  by: Authority,
  now: Instant,
): Promise<string> {
  const predicate: CancelPredicate = {
    type: 'cancel',
    handoffId: of.handoffId,
    envelope: of.digest,
    by: signer.identity.principal,
    reason: reason.slice(0, LONGEST_REASON),
    expiresAt: shift(now, CANCEL_LIFE),
  };
  return compact(await sealEnvelope(toPayload(predicate, context(by, now)), [signer.key]));
}

/** @returns the order, where the parent of the one who works on it, or the sovereign, signed it for exactly this handoff; else why it is refused. */
export function openCancel(
  value: unknown,
  of: EnvelopeName & { readonly to: string },
  by: Authority,
  now: Instant,
): CancelPredicate | { readonly why: string } {
  const statement = openOne(value, by);
  if ('why' in statement) return statement;
  if (statement.predicate.type !== 'cancel') return { why: 'it carries no signed urn:writ:cancel:v1' };
  const { predicate } = statement as Statement<CancelPredicate>;
  if (predicate.handoffId !== of.handoffId || predicate.envelope !== of.digest)
    return { why: 'the cancel is for another handoff' };
  if (predicate.expiresAt <= now || statement.issuedAt > shift(now, SKEW))
    return { why: 'the cancel is not valid now' };
  const who = provenAs(predicate.by, statement.signers, by, now);
  if ('why' in who) return { why: `the cancel is not proven: ${who.why}` };
  return mayInterrupt(who, of.to, by, now)
    ? predicate
    : { why: `${predicate.by} is neither the parent of ${of.to} nor the sovereign` };
}

function openOne(value: unknown, { set }: Authority): Statement | { readonly why: string } {
  if (!isJsonObject(value) || !('payload' in value)) return { why: 'it carries no signed statement' };
  const { payload, payloadType, signatures } = value;
  const opened = openStatement(Buffer.from(JSON.stringify({ payload, payloadType, signatures })), 'answer');
  if ('refused' in opened) return { why: `its signature or form does not stand (${opened.refused})` };
  if (opened.workspace !== set.workspace) return { why: 'it was made for another workspace' };
  return opened;
}

function context({ set }: Authority, now: Instant): Parameters<typeof toPayload>[1] {
  return { workspace: set.workspace ?? '', issuedAt: now, subjects: [] };
}

/** One line: it travels inside other JSON and lies in a column. */
function compact(text: string): string {
  return JSON.stringify(JSON.parse(text));
}

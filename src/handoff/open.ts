import { mayAuthor, mayClaim } from '../model/artifact-class.ts';
import { type CodeName, finding } from '../model/codes.ts';
import { escapePath } from '../model/escaped.ts';
import type { Finding } from '../model/finding.ts';
import type { HandoffArtifact, HandoffRefused, VerifiedHandoff } from '../model/handoff.ts';
import { type Instant, isoOf, shift } from '../model/instant.ts';
import type { Identity } from '../model/principal.ts';
import type { HandoffPredicate, Statement } from '../model/statement.ts';
import { openHop, readWire, type Wire } from '../parse/handoff-envelope.ts';
import { parseArtifactForm } from './artifact.ts';
import { type Authority, mayInterrupt, provenAs } from './authority.ts';
import { checkChain, type Hop } from './chain.ts';
import { checkClarity, checkRungs } from './clarity.ts';
import { checkContent } from './content.ts';

const SKEW = 300_000;
const DAY = 86_400_000;
/** A sender asks for no longer, ms. */
const LONGEST_TO_ACCEPT = 7 * DAY;
const LONGEST_TO_FINISH = 90 * DAY;

/** What identifies one handoff: ids and nonces are their sender’s own, so nobody can spend another’s. */
export interface SeenQuestion {
  readonly workspace: string;
  readonly from: string;
  readonly handoffId: string;
  readonly nonce: string;
  readonly digest: string;
}

/** Everything opening depends on. None of it has a default: what is left out would be a check left out. */
export interface OpenBy extends Authority {
  readonly now: Instant;
  /** Who opens it. */
  readonly audience: string;
  /** Whether its id or nonce was used before. */
  readonly seen: (question: SeenQuestion) => boolean | Promise<boolean>;
}

/**
 * Opens a handoff: the only way to its artifact. Checks the form, the signature, the audience, the sender, freshness, that it was not seen before,
 * every hop it took, and what it says, in this order; the first that fails refuses it with its code. Never throws for what the bytes are.
 */
export async function openHandoff(bytes: Uint8Array, by: OpenBy): Promise<VerifiedHandoff | HandoffRefused> {
  const wire = readWire(bytes);
  if ('code' in wire) return { refused: wire, proven: null };
  const statement = openHop(wire, 'It');
  if ('code' in statement) return { refused: statement, proven: null };
  const { predicate, payloadDigest: digest, workspace } = statement;
  const addressed = audienceFault(statement, by);
  if (addressed !== null) return { refused: addressed, proven: null };
  const { handoffId, from, nonce } = predicate;
  const sender = provenAs(from, statement.signers, by, by.now);
  if ('why' in sender)
    return { refused: refusal('handoff-role', `${from} is not proven: ${sender.why}`), proven: null };
  const proven = { handoffId, digest, from };
  const early = roleFault(predicate, sender, by) ?? timeFault(statement, by.now);
  if (early !== null) return { refused: early, proven };
  if (await by.seen({ workspace, from, handoffId, nonce, digest }))
    return { refused: refusal('handoff-replayed', `Its id or nonce was used by ${from} before`), proven };
  const hops = readHops(wire, statement, by);
  if ('code' in hops) return { refused: hops, proven };
  const artifact = hops.at(-1)?.artifact;
  if (artifact === undefined) return { refused: finding('handoff-invalid'), proven };
  const fault =
    checkChain(hops) ?? checkContent(artifact, { rules: by.rules, scanWork: by.set.policy.limits.scanWork });
  if (fault !== null) return { refused: fault, proven };
  return {
    artifact,
    digest,
    sender,
    to: predicate.to,
    level: predicate.level,
    nonce,
    taskId: predicate.taskId,
    hops: hops.slice(0, -1).map((one) => one.statement.payloadDigest),
    supersedes: predicate.supersedes,
    returns: predicate.returns,
    issuedAt: statement.issuedAt,
    expiresAt: predicate.expiresAt,
    finishBy: predicate.finishBy,
    findings: [...checkClarity(artifact), ...checkRungs(artifact, by.set.policy.handoffs.rungs)],
  } as unknown as VerifiedHandoff;
}

/** @returns whether opening gave a handoff. */
export function isVerified(opened: VerifiedHandoff | HandoffRefused): opened is VerifiedHandoff {
  return 'artifact' in opened;
}

function audienceFault({ predicate, workspace }: Statement<HandoffPredicate>, by: OpenBy): Finding | null {
  if (by.set.intact && workspace !== by.set.workspace)
    return refusal('handoff-audience', `It was made for the workspace ${escapePath(workspace)}`);
  if (predicate.to !== by.audience)
    return refusal('handoff-audience', `It is addressed to ${predicate.to}, not to ${by.audience}`);
  return null;
}

function roleFault(predicate: HandoffPredicate, sender: Identity, by: OpenBy): Finding | null {
  const { from, to, level, supersedes } = predicate;
  if (!mayAuthor(sender.role, 'operational_handoff'))
    return refusal('handoff-role', `${from} is ${sender.role}, which may hand nothing over`);
  if (!mayClaim(sender.role, level))
    return refusal('handoff-role', `${from} is ${sender.role}, which may not hand over ${level}`);
  if (supersedes !== null && !mayInterrupt(sender, to, by, by.now))
    return refusal(
      'handoff-role',
      `${from} is neither the parent of ${to} nor the sovereign, and may supersede nothing`,
    );
  return null;
}

function timeFault({ predicate, issuedAt }: Statement<HandoffPredicate>, now: Instant): Finding | null {
  const { expiresAt, finishBy } = predicate;
  if (issuedAt > shift(now, SKEW))
    return refusal('handoff-expired', `It was signed in the future, at ${isoOf(issuedAt)}`);
  if (expiresAt <= now) return refusal('handoff-expired', `It could be accepted until ${isoOf(expiresAt)}`);
  if (expiresAt - issuedAt > LONGEST_TO_ACCEPT || finishBy - issuedAt > LONGEST_TO_FINISH)
    return refusal('handoff-expired', 'It asks for more time than a handoff has: 7 days to accept, 90 to finish');
  return null;
}

function readHops(wire: Wire, last: Statement<HandoffPredicate>, by: OpenBy): readonly Hop[] | Finding {
  const hops: Hop[] = [];
  for (const [index, signed] of [...wire.chain, wire].entries()) {
    const isLast = index === wire.chain.length;
    const opened = isLast ? last : openHop(signed, `The hop ${index + 1}`);
    // A hop that cannot be opened breaks the chain, whatever is wrong with it.
    if ('code' in opened) return refusal('handoff-chain', opened.message);
    const { predicate, signers, issuedAt, workspace } = opened;
    if (workspace !== last.workspace)
      return refusal('handoff-chain', `The hop ${index + 1} was made for another workspace`);
    // A child of yesterday signed yesterday’s hop: it is asked who it was then.
    const who = isLast ? null : provenAs(predicate.from, signers, by, issuedAt);
    if (who !== null && 'why' in who) return refusal('handoff-chain', `The hop ${index + 1} is not proven: ${who.why}`);
    if (who !== null && !mayClaim(who.role, predicate.level))
      return refusal('handoff-role', `${predicate.from} was ${who.role}, which may not hand over ${predicate.level}`);
    const artifact = parseArtifactForm(signed.artifact);
    if ('code' in artifact)
      return isLast ? artifact : refusal('handoff-chain', `The hop ${index + 1}: ${artifact.message}`);
    const named = nameFault(artifact, predicate);
    if (named !== null) return refusal(isLast ? 'handoff-invalid' : 'handoff-chain', named);
    hops.push({ statement: opened, artifact });
  }
  return hops;
}

/** What the artifact says of itself is what was signed. */
function nameFault(artifact: HandoffArtifact, predicate: HandoffPredicate): string | null {
  if (artifact.handoff_id !== predicate.handoffId) return 'handoff_id is not the one signed';
  if (artifact.from_agent !== predicate.from) return 'from_agent is not the sender';
  return artifact.to_agent === predicate.to ? null : 'to_agent is not the one it is addressed to';
}

function refusal(code: CodeName, why: string): Finding {
  return finding(code, { message: why.endsWith('.') ? why : `${why}.` });
}

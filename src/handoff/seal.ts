import { randomBytes, randomUUID } from 'node:crypto';
import { type Level, mayAuthor, mayClaim } from '../model/artifact-class.ts';
import { finding } from '../model/codes.ts';
import type { Finding } from '../model/finding.ts';
import type { EvidenceItem, ReasoningStep } from '../model/handoff.ts';
import { type Instant, isoOf } from '../model/instant.ts';
import type { HandoffPredicate } from '../model/statement.ts';
import { digestOf, MAX_HOPS, MAX_WIRE, openHop, renderWire, subjectOf, type Wire } from '../parse/handoff-envelope.ts';
import { sealEnvelope } from '../sign/envelope.ts';
import { toPayload } from '../sign/statement.ts';
import type { KnownSigner } from '../write/signer.ts';
import { parseArtifactForm } from './artifact.ts';
import type { Authority } from './authority.ts';
import { checkChain, type Hop } from './chain.ts';
import { checkClarity, checkRungs } from './clarity.ts';
import { checkContent } from './content.ts';
import { floorOf } from './floors.ts';

/** What its author says of a handoff; the rest is stamped. */
export interface HandoffDraft {
  readonly to: string;
  readonly intent: string;
  readonly constraints: readonly string[];
  readonly evidence: readonly EvidenceItem[];
  readonly steps: readonly ReasoningStep[];
  readonly floors: Readonly<Record<string, string>>;
  readonly next: readonly string[];
  readonly note: string;
  readonly level: Level;
  readonly taskId: string | null;
  readonly supersedes: string | null;
  readonly returns: string | null;
  readonly expiresAt: Instant;
  readonly finishBy: Instant;
  /** The handoff this one follows, as it came; null at the task’s origin. */
  readonly prev: Wire | null;
}

export interface SealedHandoff {
  readonly text: string;
  readonly handoffId: string;
  /** Bare hex sha256 of the payload. */
  readonly digest: string;
  readonly findings: readonly Finding[];
}

/**
 * Stamps and signs a handoff. What a receiver would refuse is refused here, with the same code; nothing is relabelled.
 * A draft that follows another keeps its constraints, its provenance and its task.
 */
export async function sealHandoff(
  draft: HandoffDraft,
  signer: KnownSigner,
  by: Authority,
  now: Instant,
): Promise<SealedHandoff | { readonly refused: Finding }> {
  const { principal, role } = signer.identity;
  if (!mayAuthor(role, 'operational_handoff') || !mayClaim(role, draft.level))
    return refused('handoff-role', `${principal} is ${role}, which may not hand over ${draft.level}.`);
  const before = draft.prev === null ? [] : readBefore(draft.prev);
  if ('code' in before) return { refused: before };
  const last = before.at(-1) ?? null;
  const handoffId = randomUUID();
  const artifact = toArtifact(draft, { handoffId, principal, last, now });
  const read = parseArtifactForm(artifact);
  if ('code' in read) return { refused: read };
  const predicate: HandoffPredicate = {
    type: 'handoff',
    handoffId,
    from: principal,
    to: draft.to,
    level: draft.level,
    prev: last?.statement.payloadDigest ?? null,
    nonce: randomBytes(16).toString('hex'),
    taskId: draft.taskId ?? last?.statement.predicate.taskId ?? null,
    supersedes: draft.supersedes,
    returns: draft.returns,
    expiresAt: draft.expiresAt,
    finishBy: draft.finishBy,
  };
  const context = { workspace: by.set.workspace ?? '', issuedAt: now, subjects: [] };
  const subjects = [{ name: subjectOf(handoffId), sha256: digestOf(read) ?? '' }];
  const envelope = Buffer.from(await sealEnvelope(toPayload(predicate, { ...context, subjects }), [signer.key]));
  const chain =
    draft.prev === null ? [] : [...draft.prev.chain, { envelope: draft.prev.envelope, artifact: draft.prev.artifact }];
  if (chain.length > MAX_HOPS) return refused('handoff-chain', `A task takes at most ${MAX_HOPS} hops.`);
  const wire = { envelope, artifact: read, chain };
  const statement = openHop(wire, 'It');
  if ('code' in statement) return { refused: statement };
  const fault =
    checkChain([...before, { statement, artifact: read }]) ??
    checkContent(read, { rules: by.rules, scanWork: by.set.policy.limits.scanWork });
  if (fault !== null) return { refused: fault };
  const text = renderWire(wire);
  if (Buffer.byteLength(text) > MAX_WIRE) return refused('handoff-invalid', 'With its chain it is larger than 1 MiB.');
  const findings = [...checkClarity(read), ...checkRungs(read, by.set.policy.handoffs.rungs)];
  return { text, handoffId, digest: statement.payloadDigest, findings };
}

/** The hops of an envelope that is followed: each as its signature stands, for `checkChain` to weigh. */
function readBefore(prev: Wire): readonly Hop[] | Finding {
  const hops: Hop[] = [];
  for (const [index, signed] of [...prev.chain, prev].entries()) {
    const statement = openHop(signed, `The hop ${index + 1}`);
    if ('code' in statement) return statement;
    const artifact = parseArtifactForm(signed.artifact);
    if ('code' in artifact) return artifact;
    hops.push({ statement, artifact });
  }
  return hops;
}

function toArtifact(
  draft: HandoffDraft,
  of: { readonly handoffId: string; readonly principal: string; readonly last: Hop | null; readonly now: Instant },
): unknown {
  const { last, principal } = of;
  const took = last === null ? '' : `took over sha256:${last.statement.payloadDigest}, `;
  const kept = last?.artifact.constraints ?? [];
  const own = draft.constraints.filter((one) => !kept.some((other) => floorOf(other) === floorOf(one)));
  return {
    handoff_id: of.handoffId,
    from_agent: principal,
    to_agent: draft.to,
    task_intent: draft.intent,
    constraints: [...kept, ...own],
    evidence: draft.evidence,
    reasoning_chain: draft.steps,
    floor_state: draft.floors,
    provenance: [
      ...(last?.artifact.provenance ?? []),
      { agent: principal, action: `${took}handed over to ${draft.to}`, timestamp: isoOf(of.now) },
    ],
    next_actions: draft.next,
    escalation_note: draft.note,
  };
}

function refused(
  code: 'handoff-role' | 'handoff-chain' | 'handoff-invalid',
  message: string,
): { readonly refused: Finding } {
  return { refused: finding(code, { message }) };
}

import { randomBytes, randomUUID } from 'node:crypto';
import type { HandoffArtifact } from '../../src/model/handoff.ts';
import { type Instant, instantFromMs, shift } from '../../src/model/instant.ts';
import type { HandoffPredicate } from '../../src/model/statement.ts';
import { digestOf, subjectOf } from '../../src/parse/handoff-envelope.ts';
import { sealEnvelope } from '../../src/sign/envelope.ts';
import { openSigningKey, type SigningKey } from '../../src/sign/private-key.ts';
import { toPayload } from '../../src/sign/statement.ts';
import type { Ran, Workspace } from '../support/workspace.ts';

export const ID = 'example.test/acme/app';

export function now(): Instant {
  return instantFromMs(Date.now()) as Instant;
}

export async function keyOf(ws: Workspace, name: string): Promise<SigningKey> {
  const key = await openSigningKey(ws.key(name));
  if ('refused' in key) throw new Error(key.refused);
  return key;
}

/** What a forged handoff says; everything else is as an honest sender would have it. */
export interface Forged {
  readonly predicate?: Partial<HandoffPredicate>;
  readonly artifact?: Partial<HandoffArtifact> & Readonly<Record<string, unknown>>;
  readonly workspace?: string;
  readonly issuedAt?: Instant;
  /** Whose key signs; the sender's where absent. */
  readonly signer?: string;
  readonly chain?: readonly Wired[];
}

/** An envelope as JSON, open to every attack. */
export interface Wired {
  readonly payload: string;
  readonly payloadType: string;
  readonly signatures: readonly unknown[];
  readonly artifact: HandoffArtifact;
  readonly chain: readonly Omit<Wired, 'chain'>[];
}

/** A handoff that anybody who holds a key could make by hand. */
export async function forge(ws: Workspace, from: string, to: string, of: Forged = {}): Promise<Wired> {
  const issuedAt = of.issuedAt ?? now();
  const handoffId = of.predicate?.handoffId ?? randomUUID();
  const artifact = {
    handoff_id: handoffId,
    from_agent: from,
    to_agent: to,
    task_intent: 'Make the export test pass.',
    constraints: ['F1', 'F2'],
    evidence: [{ source: 'npm test', rung: 'OBS', confidence: 0.9 }],
    reasoning_chain: [{ step: 1, action: 'ran the tests', result: 'one fails', status: 'done' }],
    floor_state: { F01: 'PASS', F02: 'CHECKING' },
    provenance: [{ agent: from, action: `handed over to ${to}`, timestamp: new Date(issuedAt).toISOString() }],
    next_actions: ['look at the clock'],
    escalation_note: 'out of time',
    ...of.artifact,
  } as HandoffArtifact;
  const predicate: HandoffPredicate = {
    type: 'handoff',
    handoffId,
    from,
    to,
    level: 'T1',
    prev: null,
    nonce: randomBytes(16).toString('hex'),
    taskId: null,
    supersedes: null,
    returns: null,
    expiresAt: shift(issuedAt, 600_000),
    finishBy: shift(issuedAt, 7 * 86_400_000),
    ...of.predicate,
  };
  const subjects = [{ name: subjectOf(handoffId), sha256: digestOf(artifact) ?? '' }];
  const payload = toPayload(predicate, { workspace: of.workspace ?? ID, issuedAt, subjects });
  const sealed = JSON.parse(await sealEnvelope(payload, [await keyOf(ws, of.signer ?? from)]));
  const chain = (of.chain ?? []).map(({ chain: _, ...hop }) => hop);
  return { ...sealed, artifact, chain };
}

/** Writes an envelope beside the workspace. @returns its path. */
export function file(ws: Workspace, name: string, wired: unknown): string {
  return ws.put(`../${name}`, typeof wired === 'string' ? wired : JSON.stringify(wired));
}

export function verify(ws: Workspace, as: string, wired: unknown): Ran {
  return ws.as(as, ['handoff', 'verify', file(ws, 'to-verify.json', wired)]);
}

/** `refused (code)` of stderr, or null. */
export function refusal(ran: Ran): string | null {
  return /refused \(([a-z-]+)\)/.exec(ran.stderr)?.[1] ?? null;
}

/** An honest envelope, made by the command. */
export function created(ws: Workspace, from: string, to: string, ...more: readonly string[]): Wired {
  return JSON.parse(
    ws.must(from, ['handoff', 'create', '--to', to, '--intent', 'Make the export test pass.', ...more]),
  );
}

/** Bare hex sha256 of an envelope's payload. */
export async function digestOfWired(wired: Pick<Wired, 'payload'>): Promise<string> {
  const { sha256Hex } = await import('../../src/sign/digest.ts');
  return sha256Hex(Buffer.from(wired.payload, 'base64'));
}

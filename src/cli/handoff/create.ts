import { readFileSync, statSync } from 'node:fs';
import { LEVELS } from '../../model/artifact-class.ts';
import { escapeJson, escapePath } from '../../model/escaped.ts';
import type { Finding } from '../../model/finding.ts';
import type { EvidenceItem, ReasoningStep } from '../../model/handoff.ts';
import { type Instant, shift } from '../../model/instant.ts';
import type { Wire } from '../../parse/handoff-envelope.ts';
import { MAX_WIRE, readWire } from '../../parse/handoff-envelope.ts';
import { isArtifactId, isName } from '../../sign/field-form.ts';
import { isJsonObject } from '../../sign/field-reader.ts';
import { parseStrictJson } from '../../sign/strict-json.ts';
import { type Call, EXIT, type Exit, flag, list, oneOf, RefusedError, text, UsageError } from '../command.ts';
import { print, tell } from '../output.ts';
import { until } from '../write.ts';
import { writeOut } from '../write-out.ts';
import { openDesk } from './authority.ts';

const MINUTE = 60_000;
const DAY = 86_400_000;

/** `writ handoff create`: stamps, signs and prints an envelope. Nothing is sent and no row is made. */
export async function create(call: Call): Promise<Exit> {
  const to = text(call, 'to') ?? '';
  if (!isName(to)) throw new UsageError('--to takes the name of the one who is to take it over');
  const intent = text(call, 'intent') ?? '';
  if (intent.trim() === '') throw new UsageError('--intent takes what was asked for');
  const taskId = text(call, 'task');
  if (taskId !== null && !isArtifactId(taskId))
    throw new UsageError('--task takes letters, digits, dot, colon, dash and underscore, at most 128');
  const from = text(call, 'prev');
  const prev = from === null ? null : readEnvelopeFile(from).wire;
  const { sealHandoff } = await import('../../handoff/seal.ts');
  const { workspace, signer, authority } = await openDesk(call);
  const { now } = workspace;
  const sealed = await sealHandoff(
    {
      to,
      intent,
      constraints: list(call, 'constraint'),
      evidence: objects(call, 'evidence') as unknown as readonly EvidenceItem[],
      steps: objects(call, 'step').map((one, index) => ({ step: index + 1, ...one })) as unknown as ReasoningStep[],
      floors: floorsOf(list(call, 'floor')),
      next: list(call, 'next'),
      note: text(call, 'note') ?? '',
      level: oneOf(call, 'level', LEVELS) ?? 'T1',
      taskId,
      supersedes: null,
      returns: null,
      ...timesOf(call, now),
      prev,
    },
    signer,
    authority,
    now,
  );
  if ('refused' in sealed) throw refusedBy(sealed.refused);
  await tellFindings(sealed.findings);
  const out = text(call, 'out');
  if (out === null) await print(escapeJson(sealed.text));
  else {
    await writeOut(out, sealed.text);
    await tell(`handoff ${sealed.handoffId} to ${to} signed as ${signer.identity.principal}, in ${escapePath(out)}`);
  }
  return flag(call, 'strict') && sealed.findings.length > 0 ? EXIT.refused : EXIT.ok;
}

/** When a handoff has to be accepted and finished: 10 minutes and 7 days unless told. */
export function timesOf(call: Call, now: Instant): { readonly expiresAt: Instant; readonly finishBy: Instant } {
  const expiresAt = until(call, 'expires', now) ?? shift(now, 10 * MINUTE);
  const finishBy = until(call, 'finish', now) ?? shift(now, 7 * DAY);
  if (finishBy < expiresAt) throw new UsageError('--finish ends before --expires');
  return { expiresAt, finishBy };
}

/** Reads an envelope file; throws UsageError where it cannot be read, RefusedError where it is no envelope. */
export function readEnvelopeFile(file: string): { readonly bytes: Uint8Array; readonly wire: Wire } {
  let bytes: Uint8Array;
  try {
    const stat = statSync(file);
    if (!stat.isFile()) throw new UsageError(`${escapePath(file)} is no file`);
    if (stat.size > MAX_WIRE) throw new RefusedError('handoff-invalid', `${escapePath(file)} is larger than 1 MiB`);
    bytes = readFileSync(file);
  } catch (error) {
    if (error instanceof UsageError || error instanceof RefusedError) throw error;
    throw new UsageError(`${escapePath(file)} cannot be read`);
  }
  const wire = readWire(bytes);
  if ('code' in wire) throw refusedBy(wire);
  return { bytes, wire };
}

/** A finding that refuses, as the error every command ends in 1 by. */
export function refusedBy(refused: Finding): RefusedError {
  return new RefusedError(refused.code, refused.message);
}

/** What does not refuse is told with its place. */
export async function tellFindings(findings: readonly Finding[]): Promise<void> {
  for (const one of findings) await tell(`writ: ${one.code}: ${one.message}`);
}

function objects(call: Call, name: string): readonly Readonly<Record<string, unknown>>[] {
  return list(call, name).map((given) => {
    const read = parseStrictJson(given, { maxDepth: 4 });
    if ('fault' in read) throw new UsageError(`--${name} is no strict JSON: ${read.fault} at column ${read.column}`);
    if (!isJsonObject(read.value)) throw new UsageError(`--${name} takes a JSON object`);
    return read.value;
  });
}

function floorsOf(given: readonly string[]): Readonly<Record<string, string>> {
  const floors = new Map<string, string>();
  for (const one of given) {
    const [, name, state] = /^(F\d{1,2})=(PASS|CHECKING|FAIL|PENDING)$/.exec(one) ?? [];
    if (name === undefined || state === undefined)
      throw new UsageError('--floor takes F02=PASS, and for PASS also CHECKING, FAIL or PENDING');
    if (floors.has(name)) throw new UsageError(`--floor ${name} is given twice`);
    floors.set(name, state);
  }
  return Object.fromEntries(floors);
}

import { isUtf8 } from 'node:buffer';
import { type CodeName, finding } from '../model/codes.ts';
import { excerpt } from '../model/escaped.ts';
import type { Finding } from '../model/finding.ts';
import type { HandoffPredicate, Statement } from '../model/statement.ts';
import { canonicalJson } from '../sign/canonical.ts';
import { sha256Hex } from '../sign/digest.ts';
import { isJsonObject, type Json } from '../sign/field-reader.ts';
import { REFUSALS } from '../sign/refusal.ts';
import { openStatement } from '../sign/statement.ts';
import { parseStrictJson } from '../sign/strict-json.ts';

/** Largest envelope with everything beside it, bytes. */
export const MAX_WIRE = 1_048_576;
/** Most hops a task may have taken. */
export const MAX_HOPS = 32;
const MAX_DEPTH = 8;

/** One signed statement with the artifact that its subject binds. */
export interface SignedHop {
  /** The DSSE envelope alone. */
  readonly envelope: Uint8Array;
  readonly artifact: unknown;
}

/** An envelope as it travels: a DSSE statement, and beside it, bound by digests, what it hands over and every hop before. */
export interface Wire extends SignedHop {
  /** Oldest first. */
  readonly chain: readonly SignedHop[];
}

const HOP_FIELDS = ['payload', 'payloadType', 'signatures', 'artifact'];

/** Reads an envelope file. Proves nothing. @returns `handoff-invalid` where it is none. */
export function readWire(bytes: Uint8Array): Wire | Finding {
  if (bytes.length > MAX_WIRE) return invalid('it is larger than 1 MiB');
  if (!isUtf8(bytes)) return invalid('it is not UTF-8 text');
  const read = parseStrictJson(Buffer.from(bytes).toString('utf8'), { maxDepth: MAX_DEPTH });
  if ('fault' in read) return invalid(`it is no strict JSON: ${read.fault}, line ${read.line}`);
  const { value } = read;
  if (!isJsonObject(value)) return invalid('it is no object');
  const hop = toHop(value, ['chain']);
  if (hop === null) return invalid('it is no envelope with an artifact beside it');
  const chain: SignedHop[] = [];
  const given = value.chain ?? [];
  if (!Array.isArray(given) || given.length > MAX_HOPS) return invalid(`chain is no list of at most ${MAX_HOPS} hops`);
  for (const one of given as unknown[]) {
    const before = isJsonObject(one) ? toHop(one, []) : null;
    if (before === null) return invalid(`chain[${chain.length}] is no envelope with an artifact beside it`);
    chain.push(before);
  }
  return { ...hop, chain };
}

/** @returns the text of an envelope file, ending in a newline. */
export function renderWire({ envelope, artifact, chain }: Wire): string {
  const hop = (one: SignedHop): Json => ({
    ...(JSON.parse(Buffer.from(one.envelope).toString('utf8')) as Json),
    artifact: one.artifact,
  });
  return `${JSON.stringify({ ...hop({ envelope, artifact }), chain: chain.map(hop) }, null, 1)}\n`;
}

function toHop(value: Json, more: readonly string[]): SignedHop | null {
  const names = Object.keys(value);
  if (!HOP_FIELDS.every((name) => Object.hasOwn(value, name))) return null;
  if (!names.every((name) => HOP_FIELDS.includes(name) || more.includes(name))) return null;
  const { payload, payloadType, signatures, artifact } = value;
  return { envelope: Buffer.from(JSON.stringify({ payload, payloadType, signatures })), artifact };
}

function invalid(why: string): Finding {
  return finding('handoff-invalid', { message: `It is no handoff: ${excerpt(why)}.` });
}

/** The statement of one hop, its signature verified and its artifact held against the digest that was signed. */
export function openHop({ envelope, artifact }: SignedHop, name: string): Statement<HandoffPredicate> | Finding {
  const opened = openStatement(envelope, 'handoff');
  if ('refused' in opened) {
    const isForm = !/^(?:signature|sshsig)-/.test(opened.refused);
    const why = `${name}: ${REFUSALS[opened.refused]}`;
    return refusal(isForm ? 'handoff-invalid' : 'handoff-signature', why);
  }
  if (opened.predicate.type !== 'handoff')
    return refusal('handoff-invalid', `${name} is signed as ${opened.predicate.type}`);
  const statement = opened as Statement<HandoffPredicate>;
  const [subject, ...more] = statement.subjects;
  if (subject === undefined || more.length > 0 || subject.name !== subjectOf(statement.predicate.handoffId))
    return refusal('handoff-invalid', `${name} does not name its one artifact`);
  if (digestOf(artifact) !== subject.sha256)
    return refusal('handoff-signature', `${name} carries an artifact that is not the one signed`);
  return statement;
}

/** What the one subject of a handoff is called. */
export function subjectOf(handoffId: string): string {
  return `handoffs/${handoffId}.json`;
}

/** @returns the bare hex sha256 of the RFC 8785 form; null for what has none. */
export function digestOf(artifact: unknown): string | null {
  try {
    return sha256Hex(canonicalJson(artifact));
  } catch {
    return null;
  }
}

function refusal(code: CodeName, why: string): Finding {
  return finding(code, { message: why.endsWith('.') ? why : `${why}.` });
}

/**
 * @returns the statement of a file that holds one handoff envelope and nothing else, its signature verified and its artifact the one signed; null for every
 * other text. Who signed it is asked later.
 */
export function handoffIn(text: string): Statement<HandoffPredicate> | null {
  if (!text.includes('"payloadType"') || !text.includes('"artifact"')) return null;
  const wire = readWire(Buffer.from(text.replace(/^\ufeff/, ''), 'utf8'));
  const statement = 'code' in wire ? wire : openHop(wire, 'It');
  return 'code' in statement ? null : statement;
}

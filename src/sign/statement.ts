import { isUtf8 } from 'node:buffer';
import type { Instant } from '../model/instant.ts';
import type { Predicate, Statement, Subject } from '../model/statement.ts';
import { canonicalJson } from './canonical.ts';
import { openEnvelope } from './envelope.ts';
import { isDigest, isRelativePath } from './field-form.ts';
import { isJsonObject } from './field-reader.ts';
import {
  PREDICATE_KINDS,
  type PredicateKind,
  type ReadPredicate,
  readPredicate,
  toPredicateJson,
} from './predicate.ts';
import type { Refused } from './refusal.ts';
import { parseStrictJson } from './strict-json.ts';

const STATEMENT_TYPE = 'https://in-toto.io/Statement/v1';
const MAX_DEPTH = 16;
const MAX_SUBJECTS = 1_024;
const SPEAKS_OF_SUBJECTS: ReadonlySet<PredicateKind> = new Set(['authorship', 'approval', 'handoff']);

interface ReadPayload extends ReadPredicate {
  readonly subjects: readonly Subject[];
}

function hasExactly(value: Readonly<Record<string, unknown>>, names: readonly string[]): boolean {
  return Object.keys(value).length === names.length && names.every((name) => Object.hasOwn(value, name));
}

function readSubject(value: unknown): Subject | null {
  if (!isJsonObject(value) || !hasExactly(value, ['name', 'digest'])) return null;
  const { name, digest } = value;
  if (typeof name !== 'string' || !isRelativePath(name)) return null;
  if (!isJsonObject(digest) || !hasExactly(digest, ['sha256'])) return null;
  const { sha256 } = digest;
  return typeof sha256 === 'string' && isDigest(sha256) ? { name, sha256 } : null;
}

function readSubjects(value: unknown, kind: PredicateKind): readonly Subject[] | Refused {
  if (!Array.isArray(value)) return { refused: 'statement-shape', at: 'subject' };
  if (value.length > MAX_SUBJECTS) return { refused: 'subject-invalid', at: 'subject' };
  const subjects: Subject[] = [];
  const names = new Set<string>();
  for (const one of value) {
    const subject = readSubject(one);
    if (subject === null || names.has(subject.name)) return { refused: 'subject-invalid', at: 'subject' };
    names.add(subject.name);
    subjects.push(subject);
  }
  const needed = SPEAKS_OF_SUBJECTS.has(kind);
  return needed && subjects.length === 0 ? { refused: 'subject-missing', at: 'subject' } : subjects;
}

function readPayload(payload: Uint8Array): ReadPayload | Refused {
  if (!isUtf8(payload)) return { refused: 'payload-not-utf8' };
  const read = parseStrictJson(Buffer.from(payload).toString('utf8'), { maxDepth: MAX_DEPTH });
  if ('fault' in read) return { refused: 'payload-json' };
  const { value } = read;
  if (!isJsonObject(value) || value._type !== STATEMENT_TYPE) return { refused: 'statement-shape' };
  if (!hasExactly(value, ['_type', 'subject', 'predicateType', 'predicate'])) return { refused: 'statement-shape' };
  const kind = PREDICATE_KINDS.find((one) => value.predicateType === `urn:writ:${one}:v1`);
  if (kind === undefined) return { refused: 'predicate-type' };
  const subjects = readSubjects(value.subject, kind);
  if ('refused' in subjects) return subjects;
  const predicate = readPredicate(kind, value.predicate);
  return 'refused' in predicate ? predicate : { ...predicate, subjects };
}

/**
 * Opens a signed statement: verifies the envelope, then reads the very bytes verified. Proves which keys signed; who they are
 * and whether they may is decided elsewhere. `file` is carried along for findings.
 */
export function openStatement(bytes: Uint8Array, file: string): Statement | Refused {
  const opened = openEnvelope(bytes);
  if ('refused' in opened) return opened;
  const read = readPayload(opened.payload);
  if ('refused' in read) return read;
  return { ...read, payloadDigest: opened.payloadDigest, signers: opened.signers, file };
}

/** What a statement is about and when it is made. */
export interface StatementContext {
  readonly workspace: string;
  readonly issuedAt: Instant;
  readonly subjects: readonly Subject[];
}

/**
 * @returns the bytes to sign: an in-toto Statement v1 in RFC 8785 form, dates as unix milliseconds, subjects in the order given.
 * Throws a TypeError that names the field where `openStatement` would refuse it: a statement nobody can read is never signed.
 */
export function toPayload(predicate: Predicate, of: StatementContext): Uint8Array {
  const text = canonicalJson({
    _type: STATEMENT_TYPE,
    subject: of.subjects.map(({ name, sha256 }) => ({ name, digest: { sha256 } })),
    predicateType: `urn:writ:${predicate.type}:v1`,
    predicate: toPredicateJson({ predicate, workspace: of.workspace, issuedAt: of.issuedAt }),
  });
  const payload = Buffer.from(text, 'utf8');
  const read = readPayload(payload);
  if ('refused' in read) throw new TypeError(`not a statement: ${read.refused} ${read.at ?? ''}`.trimEnd());
  return payload;
}

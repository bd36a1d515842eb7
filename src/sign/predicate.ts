import { CLASSES, LEVELS } from '../model/artifact-class.ts';
import type { Instant } from '../model/instant.ts';
import type {
  AcceptedRule,
  AckPredicate,
  ApprovalPredicate,
  AuthorshipPredicate,
  CancelPredicate,
  HandoffPredicate,
  PolicyPredicate,
  PostPredicate,
  Predicate,
  RevocationPredicate,
  SpawnPredicate,
} from '../model/statement.ts';
import {
  isArtifactId,
  isCommit,
  isConstitution,
  isDigest,
  isFingerprint,
  isKeyLine,
  isLine,
  isName,
  isNonce,
  isRelativePath,
  isUuid,
  isWorkspace,
} from './field-form.ts';
import { FieldReader, isJsonObject, type Json } from './field-reader.ts';
import type { Refused } from './refusal.ts';

export const PREDICATE_KINDS = [
  'policy',
  'spawn',
  'authorship',
  'approval',
  'revocation',
  'post',
  'handoff',
  'ack',
  'cancel',
] as const;
export type PredicateKind = Predicate['type'];

const MOST = 4_096;
const MOST_IDS = 64;

function readPolicy(fields: FieldReader): PolicyPredicate {
  const files = fields.object('files');
  const version = fields.count('version');
  const floor = fields.count('floor');
  const roots = fields.texts('roots', 16, isFingerprint);
  fields.refuseIf(floor > version, 'field-invalid', 'floor');
  fields.refuseIf(roots.length === 0 || new Set(roots).size !== roots.length, 'field-invalid', 'roots');
  fields.refuseIf(!Object.entries(files).every(isFileEntry), 'field-invalid', 'files');
  return {
    type: 'policy',
    version,
    floor,
    roots,
    recovery: fields.textOrNull('recovery', isFingerprint),
    files: files as Readonly<Record<string, string>>,
    revocations: fields.texts('revocations', MOST, isDigest),
    expiresAt: fields.instantOrNull('expiresAt'),
  };
}

function isFileEntry([name, digest]: [string, unknown]): boolean {
  return isRelativePath(name) && typeof digest === 'string' && isDigest(digest);
}

function readSpawn(fields: FieldReader): SpawnPredicate {
  return {
    type: 'spawn',
    actor: fields.text('actor', isName),
    role: fields.word('role', ['specialist', 'orchestrator']),
    parent: fields.text('parent', isName),
    publicKey: fields.text('publicKey', isKeyLine),
    paths: fields.texts('paths', MOST_IDS, isRelativePath),
    expiresAt: fields.instant('expiresAt'),
    session: fields.textOrNull('session', (text) => isLine(text, 256)),
  };
}

function readAuthorship(fields: FieldReader): AuthorshipPredicate {
  return {
    type: 'authorship',
    artifactId: fields.text('artifactId', isArtifactId),
    class: fields.word('class', CLASSES),
    level: fields.word('level', LEVELS),
    author: fields.text('author', isName),
    manifestDigest: fields.text('manifestDigest', isDigest),
    sourceCommit: fields.textOrNull('sourceCommit', isCommit),
  };
}

function readAccepted(value: unknown): AcceptedRule | null {
  if (!isJsonObject(value)) return null;
  const fields = new FieldReader(value, '');
  const accepted = {
    rule: fields.text('rule', (text) => isLine(text, 128)),
    reason: fields.text('reason', (text) => isLine(text, 1_024)),
  };
  return fields.refusal() === null ? accepted : null;
}

function readApproval(fields: FieldReader): ApprovalPredicate {
  return {
    type: 'approval',
    artifactId: fields.text('artifactId', isArtifactId),
    class: fields.word('class', CLASSES),
    level: fields.word('level', LEVELS),
    approver: fields.text('approver', isName),
    manifestDigest: fields.text('manifestDigest', isDigest),
    constitution: fields.textOrNull('constitution', isConstitution),
    accepts: fields.list('accepts', MOST_IDS, readAccepted),
    replaces: fields.texts('replaces', MOST_IDS, isArtifactId),
    expiresAt: fields.instantOrNull('expiresAt'),
  };
}

function readRevocation(fields: FieldReader): RevocationPredicate {
  const target = {
    artifactId: fields.textOrNull('artifactId', isArtifactId),
    digest: fields.textOrNull('digest', isDigest),
    publicKey: fields.textOrNull('publicKey', isKeyLine),
    actor: fields.textOrNull('actor', isName),
  };
  const named = Object.values(target).filter((value) => value !== null);
  fields.refuseIf(named.length !== 1, 'revocation-target', '');
  return {
    type: 'revocation',
    ...target,
    by: fields.text('by', isName),
    reason: fields.text('reason', (text) => text.length <= 4_096),
  };
}

function readPost(fields: FieldReader): PostPredicate {
  return {
    type: 'post',
    board: fields.text('board', isRelativePath),
    kind: fields.text('kind', (text) => /^[A-Za-z][A-Za-z0-9_-]{0,63}$/.test(text)),
    author: fields.text('author', isName),
    text: fields.text('text', () => true),
    data: fields.objectOrNull('data'),
    nonce: fields.text('nonce', isNonce),
    expiresAt: fields.instantOrNull('expiresAt'),
  };
}

function readHandoff(fields: FieldReader): HandoffPredicate {
  const expiresAt = fields.instant('expiresAt');
  const finishBy = fields.instant('finishBy');
  fields.refuseIf(finishBy < expiresAt, 'field-invalid', 'finishBy');
  return {
    type: 'handoff',
    handoffId: fields.text('handoffId', isUuid),
    from: fields.text('from', isName),
    to: fields.text('to', isName),
    level: fields.word('level', LEVELS),
    prev: fields.textOrNull('prev', isDigest),
    nonce: fields.text('nonce', isNonce),
    taskId: fields.textOrNull('taskId', isArtifactId),
    supersedes: fields.textOrNull('supersedes', isUuid),
    returns: fields.textOrNull('returns', isUuid),
    expiresAt,
    finishBy,
  };
}

function readAck(fields: FieldReader): AckPredicate {
  return {
    type: 'ack',
    handoffId: fields.text('handoffId', isUuid),
    envelope: fields.text('envelope', isDigest),
    by: fields.text('by', isName),
    decision: fields.word('decision', ['received', 'accepted', 'rejected']),
    reason: fields.textOrNull('reason', (text) => text.length <= 4_096),
  };
}

function readCancel(fields: FieldReader): CancelPredicate {
  return {
    type: 'cancel',
    handoffId: fields.text('handoffId', isUuid),
    envelope: fields.text('envelope', isDigest),
    by: fields.text('by', isName),
    reason: fields.text('reason', (text) => text.length <= 4_096),
    expiresAt: fields.instant('expiresAt'),
  };
}

const READERS: { readonly [K in PredicateKind]: (fields: FieldReader) => Predicate } = {
  policy: readPolicy,
  spawn: readSpawn,
  authorship: readAuthorship,
  approval: readApproval,
  revocation: readRevocation,
  post: readPost,
  handoff: readHandoff,
  ack: readAck,
  cancel: readCancel,
};

/** A predicate with the two fields that every one carries. */
export interface ReadPredicate {
  readonly predicate: Predicate;
  readonly workspace: string;
  readonly issuedAt: Instant;
}

/** @returns the predicate of a kind, or the first field that does not fit (formats.md, Statements). */
export function readPredicate(kind: PredicateKind, value: unknown): ReadPredicate | Refused {
  if (!isJsonObject(value)) return { refused: 'statement-shape', at: 'predicate' };
  const fields = new FieldReader(value, 'predicate.');
  const workspace = fields.text('workspace', isWorkspace);
  const issuedAt = fields.instant('issuedAt');
  const predicate = READERS[kind](fields);
  return fields.refusal() ?? { predicate, workspace, issuedAt };
}

/** @returns the predicate as JSON: null fields are left out, except `expiresAt`, where null says "never". */
export function toPredicateJson({ predicate, workspace, issuedAt }: ReadPredicate): Json {
  const { type: _, ...fields } = predicate;
  const kept = Object.entries(fields).filter(([name, value]) => value !== null || name === 'expiresAt');
  return { ...Object.fromEntries(kept), workspace, issuedAt };
}

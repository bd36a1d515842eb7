import { appendFileSync, cpSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { openRoot } from '../../src/files/workspace-root.ts';
import type { ArtifactClass, Level } from '../../src/model/artifact-class.ts';
import { type Instant, instantFromMs } from '../../src/model/instant.ts';
import type { Carrier, Manifest } from '../../src/model/manifest.ts';
import type { AcceptedRule, Predicate, Subject } from '../../src/model/statement.ts';
import { manifestDigestOf } from '../../src/parse/manifest.ts';
import { readStatements } from '../../src/policy/statements.ts';
import { renderAllowedSigner } from '../../src/sign/allowed-signers.ts';
import { sha256Hex } from '../../src/sign/digest.ts';
import { openSigningKey, type SigningKey } from '../../src/sign/private-key.ts';
import { renderManifest, withCarrier } from '../../src/write/manifest-text.ts';
import { changePins, withPin } from '../../src/write/pins-file.ts';
import { signSet } from '../../src/write/policy-set.ts';
import { sealStatement } from '../../src/write/statement-file.ts';
import { Workspace } from '../support/workspace.ts';

export const ID = 'example.test/acme/app';
export const HOUR = 3_600_000;
export const DAY = 24 * HOUR;

/** The clock of the set-up. */
export function now(): Instant {
  return at(Date.now());
}

export function at(ms: number): Instant {
  const instant = instantFromMs(Math.trunc(ms));
  if (instant === null) throw new Error(`${ms} is no instant`);
  return instant;
}

export interface GovernOptions {
  readonly id?: string;
  readonly git?: boolean;
  /** Lines that take the place of the default ones in policy.yaml. */
  readonly principals?: string;
  readonly more?: string;
  readonly constitution?: string;
  /** Keys of allowed_signers: principal to key names; the default is one key each, named like it. */
  readonly keys?: Readonly<Record<string, readonly string[]>>;
}

const PRINCIPALS =
  '  f13: sovereign\n  lead: approver\n  lead2: approver\n  pay: {role: approver, paths: ["services/pay/**"]}\n  orch: orchestrator\n  spec: specialist\n';
const NAMES = ['f13', 'lead', 'lead2', 'pay', 'orch', 'spec'] as const;

/**
 * A governed workspace made in this process, which is no part of what is attacked: f13 sovereign, lead and lead2
 * approvers, pay an approver for services/pay/**, orch orchestrator, spec specialist; worker a specialist spawned by orch.
 */
export async function governed(options: GovernOptions = {}): Promise<Workspace> {
  const ws = new Workspace({ git: options.git ?? false });
  await govern(ws, options);
  return ws;
}

export async function govern(ws: Workspace, options: GovernOptions = {}): Promise<void> {
  const id = options.id ?? ID;
  const keys = options.keys ?? Object.fromEntries(NAMES.map((name) => [name, [name]]));
  const lines: string[] = [];
  for (const [principal, files] of Object.entries(keys)) {
    for (const file of files) {
      const { publicKey } = await keyOf(ws, file);
      const { keyType, fingerprint, line } = publicKey;
      lines.push(
        renderAllowedSigner({
          principal,
          fingerprint,
          keyType,
          publicKey: line,
          namespaces: ['writ', 'git'],
          validAfter: null,
          validBefore: null,
        }),
      );
    }
  }
  ws.put('policies/constitution.md', options.constitution ?? '# Constitution\n\nHumans decide.\n');
  ws.put('policies/allowed_signers', `${lines.join('\n')}\n`);
  ws.put(
    'policies/policy.yaml',
    `version: 1\nworkspace: ${id}\nconstitution:\n  documents: [policies/constitution.md]\nprincipals:\n${options.principals ?? PRINCIPALS}${options.more ?? ''}`,
  );
  await resign(ws, { pin: true });
  await spawn(ws, 'orch', 'worker');
}

/** Signs the set as it lies there with the root, as `trust sign` does; pins it where asked. */
export async function resign(
  ws: Workspace,
  options: { readonly pin?: boolean; readonly raiseFloor?: boolean; readonly by?: string } = {},
): Promise<void> {
  const root = openRoot(ws.root);
  const signed = await signSet(
    {
      root,
      dir: 'policies',
      now: now(),
      changes: new Map(),
      raiseFloor: options.raiseFloor ?? false,
      takesEdits: true,
      roots: null,
      recovery: null,
      revocations: readStatements(root, 'policies/revocations', 'revocation', idOf(ws)).statements.map(
        (one) => one.payloadDigest,
      ),
    },
    [await keyOf(ws, options.by ?? 'f13')],
  );
  if ('refused' in signed) throw new Error(signed.refused);
  if (!options.pin) return;
  const places = { systemDir: '/etc/writ', configDir: configOf(ws), home: ws.env.HOME ?? '', moved: [], root: null };
  await changePins(places, (old) =>
    withPin(old, {
      workspace: signed.workspace,
      roots: signed.roots,
      floor: signed.floor,
      version: signed.version,
      digest: signed.sealed.payloadDigest,
      dir: 'policies',
      seen: null,
      from: 'user',
    }),
  );
}

function idOf(ws: Workspace): string {
  return /^workspace: (\S+)$/m.exec(ws.read('policies/policy.yaml'))?.[1] ?? '';
}

export function configOf(ws: Workspace): string {
  return join(ws.env.HOME ?? '', '.config', 'writ');
}

export function stateOf(ws: Workspace): string {
  return join(ws.env.HOME ?? '', '.local', 'state', 'writ', 'writ.db');
}

/** The signing key of a name, made on first use. */
export async function keyOf(ws: Workspace, name: string): Promise<SigningKey> {
  const key = await openSigningKey(ws.key(name));
  if ('refused' in key) throw new Error(key.refused);
  return key;
}

/** A copy of a workspace with its home and keys, so that one set-up serves many attacks. */
export function copyOf(template: Workspace): Workspace {
  const ws = new Workspace();
  cpSync(template.base, ws.base, { recursive: true, verbatimSymlinks: true });
  return ws;
}

export interface StatementOptions {
  readonly workspace?: string;
  readonly issuedAt?: number;
  readonly subjects?: readonly Subject[];
  /** Where to write it instead of its proper place. */
  readonly file?: string;
}

/** Signs any statement with any keys and puts it where such statements belong. @returns the file. */
export async function put(
  ws: Workspace,
  keys: string | readonly string[],
  predicate: Predicate,
  options: StatementOptions = {},
): Promise<string> {
  const { file, text } = await seal(ws, keys, predicate, options);
  ws.put(options.file ?? file, text);
  return options.file ?? file;
}

export async function seal(
  ws: Workspace,
  keys: string | readonly string[],
  predicate: Predicate,
  options: StatementOptions = {},
): Promise<{ readonly file: string; readonly text: string }> {
  const signers = await Promise.all([keys].flat().map((name) => keyOf(ws, name)));
  return sealStatement(
    {
      predicate,
      workspace: options.workspace ?? ID,
      issuedAt: at(options.issuedAt ?? Date.now()),
      subjects: options.subjects ?? [],
    },
    'policies',
    signers,
  );
}

export interface SpawnFields {
  readonly role?: 'orchestrator' | 'specialist';
  readonly paths?: readonly string[];
  readonly expiresAt?: number;
  readonly issuedAt?: number;
  /** Key of the child; named like it by default. */
  readonly key?: string;
  /** Name the record gives as parent; the signer by default. */
  readonly parent?: string;
  readonly file?: string;
}

/** A spawn record signed by `parent`'s key. */
export async function spawn(ws: Workspace, parent: string, actor: string, fields: SpawnFields = {}): Promise<string> {
  const { publicKey } = await keyOf(ws, fields.key ?? actor);
  return put(
    ws,
    parent,
    {
      type: 'spawn',
      actor,
      role: fields.role ?? 'specialist',
      parent: fields.parent ?? parent,
      publicKey: publicKey.line,
      paths: fields.paths ?? [],
      expiresAt: at(fields.expiresAt ?? Date.now() + 8 * HOUR),
      session: null,
    },
    {
      subjects: [{ name: `${actor}.pub`, sha256: sha256Hex(publicKey.line) }],
      ...(fields.issuedAt === undefined ? {} : { issuedAt: fields.issuedAt }),
      ...(fields.file === undefined ? {} : { file: fields.file }),
    },
  );
}

/** An artifact as the attacker or an honest writer lays it down. */
export interface Piece {
  readonly path: string;
  readonly manifest: Manifest;
  readonly carrier: Exclude<Carrier, 'json'>;
  readonly content: string;
  readonly digest: string;
}

export interface PieceFields {
  readonly class?: ArtifactClass;
  readonly level?: Level;
  readonly author?: string;
  /** Who signs the authorship; null: nobody. */
  readonly by?: string | null;
  readonly approvedBy?: string | null;
  readonly content?: string;
  readonly carrier?: Piece['carrier'];
  readonly id?: string;
  readonly supersedes?: readonly string[];
  readonly constitution?: string | null;
  readonly expiresAt?: number | null;
  readonly unknown?: Readonly<Record<string, unknown>>;
}

let counter = 0;

/** Writes an artifact with a manifest, and the authorship statement of `by`. */
export async function lay(ws: Workspace, path: string, fields: PieceFields = {}): Promise<Piece> {
  counter += 1;
  const by = fields.by === undefined ? 'orch' : fields.by;
  const carrier = fields.carrier ?? 'sidecar';
  const content = fields.content ?? `# Rules ${counter}\n\nRun the tests before you commit.\n`;
  const digest = sha256Hex(content);
  const manifest: Manifest = {
    artifactId: fields.id ?? `piece-${counter}`,
    class: fields.class ?? 'policy',
    author: fields.author ?? by ?? 'orch',
    sourceCommit: null,
    level: fields.level ?? 'T1',
    approvedBy: fields.approvedBy === undefined ? 'lead' : fields.approvedBy,
    binding: true,
    createdAt: at(Date.now() - 1_000),
    expiresAt: fields.expiresAt ? at(fields.expiresAt) : null,
    constitution: fields.constitution === undefined ? constitutionOf(ws) : fields.constitution,
    supersedes: fields.supersedes ?? [],
    contentHash: digest,
    unknown: fields.unknown ?? {},
  };
  const piece: Piece = { path, manifest, carrier, content, digest };
  place(ws, piece);
  if (by !== null) await sign(ws, by, piece);
  return piece;
}

/** Lays a piece down again, as it is or changed. */
export function place(ws: Workspace, piece: Piece): void {
  if (piece.carrier === 'sidecar') {
    ws.put(piece.path, piece.content);
    ws.put(`${piece.path}.manifest.yaml`, renderManifest(piece.manifest));
  } else ws.put(piece.path, withCarrier(piece.manifest, piece.carrier, piece.content));
}

/** The authorship statement of a piece. */
export async function sign(ws: Workspace, by: string, piece: Piece, options: StatementOptions = {}): Promise<string> {
  const { manifest } = piece;
  return put(
    ws,
    by,
    {
      type: 'authorship',
      artifactId: manifest.artifactId,
      class: manifest.class,
      level: manifest.level,
      author: manifest.author,
      manifestDigest: manifestDigestOf(manifest, piece.carrier),
      sourceCommit: manifest.sourceCommit,
    },
    { subjects: [{ name: piece.path, sha256: piece.digest }], ...options },
  );
}

export interface ApprovalFields extends StatementOptions {
  /** The name the approval gives; the (first) signer by default. */
  readonly approver?: string;
  readonly expiresAt?: number | null;
  readonly replaces?: readonly string[];
  readonly accepts?: readonly AcceptedRule[];
}

/** An approval of a piece, by one or more keys. */
export async function approve(
  ws: Workspace,
  by: string | readonly string[],
  piece: Piece,
  fields: ApprovalFields = {},
): Promise<string> {
  const { manifest } = piece;
  const { approver, expiresAt, replaces, accepts, ...rest } = fields;
  return put(
    ws,
    by,
    {
      type: 'approval',
      artifactId: manifest.artifactId,
      class: manifest.class,
      level: manifest.level,
      approver: approver ?? [by].flat()[0] ?? '',
      manifestDigest: manifestDigestOf(manifest, piece.carrier),
      constitution: manifest.constitution,
      accepts: accepts ?? [],
      replaces: replaces ?? [],
      expiresAt: expiresAt === null ? null : at(expiresAt ?? Date.now() + 90 * DAY),
    },
    { subjects: [{ name: piece.path, sha256: piece.digest }], ...rest },
  );
}

/** An honest policy: written by orch, approved by lead. */
export async function honest(ws: Workspace, path: string, fields: PieceFields = {}): Promise<Piece> {
  const piece = await lay(ws, path, fields);
  await approve(ws, 'lead', piece);
  return piece;
}

export interface RevocationFields {
  readonly artifactId?: string;
  readonly digest?: string;
  readonly publicKey?: string;
  readonly actor?: string;
}

export function revoke(
  ws: Workspace,
  by: string,
  target: RevocationFields,
  options: StatementOptions = {},
): Promise<string> {
  return put(
    ws,
    by,
    { type: 'revocation', artifactId: null, digest: null, publicKey: null, actor: null, by, reason: 'test', ...target },
    options,
  );
}

/** A signed line of a board, appended. @returns the line. */
export async function post(
  ws: Workspace,
  by: string,
  board: string,
  fields: {
    readonly kind?: string;
    readonly author?: string;
    readonly text?: string;
    readonly nonce?: string;
    readonly named?: string;
    readonly workspace?: string;
  } = {},
): Promise<string> {
  counter += 1;
  const { text } = await seal(
    ws,
    by,
    {
      type: 'post',
      board: fields.named ?? board,
      kind: fields.kind ?? 'guidance',
      author: fields.author ?? by,
      text: fields.text ?? 'Prefer small commits.',
      data: null,
      nonce: fields.nonce ?? `nonce-${counter}-0123456789abcdef`,
      expiresAt: null,
    },
    fields.workspace === undefined ? {} : { workspace: fields.workspace },
  );
  const line = JSON.stringify(JSON.parse(text));
  append(ws, board, line);
  return line;
}

export function append(ws: Workspace, path: string, line: string): void {
  mkdirSync(join(ws.root, path, '..'), { recursive: true });
  appendFileSync(join(ws.root, path), `${line}\n`);
}

export function constitutionOf(ws: Workspace): string {
  return `sha256:${sha256Hex(ws.read('policies/constitution.md'))}`;
}

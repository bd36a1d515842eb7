import { randomUUID } from 'node:crypto';
import { unlinkSync } from 'node:fs';
import { basename, join } from 'node:path';
import { matchesAny } from '../discover/globs.ts';
import { withLock } from '../files/lock.ts';
import type { WorkspaceRoot } from '../files/workspace-root.ts';
import { writeInside } from '../files/write-inside.ts';
import { type ArtifactClass, canBind, type Level, mayAuthor, mayClaim } from '../model/artifact-class.ts';
import type { CodeName } from '../model/codes.ts';
import type { Instant } from '../model/instant.ts';
import type { Carrier, Manifest } from '../model/manifest.ts';
import type { Subject } from '../model/statement.ts';
import { manifestDigestOf } from '../parse/manifest.ts';
import { readInside } from '../parse/readings.ts';
import { sha256Hex } from '../sign/digest.ts';
import { renderManifest, withCarrier } from './manifest-text.ts';
import type { KnownSigner } from './signer.ts';
import { type Sealed, sealStatement } from './statement-file.ts';

export interface WriteDraft {
  readonly root: WorkspaceRoot;
  /** Folder of the policy set. */
  readonly dir: string;
  /** Folder that holds the write lock; the same for every process that writes here. */
  readonly lockDir: string;
  readonly workspace: string;
  readonly path: string;
  readonly content: string;
  readonly class: ArtifactClass;
  readonly level: Level;
  readonly signer: KnownSigner;
  readonly now: Instant;
  readonly expiresAt: Instant | null;
  readonly supersedes: readonly string[];
  readonly approvedBy: string | null;
  readonly carrier: 'front-matter' | 'comment' | 'sidecar' | null;
  readonly id: string | null;
  readonly sourceCommit: string | null;
  readonly constitution: string | null;
}

export interface Written {
  readonly path: string;
  readonly artifactId: string;
  readonly contentSha256: string;
  readonly carrier: Carrier;
  readonly statement: string;
}

export interface WriteRefused {
  readonly code: CodeName;
  readonly why: string;
}

/**
 * The write-side bind (WAJIB 8): stamps, signs and writes in one go, and refuses what the signer\u2019s role may not say. Nothing is relabelled.
 * The proof is written first and the text last, under a lock: a crash between leaves the old text whole.
 */
export async function writeArtifact(draft: WriteDraft): Promise<Written | WriteRefused> {
  const refused = permission(draft);
  if (refused) return refused;
  const carrier = draft.carrier ?? defaultCarrier(draft.path);
  const stamped = await stamp(draft, carrier);
  if ('why' in stamped) return stamped;
  const fault = await withLock(draft.lockDir, 'write', () => place(draft, stamped));
  if (fault !== null) return { code: 'path-unreadable', why: fault };
  return {
    path: draft.path,
    artifactId: stamped.manifest.artifactId,
    contentSha256: stamped.subject.sha256,
    carrier,
    statement: stamped.sealed.file,
  };
}

function permission({ signer, class: cls, level, path, expiresAt, dir }: WriteDraft): WriteRefused | null {
  const { principal, role, scopes } = signer.identity;
  if (!mayAuthor(role, cls))
    return { code: 'role-forbids-class', why: `${principal} is ${role}, which may not author ${cls}` };
  if (!mayClaim(role, level))
    return { code: 'level-exceeds-writer', why: `${principal} is ${role}, which may not claim ${level}` };
  if (!scopes.every((scope) => matchesAny(path, scope)))
    return { code: 'spawn-path', why: `${principal} may not speak for ${path}` };
  if (isReserved(path, dir))
    return {
      code: 'spawn-path',
      why: `${path} belongs to the policy set, to quarantine or to git: nobody writes there through writ write`,
    };
  if (/\.manifest\.(?:yaml|json)$/.test(path))
    return {
      code: 'manifest-ambiguous',
      why: `${path} is the name of a manifest beside a file: write the file itself, writ lays its manifest`,
    };
  if (cls === 'operational_handoff' && expiresAt === null)
    return { code: 'expiry-missing', why: 'a handoff says when it ends: add --expires 7d' };
  return null;
}

/** Places no text of an agent belongs in, whatever its role. */
export function isReserved(path: string, dir: string): boolean {
  return [dir, 'quarantine', '.git'].some(
    (folder) => path === folder || path.toLowerCase().startsWith(`${folder.toLowerCase()}/`),
  );
}

/** Front matter where the file is ours by name, a sidecar where the text should stay untouched (cli.md). */
export function defaultCarrier(path: string): 'front-matter' | 'sidecar' {
  const name = basename(path);
  return /\.md$/i.test(name) && /INIT|^HANDOFF|^NEXT_|^BOOT/.test(name) ? 'front-matter' : 'sidecar';
}

interface Stamped {
  readonly manifest: Manifest;
  readonly subject: Subject;
  readonly text: string;
  /** The sidecar's text, or null where the manifest is in the file. */
  readonly sidecar: string | null;
  readonly sealed: Sealed;
}

async function stamp(
  draft: WriteDraft,
  carrier: 'front-matter' | 'comment' | 'sidecar',
): Promise<Stamped | WriteRefused> {
  const content = await contentOf(draft.path, draft.content);
  if (content === null)
    return {
      code: 'manifest-invalid',
      why: 'the text names context_manifest and cannot be read strictly: take the block out, writ stamps its own',
    };
  const digest = sha256Hex(content);
  const manifest: Manifest = {
    artifactId: draft.id ?? randomUUID(),
    class: draft.class,
    author: draft.signer.identity.principal,
    sourceCommit: draft.sourceCommit,
    level: draft.level,
    approvedBy: draft.approvedBy,
    binding: canBind(draft.class),
    createdAt: draft.now,
    expiresAt: draft.expiresAt,
    constitution: draft.constitution,
    supersedes: [...new Set(draft.supersedes)].sort(),
    contentHash: digest,
    unknown: {},
  };
  const subject = { name: draft.path, sha256: digest };
  const sealed = await sealAuthorship(draft, manifest, carrier, subject);
  const text = carrier === 'sidecar' ? content : carried(manifest, carrier, content);
  return { manifest, subject, text, sidecar: carrier === 'sidecar' ? renderManifest(manifest) : null, sealed };
}

/** Signs who wrote a stamped text. */
export function sealAuthorship(
  of: Pick<WriteDraft, 'workspace' | 'now' | 'dir' | 'signer'>,
  manifest: Manifest,
  carrier: Carrier,
  subject: Subject,
): Promise<Sealed> {
  const predicate = {
    type: 'authorship' as const,
    artifactId: manifest.artifactId,
    class: manifest.class,
    level: manifest.level,
    author: manifest.author,
    manifestDigest: manifestDigestOf(manifest, carrier),
    sourceCommit: manifest.sourceCommit,
  };
  return sealStatement({ predicate, workspace: of.workspace, issuedAt: of.now, subjects: [subject] }, of.dir, [
    of.signer.key,
  ]);
}

/** The text without a manifest it may bring along: writing a file from itself stamps it anew. */
async function contentOf(path: string, text: string): Promise<string | null> {
  const reading = await readInside(path, Buffer.from(text), { read: () => text });
  if (reading === null || (reading.claimed === null && reading.fault === null)) return text;
  return reading.claimed?.content ?? null;
}

/** A text with front matter of its own keeps it: the manifest becomes its first entry. */
function carried(manifest: Manifest, carrier: 'front-matter' | 'comment', content: string): string {
  const own = carrier === 'front-matter' ? /^---(\r?\n)/.exec(content) : null;
  if (own && /\r?\n(?:---|\.\.\.)\r?(?:\n|$)/.test(content.slice(3)))
    return `---${own[1]}${renderManifest(manifest)}${content.slice(own[0].length)}`;
  return withCarrier(manifest, carrier, content);
}

function place({ root, path }: WriteDraft, stamped: Stamped): string | null {
  const yaml = `${path}.manifest.yaml`;
  const refused =
    writeInside(root, stamped.sealed.file, stamped.sealed.text, 0o644) ??
    (stamped.sidecar === null ? null : writeInside(root, yaml, stamped.sidecar, 0o644)) ??
    writeInside(root, path, stamped.text, 0o644);
  if (refused) return refused.message;
  const stale = stamped.sidecar === null ? [yaml, `${path}.manifest.json`] : [`${path}.manifest.json`];
  for (const name of stale) removeQuietly(join(root.path, name));
  return null;
}

function removeQuietly(file: string): void {
  try {
    unlinkSync(file);
  } catch {
    // Nothing was there.
  }
}

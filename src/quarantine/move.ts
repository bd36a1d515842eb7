import { readlinkSync } from 'node:fs';
import type { WorkspaceRoot } from '../files/workspace-root.ts';
import type { ArtifactClass } from '../model/artifact-class.ts';
import type { Finding } from '../model/finding.ts';
import type { Instant } from '../model/instant.ts';
import type { Role } from '../model/role.ts';
import { sha256Hex } from '../sign/digest.ts';
import { compress, MAX_ARTIFACT, putArtifact } from './held.ts';
import {
  absoluteOf,
  isArtifactPath,
  lstatOrNull,
  makeQuarantine,
  newToken,
  pendingFile,
  type QuarantineDir,
  QuarantineFault,
  whyOf,
  writeWhole,
} from './layout.ts';
import {
  type HeldSidecar,
  MAX_RECORD,
  type QuarantineRecord,
  renderRecord,
  SIDECAR_SUFFIXES,
  toHeldFindings,
} from './record.ts';
import { abandon, settle, toBase64, undo } from './settle.ts';

/** An artifact whose verdict is quarantine: the bytes judged, and why. */
export interface Condemned {
  /** Workspace-relative. */
  readonly path: string;
  /** Bare hex sha256 of `bytes`. */
  readonly sha256: string;
  readonly bytes: Uint8Array;
  /** POSIX permission bits. */
  readonly mode: number;
  readonly class: ArtifactClass | null;
  readonly findings: readonly Finding[];
  readonly at: Instant;
  /** Null where the writer is not proven. */
  readonly writer: { readonly principal: string; readonly role: Role } | null;
  /** Manifests that lie beside it: they go with it. */
  readonly sidecars: readonly Sidecar[];
}

/** A manifest beside an artifact, as read when it was judged. */
export interface Sidecar {
  /** Workspace-relative: the artifact's path plus `.manifest.yaml` or `.manifest.json`. */
  readonly path: string;
  readonly bytes: Uint8Array;
  readonly mode: number;
}

export interface Moved {
  readonly id: string;
  readonly path: string;
  readonly sha256: string;
}

/** Nothing was moved. `gone`: the path holds nothing any more, another process was first; else the original lies where it lay. */
export interface NotMoved {
  readonly failed: string;
  readonly gone: boolean;
}

/**
 * Moves an artifact into quarantine/: its bytes compressed, a record beside them, nothing left at its path (formats.md, quarantine record).
 * Only the bytes judged are ever taken: if something else lies at the path by then, it is put back. Survives `kill -9` at every step; `sweep` ends what was cut off.
 */
export function quarantine(root: WorkspaceRoot, artifact: Condemned): Moved | NotMoved {
  const id = newToken();
  let dir: QuarantineDir | null = null;
  try {
    const record = toRecord(root, artifact, id);
    if (record === null) return { failed: 'it is gone already', gone: true };
    dir = makeQuarantine(root);
    writeWhole(dir, pendingFile(dir, record.sha256, id), Buffer.from(renderRecord(record)), 0o600, 'new');
    putArtifact(dir, record.sha256, artifact.bytes);
    const settled = settle(dir, record.sha256, id, true);
    if ('moved' in settled) return { id, path: artifact.path, sha256: record.sha256 };
    abandon(dir, record.sha256, id);
    if ('gone' in settled) return { failed: 'it is gone already', gone: true };
    return { failed: 'it changed after it was judged', gone: false };
  } catch (error) {
    if (dir !== null && isHeldAfterAll(dir, artifact.sha256, id))
      return { id, path: artifact.path, sha256: artifact.sha256 };
    return { failed: whyOf(error), gone: false };
  }
}

/** After a fault: the original is put back, or the move turns out to be made. What even that cannot end is left to `sweep`. */
function isHeldAfterAll(dir: QuarantineDir, sha256: string, id: string): boolean {
  try {
    return undo(dir, sha256, id);
  } catch {
    // The disk is full or read-only: the files left say what to do.
    return false;
  }
}

/** @returns null where nothing lies at the path. */
function toRecord(root: WorkspaceRoot, artifact: Condemned, id: string): QuarantineRecord | null {
  const { path, sha256, bytes, mode, class: cls, at, writer } = artifact;
  if (!isArtifactPath(path)) throw new QuarantineFault('its path is not one that can be held');
  if (bytes.length > MAX_ARTIFACT) throw new QuarantineFault('it is larger than quarantine holds');
  if (sha256Hex(bytes) !== sha256) throw new QuarantineFault('its digest is not that of its bytes');
  const absolute = absoluteOf(root, path);
  const stat = lstatOrNull(absolute);
  if (stat === null) return null;
  const record: QuarantineRecord = {
    schema: 'writ.quarantine/1',
    id,
    path,
    sha256,
    bytes: bytes.length,
    mode: mode & 0o777,
    link: stat.isSymbolicLink() ? toBase64(readlinkSync(absolute)) : null,
    class: cls,
    findings: toHeldFindings(artifact.findings),
    at,
    writer: writer === null ? null : { principal: writer.principal, role: writer.role },
    sidecars: artifact.sidecars.map((sidecar) => toHeldSidecar(path, sidecar)),
  };
  if (Buffer.byteLength(renderRecord(record)) > MAX_RECORD)
    throw new QuarantineFault('its sidecar is too large to be held');
  return record;
}

function toHeldSidecar(path: string, sidecar: Sidecar): HeldSidecar {
  const suffix = SIDECAR_SUFFIXES.find((known) => path + known === sidecar.path);
  if (suffix === undefined) throw new QuarantineFault('a sidecar does not lie beside it');
  const data = compress(sidecar.bytes).toString('base64');
  return { suffix, mode: sidecar.mode & 0o777, sha256: sha256Hex(sidecar.bytes), data };
}

import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readSync,
  realpathSync,
  renameSync,
  type Stats,
  unlinkSync,
  writeSync,
} from 'node:fs';
import path from 'node:path';
import type { WorkspaceRoot } from '../files/workspace-root.ts';

/** The folder of held artifacts, below the workspace root. */
const QUARANTINE = 'quarantine';

/** The quarantine folder of a workspace, checked to be a real folder. */
export interface QuarantineDir {
  readonly root: WorkspaceRoot;
  readonly path: string;
}

/** A fault of the machine or of the folder; `message` is for people and holds no artifact text. */
export class QuarantineFault extends Error {}

const SHA = '[0-9a-f]{64}';
const TOKEN = '[0-9a-f]{12}';
export const SHA256 = new RegExp(`^${SHA}$`);
export const RECORD_ID = new RegExp(`^${TOKEN}$`);
export const RECORD_FILE = /^record-[1-9]\d{0,5}\.json$/;
const IN_FLIGHT = new RegExp(`^\\.(pending|capture|retired)-(${SHA})-(${TOKEN})(?:\\.json|\\.gz|\\.\\d)?$`);
const REASONS: Readonly<Record<string, string>> = {
  EXDEV: 'the quarantine folder lies on another device',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is spent',
  EROFS: 'the file system is read-only',
  EACCES: 'no permission',
  EPERM: 'no permission',
  EMLINK: 'the file has too many links',
  ENOTSUP: 'the file system has no hard links',
};

/** @returns null where there is no quarantine folder. Throws QuarantineFault where the name is taken by a link or a file. */
export function findQuarantine(root: WorkspaceRoot): QuarantineDir | null {
  const found = path.join(root.path, QUARANTINE);
  const stat = lstatOrNull(found);
  if (stat === null) return null;
  if (!stat.isDirectory())
    throw new QuarantineFault(`${QUARANTINE}/ is ${stat.isSymbolicLink() ? 'a link' : 'not a folder'}`);
  return { root, path: found };
}

/** Finds or makes the quarantine folder, 0700. */
export function makeQuarantine(root: WorkspaceRoot): QuarantineDir {
  makeFolder(path.join(root.path, QUARANTINE));
  const made = findQuarantine(root);
  if (made === null) throw new QuarantineFault(`${QUARANTINE}/ vanished`);
  return made;
}

/** Finds or makes the folder of one digest, 0700. Throws QuarantineFault where a link or file has its name. */
export function makeHeldDir(dir: QuarantineDir, sha256: string): string {
  const folder = heldDir(dir, sha256);
  makeFolder(folder);
  if (!lstatSync(folder).isDirectory()) throw new QuarantineFault(`${QUARANTINE}/${sha256} is not a folder`);
  return folder;
}

function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw error;
  }
}

export function heldDir(dir: QuarantineDir, sha256: string): string {
  return path.join(dir.path, sha256);
}

/** The record of a move under way. Linked into the digest's folder it becomes the record. */
export function pendingFile(dir: QuarantineDir, sha256: string, id: string): string {
  return path.join(dir.path, `.pending-${sha256}-${id}.json`);
}

/** The original, taken away and not yet let go of; `sidecar` counts from 0, null is the artifact itself. */
export function captureFile(dir: QuarantineDir, sha256: string, id: string, sidecar: number | null): string {
  return path.join(dir.path, `.capture-${sha256}-${id}${sidecar === null ? '' : `.${sidecar}`}`);
}

/** An artifact.gz that nothing seemed to need. */
export function retiredFile(dir: QuarantineDir, sha256: string): string {
  return path.join(dir.path, `.retired-${sha256}-${newToken()}.gz`);
}

/** @returns what a name in the quarantine folder says of a move under way, or null. */
export function toInFlight(
  name: string,
): { readonly kind: 'pending' | 'capture' | 'retired'; readonly sha256: string; readonly id: string } | null {
  const [, kind, sha256, id] = IN_FLIGHT.exec(name) ?? [];
  if (sha256 === undefined || id === undefined) return null;
  return kind === 'pending' || kind === 'capture' || kind === 'retired' ? { kind, sha256, id } : null;
}

/** Twelve random hex digits: the id of a record. */
export function newToken(): string {
  return randomBytes(6).toString('hex');
}

/** The absolute form of a workspace-relative path. */
export function absoluteOf(root: WorkspaceRoot, name: string): string {
  return path.join(root.path, ...name.split('/'));
}

/** @returns whether an artifact may come from or go to a path: plain, below the root, neither git's own nor quarantine's. */
export function isArtifactPath(name: string): boolean {
  if (name.length > 4_096 || /[\0\\]/.test(name) || (process.platform === 'win32' && name.includes(':'))) return false;
  const parts = name.split('/').map((part) => part.normalize('NFC').toLowerCase());
  if (parts.some((part) => part === '' || part === '.' || part === '..' || part === '.git')) return false;
  return parts[0] !== QUARANTINE;
}

/** @returns whether the folder an absolute path lies in is really inside the workspace and outside quarantine/, links followed; false where it is missing. */
export function isParentInside(dir: QuarantineDir, absolute: string): boolean {
  try {
    const parent = `${realpathSync.native(path.dirname(absolute))}${path.sep}`;
    const base = dir.root.path.endsWith(path.sep) ? dir.root.path : `${dir.root.path}${path.sep}`;
    if (!parent.startsWith(base)) return false;
    return parent === base || isArtifactPath(`${parent.slice(base.length).replaceAll(path.sep, '/')}x`);
  } catch {
    return false;
  }
}

/** Makes the folders above a workspace-relative path, one by one and never through a link: throws a fault where one of them is no folder. */
export function makeParents(root: WorkspaceRoot, target: string): void {
  const parts = target.split('/').slice(0, -1);
  for (const depth of parts.keys()) {
    const folder = absoluteOf(root, parts.slice(0, depth + 1).join('/'));
    if (lstatOrNull(folder) === null) mkdirSync(folder, { recursive: true });
    if (lstatOrNull(folder)?.isDirectory() !== true)
      throw new QuarantineFault('a folder on the way is a link or a file');
  }
}

/**
 * Writes a file whole or not at all, 0600, in the quarantine folder's device.
 * @param place `new` never overwrites (throws EEXIST), `replace` does.
 */
export function writeWhole(
  dir: QuarantineDir,
  target: string,
  bytes: Uint8Array,
  mode: number,
  place: 'new' | 'replace',
): void {
  const temporary = path.join(dir.path, `.tmp-${newToken()}`);
  const fd = openSync(
    temporary,
    constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0),
    0o600,
  );
  try {
    try {
      for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done);
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    if (mode !== 0o600) chmodSync(temporary, mode & 0o777);
    if (place === 'replace') renameSync(temporary, target);
    else linkSync(temporary, target);
    syncFolder(path.dirname(target));
  } finally {
    removeFile(temporary);
  }
}

/** @returns the bytes of a regular file, or null where it is missing, no regular file, a link, or larger than `max`. */
export function readPlain(file: string, max: number): Buffer | null {
  let fd: number;
  try {
    fd = openSync(file, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
  } catch {
    return null;
  }
  try {
    const stat = fstatSync(fd);
    if (!stat.isFile() || stat.size > max) return null;
    const bytes = Buffer.alloc(stat.size);
    let done = 0;
    while (done < bytes.length) {
      const got = readSync(fd, bytes, done, bytes.length - done, done);
      if (got === 0) return null;
      done += got;
    }
    return bytes;
  } finally {
    closeSync(fd);
  }
}

/** Makes names durable. Some file systems cannot; that costs nothing but power-cut safety. */
export function syncFolder(folder: string): void {
  try {
    const fd = openSync(folder, constants.O_RDONLY);
    try {
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
  } catch {
    // A folder that cannot be opened or synced: see above.
  }
}

/** Removes a file; one that is gone already is fine. */
export function removeFile(file: string): void {
  try {
    unlinkSync(file);
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error;
  }
}

export function lstatOrNull(file: string): Stats | null {
  return lstatSync(file, { throwIfNoEntry: false }) ?? null;
}

export function errnoOf(error: unknown): string | undefined {
  return error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
}

/** The words for what went wrong. */
export function whyOf(error: unknown): string {
  if (error instanceof QuarantineFault) return error.message;
  const code = errnoOf(error) ?? 'an unknown error';
  return REASONS[code] ?? `the system said ${code}`;
}

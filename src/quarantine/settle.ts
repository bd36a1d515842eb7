import { linkSync, lstatSync, readdirSync, readlinkSync, renameSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { sha256Hex } from '../sign/digest.ts';
import { MAX_ARTIFACT, putArtifact, readArtifact, retireArtifact } from './held.ts';
import {
  absoluteOf,
  captureFile,
  errnoOf,
  heldDir,
  isParentInside,
  lstatOrNull,
  makeHeldDir,
  makeParents,
  newToken,
  pendingFile,
  type QuarantineDir,
  QuarantineFault,
  RECORD_FILE,
  readPlain,
  removeFile,
  syncFolder,
  writeWhole,
} from './layout.ts';
import { MAX_RECORD, parseRecord, type QuarantineRecord, renderRecord } from './record.ts';

/** How a move ended. `changed`: what lay there was not what was judged, and it was put back. `gone`: nothing lay there any more. After either, `abandon`. `waiting`: the original was not taken yet. */
export type Settled =
  | { readonly moved: QuarantineRecord }
  | { readonly changed: true }
  | { readonly gone: true }
  | { readonly waiting: true };

/**
 * Brings a move under way to its end. Every step may already have been done, by this process before it was killed or by another one at the same time:
 *   pending file -> artifact.gz -> original renamed to the capture -> capture compared -> record linked -> capture removed -> sidecars -> pending file removed.
 * The capture goes only after the bytes are held and the record stands, so at every instant they are whole in one of the two places.
 * @param take whether to take the original away where that has not happened; a sweep does not: the file is judged again first.
 */
export function settle(dir: QuarantineDir, sha256: string, id: string, take: boolean): Settled {
  try {
    return step(dir, sha256, id, take);
  } catch (error) {
    const pending = pendingFile(dir, sha256, id);
    if (errnoOf(error) !== 'ENOENT' || lstatOrNull(pending) !== null) throw error;
    return settledElsewhere(dir, sha256, id, pending);
  }
}

function step(dir: QuarantineDir, sha256: string, id: string, take: boolean): Settled {
  const pending = pendingFile(dir, sha256, id);
  const record = readRecord(pending);
  if (record === null || record.sha256 !== sha256 || record.id !== id)
    return settledElsewhere(dir, sha256, id, pending);
  const capture = captureFile(dir, sha256, id, null);
  const original = absoluteOf(dir.root, record.path);
  if (lstatOrNull(capture) === null && linkedRecord(dir, sha256, pending) === null) {
    if (!take) return { waiting: true };
    if (!takeAway(dir, original, capture)) return { gone: true };
  }
  if (lstatOrNull(capture) !== null) {
    if (!isAsJudged(dir, capture, record)) {
      if (lstatOrNull(capture) === null) return step(dir, sha256, id, false);
      giveBack(dir, record, capture, original);
      return { changed: true };
    }
    linkRecord(dir, sha256, pending);
    removeFile(capture);
  }
  for (const index of record.sidecars.keys()) settleSidecar(dir, record, index);
  removeFile(pending);
  syncFolder(dir.path);
  return { moved: record };
}

/**
 * After a fault in mid-move: the original goes back to its place, unless the record stands already.
 * @returns whether the record stands, so that the artifact is held after all.
 */
export function undo(dir: QuarantineDir, sha256: string, id: string): boolean {
  const pending = pendingFile(dir, sha256, id);
  if (linkedRecord(dir, sha256, pending) !== null) return true;
  const record = readRecord(pending);
  const capture = captureFile(dir, sha256, id, null);
  if (record !== null && lstatOrNull(capture) !== null)
    giveBack(dir, record, capture, absoluteOf(dir.root, record.path));
  abandon(dir, sha256, id);
  return false;
}

/** The pending file is gone: another process ended this move. */
function settledElsewhere(dir: QuarantineDir, sha256: string, id: string, pending: string): Settled {
  if (lstatOrNull(pending) !== null) throw new QuarantineFault('a pending record is not readable');
  const folder = heldDir(dir, sha256);
  for (const name of lstatOrNull(folder) === null ? [] : readdirSync(folder)) {
    const record = RECORD_FILE.test(name) ? readRecord(path.join(folder, name)) : null;
    if (record?.id === id) return { moved: record };
  }
  return { changed: true };
}

/** @returns false where nothing lies there any more. */
function takeAway(dir: QuarantineDir, original: string, capture: string): boolean {
  const stat = lstatOrNull(original);
  if (stat === null) return false;
  if (!stat.isFile() && !stat.isSymbolicLink()) throw new QuarantineFault('it is not a regular file');
  if (!isParentInside(dir, original)) throw new QuarantineFault('a folder on its way leads out of the workspace');
  try {
    renameSync(original, capture);
    syncFolder(path.dirname(original));
    return true;
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return false;
    throw error;
  }
}

/** Compares what was taken with what was judged, and sees to it that those bytes are held. */
function isAsJudged(dir: QuarantineDir, capture: string, record: QuarantineRecord): boolean {
  if (record.link !== null) {
    const target = linkTarget(capture);
    return target !== null && toBase64(target) === record.link && readArtifact(dir, record.sha256) !== null;
  }
  const bytes = readPlain(capture, MAX_ARTIFACT);
  if (bytes === null || sha256Hex(bytes) !== record.sha256) return false;
  putArtifact(dir, record.sha256, bytes);
  return true;
}

/** Puts something taken by mistake back where it was, over nothing. Where the name is taken by now, it is held under its own digest instead. */
function giveBack(dir: QuarantineDir, record: QuarantineRecord, capture: string, original: string): void {
  try {
    if (lstatOrNull(path.dirname(original)) === null) makeParents(dir.root, record.path);
    if (!isParentInside(dir, original)) throw new QuarantineFault('the folder it came from leads elsewhere');
    const stat = lstatSync(capture);
    const target = linkTarget(capture);
    if (target !== null) symlinkSync(target, original);
    else if (stat.isFile()) linkSync(capture, original);
    else if (lstatOrNull(original) === null) renameSync(capture, original);
    else throw new QuarantineFault('it is not a regular file, and its name is taken');
    syncFolder(path.dirname(original));
  } catch (error) {
    if (lstatOrNull(capture) === null) return;
    if (errnoOf(error) !== 'EEXIST' && !(error instanceof QuarantineFault)) throw error;
    if (!isSameFile(capture, original)) holdApart(dir, record, capture);
  }
  removeFile(capture);
}

function holdApart(dir: QuarantineDir, record: QuarantineRecord, capture: string): void {
  const target = linkTarget(capture);
  const bytes = target === null ? readPlain(capture, MAX_ARTIFACT) : Buffer.alloc(0);
  if (bytes === null) throw new QuarantineFault('what was taken can be neither put back nor held');
  const sha256 = sha256Hex(bytes);
  const findings = [{ code: 'changed-while-reading', line: null, column: null }] as const;
  const link = target === null ? null : toBase64(target);
  const mode = lstatSync(capture).mode & 0o777;
  const apart = {
    ...record,
    id: newToken(),
    sha256,
    bytes: bytes.length,
    mode,
    link,
    class: null,
    findings,
    writer: null,
    sidecars: [],
  };
  const pending = pendingFile(dir, sha256, apart.id);
  writeWhole(dir, pending, Buffer.from(renderRecord(apart)), 0o600, 'new');
  putArtifact(dir, sha256, bytes);
  linkRecord(dir, sha256, pending);
  removeFile(pending);
}

function settleSidecar(dir: QuarantineDir, record: QuarantineRecord, index: number): void {
  const sidecar = record.sidecars[index];
  if (sidecar === undefined) return;
  const capture = captureFile(dir, record.sha256, record.id, index);
  const original = absoluteOf(dir.root, record.path + sidecar.suffix);
  if (lstatOrNull(capture) === null && !takeSidecar(dir, original, capture)) return;
  const bytes = readPlain(capture, MAX_ARTIFACT);
  if (bytes !== null && sha256Hex(bytes) === sidecar.sha256) removeFile(capture);
  else if (lstatOrNull(capture) !== null)
    giveBack(dir, { ...record, path: record.path + sidecar.suffix }, capture, original);
}

/** A sidecar that is anything but a plain file stays: it was not what was judged. */
function takeSidecar(dir: QuarantineDir, original: string, capture: string): boolean {
  return lstatOrNull(original)?.isFile() === true && takeAway(dir, original, capture);
}

/** Gives the pending file its place among the records; doing it twice gives one record. */
function linkRecord(dir: QuarantineDir, sha256: string, pending: string): void {
  const folder = makeHeldDir(dir, sha256);
  for (let n = 1; linkedRecord(dir, sha256, pending) === null; n += 1) {
    try {
      linkSync(pending, path.join(folder, `record-${n}.json`));
    } catch (error) {
      if (errnoOf(error) !== 'EEXIST') throw error;
    }
  }
  syncFolder(folder);
}

/** @returns the record file that is this very pending file, or null. */
function linkedRecord(dir: QuarantineDir, sha256: string, pending: string): string | null {
  const folder = heldDir(dir, sha256);
  if (lstatOrNull(folder) === null) return null;
  const names = readdirSync(folder).filter((name) => RECORD_FILE.test(name));
  return names.find((name) => isSameFile(path.join(folder, name), pending)) ?? null;
}

/** Drops a move that took nothing away, or gave it back. The pending file goes last, so that a sweep finds what is left to do. */
export function abandon(dir: QuarantineDir, sha256: string, id: string): void {
  retireArtifact(dir, sha256, id);
  removeFile(pendingFile(dir, sha256, id));
}

function readRecord(file: string): QuarantineRecord | null {
  const bytes = readPlain(file, MAX_RECORD);
  return bytes === null ? null : parseRecord(bytes);
}

function isSameFile(a: string, b: string): boolean {
  const [left, right] = [lstatOrNull(a), lstatOrNull(b)];
  return left !== null && right !== null && left.ino === right.ino && left.dev === right.dev;
}

function linkTarget(file: string): string | null {
  try {
    return readlinkSync(file);
  } catch {
    return null;
  }
}

export function toBase64(text: string): string {
  return Buffer.from(text, 'utf8').toString('base64');
}

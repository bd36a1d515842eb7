import { linkSync, readdirSync, renameSync, rmdirSync } from 'node:fs';
import path from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { sha256Hex } from '../sign/digest.ts';
import {
  errnoOf,
  heldDir,
  lstatOrNull,
  makeHeldDir,
  type QuarantineDir,
  RECORD_FILE,
  readPlain,
  removeFile,
  retiredFile,
  toInFlight,
  writeWhole,
} from './layout.ts';

/** Largest artifact held, bytes; also the most that is ever inflated. */
export const MAX_ARTIFACT = 64 * 1024 * 1024;
const GZIP_SLACK = 1024 * 1024;
const OS_BYTE = 9;

export function artifactFile(dir: QuarantineDir, sha256: string): string {
  return path.join(heldDir(dir, sha256), 'artifact.gz');
}

/** The same bytes give the same file on every machine: gzip's clock is zero already, its system byte is made `unknown`. */
export function compress(bytes: Uint8Array): Buffer {
  const packed = gzipSync(bytes, { level: 9 });
  packed[OS_BYTE] = 255;
  return packed;
}

/** @returns the bytes, or null unless they inflate to at most `max` bytes of exactly this digest. */
export function decompress(packed: Uint8Array, sha256: string, max: number): Buffer | null {
  try {
    const bytes = gunzipSync(packed, { maxOutputLength: max });
    return sha256Hex(bytes) === sha256 ? bytes : null;
  } catch {
    return null;
  }
}

/** @returns the exact bytes held under a digest, or null where they are not there or not these. */
export function readArtifact(dir: QuarantineDir, sha256: string): Buffer | null {
  const packed = readPlain(artifactFile(dir, sha256), MAX_ARTIFACT + GZIP_SLACK);
  return packed === null ? null : decompress(packed, sha256, MAX_ARTIFACT);
}

/** Sees to it that the bytes are held, whole. Something else under that name cannot be this artifact and is replaced. */
export function putArtifact(dir: QuarantineDir, sha256: string, bytes: Uint8Array): void {
  makeHeldDir(dir, sha256);
  if (readArtifact(dir, sha256) !== null) return;
  writeWhole(dir, artifactFile(dir, sha256), compress(bytes), 0o600, 'replace');
}

/** Who still says he needs the bytes is left out where it is the asker himself: `moving` a move by its id, `record` a record by its file name. */
interface Except {
  readonly moving?: string;
  readonly record?: string;
}

/**
 * Drops the bytes of a digest that no record and no other move needs.
 * A move writes its pending file before it looks whether the bytes are held; so whoever relied on them before the rename here is seen after it.
 * @param moving the id of the move that asks, whose pending file does not count.
 */
export function retireArtifact(dir: QuarantineDir, sha256: string, moving: string): void {
  const retired = setAside(dir, sha256, { moving });
  if (retired !== null) settleRetired(dir, sha256, retired, { moving });
  removeFolder(dir, sha256);
}

/** Removes a record, and the bytes where no other needs them. The bytes are set aside first: cut off anywhere, a sweep finds them and sees whether the record still stands. */
export function dropHeld(dir: QuarantineDir, sha256: string, record: string): void {
  const retired = setAside(dir, sha256, { record });
  removeFile(path.join(heldDir(dir, sha256), record));
  if (retired !== null) settleRetired(dir, sha256, retired, {});
  removeFolder(dir, sha256);
}

/** Finishes a retirement that may have been cut off: back into place where the bytes are needed, else gone. */
export function settleRetired(dir: QuarantineDir, sha256: string, retired: string, except: Except): void {
  // Twice: a listing that runs while a pending file turns into a record may miss both, the next one cannot.
  if (isNeeded(dir, sha256, except) || isNeeded(dir, sha256, except)) {
    try {
      linkSync(retired, artifactFile(dir, sha256));
    } catch (error) {
      const code = errnoOf(error);
      if (code !== 'EEXIST' && code !== 'ENOENT') throw error;
    }
  }
  removeFile(retired);
}

/** @returns null where the bytes are needed, or not there. */
function setAside(dir: QuarantineDir, sha256: string, except: Except): string | null {
  if (isNeeded(dir, sha256, except)) return null;
  const retired = retiredFile(dir, sha256);
  try {
    renameSync(artifactFile(dir, sha256), retired);
    return retired;
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error;
    return null;
  }
}

function removeFolder(dir: QuarantineDir, sha256: string): void {
  try {
    rmdirSync(heldDir(dir, sha256));
  } catch {
    // Needed again, or never made.
  }
}

function isNeeded(dir: QuarantineDir, sha256: string, except: Except): boolean {
  const moving = readdirSync(dir.path).some((name) => {
    const found = toInFlight(name);
    return found?.sha256 === sha256 && found.kind !== 'retired' && found.id !== except.moving;
  });
  if (moving) return true;
  const folder = heldDir(dir, sha256);
  if (lstatOrNull(folder) === null) return false;
  return readdirSync(folder).some((name) => RECORD_FILE.test(name) && name !== except.record);
}

import { readFileSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import type { WorkspaceRoot } from '../files/workspace-root.ts';
import {
  absoluteOf,
  errnoOf,
  findQuarantine,
  isArtifactPath,
  lstatOrNull,
  makeParents,
  type QuarantineDir,
  QuarantineFault,
  removeFile,
  whyOf,
  writeWhole,
} from './layout.ts';
import type { Held, Refused } from './list.ts';
import { dropRecord } from './purge.ts';

export interface Restored {
  /** Workspace-relative. */
  readonly path: string;
  readonly sha256: string;
}

/**
 * Writes a held artifact back and drops its record. Takes what `openHeld` gave and the caller judged again, so that the bytes judged are the bytes written.
 * Never over an existing file, never outside the workspace, never through a link.
 * @param to workspace-relative, or null for the path it came from.
 */
export function restore(root: WorkspaceRoot, held: Held, to: string | null): Restored | Refused {
  const target = to ?? held.record.path;
  if (!isArtifactPath(target))
    return { refused: 'that path lies outside the workspace or belongs to git or quarantine' };
  try {
    const dir = findQuarantine(root);
    if (dir === null) return { refused: 'nothing is held' };
    makeParents(root, target);
    writeBack(dir, held, target);
  } catch (error) {
    return { refused: errnoOf(error) === 'EEXIST' ? 'a file lies there already' : whyOf(error) };
  }
  const dropped = dropRecord(root, held);
  return 'refused' in dropped ? dropped : { path: target, sha256: held.record.sha256 };
}

/** The manifests first: an artifact must not be seen without its own. */
function writeBack(dir: QuarantineDir, held: Held, target: string): void {
  const absolute = absoluteOf(dir.root, target);
  if (lstatOrNull(absolute) !== null) throw new QuarantineFault('a file lies there already');
  const written: string[] = [];
  try {
    for (const sidecar of held.sidecars) {
      const beside = absolute + sidecar.suffix;
      if (holds(beside, sidecar.bytes)) continue;
      writeWhole(dir, beside, sidecar.bytes, sidecar.mode, 'new');
      written.push(beside);
    }
    if (held.record.link === null) writeWhole(dir, absolute, held.bytes, held.record.mode, 'new');
    else symlinkSync(innerTarget(held.record.link, target), absolute);
  } catch (error) {
    for (const beside of written) removeFile(beside);
    throw error;
  }
}

/** A link goes back only where it stays in the workspace by its spelling. */
function innerTarget(link: string, target: string): string {
  const spelt = Buffer.from(link, 'base64').toString('utf8');
  const leads = path.posix.normalize(path.posix.join(path.posix.dirname(target), spelt));
  if (path.isAbsolute(spelt) || !isArtifactPath(leads))
    throw new QuarantineFault('it was a link that leads out of the workspace');
  return spelt;
}

function holds(file: string, bytes: Uint8Array): boolean {
  return lstatOrNull(file)?.isFile() === true && Buffer.compare(readFileSync(file), bytes) === 0;
}

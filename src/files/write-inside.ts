import { closeSync, constants, lstatSync, mkdirSync, openSync, readlinkSync, realpathSync } from 'node:fs';
import type { Finding } from '../model/finding.ts';
import { followLinks } from './follow-links.ts';
import { escapes, isPlainRelative, reasonOf, unreadable } from './open-file.ts';
import type { WorkspaceRoot } from './workspace-root.ts';
import { syncFolder, writeInFolder } from './write-atomic.ts';

const FOLDER_MODE = 0o755;

/**
 * Writes a file of the workspace atomically, missing parent folders included. An existing file keeps its permission bits; `mode` is for a new one.
 * @returns null when it is written, or why it was refused: the path or a link among its parents leaves the workspace, or something that is no
 * regular file lies there (a link too: write the file it leads to). Throws the system error where the disk refuses.
 */
export function writeInside(
  root: WorkspaceRoot,
  path: string,
  bytes: Uint8Array | string,
  mode: number,
): Finding | null {
  if (!isPlainRelative(path)) return escapes(path, 'it is not a path inside the workspace').finding;
  const cut = path.lastIndexOf('/');
  const folder = makeFolders(root, path, cut === -1 ? [] : path.slice(0, cut).split('/'));
  if (typeof folder !== 'string') return folder;
  const name = path.slice(cut + 1);
  if (process.platform === 'win32') {
    return write(folder, name, path, bytes, mode);
  }
  const fd = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    const handle = handleOf(fd, folder);
    if (handle === null) return escapes(path, 'a folder on its way was swapped').finding;
    return write(handle, name, path, bytes, mode);
  } finally {
    closeSync(fd);
  }
}

function write(folder: string, name: string, path: string, bytes: Uint8Array | string, mode: number): Finding | null {
  const there = lstatSync(`${folder}/${name}`, { throwIfNoEntry: false });
  if (there && !there.isFile()) {
    return unreadable(
      path,
      there.isSymbolicLink() ? 'it is a link; name the file it leads to' : 'it is no regular file',
    ).finding;
  }
  writeInFolder(folder, name, bytes, there ? there.mode : mode);
  return null;
}

/** Creates what is missing, one level at a time, each below a folder whose links have been followed. Returns the absolute folder. */
function makeFolders(root: WorkspaceRoot, path: string, parts: readonly string[]): string | Finding {
  let real = '';
  for (const part of parts) {
    const next = real === '' ? part : `${real}/${part}`;
    const found = followLinks(root, next);
    if ('leaves' in found) return escapes(path, 'a link on its way leaves the workspace').finding;
    if ('path' in found) {
      real = found.path;
      continue;
    }
    const absolute = `${root.path}/${next}`;
    if (found.code !== 'ENOENT' || lstatSync(absolute, { throwIfNoEntry: false })) {
      return unreadable(path, reasonOf(found.code)).finding;
    }
    mkdirSync(absolute, { mode: FOLDER_MODE });
    syncFolder(real === '' ? root.path : `${root.path}/${real}`);
    real = next;
  }
  const folder = real === '' ? root.path : `${root.path}/${real}`;
  return lstatSync(folder).isDirectory() ? folder : unreadable(path, reasonOf('ENOTDIR')).finding;
}

/** A path that stays bound to the open folder whatever is renamed meanwhile; null where the folder is not where it should be. */
function handleOf(fd: number, folder: string): string | null {
  const handle = `/proc/self/fd/${fd}`;
  let place: string;
  try {
    place = readlinkSync(handle);
  } catch {
    // No /proc: the name is all there is, checked once more.
    return realpathSync.native(folder) === folder ? folder : null;
  }
  return place === folder ? handle : null;
}

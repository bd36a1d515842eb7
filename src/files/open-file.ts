import { closeSync, constants, fstatSync, lstatSync, openSync, readlinkSync, realpathSync } from 'node:fs';
import { finding } from '../model/codes.ts';
import { escapePath } from '../model/escaped.ts';
import type { Unread } from '../model/source.ts';
import { followLinks } from './follow-links.ts';
import type { WorkspaceRoot } from './workspace-root.ts';

/** An open regular file of which it is known where in the workspace it lies. Whoever gets it closes `fd`. */
export interface OpenFile {
  readonly fd: number;
  readonly facts: FileFacts;
  /** Where the name or a folder on the way is a link: the workspace-relative file it leads to. */
  readonly aliasOf: string | null;
}

/** What one `fstat` told. */
export interface FileFacts {
  readonly size: number;
  /** POSIX permission bits. */
  readonly mode: number;
  readonly links: number;
  /** Milliseconds with their fraction: finer than a file system's own clock ticks, and cheaper to ask for than nanoseconds. */
  readonly mtime: number;
  readonly ctime: number;
}

const READ = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);
const READ_NO_LINK = READ | (constants.O_NOFOLLOW ?? 0);
const KINDS: Readonly<Record<number, string>> = {
  [constants.S_IFDIR]: 'it is a folder',
  [constants.S_IFIFO]: 'it is a FIFO',
  [constants.S_IFSOCK]: 'it is a socket',
  [constants.S_IFCHR]: 'it is a device',
  [constants.S_IFBLK]: 'it is a device',
  [constants.S_IFLNK]: 'it is a link',
};
const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'it does not exist',
  ENOTDIR: 'a folder on the way is not a folder',
  EACCES: 'no permission',
  EPERM: 'no permission',
  ELOOP: 'its links run in a circle',
  EMLINK: 'its links run in a circle',
  ENXIO: 'it is a socket or a device nobody serves',
  ENAMETOOLONG: 'its path is too long',
  EISDIR: 'it is a folder',
  ERR_INVALID_ARG_VALUE: 'its name holds a NUL byte',
};

/**
 * Opens a regular file of the workspace for reading, and proves that it lies in it: no `..`, no link that leaves, no folder swapped on the way
 * (facts 7.4). Links that stay inside are followed and told. Nothing blocks: a FIFO is refused, not waited for.
 */
export function openInside(root: WorkspaceRoot, path: string): OpenFile | Unread {
  if (!isPlainRelative(path)) return escapes(path, 'it is not a path inside the workspace');
  const expected = absoluteOf(root, path);
  const first = tryOpen(expected, READ_NO_LINK);
  if (typeof first === 'number') {
    if (placeOf(first, expected) === expected) return judged(first, path, null);
    closeSync(first);
  } else if (first !== 'ELOOP' && first !== 'EMLINK' && first !== 'ENOENT' && first !== 'ENOTDIR') {
    return unreadable(path, reasonOf(first));
  }
  const target = followLinks(root, path);
  if ('leaves' in target) return escapes(path, 'a link on its way leaves the workspace');
  if ('code' in target) {
    const dangling = target.code === 'ENOENT' && (first === 'ELOOP' || first === 'EMLINK');
    return unreadable(path, dangling ? 'it is a link to nothing' : reasonOf(target.code));
  }
  return openTarget(root, path, target.path);
}

function openTarget(root: WorkspaceRoot, path: string, target: string): OpenFile | Unread {
  const expected = absoluteOf(root, target);
  const fd = tryOpen(expected, READ_NO_LINK);
  if (typeof fd === 'string') return unreadable(path, reasonOf(fd));
  const place = placeOf(fd, expected);
  if (place === expected) return judged(fd, path, target === path ? null : target);
  // A file system that ignores case or composition names the same file differently; everything else means that a folder was swapped.
  if (place !== null && folded(place) === folded(expected)) {
    return judged(fd, path, place.slice(root.path.length + 1).replaceAll('\\', '/'));
  }
  closeSync(fd);
  return changed(path);
}

function judged(fd: number, path: string, aliasOf: string | null): OpenFile | Unread {
  const facts = factsOf(fd);
  if (typeof facts !== 'string' && facts.links > 0) return { fd, facts, aliasOf };
  closeSync(fd);
  return typeof facts === 'string' ? unreadable(path, facts) : changed(path);
}

/** Opens a regular file by absolute path, links followed: for files of the user's home, of ancestors and of configuration. */
export function openOutside(path: string): OpenFile | Unread {
  const fd = tryOpen(path, READ);
  if (typeof fd === 'string') return unreadable(path, reasonOf(fd));
  const facts = factsOf(fd);
  if (typeof facts !== 'string') return { fd, facts, aliasOf: null };
  closeSync(fd);
  return unreadable(path, facts);
}

/** @returns the facts of an open regular file, or why it is none. */
export function factsOf(fd: number): FileFacts | string {
  const stat = fstatSync(fd);
  const { mode } = stat;
  const kind = mode & constants.S_IFMT;
  if (kind !== constants.S_IFREG) return KINDS[kind] ?? 'it is not a regular file';
  return {
    size: stat.size,
    mode: mode & 0o777,
    links: stat.nlink,
    mtime: stat.mtimeMs,
    ctime: stat.ctimeMs,
  };
}

/** @returns whether nothing touched the file between two `fstat`s of the same descriptor. */
export function isUnmoved(before: FileFacts, after: FileFacts | string): boolean {
  return (
    typeof after !== 'string' &&
    before.size === after.size &&
    before.mtime === after.mtime &&
    before.ctime === after.ctime
  );
}

/** The finding for a path that can't be read as a regular file. */
export function unreadable(path: string, why: string): Unread {
  return { finding: finding('path-unreadable', { message: `${escapePath(path)} could not be read: ${why}.` }) };
}

/** The finding for a file that changed under the read. */
export function changed(path: string): Unread {
  return {
    finding: finding('changed-while-reading', { message: `${escapePath(path)} changed while it was being read.` }),
  };
}

/** The finding for a file over the limit, with both sizes. */
export function tooLarge(path: string, size: number, maxBytes: number): Unread {
  const message = `${escapePath(path)} has ${size} bytes; the limit is ${maxBytes}.`;
  return { finding: finding('too-large', { message }) };
}

/** The finding for a path that leads out of the workspace. */
export function escapes(path: string, why: string): Unread {
  return {
    finding: finding('path-escapes-root', { message: `${escapePath(path)} leads out of the workspace: ${why}.` }),
  };
}

/** @returns the absolute form of a workspace-relative path. */
function absoluteOf(root: WorkspaceRoot, path: string): string {
  return root.path.endsWith('/') ? root.path + path : `${root.path}/${path}`;
}

/** @returns whether a workspace-relative path names something below the root without `.`, `..`, empty parts or, on Windows, drive, stream and separator tricks. */
export function isPlainRelative(path: string): boolean {
  if (path === '' || path.startsWith('/')) return false;
  if (process.platform === 'win32' && /[:\\]/.test(path)) return false;
  return !/(?:^|\/)\.{0,2}(?:\/|$)/.test(path);
}

/** @returns the words for a system error. */
export function reasonOf(code: string): string {
  return REASONS[code] ?? `the system said ${code}`;
}

function tryOpen(path: string, flags: number): number | string {
  try {
    return openSync(path, flags);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'an unknown error';
  }
}

let hasProc = process.platform === 'linux';

/** Where an open file really lies, or null where that can't be found out. Without /proc: the real path of the name, if it still leads to the same file. */
function placeOf(fd: number, path: string): string | null {
  if (hasProc) {
    try {
      const place = readlinkSync(`/proc/self/fd/${fd}`);
      if (place.startsWith('/')) return place;
    } catch {
      hasProc = false;
    }
  }
  try {
    const real = realpathSync.native(path);
    const there = lstatSync(real, { bigint: true });
    const here = fstatSync(fd, { bigint: true });
    if (there.dev !== here.dev || there.ino !== here.ino) return null;
    return process.platform === 'win32' && folded(real) === folded(path) ? path : real;
  } catch {
    return null;
  }
}

function folded(path: string): string {
  return path.replaceAll('\\', '/').normalize('NFC').toLowerCase();
}

import { lstatSync, mkdtempSync, readdirSync, readlinkSync, realpathSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { isAlive } from '../files/is-alive.ts';
import { makeFolder } from '../files/make-folder.ts';
import { isInside, type WorkspaceRoot } from '../files/workspace-root.ts';
import { writeAtomic } from '../files/write-atomic.ts';

/** A folder that only this user reads, outside the workspace, gone when the start it was made for ends. */
export interface PrivateFolder {
  readonly path: string;
  /** Writes a file with mode 0600. @returns its path. */
  write(name: string, content: string | Uint8Array): string;
  /** Takes it away with all that is in it; may be called again. Throws nothing: there is nobody left to tell. */
  remove(): void;
}

const PREFIX = 'writ-exec-';

/**
 * Makes the folder in the first of some places that lies outside the workspace.
 * @param places absolute paths, best first.
 * @returns null where none of them will do.
 */
export function makePrivateFolder(root: WorkspaceRoot, places: readonly string[]): PrivateFolder | null {
  for (const place of places) {
    try {
      makeFolder(place, 0o700);
      const real = realpathSync.native(place);
      if (isInside(root.path, real)) continue;
      sweep(real);
      // mkdtemp makes it with mode 0700, whatever the umask allows.
      return folderAt(mkdtempSync(join(real, `${PREFIX}${namespace()}-${process.pid}-`)));
    } catch {
      // The next place may do.
    }
  }
  return null;
}

function folderAt(path: string): PrivateFolder {
  return {
    path,
    write(name, content) {
      const file = join(path, name);
      writeAtomic(file, content, 0o600);
      return file;
    },
    remove() {
      try {
        rmSync(path, { recursive: true, force: true });
      } catch {
        // A later start sweeps what is left.
      }
    },
  };
}

/** Takes away what a start left that was killed. Only folders of this user whose process is gone, and of this space of process numbers. */
function sweep(place: string): void {
  const own = `${PREFIX}${namespace()}-`;
  for (const name of readdirSync(place)) {
    const pid = name.startsWith(own) ? Number(/^\d+(?=-)/.exec(name.slice(own.length))?.[0] ?? 0) : 0;
    if (pid === 0 || isAlive(pid)) continue;
    const path = join(place, name);
    const there = lstatSync(path, { throwIfNoEntry: false });
    if (there?.isDirectory() && there.uid === process.getuid?.()) rmSync(path, { recursive: true, force: true });
  }
}

/** Containers that share a folder for temporary files count processes apart. */
function namespace(): string {
  try {
    return /\d+/.exec(readlinkSync('/proc/self/ns/pid'))?.[0] ?? '0';
  } catch {
    return '0';
  }
}

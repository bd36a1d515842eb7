import { lstatSync, realpathSync } from 'node:fs';
import { isDependencyFolder } from '../discover/nested.ts';
import { Kept } from '../files/kept.ts';
import { openRoot } from '../files/workspace-root.ts';
import { type Following, followFolders, type Noticed } from './follow-folders.ts';

/** The root as it was opened, and what belongs to this very folder. */
export interface Opened {
  readonly path: string;
  readonly identity: string;
  readonly kept: Kept;
  /** Null where nothing tells of changes and everything is looked at. */
  readonly following: Following | null;
}

/** @returns null where there is no such folder now. */
export function openPlace(
  place: string,
  tell: { readonly onChange: (noticed: Noticed) => void; readonly onFault: (error: Error) => void } | null,
): Opened | null {
  try {
    const { path } = openRoot(place);
    // What tells of changes tells nothing of trees of dependencies; who looks at everything has to list them too.
    const kept = new Kept(path, (folder) => tell !== null && folder.split('/').slice(0, -1).some(isDependencyFolder));
    const following = tell === null ? null : followFolders(path, tell.onChange, tell.onFault);
    return { path, identity: identityOf(path), kept, following };
  } catch {
    return null;
  }
}

/** Whether the place leads to another folder than the one opened, or to none. */
export function isOther(place: string, { path, identity }: Opened): boolean {
  try {
    return realpathSync.native(place) !== path || identityOf(path) !== identity;
  } catch {
    return true;
  }
}

function identityOf(path: string): string {
  const { dev, ino, birthtimeMs } = lstatSync(path);
  return `${dev}:${ino}:${birthtimeMs}`;
}

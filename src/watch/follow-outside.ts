import { basename, join } from 'node:path';
import { findRepository } from '../git/repository.ts';
import type { Places } from '../model/settings.ts';
import { PINS_FILE } from '../policy/pins.ts';

/** What is followed outside the folders of a workspace. */
export interface FollowingOutside {
  close(): Promise<void>;
}

/**
 * Follows the few files outside a workspace that decide about all of it: the pins of this machine and the commit that is checked out. They are looked at
 * once a second as well, so an event that gets lost costs a second and no more; a fault of the watcher costs no more than that either.
 * @param root real path of the workspace.
 * @param pollMs looks so often instead of being told; null: is told.
 */
export async function followOutside(
  { root, places, pollMs }: { readonly root: string; readonly places: Places; readonly pollMs: number | null },
  onChange: () => void,
): Promise<FollowingOutside> {
  const { watch } = await import('chokidar');
  const repository = findRepository(root);
  const wanted = new Set([PINS_FILE, 'HEAD', 'packed-refs']);
  const folders = [places.systemDir, places.configDir, ...(repository === null ? [] : [repository.gitDir])];
  const watcher = watch(folders, {
    ignoreInitial: true,
    followSymlinks: false,
    depth: 0,
    usePolling: pollMs !== null,
    interval: pollMs ?? 100,
    ignored: (path) => !folders.includes(path) && !(wanted.has(basename(path)) && folders.includes(join(path, '..'))),
  });
  watcher.on('all', onChange);
  watcher.on('error', () => undefined);
  return { close: () => watcher.close() };
}

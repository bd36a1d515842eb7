import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { discoverOutside } from '../discover/outside.ts';
import { readHead, shallowStamp } from '../git/head.ts';
import { findRepository } from '../git/repository.ts';
import type { Places } from '../model/settings.ts';
import { PINS_FILE } from '../policy/pins.ts';
import type { StateLocation } from '../store/location.ts';

/** What to look at besides the workspace itself. */
export interface Lookout {
  readonly root: string;
  readonly places: Places;
  readonly state: StateLocation;
  /** Profiles that apply; null: all. */
  readonly hosts: readonly string[] | null;
}

/**
 * One text that is another as soon as something outside the folders of the workspace is another that verdicts depend on: pins and settings of
 * this machine, what other runs of writ remembered, HEAD, and what hosts load from the home, the system and the folders above. These
 * are few files in places that are busy with other things, so they are looked at, not watched.
 */
export function lookOutside({ root, places, state, hosts }: Lookout): string {
  const repository = findRepository(root);
  const head = repository === null ? 'none' : readHead(repository);
  return [
    stampOf(join(places.systemDir, PINS_FILE)),
    stampOf(join(places.configDir, PINS_FILE)),
    state.kind === 'sqlite' ? stampOf(state.file) : state.kind,
    repository === null ? '' : `${repository.gitDir} ${shallowStamp(repository)}`,
    typeof head === 'string' ? head : head.commit,
    ...discoverOutside({ home: places.home, start: root, hosts }).map(({ path }) => `${path} ${stampOf(path)}`),
  ].join('\n');
}

function stampOf(path: string): string {
  try {
    const { dev, ino, mode, size, mtimeMs, ctimeMs } = lstatSync(path);
    return `${dev}:${ino}:${mode}:${size}:${mtimeMs}:${ctimeMs}`;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'none';
  }
}

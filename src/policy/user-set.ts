import { lstatSync, realpathSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { Pins } from './pins.ts';
import { SET_FILE } from './set-file.ts';

/** Where the user's own set lies, relative to the home. */
export const USER_DIR = '.config/writ/user';
/**
 * What every id of a user's set begins with. Such a pin decides over the home and nowhere else, and no other pin over the home: a repo that brings a copy
 * of somebody's set along, or a set of a repo that is copied into the home, is judged by nobody's word.
 */
export const USER_ID = 'user/';

/** Real home, and where its set lies or would lie, relative to that home; null where there is no home, or a link leads the folder out of it. */
export interface UserPlace {
  readonly home: string;
  readonly dir: string;
}

/** @returns the place of the user's set; null where the home is not there or its set would lie outside it. */
export function userPlace(home: string): UserPlace | null {
  try {
    const real = realpathSync.native(home);
    const dir = relative(real, realOrMissing(join(real, USER_DIR))).replaceAll('\\', '/');
    return dir === '' || dir.startsWith('..') || dir.startsWith('/') ? null : { home: real, dir };
  } catch {
    return null;
  }
}

/** @returns whether a set of the user's own is there, as far as its file goes. */
export function hasUserSet({ home, dir }: UserPlace): boolean {
  try {
    return lstatSync(join(home, dir, SET_FILE), { throwIfNoEntry: false }) !== undefined;
  } catch {
    // There and out of reach: the judgement under it says so.
    return true;
  }
}

/** The pins that may decide: over the home only those of a user's set that lie in a file, elsewhere only the others. */
export function pinsFor(pins: Pins, user: boolean): Pins {
  const kept = pins.pins.filter(
    (pin) => pin.workspace.startsWith(USER_ID) === user && !(user && pin.from === 'environment'),
  );
  return kept.length === pins.pins.length ? pins : { ...pins, pins: kept };
}

function realOrMissing(path: string): string {
  try {
    return realpathSync.native(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    const cut = path.lastIndexOf('/');
    if (cut <= 0) throw error;
    return `${realOrMissing(path.slice(0, cut))}/${path.slice(cut + 1)}`;
  }
}

import { realpathSync } from 'node:fs';
import { isAbsolute, join, relative } from 'node:path';
import type { Candidate } from '../model/source.ts';
import type { Discovery } from './discover.ts';
import { kindByName } from './matcher.ts';
import type { MovedHome } from './moved-homes.ts';
import { discoverOutside } from './outside.ts';

export interface UserInput {
  /** Real path of the home. */
  readonly home: string;
  readonly moved: readonly MovedHome[];
  /** Where a session would start: its ancestors and its memory folder count. */
  readonly start: string;
  readonly hosts: readonly string[] | null;
  /** Home-relative paths to judge, a folder for what hosts load below it; null: everything hosts load from the home. */
  readonly paths: readonly string[] | null;
}

/**
 * What hosts load from the home, as candidates of the user's own set: paths are relative to the home. What really lies outside the home, behind a
 * link, is left out: no set of the user speaks for it.
 */
export function discoverUser({ home, moved, start, hosts, paths }: UserInput): Discovery {
  const all = discoverOutside({ home, moved, start, topLevel: null, hosts }).flatMap((one): readonly Candidate[] => {
    const path = insideHome(home, one.path);
    return path === null ? [] : [{ ...one, path, outside: false }];
  });
  const candidates = paths === null ? all : paths.flatMap((path) => named(all, path));
  const unique = new Map(candidates.map((one) => [one.path, one]));
  return {
    candidates: [...unique.values()].sort((a, b) => (a.path < b.path ? -1 : 1)),
    findings: [],
    present: [],
    sidecars: new Map(),
    orphans: [],
  };
}

/** @returns the home-relative spelling of an absolute path that also really lies in the home, or null. */
function insideHome(home: string, absolute: string): string | null {
  const path = below(home, absolute);
  if (path === null) return null;
  try {
    return below(home, realpathSync.native(absolute)) === null ? null : path;
  } catch {
    return path;
  }
}

function below(home: string, absolute: string): string | null {
  const path = relative(home, absolute);
  return path === '' || path === '..' || path.startsWith('../') || isAbsolute(path) ? null : path.replaceAll('\\', '/');
}

function named(all: readonly Candidate[], path: string): readonly Candidate[] {
  const found = all.filter((one) => one.path === path || one.path.startsWith(`${path === '.' ? '' : `${path}/`}`));
  if (found.length > 0) return found;
  return [
    {
      path,
      kind: kindByName(join('/', path)),
      uses: [],
      nested: null,
      confusableWith: null,
      outside: false,
      importHops: 0,
    },
  ];
}

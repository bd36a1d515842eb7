import { createHash } from 'node:crypto';
import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { Repository } from './repository.ts';

/** What all work trees of a repository share besides objects: a digest by name. */
export type SharedState = ReadonlyMap<string, string>;

const MAX_ENTRIES = 100_000;
const MAX_BYTES = 134_217_728;
/** What runs programs or changes what git does for everybody who works here. */
const STEERING = ['config', 'config.worktree', 'hooks', 'info'] as const;
const REFS = ['HEAD', 'refs', 'packed-refs'] as const;

/** Reads what a process in one work tree could change for all of them. What cannot be read counts by that. Throws nothing. */
export function readShared({ commonDir }: Repository): { readonly steering: SharedState; readonly refs: SharedState } {
  const read = (names: readonly string[]): SharedState => {
    const found = new Map<string, string>();
    for (const name of names) collect(commonDir, name, found);
    return found;
  };
  return { steering: read(STEERING), refs: read(REFS) };
}

/** @returns the names that differ between two readings, sorted. */
export function differences(before: SharedState, after: SharedState): readonly string[] {
  return [...new Set([...before.keys(), ...after.keys()])]
    .filter((name) => before.get(name) !== after.get(name))
    .sort();
}

function collect(folder: string, name: string, found: Map<string, string>): void {
  if (found.size >= MAX_ENTRIES) return;
  const path = join(folder, name);
  try {
    const stat = lstatSync(path);
    if (stat.isDirectory()) {
      for (const entry of readdirSync(path).sort()) collect(folder, `${name}/${entry}`, found);
    } else if (stat.isSymbolicLink()) found.set(name, `link ${readlinkSync(path)}`);
    else if (!stat.isFile() || stat.size > MAX_BYTES) found.set(name, `${stat.mode} ${stat.size} ${stat.mtimeMs}`);
    else found.set(name, `${stat.mode} ${createHash('sha256').update(readFileSync(path)).digest('hex')}`);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT') found.set(name, `unreadable ${code}`);
  }
}

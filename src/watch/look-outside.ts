import { lstatSync, type Stats, statSync } from 'node:fs';
import { join } from 'node:path';
import { discoverOutside } from '../discover/outside.ts';
import type { Judgement } from '../gate.ts';
import { readHead, shallowStamp } from '../git/head.ts';
import { findRepository } from '../git/repository.ts';
import type { Places } from '../model/settings.ts';
import { BASE_DIR, BASE_FILE, BASE_SET } from '../policy/base-set.ts';
import { PINS_FILE } from '../policy/pins.ts';
import type { StateLocation } from '../store/location.ts';

/** What to look at besides the workspace itself. */
export interface Lookout {
  readonly root: string;
  readonly places: Places;
  readonly state: StateLocation;
  /** Profiles that apply; null: all. */
  readonly hosts: readonly string[] | null;
  /** More files to look at, absolute; links are followed. */
  readonly files: readonly string[];
}

/**
 * Files that may change without a folder of the workspace telling: what lies behind a link, has a name elsewhere too (a write by another
 * hard link is told to that folder alone), or belongs to a tree that is not watched.
 */
export function filesApart({ artifacts }: Judgement, root: string): readonly string[] {
  const apart = artifacts.filter(
    ({ evidence: { parsed }, findings }) =>
      !parsed.candidate.outside &&
      (parsed.aliasOf !== null ||
        parsed.candidate.nested !== null ||
        parsed.candidate.path.includes('.git/') ||
        findings.some((one) => one.code === 'hard-linked')),
  );
  return [...new Set(apart.map(({ evidence }) => join(root, evidence.parsed.candidate.path)))];
}

/**
 * One text that is another as soon as something outside the folders of the workspace is another that verdicts depend on: pins and settings of
 * this machine, what other runs of writ remembered, HEAD, and what hosts load from the home, the system and the folders above. These
 * are few files in places that are busy with other things, so they are looked at; only pins and HEAD are followed besides (follow-outside.ts).
 */
export function lookOutside({ root, places, state, hosts, files }: Lookout): string {
  const repository = findRepository(root);
  const head = repository === null ? 'none' : readHead(repository);
  return [
    stampOf(join(places.systemDir, PINS_FILE)),
    stampOf(join(places.configDir, PINS_FILE)),
    ...[places.systemDir, places.configDir].flatMap((dir) =>
      [BASE_SET, BASE_FILE].map((name) => stampOf(join(dir, BASE_DIR, name))),
    ),
    state.kind === 'sqlite' ? stampOf(state.file) : state.kind,
    repository === null ? '' : `${repository.gitDir} ${shallowStamp(repository)}`,
    typeof head === 'string' ? head : head.commit,
    ...files.map((path) => `${path} ${stampOf(path, statSync)}`),
    ...discoverOutside({
      home: places.home,
      moved: places.moved,
      start: root,
      topLevel: repository?.topLevel ?? null,
      hosts,
    }).map(({ path }) => `${path} ${stampOf(path)}`),
  ].join('\n');
}

function stampOf(path: string, look: (path: string) => Stats = lstatSync): string {
  try {
    const { dev, ino, mode, size, mtimeMs, ctimeMs } = look(path);
    return `${dev}:${ino}:${mode}:${size}:${mtimeMs}:${ctimeMs}`;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'none';
  }
}

import { statSync } from 'node:fs';
import { join } from 'node:path';
import { resolveImport } from '../discover/imports.ts';
import { toRelative, type WorkspaceRoot } from '../files/workspace-root.ts';
import type { ImportFact } from '../model/stages.ts';

/** Where imports are looked for. */
export interface Places {
  readonly root: WorkspaceRoot;
  readonly home: string;
  /** Where the workspace lies; another folder than `root` for a tree laid out elsewhere. */
  readonly place: string;
}

/** One thing that a file pulls in. */
export interface Found {
  readonly path: string;
  /** `inside`: a file of the workspace, to be judged; the others as in ImportFact. */
  readonly state: 'inside' | Exclude<ImportFact['state'], 'judged'>;
  readonly line: number;
  readonly column: number;
  /** Only where it is `unread`. */
  readonly why?: string;
}

/** Where a target lies. A spelled path inside that is not there is missing; one outside that is not there is only a word. */
export function locate(
  importer: string,
  target: string,
  { root, home, place }: Places,
  spelled: boolean,
): readonly Pick<Found, 'path' | 'state'>[] {
  const resolved = resolveImport(importer, target);
  if ('path' in resolved) {
    const there = isFile(join(root.path, resolved.path));
    return there
      ? [{ path: resolved.path, state: 'inside' }]
      : spelled
        ? [{ path: resolved.path, state: 'missing' }]
        : [];
  }
  const { outside } = resolved;
  const inHome = outside.startsWith('~/');
  const absolute = inHome ? join(home, outside.slice(2)) : outside.startsWith('/') ? outside : join(place, outside);
  const inside = toRelative({ path: place }, absolute);
  if (inside !== null && inside !== '')
    return isFile(join(root.path, inside)) ? [{ path: inside, state: 'inside' }] : [];
  // A climbing or home path that is not there yet is opened by the host once it appears; an absolute one is as often an alias in prose.
  if (!isFile(absolute)) return spelled && !outside.startsWith('/') ? [{ path: outside, state: 'missing' }] : [];
  // The user's own preferences under a host's folder are a documented use: they cap the importer, they do not condemn it.
  return [
    { path: outside, state: inHome && /^~\/\.(?:claude|gemini|codex|config)\//.test(outside) ? 'home' : 'escapes' },
  ];
}

/** @returns whether a file lies at an absolute path, through links. */
export function isFile(path: string): boolean {
  return statOf(path)?.isFile() === true;
}

/** @returns whether a folder lies at an absolute path, through links. */
export function isFolder(path: string): boolean {
  return statOf(path)?.isDirectory() === true;
}

function statOf(path: string): ReturnType<typeof statSync> | null {
  try {
    return statSync(path);
  } catch {
    return null;
  }
}

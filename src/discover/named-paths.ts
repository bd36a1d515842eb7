import { posix } from 'node:path';
import { ENTRIES } from '../generated/hosts.ts';
import type { ConfigForm } from '../model/source.ts';
import { isValidGlob, matchesAny } from './globs.ts';

const FORMS = new Map(ENTRIES.flatMap(({ glob, names }) => (names === undefined ? [] : [[glob, names] as const])));

/** What a value of a configuration asks for, below one folder. */
export type Wanted =
  /** A file or a folder: to be resolved as an import of a file in `base`. */
  | { readonly plain: string }
  /** Every file below `folder` (workspace-relative) whose path from there matches. */
  | { readonly folder: string; readonly glob: string }
  /** A pattern of files outside of the workspace; `folder` is the part without wildcards, absolute, climbing or in the home. */
  | { readonly outside: string }
  /** A pattern that is not understood. */
  | 'unclear';

/** @returns the form of a configuration by its name, null for a file that is none. */
export function configForm(path: string): ConfigForm | null {
  return FORMS.get(posix.basename(path)) ?? null;
}

/**
 * @returns the folders that a value may be relative to, the nearest first: a host looks in the one it starts in and in those above. `top` is where the
 * repository of the configuration begins, `''` for the workspace.
 */
export function basesOf(config: string, top: string): readonly string[] {
  const bases: string[] = [];
  for (let at = folderOf(config); ; at = folderOf(at)) {
    bases.push(at);
    if (at === top || at === '') return bases;
  }
}

/** @returns whether a value is an address that a host fetches. */
export function isUrl(value: string): boolean {
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(value);
}

/** Reads one value against one folder by its spelling. */
export function wantedBelow(base: string, value: string): Wanted {
  const wild = /[*?[\]{}!]/.exec(value);
  if (wild === null) return { plain: value };
  const slash = value.lastIndexOf('/', wild.index);
  const fixed = value.slice(0, slash + 1);
  const glob = posix.normalize(value.slice(slash + 1));
  if (/^(?:[/~]|[A-Za-z]:)|\\/.test(value)) return value.includes('\\') ? 'unclear' : { outside: fixed };
  const folder = posix.join(base, fixed);
  if (folder === '..' || folder.startsWith('../')) return { outside: folder };
  // Half a `**` means whatever each reader takes it for.
  if (!isValidGlob(glob) || /[^/]\*\*|\*\*[^/]/.test(glob)) return 'unclear';
  return { folder: folder === '.' || folder === './' ? '' : folder.replace(/\/$/, ''), glob };
}

/** @returns whether a workspace-relative path is one of those that are asked for. */
export function isWanted(path: string, { folder, glob }: { readonly folder: string; readonly glob: string }): boolean {
  const cut = folder === '' ? 0 : folder.length + 1;
  return (folder === '' || path.startsWith(`${folder}/`)) && matchesAny(path.slice(cut), [glob]);
}

function folderOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('/')));
}

import { lstatSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import type { Kept } from './kept.ts';

/** The folder that is governed. Every workspace-relative path hangs below it. */
export interface WorkspaceRoot {
  /** Real path: absolute, no links, no trailing separator unless it is the root of the file system. */
  readonly path: string;
  /** What a face that judges again and again keeps meanwhile; absent everywhere else. */
  readonly kept?: Kept;
}

const MAX_HOPS = 40;

/** Opens a folder as workspace. Throws the system error where it does not exist or is no folder: that is a wrong call, not a verdict. */
export function openRoot(dir: string): WorkspaceRoot {
  const path = realpathSync.native(dir);
  if (!statSync(path).isDirectory()) {
    throw Object.assign(new Error(`ENOTDIR: not a directory, open '${path}'`), { code: 'ENOTDIR' });
  }
  return { path };
}

/** @returns the workspace-relative form of an absolute path with `/` as separator, `''` for the root itself, or null where it lies outside. Goes by the spelling alone: no link is looked at. */
export function toRelative(root: WorkspaceRoot, absolute: string): string | null {
  if (!isAbsolute(absolute)) return null;
  const found = relative(root.path, absolute);
  if (found === '..' || found.startsWith(`..${sep}`) || isAbsolute(found)) return null;
  return sep === '/' ? found : found.replaceAll(sep, '/');
}

/**
 * @returns whether a path lies at or below a folder, after links. Works for paths that do not exist yet, dangling links included.
 * Counts as inside where either the spelling or the real place is inside, and where it can't be found out: the caller refuses what is inside (overview.md: overrides by environment).
 */
export function isInside(root: string, path: string): boolean {
  const realRoot = realOrMissing(resolve(root));
  const real = realOrMissing(isAbsolute(path) ? path : join(process.cwd(), path));
  if (realRoot === null || real === null) return true;
  const spelt = resolve(path);
  return [realRoot, resolve(root)].some(
    (folder) => toRelative({ path: folder }, real) !== null || toRelative({ path: folder }, spelt) !== null,
  );
}

/** @returns the real path, where the missing tail is kept as spelt behind the deepest ancestor that exists; null on link cycles and on folders that can't be searched. */
export function realOrMissing(path: string): string | null {
  let rest: string[] = [];
  let current = path;
  for (let hops = 0; hops < MAX_HOPS; ) {
    try {
      return rest.length === 0 ? realpathSync.native(current) : resolve(realpathSync.native(current), ...rest);
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code;
      if (code !== 'ENOENT' && code !== 'ENOTDIR') return null;
    }
    const target = linkTarget(current);
    if (target !== null) {
      hops += 1;
      current = isAbsolute(target) ? target : `${dirname(current)}${sep}${target}`;
      continue;
    }
    const parent = dirname(current);
    if (parent === current) return null;
    rest = [current.slice(parent.length).replace(/^[\\/]+/, ''), ...rest];
    current = parent;
  }
  return null;
}

function linkTarget(path: string): string | null {
  try {
    return lstatSync(path).isSymbolicLink() ? readlinkSync(path) : null;
  } catch {
    return null;
  }
}

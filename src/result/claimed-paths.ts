import { excerpt } from '../model/escaped.ts';

/** Paths an agent claims, told apart: those a repository can have, and what is told of the others. */
export interface ClaimedPaths {
  readonly paths: readonly string[];
  readonly risks: readonly string[];
}

/** Splits a claim: absolute paths, `..` and backslashes are no paths of a repository, and become risks (contracts.md, run results). */
export function splitClaimed(claimed: readonly string[]): ClaimedPaths {
  const paths: string[] = [];
  const risks: string[] = [];
  for (const path of claimed) {
    const why = faultOf(path);
    if (why === null) paths.push(path);
    else risks.push(`changed_files names ${why}: ${excerpt(path)}`);
  }
  return { paths, risks };
}

function faultOf(path: string): string | null {
  if (path.trim() === '') return 'an empty path';
  if (path.includes('\0')) return 'a path with a NUL';
  if (path.includes('\\')) return 'a path with a backslash';
  if (path.startsWith('/') || path.startsWith('~') || /^[A-Za-z]:/.test(path)) return 'an absolute path';
  return path.split('/').includes('..') ? 'a path that leaves its folder' : null;
}

import { lstatSync } from 'node:fs';

const SUFFIX = /\.manifest\.(?:yaml|json)$/;
const SUFFIXES = ['.manifest.json', '.manifest.yaml'] as const;

/** @returns the file a sidecar's name speaks for, or null where the name is no sidecar's. */
export function subjectOf(path: string): string | null {
  const cut = path.replace(SUFFIX, '');
  return cut === path || cut === '' || cut.endsWith('/') ? null : cut;
}

/** @returns the sidecars that lie beside a file; looks, does not walk. */
export function sidecarsBeside(root: string, path: string): readonly string[] {
  return SUFFIXES.map((suffix) => path + suffix).filter((name) => liesThere(root, name));
}

/** @returns whether a file, a link or anything else but a folder lies at a workspace-relative path. */
export function liesThere(root: string, path: string): boolean {
  try {
    const found = lstatSync(`${root}/${path}`, { throwIfNoEntry: false });
    return found !== undefined && !found.isDirectory();
  } catch {
    return false;
  }
}

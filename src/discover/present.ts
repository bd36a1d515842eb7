import { readdirSync } from 'node:fs';
import { exists } from '../files/read-once.ts';
import { HOSTS } from '../generated/hosts.ts';

/** @returns the hosts whose marks lie in the root of a workspace, by name; none where the root can't be listed. */
export function hostsPresent(root: string): readonly string[] {
  const top = namesIn(root);
  const isThere = (path: string): boolean => {
    const slash = path.indexOf('/');
    if (slash < 0) return top.has(path);
    return top.has(path.slice(0, slash)) && exists(`${root}/${path}`);
  };
  return HOSTS.filter((host) => host.presence.some(isThere))
    .map((host) => host.name)
    .sort();
}

function namesIn(folder: string): ReadonlySet<string> {
  try {
    return new Set(readdirSync(folder));
  } catch {
    return new Set();
  }
}

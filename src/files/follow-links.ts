import { lstatSync, readlinkSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { toRelative, type WorkspaceRoot } from './workspace-root.ts';

/** Where the links on a path lead. `leaves`: a link, or a `..` of one, points out of the workspace, even if it would come back. `code`: the system's word for why the walk ended. */
export type Followed = { readonly path: string } | { readonly leaves: true } | { readonly code: string };

const MAX_HOPS = 40;
const SEPARATOR = process.platform === 'win32' ? /[\\/]/ : '/';

/**
 * Walks a workspace-relative path part by part and follows every link on it, so that a link which leaves and returns is seen too.
 * The last part may be missing where `path` itself has no link there; a link to nothing is `code: 'ENOENT'`.
 */
export function followLinks(root: WorkspaceRoot, path: string): Followed {
  let todo = path.split('/').reverse();
  let done: string[] = [];
  let hops = 0;
  for (let part = todo.pop(); part !== undefined; part = todo.pop()) {
    if (part === '' || part === '.') continue;
    if (part === '..') {
      if (done.length === 0) return { leaves: true };
      done.pop();
      continue;
    }
    const here = `${root.path}/${[...done, part].join('/')}`;
    const target = linkAt(here);
    if ('code' in target) return target;
    if (target.link === null) {
      done.push(part);
      continue;
    }
    hops += 1;
    if (hops > MAX_HOPS) return { code: 'ELOOP' };
    if (isAbsolute(target.link)) {
      const inside = toRelative(root, target.link);
      if (inside === null) return { leaves: true };
      done = [];
      todo = [...todo, ...inside.split('/').reverse()];
    } else {
      todo = [...todo, ...target.link.split(SEPARATOR).reverse()];
    }
  }
  return { path: done.join('/') };
}

function linkAt(path: string): { readonly link: string | null } | { readonly code: string } {
  try {
    return { link: lstatSync(path).isSymbolicLink() ? readlinkSync(path) : null };
  } catch (error) {
    return { code: (error as NodeJS.ErrnoException).code ?? 'EIO' };
  }
}

import { posix } from 'node:path';
import { basesOf, configForm, isWanted, wantedBelow } from '../discover/named-paths.ts';
import { GitFault } from '../git/hardened.ts';
import { type Listing, listingOf, resolveLinks } from './links.ts';
import type { Tree } from './tree.ts';

/** Paths that the patterns of all configurations of a tree are held against; a tree beyond is not judged at all. */
const MAX_TRIES = 20_000_000;

/** What configurations of a tree have their hosts load. */
export interface Named {
  /** Rather too many paths than too few. `targets`: where each link of the tree points. Throws GitFault where there is too much to search. */
  by(config: string, bytes: Uint8Array, targets: ReadonlyMap<string, string>): Promise<ReadonlySet<string>>;
}

/** Finds them by the same reading as a judgement of the laid-out files does. */
export function namedOf(tree: Tree): Named {
  let listed: Listing | null = null;
  let tries = MAX_TRIES;
  const matching = (
    wanted: { readonly folder: string; readonly glob: string },
    targets: ReadonlyMap<string, string>,
    found: Set<string>,
  ): void => {
    listed ??= listingOf(tree);
    const take = (paths: readonly string[], as: (path: string) => string): void => {
      tries -= paths.length;
      if (tries < 0) throw new GitFault('too many files to hold the patterns of configurations against');
      for (const path of paths) if (isWanted(as(path), wanted)) found.add(as(path));
    };
    take(listed.below(wanted.folder), (path) => path);
    for (const link of targets.keys()) {
      if (
        !`${link}/`.startsWith(`${wanted.folder}/`) &&
        wanted.folder !== '' &&
        !wanted.folder.startsWith(`${link}/`) &&
        wanted.folder !== link
      )
        continue;
      found.add(link);
      const { path: target } = resolveLinks(targets, link);
      if (target === null || !listed.isFolder(target)) continue;
      const cut = target === '' ? 0 : target.length + 1;
      take(listed.below(target), (path) => `${link}/${path.slice(cut)}`);
    }
  };
  return {
    async by(config, bytes, targets) {
      const found = new Set<string>();
      const form = configForm(config);
      if (form === null) return found;
      const { namedFiles } = await import('../parse/named-files.ts');
      const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
      for (const { value, beside } of (await namedFiles(form, text)).entries) {
        for (const base of basesOf(config, '')) {
          const plain = posix.join(base, value);
          if (!plain.startsWith('../')) {
            found.add(plain.replace(/\/$/, ''));
            if (form === 'aider')
              matching({ folder: plain === '.' ? '' : plain.replace(/\/$/, ''), glob: '**' }, targets, found);
          }
          const wanted = beside ? 'unclear' : wantedBelow(base, value);
          if (typeof wanted === 'object' && 'glob' in wanted) matching(wanted, targets, found);
        }
      }
      return found;
    },
  };
}

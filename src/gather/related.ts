import type { Claimed, LiveApproval } from '../model/stages.ts';

/** Live approvals by what supersession asks of them, so that judging stays linear in the number of artifacts. */
export interface LiveIndex {
  readonly all: readonly LiveApproval[];
  readonly byPath: ReadonlyMap<string, readonly LiveApproval[]>;
  readonly byId: ReadonlyMap<string, readonly LiveApproval[]>;
  readonly byReplaced: ReadonlyMap<string, readonly LiveApproval[]>;
}

export function indexLive(all: readonly LiveApproval[]): LiveIndex {
  const byPath = new Map<string, LiveApproval[]>();
  const byId = new Map<string, LiveApproval[]>();
  const byReplaced = new Map<string, LiveApproval[]>();
  const add = (map: Map<string, LiveApproval[]>, key: string, one: LiveApproval): void => {
    const list = map.get(key);
    if (list) list.push(one);
    else map.set(key, [one]);
  };
  for (const one of all) {
    add(byPath, one.path, one);
    add(byId, one.artifactId, one);
    for (const id of one.replaces) add(byReplaced, id, one);
  }
  return { all, byPath, byId, byReplaced };
}

/** Every live approval that may bear on one artifact: its path's, its own, what those replace, and what replaces those. */
export function relatedApprovals(live: LiveIndex, path: string, claimed: Claimed): readonly LiveApproval[] {
  const { artifactId, supersedes } = claimed.manifest;
  const near = new Set<LiveApproval>([
    ...(live.byPath.get(path) ?? []),
    ...(live.byId.get(artifactId) ?? []),
    ...(live.byReplaced.get(artifactId) ?? []),
  ]);
  for (const id of supersedes) for (const one of live.byId.get(id) ?? []) near.add(one);
  for (const one of [...near]) {
    for (const other of live.byReplaced.get(one.artifactId) ?? []) near.add(other);
    for (const id of one.replaces) for (const other of live.byId.get(id) ?? []) near.add(other);
  }
  return [...near];
}

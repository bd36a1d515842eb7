import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Repository } from './repository.ts';
import { readSmall } from './small-file.ts';

/** HEAD as the files say: a commit id, no commit yet, or not to be read here (reftable storage, or damaged). */
export type Head = { readonly commit: string } | 'unborn' | 'unreadable';

const REF_BYTES = 4_096;
const PACKED_BYTES = 134_217_728;
const MAX_LINKS = 5;
const OWN_REFS = /^refs\/(?:bisect|worktree|rewritten)\//;

/** Reads HEAD without a process, through loose and packed refs. */
export function readHead(repo: Repository): Head {
  let text = readSmall(join(repo.gitDir, 'HEAD'), REF_BYTES);
  for (let links = 0; links <= MAX_LINKS; links += 1) {
    if (text === null) return 'unreadable';
    const value = text.trimEnd();
    if (isObjectId(value, repo)) return { commit: value };
    const name = /^ref: *(\S.*)$/.exec(value)?.[1];
    if (name === undefined || !isRefName(name)) return 'unreadable';
    const folder = OWN_REFS.test(name) ? repo.gitDir : repo.commonDir;
    text = readSmall(join(folder, name), REF_BYTES);
    if (text === null) return packedRef(repo, name);
  }
  return 'unreadable';
}

/** @returns whether a word is a full object id of this repository: 40 hex digits, 64 with sha256. */
export function isObjectId(word: string, repo: Pick<Repository, 'objectFormat'>): boolean {
  return word.length === (repo.objectFormat === 'sha256' ? 64 : 40) && /^[0-9a-f]+$/.test(word);
}

/** @returns whether the history here is cut off: older commits are not in this clone. */
export function isShallow(repo: Repository): boolean {
  try {
    return statSync(join(repo.commonDir, 'shallow')).size > 0;
  } catch {
    return false;
  }
}

/** What tells one cut of a shallow clone from another; a clone that is whole has none. */
export function shallowStamp(repo: Repository): string {
  try {
    const { ino, size, mtimeMs, ctimeMs } = statSync(join(repo.commonDir, 'shallow'));
    return `${ino}:${size}:${mtimeMs}:${ctimeMs}`;
  } catch {
    return 'whole';
  }
}

function packedRef(repo: Repository, name: string): Head {
  if (existsSync(join(repo.commonDir, 'reftable'))) return 'unreadable';
  const path = join(repo.commonDir, 'packed-refs');
  const packed = readSmall(path, PACKED_BYTES);
  if (packed === null) return existsSync(path) ? 'unreadable' : 'unborn';
  const at = packed.indexOf(` ${name}\n`);
  if (at === -1) return 'unborn';
  const id = packed.slice(packed.lastIndexOf('\n', at) + 1, at);
  return isObjectId(id, repo) ? { commit: id } : 'unreadable';
}

function isRefName(name: string): boolean {
  return name.startsWith('refs/') && !/\.\.|[\0-\x20\x7f~^:?*[\\]|\/\/|\/\.|@\{|\.lock(?:\/|$)|[/.]$/.test(name);
}

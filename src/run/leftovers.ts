import { existsSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { hostname } from 'node:os';
import { basename, join } from 'node:path';
import { isAlive } from '../files/is-alive.ts';
import { writeAtomic } from '../files/write-atomic.ts';
import { changesOf, exclude } from '../git/changes.ts';
import type { Repository } from '../git/repository.ts';
import { removeWorktree, type Worktree } from '../git/worktree.ts';

/** What is written down of a run, beside its work tree. */
interface Note {
  readonly pid: number;
  /** Where that number is one: a machine, and a space of process numbers on it. */
  readonly space: string;
  readonly commonDir: string;
  readonly base: string;
  /** The run ended, and its work was kept for a person. */
  readonly kept: boolean;
}

const NOTE = /^(run-[0-9a-f]{16})\.json$/;

/** The files of one run in the folder for runs. */
export function placesOfRun(folder: string, id: string): { readonly path: string; readonly indexFile: string } {
  return { path: join(folder, id), indexFile: join(folder, `${id}.index`) };
}

/** Writes down whose work tree this is, so that one of a run that was killed can be told. */
export function note(folder: string, id: string, { repository, base }: Worktree, kept: boolean): void {
  const said: Note = { pid: process.pid, space: space(), commonDir: repository.commonDir, base, kept };
  writeAtomic(join(folder, `${id}.json`), `${JSON.stringify(said)}\n`, 0o600);
}

/** Takes away the note of a run whose work tree is gone. */
export function forget(folder: string, id: string): void {
  rmSync(join(folder, `${id}.json`), { force: true });
  rmSync(placesOfRun(folder, id).indexFile, { force: true });
}

/**
 * Looks at the work trees that runs of this repository left when they were killed: one without work goes, one with work stays.
 * @returns the paths that stay. Nothing is thrown: what cannot be looked at stays.
 */
export async function sweepRuns(folder: string, repo: Repository): Promise<readonly string[]> {
  const kept: string[] = [];
  for (const name of namesIn(folder)) {
    const id = NOTE.exec(name)?.[1];
    const said = id === undefined ? null : noteIn(join(folder, name));
    if (id === undefined || said === null || said.commonDir !== repo.commonDir) continue;
    const places = placesOfRun(folder, id);
    if (!existsSync(places.path)) {
      forget(folder, id);
      continue;
    }
    // A home may be shared by machines and containers: whether it runs can be told only where it began.
    if (said.kept || said.space !== space() || isAlive(said.pid)) continue;
    const gitDir = join(repo.commonDir, 'worktrees', basename(places.path));
    const repository = { ...repo, topLevel: places.path, gitDir, indexFile: join(gitDir, 'index'), alternates: null };
    const worktree = { ...places, repository, base: said.base };
    if ((await holdsWork(worktree)) || removeWorktree(worktree) !== null) kept.push(places.path);
    else forget(folder, id);
  }
  return kept;
}

async function holdsWork(worktree: Worktree): Promise<boolean> {
  // Killed before git knew of it: nobody was let in yet.
  if (!existsSync(worktree.repository.gitDir)) return existsSync(join(worktree.path, '.git'));
  try {
    const { paths, head, staged } = await changesOf(worktree, exclude(worktree), new Set());
    return paths.length > 0 || head !== worktree.base || staged;
  } catch {
    return true;
  }
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder).sort();
  } catch {
    return [];
  }
}

function noteIn(file: string): Note | null {
  try {
    const said = JSON.parse(readFileSync(file, 'utf8')) as Partial<Note> | null;
    return typeof said?.pid === 'number' && typeof said.commonDir === 'string' && typeof said.base === 'string'
      ? {
          pid: said.pid,
          space: String(said.space),
          commonDir: said.commonDir,
          base: said.base,
          kept: said.kept === true,
        }
      : null;
  } catch {
    return null;
  }
}

function space(): string {
  try {
    return `${hostname()} ${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return hostname();
  }
}

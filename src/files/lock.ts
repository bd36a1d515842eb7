import { join } from 'node:path';
import { makeFolder } from './make-folder.ts';

/** Longest wait for a lock, ms. */
const WAIT = 30_000;
/** A holder that has not renewed its lock for so long, ms, is dead. Renewal runs every third of it. */
const STALE = 12_000;
const PAUSE_MIN = 20;
const PAUSE_MAX = 120;

/** The lock was held by others for the whole wait. Nothing was done. */
export class LockTimeout extends Error {
  override readonly name = 'LockTimeout';
}

/** The lock was lost while the work ran, so another process may have run beside it. The work is done; its result can't be relied on. */
export class LockLost extends Error {
  override readonly name = 'LockLost';
}

/**
 * Runs work while no other process, and no other call in this one, holds the lock `name` of `folder` (created with mode 0700 where missing).
 * A lock whose holder died is taken over. Throws LockTimeout after 30 s, LockLost where the lock was taken away meanwhile, or what the work throws.
 * `wait` (ms) shortens the wait.
 */
export async function withLock<T>(
  folder: string,
  name: string,
  work: () => Promise<T> | T,
  wait: number = WAIT,
): Promise<T> {
  const { lock } = (await import('proper-lockfile')).default;
  makeFolder(folder, 0o700);
  const target = join(folder, name);
  const until = Date.now() + Math.min(wait, WAIT);
  let lost: Error | null = null;
  const options = {
    realpath: false,
    stale: STALE,
    update: STALE / 3,
    onCompromised: (error: Error): void => {
      lost = error;
    },
  };
  let release: (() => Promise<void>) | null = null;
  while (release === null) {
    try {
      release = await lock(target, options);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ELOCKED') throw error;
      if (Date.now() >= until) throw new LockTimeout(`the lock ${name} was held by another process for too long`);
      await pause(PAUSE_MIN + Math.random() * (PAUSE_MAX - PAUSE_MIN));
    }
  }
  let result: T;
  try {
    result = await work();
  } finally {
    // Fails only where the lock was lost, which is told below.
    if (lost === null)
      await release().catch((error: Error) => {
        lost = error;
      });
  }
  if (lost !== null) throw new LockLost(`the lock ${name} was lost while the work ran`);
  return result;
}

function pause(ms: number): Promise<void> {
  return new Promise((done) => setTimeout(done, ms));
}

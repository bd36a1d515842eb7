import { copyFileSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** A private copy of a state file and of what SQLite keeps beside it. */
export interface Snapshot {
  readonly file: string;
  remove(): void;
}

const BESIDE = ['', '-journal', '-wal'] as const;
const TRIES = 5;

/** @returns null where the files would not hold still, or could not be copied. */
export function snapshot(file: string): Snapshot | null {
  let dir: string;
  try {
    dir = mkdtempSync(path.join(tmpdir(), 'writ-state-'));
  } catch {
    return null;
  }
  const remove = (): void => rmSync(dir, { recursive: true, force: true });
  for (let attempt = 0; attempt < TRIES; attempt += 1) {
    const copy = path.join(dir, `${attempt}.db`);
    try {
      const before = stampOf(file);
      for (const suffix of BESIDE) {
        if (statSync(file + suffix, { throwIfNoEntry: false })) copyFileSync(file + suffix, copy + suffix);
      }
      if (stampOf(file) === before) return { file: copy, remove };
    } catch {
      // A file vanished or could not be read: what is beside it changed, so look again.
    }
  }
  remove();
  return null;
}

function stampOf(file: string): string {
  const stats = BESIDE.map((suffix) => statSync(file + suffix, { bigint: true, throwIfNoEntry: false }));
  return stats.map((stat) => (stat ? `${stat.ino}:${stat.size}:${stat.mtimeNs}` : '-')).join(' ');
}

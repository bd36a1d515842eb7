import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { WatchEvent } from '../../src/watch/event.ts';
import type { Workspace } from '../support/workspace.ts';

const COMMAND = join(import.meta.dirname, '..', '..', 'dist', 'writ.cjs');
/** Longest wait for one event, ms: a guard against a hang, no measure. */
const PATIENCE = 45_000;

/** Any event with every field that some kind has. */
export type Told = Pick<WatchEvent, 'event' | 'at' | 'path' | 'rank' | 'codes' | 'ms'> & {
  readonly line?: number | null;
  readonly digest?: string | null;
  readonly message?: string;
  readonly cure?: string;
  readonly exit?: number;
  readonly id?: string | null;
  readonly artifacts?: number;
  readonly unwatched?: readonly string[];
  readonly disposition?: string | null;
};

export interface WatchOptions {
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly root?: string;
}

/** A running `writ watch --format ndjson`, and everything it has told. */
export class Watched {
  readonly told: Told[] = [];
  readonly ended: Promise<number | null>;
  stderr = '';
  private readonly child: ChildProcess;
  private readonly waiting = new Set<() => void>();
  private exited = false;

  constructor(space: Workspace, { args = [], env = {}, root }: WatchOptions = {}) {
    this.child = spawn(process.execPath, [COMMAND, 'watch', '--format', 'ndjson', ...args], {
      cwd: root ?? space.root,
      env: { ...space.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    if (this.child.stdout)
      createInterface({ input: this.child.stdout }).on('line', (line) => {
        this.told.push(JSON.parse(line) as Told);
        for (const one of [...this.waiting]) one();
      });
    this.child.stderr?.on('data', (chunk) => {
      this.stderr += String(chunk);
    });
    this.ended = new Promise((resolve) => {
      this.child.on('close', (code) => {
        this.exited = true;
        for (const one of [...this.waiting]) one();
        resolve(code);
      });
    });
  }

  get pid(): number {
    return this.child.pid ?? -1;
  }

  /** The first event from number `from` on that passes; throws where none comes. */
  async until(what: string, test: (one: Told) => boolean, from = 0): Promise<Told> {
    const end = Date.now() + PATIENCE;
    for (;;) {
      const found = this.told.slice(from).find(test);
      if (found) return found;
      if (this.exited || Date.now() > end)
        throw new Error(
          `${what} was not told${this.exited ? ' before it ended' : ''}: ${this.stderr}\n${this.told
            .slice(-12)
            .map((one) => JSON.stringify(one))
            .join('\n')}`,
        );
      await new Promise<void>((resolve) => {
        const timer = setTimeout(done, Math.max(1, end - Date.now()));
        const { waiting } = this;
        function done(): void {
          clearTimeout(timer);
          waiting.delete(done);
          resolve();
        }
        waiting.add(done);
      });
    }
  }

  ready(): Promise<Told> {
    return this.until('ready', (one) => one.event === 'ready');
  }

  /** Does something, then waits for an event it leads to. */
  async after(what: string, change: () => void, test: (one: Told) => boolean): Promise<Told> {
    const from = this.told.length;
    change();
    return this.until(what, test, from);
  }

  /** Does something, then waits for a verdict on a path with this rank. */
  verdict(path: string, rank: string, change: () => void): Promise<Told> {
    return this.after(
      `${path} as ${rank}`,
      change,
      (one) => one.event === 'verdict' && one.path === path && one.rank === rank,
    );
  }

  /** The last rank told of each artifact, as `path` or `path:line`. */
  ranks(): ReadonlyMap<string, string> {
    const ranks = new Map<string, string>();
    for (const one of this.told) {
      if (one.path === '.') continue;
      const key = one.line ? `${one.path}:${one.line}` : one.path;
      if (one.event === 'verdict' && one.rank !== null) ranks.set(key, one.rank);
      if (one.event === 'removed' || one.event === 'quarantined') ranks.delete(key);
    }
    return ranks;
  }

  /** The last verdict told of each artifact: rank, codes and digest. */
  verdicts(): ReadonlyMap<string, string> {
    const verdicts = new Map<string, string>();
    for (const one of this.told) {
      if (one.path === '.') continue;
      const key = one.line ? `${one.path}:${one.line}` : one.path;
      if (one.event === 'verdict') verdicts.set(key, JSON.stringify([one.rank, one.codes, one.digest]));
      if (one.event === 'removed' || one.event === 'quarantined') verdicts.delete(key);
    }
    return verdicts;
  }

  signal(name: NodeJS.Signals): void {
    this.child.kill(name);
  }

  /** Stops reading what it tells. */
  closeOutput(): void {
    this.child.stdout?.destroy();
  }

  /** Ends it. @returns its exit code. */
  async stop(): Promise<number | null> {
    this.signal('SIGTERM');
    return this.ended;
  }
}

/** Waits until all that was told adds up to what `check` says; throws where it never does. */
export async function agrees(watched: Watched, space: Workspace): Promise<void> {
  const end = Date.now() + PATIENCE;
  for (;;) {
    const told = [...watched.verdicts()].sort();
    const checked = [...checkedVerdicts(space)].sort();
    if (JSON.stringify(told) === JSON.stringify(checked)) return;
    if (Date.now() > end) throw new Error(`told: ${JSON.stringify(told)}\ncheck: ${JSON.stringify(checked)}`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

/** What `check` says now, in the form of `verdicts()`. */
function checkedVerdicts(space: Workspace): ReadonlyMap<string, string> {
  return new Map(
    space
      .check()
      .artifacts.map((one) => [
        one.line === null ? one.path : `${one.path}:${one.line}`,
        JSON.stringify([
          one.rank,
          [...new Set(one.findings.map((found) => found.code))],
          (one as unknown as { digest: string | null }).digest,
        ]),
      ]),
  );
}

/** The digest as events spell it. */
export function digestOf(bytes: string | Uint8Array): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
}

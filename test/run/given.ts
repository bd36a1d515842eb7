import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { RunResult } from '../../src/result/run-result.ts';
import { Workspace } from '../support/workspace.ts';

export const COMMAND = fileURLToPath(new URL('../../dist/writ.cjs', import.meta.url));

export interface HostReport extends RunResult {
  readonly host: {
    readonly schema: string;
    readonly reaction: string;
    readonly worktree: string | null;
    readonly reactions: Readonly<Record<string, { readonly reaction: string }>>;
    readonly attempts: readonly {
      readonly agent: string;
      readonly timeoutMs: number;
      readonly exitCode: number | null;
      readonly timedOut: boolean;
      readonly interrupted: string | null;
      readonly reaction: string;
      readonly processes: { readonly outlived: number; readonly left: number };
      readonly boot: Readonly<Record<string, number>>;
      readonly diff: { readonly changed: readonly string[] } | null;
      readonly validation: {
        readonly exitCode: number | null;
        readonly passed: boolean;
        readonly timedOut: boolean;
      } | null;
      readonly worktree: { readonly path: string | null; readonly kept: boolean };
      readonly result: RunResult;
    }[];
  };
}

export interface Hosted {
  readonly exit: number;
  readonly stdout: string;
  readonly stderr: string;
  /** What stdout says; throws where it is not exactly one object in one line. */
  readonly result: HostReport;
}

/** A repository with one commit, a task, and a folder of fake agents on the search path. */
export class Field extends Workspace {
  readonly bin: string;
  readonly out: string;
  readonly runs: string;

  constructor() {
    super({ git: true });
    this.bin = join(this.base, 'bin');
    this.out = join(this.base, 'out');
    this.runs = join(this.base, 'home', '.local', 'state', 'writ', 'runs');
    mkdirSync(this.bin);
    mkdirSync(this.out);
    this.env.PATH = `${this.bin}:${this.env.PATH}`;
    this.env.OUT = this.out;
    this.env.TMPDIR = this.base;
    writeFileSync(join(this.base, 'task.md'), 'Add a guard.\n');
    this.put('a.txt', 'one\n');
    this.put('src/b.txt', 'one\n');
    this.put('.gitignore', '*.log\n');
    this.commit('first');
  }

  commit(message: string): string {
    this.git('add', '-A');
    this.git('commit', '-q', '-m', message);
    return this.git('rev-parse', 'HEAD');
  }

  /** A fake agent: a shell script under the name of a program. */
  agent(name: string, script: string): string {
    const file = join(this.bin, name);
    writeFileSync(file, `#!/bin/sh\n${script}\n`);
    chmodSync(file, 0o755);
    return file;
  }

  host(args: readonly string[], env: Readonly<Record<string, string>> = {}): Hosted {
    const ran = this.run(['run', ...args], { env });
    return {
      ...ran,
      get result(): HostReport {
        if (!/^\{[^\n]*\}\n$/.test(ran.stdout)) throw new Error(`exit ${ran.exit}: ${ran.stdout}\n${ran.stderr}`);
        return JSON.parse(ran.stdout) as HostReport;
      },
    };
  }

  /** `host` with the task, a report, and a timeout that is long enough. */
  task(args: readonly string[], env: Readonly<Record<string, string>> = {}): Hosted {
    return this.host(['--prompt-file', join(this.base, 'task.md'), '--timeout', '60s', '--host-report', ...args], env);
  }

  /** What a fake agent wrote down; empty where it did not. */
  told(name: string): string {
    const file = join(this.out, name);
    return existsSync(file) ? readFileSync(file, 'utf8') : '';
  }

  /** What runs left behind in their folder, in git, and among private files. */
  left(): readonly string[] {
    const runs = existsSync(this.runs) ? readdirSync(this.runs) : [];
    const known = join(this.root, '.git', 'worktrees');
    return [
      ...runs,
      ...(existsSync(known) ? readdirSync(known) : []),
      ...readdirSync(this.base).filter((name) => /^writ-(?:exec|git)-/.test(name)),
    ];
  }

  /** Starts `writ run` beside the test. */
  start(args: readonly string[]): {
    readonly pid: number;
    readonly ended: Promise<{ exit: number | null; stdout: string }>;
  } {
    const words = ['run', '--prompt-file', join(this.base, 'task.md'), '--host-report', ...args];
    const child = spawn(process.execPath, [COMMAND, ...words], {
      cwd: this.root,
      env: this.env,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    let stdout = '';
    child.stdout.on('data', (piece: Buffer) => {
      stdout += piece.toString('utf8');
    });
    const ended = new Promise<{ exit: number | null; stdout: string }>((done) =>
      child.once('close', (exit) => done({ exit, stdout })),
    );
    return { pid: child.pid ?? 0, ended };
  }
}

export function block(fields: Readonly<Record<string, unknown>>): string {
  return `\`\`\`json\n${JSON.stringify(fields)}\n\`\`\``;
}

/** Shell that prints a block: one command. */
export function say(fields: Readonly<Record<string, unknown>>): string {
  return `printf '%s\\n' '${block({ status: 'completed', ...fields }).replaceAll("'", "'\\''")}'`;
}

/** Whether a process is there and runs. */
export function isRunning(pid: number): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));
  } catch {
    return false;
  }
}

/** Waits for something that another process brings about. */
export async function until(test: () => boolean): Promise<void> {
  for (let round = 0; round < 1_200; round += 1) {
    if (test()) return;
    await new Promise((done) => setTimeout(done, 50));
  }
  throw new Error('it never came about');
}

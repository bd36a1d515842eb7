import { spawn } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Ran, Workspace } from './workspace.ts';

export const FAKE_HOST = fileURLToPath(new URL('./fake-host.mjs', import.meta.url));
const COMMAND = fileURLToPath(new URL('../../dist/writ.cjs', import.meta.url));

/** What the fake host was given. */
export interface Given {
  readonly pid: number;
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly stdin: string | null;
  readonly signals: readonly string[];
  /** Private files named in its words and variables, by path. */
  readonly files: Readonly<Record<string, string>>;
}

export interface Executed extends Ran {
  /** Null where it was not started. */
  readonly given: Given | null;
}

export interface Options {
  readonly flags?: readonly string[];
  /** CMD; the fake host with no words where it is not given. */
  readonly cmd?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly input?: string;
}

/** Runs `writ exec --host NAME FLAGS -- CMD` with the fake host. */
export function execIn(space: Workspace, host: string, options: Options = {}): Executed {
  const out = join(space.base, 'given.json');
  rmSync(out, { force: true });
  const ran = space.run(['exec', '--host', host, ...(options.flags ?? []), '--', ...(options.cmd ?? [FAKE_HOST])], {
    env: { FAKE_OUT: out, TMPDIR: space.base, ...options.env },
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    ...(options.input === undefined ? {} : { input: options.input }),
  });
  return { ...ran, given: existsSync(out) ? (JSON.parse(readFileSync(out, 'utf8')) as Given) : null };
}

/** A start that goes on until it is told to end. */
export interface Running {
  readonly pid: number;
  given(): Promise<Given>;
  /** Waits until the fake host has told of a state that will do. */
  until(test: (given: Given) => boolean): Promise<Given>;
  readonly ended: Promise<{ readonly code: number | null; readonly signal: string | null; readonly stderr: string }>;
}

/** Starts `writ exec` beside the test. The fake host waits, and tells of every signal. */
export function startExec(space: Workspace, host: string, options: Options & { readonly todo?: string } = {}): Running {
  const out = join(space.base, 'given.json');
  const args = ['exec', '--host', host, ...(options.flags ?? []), '--', ...(options.cmd ?? [FAKE_HOST])];
  const child = spawn(process.execPath, [COMMAND, ...args], {
    cwd: space.root,
    env: { ...space.env, FAKE_OUT: out, FAKE_DO: options.todo ?? 'wait', TMPDIR: space.base, ...options.env },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let stderr = '';
  child.stderr.on('data', (data) => {
    stderr += String(data);
  });
  const ended = new Promise<{ code: number | null; signal: string | null; stderr: string }>((done) =>
    child.once('close', (code, signal) => done({ code, signal, stderr })),
  );
  const until = async (test: (given: Given) => boolean): Promise<Given> => {
    for (let tries = 0; tries < 600; tries += 1) {
      const given = readGiven(out);
      if (given !== null && test(given)) return given;
      if (child.exitCode !== null) throw new Error(`exec ended in ${child.exitCode}: ${stderr}`);
      await new Promise((done) => setTimeout(done, 50));
    }
    throw new Error(`the fake host did not tell: ${stderr}`);
  };
  return { pid: child.pid ?? 0, given: () => until(() => true), until, ended };
}

function readGiven(file: string): Given | null {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Given;
  } catch {
    return null;
  }
}

import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { type Tail, TailBuffer } from '../files/read-tail.ts';
import { followFamily, send } from './family.ts';
import { startWatchdog } from './watchdog.ts';

/** What to run. No shell is involved. */
export interface Task {
  /** Absolute path of the program. */
  readonly file: string;
  /** Its words, its own name first. */
  readonly words: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** Real path of a folder that nobody else works in: what is found working there belongs to the program. */
  readonly folder: string;
  /** ms. */
  readonly timeout: number;
  /** Most bytes kept of each output, from its end. */
  readonly maxOutput: number;
}

/** How it ended. */
export interface Ran {
  /** Null where a signal ended it. */
  readonly exitCode: number | null;
  readonly timedOut: boolean;
  /** The signal to this process that ended the run, or null. */
  readonly interrupted: NodeJS.Signals | null;
  readonly stdout: Tail;
  readonly stderr: Tail;
  readonly ms: number;
  /** Processes that outlived the program and were killed, and those that could not be. */
  readonly outlived: number;
  readonly left: number;
}

/** Carries the number of a run to everything it starts. Not one of writ's own variables: a child gets none of those. */
const MARK = 'AGENT_RUN_MARK';
/** How long a program may take to end by itself once told to. ms. */
const GRACE_MS = 2_000;
const LOOK_MS = 400;
/** How long outputs are still read once nobody is left. ms. */
const DRAIN_MS = 1_000;
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const;

/**
 * Runs a program in a session of its own with stdin closed, and ends it and all it started: at the timeout, when it is done, when this process is told to
 * end, and when this process is killed.
 * @returns why it could not be started, in plain words.
 */
export async function runContained(task: Task): Promise<Ran | { readonly fault: string }> {
  const mark = randomBytes(12).toString('hex');
  const watchdog = startWatchdog(`${MARK}=${mark}`, task.folder);
  const started = performance.now();
  const child = spawn(task.file, task.words.slice(1), {
    argv0: task.words[0] ?? task.file,
    env: { ...task.env, [MARK]: mark },
    cwd: task.cwd,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const { pid } = child;
  if (pid === undefined) {
    const why = await new Promise<string>((done) => child.once('error', (error) => done(error.message)));
    watchdog.release();
    return { fault: why };
  }
  watchdog.watch(pid);
  const family = followFamily(pid, `${MARK}=${mark}`, task.folder);
  const looking = setInterval(() => family.note(), LOOK_MS);
  const stdout = new TailBuffer(task.maxOutput);
  const stderr = new TailBuffer(task.maxOutput);
  child.stdout.on('data', (piece: Buffer) => stdout.add(piece));
  child.stderr.on('data', (piece: Buffer) => stderr.add(piece));
  let timedOut = false;
  let interrupted: NodeJS.Signals | null = null;
  let grace: NodeJS.Timeout | null = null;
  const stop = (): void => {
    family.note();
    send(-pid, 'SIGTERM');
    grace ??= setTimeout(() => send(-pid, 'SIGKILL'), GRACE_MS);
  };
  const onSignal = (signal: NodeJS.Signals): void => {
    interrupted ??= signal;
    stop();
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  const timer = setTimeout(() => {
    timedOut = true;
    stop();
  }, task.timeout);
  try {
    const closed = new Promise<void>((done) => child.once('close', () => done()));
    const exitCode = await new Promise<number | null>((done) => child.once('exit', (code) => done(code)));
    const ms = Math.round(performance.now() - started);
    clearTimeout(timer);
    const { killed, left } = await family.end();
    await Promise.race([closed, new Promise((done) => setTimeout(done, DRAIN_MS))]);
    child.stdout.destroy();
    child.stderr.destroy();
    return { exitCode, timedOut, interrupted, stdout: stdout.end(), stderr: stderr.end(), ms, outlived: killed, left };
  } finally {
    clearInterval(looking);
    clearTimeout(timer);
    if (grace !== null) clearTimeout(grace);
    for (const signal of SIGNALS) process.off(signal, onSignal);
    watchdog.release();
  }
}

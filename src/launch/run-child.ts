import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { constants } from 'node:os';

/** What to start. No shell is involved. */
export interface Start {
  /** Absolute path of the program. */
  readonly file: string;
  /** Its words, its own name first. */
  readonly words: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
}

/** Sent by the terminal to everybody in its foreground, the child included. */
const FROM_TERMINAL: readonly NodeJS.Signals[] = ['SIGINT', 'SIGQUIT'];
const PASSED: readonly NodeJS.Signals[] = [...FROM_TERMINAL, 'SIGTERM', 'SIGHUP', 'SIGUSR1', 'SIGUSR2'];

/** Signals to this process, held until there is a child to pass them on to. */
export interface HeldSignals {
  /** The first one that came before the child was there, or null. */
  early(): NodeJS.Signals | null;
  passTo(child: ChildProcess): void;
  /** Gives them back what they do by themselves. */
  release(): void;
}

/** From here on a signal no longer ends this process: what is made for the child can be taken away again. */
export function holdSignals(): HeldSignals {
  let child: ChildProcess | null = null;
  let first: NodeJS.Signals | null = null;
  const pass = (signal: NodeJS.Signals): void => {
    if (child === null) first ??= signal;
    else if (!FROM_TERMINAL.includes(signal) || !inForeground()) child.kill(signal);
  };
  for (const signal of PASSED) process.on(signal, pass);
  return {
    early: () => first,
    passTo(started) {
      child = started;
    },
    release() {
      for (const signal of PASSED) process.removeListener(signal, pass);
    },
  };
}

/** The exit code that says a signal ended a program. */
export function exitOfSignal(signal: NodeJS.Signals): number {
  return 128 + constants.signals[signal];
}

/**
 * Starts a program with this process's terminal and waits for its end. Signals are passed on, but what the terminal has
 * sent to the child already is not sent twice.
 * @returns its exit code, 128 + the number of the signal that ended it, or why it could not be started.
 */
export async function runChild(start: Start, signals: HeldSignals): Promise<number | { readonly fault: string }> {
  return await new Promise((done) => {
    const child = spawn(start.file, start.words.slice(1), {
      argv0: start.words[0] ?? start.file,
      env: start.env,
      cwd: start.cwd,
      stdio: 'inherit',
    });
    child.once('error', (error) => {
      if (child.pid === undefined) done({ fault: error.message });
    });
    child.once('exit', (code, signal) => done(signal === null ? (code ?? 1) : exitOfSignal(signal)));
    signals.passTo(child);
    const early = signals.early();
    if (early !== null) child.kill(early);
  });
}

/** Whether this process is in the foreground of a terminal, so that the child, which is in the same group, hears what the terminal sends. */
function inForeground(): boolean {
  try {
    // After the name in brackets: state, parent, group, session, terminal, the terminal's foreground group (proc(5)).
    const [, , group, , terminal, foreground] =
      readFileSync('/proc/self/stat', 'latin1').split(') ').at(-1)?.split(' ') ?? [];
    return terminal !== '0' && group === foreground;
  } catch {
    return process.stdin.isTTY === true;
  }
}

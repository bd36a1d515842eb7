import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Ran, Workspace } from '../support/workspace.ts';

const COMMAND = join(dirname(fileURLToPath(import.meta.url)), '..', '..', 'dist', 'writ.cjs');

export interface Running {
  readonly process: ChildProcess;
  /** What it told so far. */
  told(): string;
  /** Resolves when what it told matches. */
  until(what: RegExp): Promise<void>;
  ended(): Promise<Ran>;
}

export interface Serving extends Running {
  readonly url: string;
  readonly card: string;
}

/** Starts a command and leaves it running. */
export function start(
  ws: Workspace,
  as: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Running {
  const child = spawn(process.execPath, [COMMAND, ...args], {
    cwd: ws.root,
    env: { ...ws.env, WRIT_AS: as, WRIT_KEY: ws.key(as), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  const listeners = new Set<() => void>();
  const grown = (): void => {
    for (const one of listeners) one();
  };
  child.stdout?.on('data', (chunk) => {
    stdout += chunk;
    grown();
  });
  child.stderr?.on('data', (chunk) => {
    stderr += chunk;
    grown();
  });
  const exit = once(child, 'close').then(([code]) => code as number | null);
  return {
    process: child,
    told: () => stdout + stderr,
    until: (what) =>
      new Promise((done, fail) => {
        const look = (): void => {
          if (!what.test(stdout + stderr)) return;
          listeners.delete(look);
          done();
        };
        listeners.add(look);
        look();
        void exit.then(() =>
          listeners.has(look) ? fail(new Error(`it ended without ${what}:\n${stdout}${stderr}`)) : undefined,
        );
      }),
    ended: async () => ({ exit: (await exit) ?? -1, stdout, stderr }),
  };
}

/** Starts `writ handoff serve` and waits until it is ready. */
export async function serve(ws: Workspace, as: string, ...more: readonly string[]): Promise<Serving> {
  const running = start(ws, as, ['handoff', 'serve', '--listen', '127.0.0.1:0', ...more]);
  await running.until(/"url"/);
  const { url, card } = JSON.parse(
    running
      .told()
      .split('\n')
      .find((line) => line.startsWith('{')) ?? '{}',
  );
  return { ...running, url, card };
}

/** As much of a task of any version as a test looks at. */
export interface RpcTask {
  readonly id: string;
  readonly kind?: string;
  readonly status: {
    readonly state: string;
    readonly message?: { readonly parts: readonly { readonly text: string }[] };
  };
  readonly artifacts?: readonly {
    readonly parts: readonly { readonly type?: string; readonly data: { readonly payload: string } }[];
  }[];
  readonly metadata: Readonly<Record<string, unknown>>;
}

export interface RpcAnswer {
  /** The task itself before 1.0, and an object that holds it since. */
  readonly result: RpcTask & { readonly task: RpcTask };
  readonly error?: { readonly code: number; readonly message: string };
}

/** One JSON-RPC call as raw as a client of any version makes it. */
export async function rpc(
  url: string,
  method: string,
  params: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<RpcAnswer> {
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  });
  return (await answer.json()) as RpcAnswer;
}

/** Stops what a test started. */
export async function stop(...all: readonly Running[]): Promise<void> {
  for (const one of all) one.process.kill('SIGKILL');
  await Promise.all(all.map((one) => one.ended()));
}

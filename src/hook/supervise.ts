import { spawn } from 'node:child_process';

/** What the judging process said, or why there is no answer. */
export type Supervised =
  | { readonly exit: 0 | 2; readonly stdout: Buffer; readonly stderr: Buffer }
  | { readonly fault: string };

/** Most bytes of an answer kept. */
const MAX_OUTPUT = 4_194_304;
const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

/**
 * Runs this very command again as a child that judges, on our own stdin, and waits no longer than the deadline. A timer in the process that judges would
 * not fire while it hangs in a system call; this one does.
 * @param words the child's words behind the command. @param deadline ms.
 */
export function supervise(words: readonly string[], deadline: number): Promise<Supervised> {
  return new Promise((done) => {
    const { NODE_OPTIONS: _options, NODE_PATH: _path, ...env } = process.env;
    const command = process.argv[1] ?? '';
    const child = spawn(process.execPath, [command, ...words], { env, stdio: ['inherit', 'pipe', 'pipe'] });
    const said: Record<'stdout' | 'stderr', Buffer[]> = { stdout: [], stderr: [] };
    let size = 0;
    const stop = (fault: string): void => {
      child.kill('SIGKILL');
      end({ fault });
    };
    const timer = setTimeout(() => stop(`judging took longer than ${deadline / 1000} s`), deadline);
    const onSignal = (signal: NodeJS.Signals): void => stop(`the host ended it (${signal})`);
    const end = (answer: Supervised): void => {
      clearTimeout(timer);
      for (const signal of SIGNALS) process.off(signal, onSignal);
      // A child that hangs in the system outlives its kill; nobody waits for it.
      child.stdout.destroy();
      child.stderr.destroy();
      child.unref();
      done(answer);
    };
    for (const signal of SIGNALS) process.on(signal, onSignal);
    for (const name of ['stdout', 'stderr'] as const)
      child[name].on('data', (bytes: Buffer) => {
        size += bytes.length;
        if (size > MAX_OUTPUT) stop('the answer is too long');
        else said[name].push(bytes);
      });
    child.on('error', (error) => end({ fault: `it could not be started: ${error.message}` }));
    child.on('close', (code, signal) => {
      const [stdout, stderr] = [Buffer.concat(said.stdout), Buffer.concat(said.stderr)];
      if (code === 0 || code === 2) end({ exit: code, stdout, stderr });
      else end({ fault: faultOf(stderr, code === null ? `it was ended by ${signal}` : `it ended in ${code}`) });
    });
  });
}

/** The last line it said, which is why. */
function faultOf(stderr: Buffer, otherwise: string): string {
  const lines = stderr.toString('utf8').trim().split('\n');
  return (
    lines
      .at(-1)
      ?.replace(/^writ: /, '')
      .slice(0, 500) || otherwise
  );
}

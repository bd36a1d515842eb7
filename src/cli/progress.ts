import { isTerminal, STDERR, streamOf } from './output.ts';

/** Work shorter than this shows no bar, ms (cli.md). */
const QUIET_MS = 500;
const EVERY_MS = 80;
const WIDTH = 30;

/** A bar on stderr for work that takes over half a second, wiped when it is done; null where stderr is no terminal. */
export function progressBar(): ((done: number, of: number) => void) | null {
  if (!isTerminal(STDERR)) return null;
  const stream = streamOf(STDERR);
  const start = performance.now();
  let shown = 0;
  return (done, of) => {
    const now = performance.now();
    if (done === of) {
      if (shown > 0) stream.write('\r\u001b[K');
      return;
    }
    if (now - start < QUIET_MS || now - shown < EVERY_MS) return;
    shown = now;
    const full = Math.floor((done / of) * WIDTH);
    stream.write(`\r${'#'.repeat(full)}${'.'.repeat(WIDTH - full)} ${done}/${of}`);
  };
}

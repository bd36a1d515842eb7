/** Work shorter than this shows no bar, ms (cli.md). */
const QUIET_MS = 500;
const EVERY_MS = 80;
const WIDTH = 30;

interface Terminal {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/** A bar on a terminal for work that takes over half a second, wiped when it is done; null where there is no terminal. */
export function progressBar(stream: Terminal): ((done: number, of: number) => void) | null {
  if (stream.isTTY !== true) return null;
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

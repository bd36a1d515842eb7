import { once } from 'node:events';
import type { Colours } from '../report/verdicts-text.ts';

/** Writes to stdout and waits until it is drained: large JSON reaches a pipe whole (cli.md). */
export async function print(text: string): Promise<void> {
  await write(process.stdout, text);
}

/** Progress and diagnostics go to stderr. Where nobody reads them any more nothing stops for that. */
export async function tell(text: string): Promise<void> {
  try {
    await write(process.stderr, text.endsWith('\n') ? text : `${text}\n`);
  } catch {
    // The exit code says it all the same.
  }
}

async function write(stream: NodeJS.WriteStream, text: string): Promise<void> {
  if (text === '') return;
  if (!stream.write(text)) await once(stream, 'drain');
}

/** Colours for a terminal; plain text elsewhere and under NO_COLOR. */
export function paintFor(stream: { readonly isTTY?: boolean }): Colours {
  const on = stream.isTTY === true && !process.env.NO_COLOR;
  const with_ =
    (code: number) =>
    (text: string): string =>
      on ? `\u001b[${code}m${text}\u001b[0m` : text;
  return { bold: with_(1), dim: with_(2), red: with_(31), yellow: with_(33), green: with_(32), cyan: with_(36) };
}

import { once } from 'node:events';
import { fstatSync, statSync, writeSync } from 'node:fs';
import { devNull } from 'node:os';
import type { Colours } from '../report/verdicts-text.ts';
import { EXIT, type Exit } from './command.ts';

/** The two places a command writes to, as file descriptors. */
export const STDOUT = 1;
export const STDERR = 2;
type Output = typeof STDOUT | typeof STDERR;

/** Writes to stdout and waits until it is drained: large JSON reaches a pipe whole (cli.md). A reader that stops early ends the process. */
export async function print(text: string): Promise<void> {
  await write(STDOUT, text);
}

/** Progress and diagnostics go to stderr. Where nobody reads them any more nothing stops for that. */
export async function tell(text: string): Promise<void> {
  await write(STDERR, text.endsWith('\n') ? text : `${text}\n`);
}

/** @returns whether people read this output on a terminal. */
export function isTerminal(output: Output): boolean {
  try {
    // Node's streams take 5 ms to set up: only what may be a terminal is asked.
    const stat = fstatSync(output);
    if (!stat.isCharacterDevice() || stat.rdev === statSync(devNull).rdev) return false;
  } catch {
    // Then Node's own answer counts.
  }
  return streamOf(output).isTTY === true;
}

/** @returns whether nothing is left in a stream of Node's: then the process may end at once. */
export function isDrained(): boolean {
  return !streamed;
}

let streamed = false;

/** The stream behind an output, its errors handled. */
export function streamOf(output: Output): NodeJS.WriteStream {
  streamed = true;
  const stream = output === STDOUT ? process.stdout : process.stderr;
  // One that hears no more of what is told is no error: what was begun is still ended in order.
  if (stream.listenerCount('error') === 0) stream.on('error', output === STDOUT ? stopOn : () => undefined);
  return stream;
}

let answer: (() => Exit) | null = null;

/** Says what a command that never ends by itself answers when its reader stops reading. */
export function whenReaderGoes(exit: () => Exit): void {
  answer = exit;
}

// A reader that stops early (`writ check | head`) is no error of ours.
function stopOn(error: NodeJS.ErrnoException): never {
  process.exit(error.code === 'EPIPE' ? (answer?.() ?? process.exitCode ?? EXIT.unchecked) : EXIT.unchecked);
}

async function write(output: Output, text: string): Promise<void> {
  if (text === '') return;
  const rest = writeNow(output, Buffer.from(text));
  if (rest.length === 0) return;
  const stream = streamOf(output);
  if (!stream.write(rest)) await once(stream, 'drain');
}

/** Writes what the system takes at once. @returns what is left: a pipe that its other end made non-blocking may be full. */
function writeNow(output: Output, bytes: Buffer): Buffer {
  let at = 0;
  try {
    while (at < bytes.length) at += writeSync(output, bytes, at);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EPIPE' && output === STDOUT) stopOn(error as NodeJS.ErrnoException);
    if (code !== 'EAGAIN')
      return output === STDERR ? bytes.subarray(bytes.length) : stopOn(error as NodeJS.ErrnoException);
  }
  return bytes.subarray(at);
}

/** Colours for a terminal; plain text elsewhere and under NO_COLOR. */
export function paintFor(output: Output): Colours {
  const on = !process.env.NO_COLOR && isTerminal(output);
  const with_ =
    (code: number) =>
    (text: string): string =>
      on ? `\u001b[${code}m${text}\u001b[0m` : text;
  return { bold: with_(1), dim: with_(2), red: with_(31), yellow: with_(33), green: with_(32), cyan: with_(36) };
}

import { createInterface } from 'node:readline/promises';
import { UsageError } from './command.ts';

/** Asks on a terminal; without one it is an error that names the flag (cli.md: without a terminal nothing ever asks). */
export async function confirm(question: string, yes: boolean, flagName: string): Promise<void> {
  if (yes) return;
  if (!canAsk()) throw new UsageError(`there is no terminal to ask on: ${question} Say yes with ${flagName}`);
  if (!(await agrees(question))) throw new UsageError('nothing was done');
}

/** @returns whether there is somebody to ask. */
export function canAsk(): boolean {
  return process.stdin.isTTY === true && process.stderr.isTTY === true;
}

/** Asks on a terminal. @returns whether the answer was yes; false without a terminal. */
export async function agrees(question: string): Promise<boolean> {
  if (!canAsk()) return false;
  const prompt = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(es)?$/i.test((await prompt.question(`${question} [y/N] `)).trim());
  } finally {
    prompt.close();
  }
}

/** Reads all of stdin, at most `max` bytes. */
export async function readStdin(max: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of process.stdin) {
    const bytes = Buffer.from(chunk as Uint8Array);
    size += bytes.length;
    if (size > max) throw new UsageError(`stdin holds more than ${max} bytes`);
    chunks.push(bytes);
  }
  return Buffer.concat(chunks);
}

import { TailBuffer } from '../files/read-tail.ts';
import { isEventStream, spokenOf } from '../result/event-stream.ts';
import { parseResult } from '../result/parse-result.ts';
import { type RunResult, toWire } from '../result/run-result.ts';
import { type Call, EXIT, type Exit, flag, text, UsageError } from './command.ts';
import { print } from './output.ts';
import { givenRoot } from './workspace.ts';

/** Most of an output that is read, from its end, in bytes: the block is asked for at the end. */
export const MAX_OUTPUT = 33_554_432;

/** `writ result parse`: an agent's output on stdin, exactly one result object on stdout. What it says is no verdict of ours: exit 0. */
export async function parse(call: Call): Promise<Exit> {
  givenRoot(call);
  const exitCode = exitCodeOf(call);
  if (process.stdin.isTTY === true) throw new UsageError('the output of an agent comes on stdin');
  const tail = new TailBuffer(MAX_OUTPUT);
  for await (const piece of process.stdin) tail.add(Buffer.from(piece as Uint8Array));
  const { bytes, dropped } = tail.end();
  await print(`${toWire(readOutput(bytes, dropped, { exitCode, timedOut: flag(call, 'timed-out') }))}\n`);
  return EXIT.ok;
}

/** Reads the kept end of an output; what was let go is told as a risk. */
function readOutput(bytes: Uint8Array, dropped: number, ended: Parameters<typeof parseResult>[1]): RunResult {
  const output = textOf(bytes);
  const result = parseResult(isEventStream(output) ? spokenOf(output) : output, ended);
  if (dropped === 0) return result;
  const risk = `only the last ${bytes.length} bytes of the output were read`;
  return { ...result, known_risks: [...result.known_risks, risk] };
}

/** Bytes of an output as text; what is no UTF-8 is replaced. */
export function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
}

/** `--exit-code`: 0 where it is not given; `null` is what a killed program has. */
function exitCodeOf(call: Call): number | null {
  const given = text(call, 'exit-code');
  if (given === null) return 0;
  if (given === 'null') return null;
  if (!/^-?\d{1,10}$/.test(given))
    throw new UsageError('--exit-code takes a whole number, or null for a killed program');
  return Number(given);
}

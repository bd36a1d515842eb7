import { escapeJson } from '../../model/escaped.ts';
import { print } from '../output.ts';

/** Prints a result: JSON, one value a call, the same bytes for the same value. */
export async function printJson(value: unknown): Promise<void> {
  await print(`${escapeJson(JSON.stringify(value, null, 1))}\n`);
}

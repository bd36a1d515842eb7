import { escapeJson } from '../model/escaped.ts';
import { print } from './output.ts';

/** Prints a result that may hold text of others: JSON, one value a call, the same bytes for the same value; in one line or indented. */
export async function printJson(value: unknown, indent: 0 | 1 = 1): Promise<void> {
  await print(`${escapeJson(JSON.stringify(value, null, indent))}\n`);
}

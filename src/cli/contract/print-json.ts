import type { ContractError } from '../../contract/envelope.ts';
import { escapeJson, escapeText } from '../../model/escaped.ts';
import { print, tell } from '../output.ts';

/** Prints a result: JSON, one value a call, the same bytes for the same value. */
export async function printJson(value: unknown): Promise<void> {
  await print(`${escapeJson(JSON.stringify(value, null, 1))}\n`);
}

/** Says of a refusal what stands in its JSON first: whoever looks at the terminal alone reads why. */
export async function tellRefusal(errors: readonly ContractError[]): Promise<void> {
  const [first] = errors;
  if (first === undefined) return;
  const more = errors.length === 1 ? '' : ` (and ${errors.length - 1} more)`;
  await tell(`writ: refused (${first.code}): ${escapeText(first.field, 200)}: ${escapeText(first.detail, 400)}${more}`);
}

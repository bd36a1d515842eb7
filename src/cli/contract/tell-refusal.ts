import type { ContractError } from '../../contract/envelope.ts';
import { escapeText } from '../../model/escaped.ts';
import { tell } from '../output.ts';

/** Says of a refusal what stands in its JSON first: whoever looks at the terminal alone reads why. */
export async function tellRefusal(errors: readonly ContractError[]): Promise<void> {
  const [first] = errors;
  if (first === undefined) return;
  const more = errors.length === 1 ? '' : ` (and ${errors.length - 1} more)`;
  await tell(`writ: refused (${first.code}): ${escapeText(first.field, 200)}: ${escapeText(first.detail, 400)}${more}`);
}

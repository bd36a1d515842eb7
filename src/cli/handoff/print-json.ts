import { print } from '../output.ts';

/** Control and format characters, blanks that are not seen, line separators: all that could hide text or move a cursor. */
const UNSEEN =
  /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\u2028\u2029\u00a0\u3164\uffa0\u115f\u1160\u2800]|[\ufe00-\ufe0f]|[\u{e0100}-\u{e01ef}]/gu;

/** JSON text with what is not seen spelt as JSON spells it, so that the value stays what it is. Line breaks between values stay. */
export function spelt(json: string): string {
  return json.replace(UNSEEN, (char) => (char === '\n' ? char : [...utf16(char)].join('')));
}

/** Prints a value that holds text of others as JSON, in one line or indented. */
export async function printJson(value: unknown, indent: 0 | 1): Promise<void> {
  await print(`${spelt(JSON.stringify(value, null, indent))}\n`);
}

function* utf16(char: string): Generator<string> {
  for (let at = 0; at < char.length; at += 1) yield `\\u${char.charCodeAt(at).toString(16).padStart(4, '0')}`;
}

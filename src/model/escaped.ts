/** Longest excerpt of artifact text any output may carry, in characters (overview.md, verdicts). */
export const EXCERPT = 120;

// Control, C1, bidi, zero-width, line separators, tags, private use and lone surrogates: all that can move a cursor or hide text.
const UNSAFE =
  /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\u2028\u2029\u00a0\u3164\uffa0\u115f\u1160\u2800]|[\ufe00-\ufe0f]|[\u{e0100}-\u{e01ef}]/gu;

/** What most texts are made of, told at once: nothing in it is to be spelt out. */
const PLAIN = /^[ -~]*$/;

const SECRETS =
  /\b(?:gh[pousr]_[A-Za-z0-9]{16,255}|github_pat_\w{20,255}|sk-[A-Za-z0-9_-]{16,200}|xox[abprs]-[A-Za-z0-9-]{10,200}|AKIA[0-9A-Z]{16}|AIza[\w-]{30,60}|eyJ[\w-]{10,500}\.[\w-]{10,500}(?:\.[\w-]{0,500})?|glpat-[\w-]{16,100}|npm_[A-Za-z0-9]{30,60})|-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----/g;

/** The text with everything invisible or cursor-moving spelt out as `\u{…}`; at most `max` characters of the original, `…` where it was cut. */
export function escapeText(text: string, max: number): string {
  const cut = text.length > max ? `${text.slice(0, max)}\u2026` : text;
  if (PLAIN.test(cut)) return cut;
  return cut.replace(UNSAFE, (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`);
}

/** A quoted excerpt of artifact text for messages: escaped, cut to 120 characters, shapes of secrets masked. */
export function excerpt(text: string): string {
  return escapeText(text.replace(SECRETS, '[masked]'), EXCERPT);
}

/** The text with shapes of secrets starred out, of the same length: for output that points into it. */
export function starred(text: string): string {
  return text.replace(SECRETS, (secret) => '*'.repeat(secret.length));
}

/** A path or other name for messages: escaped, cut to 240 characters. */
export function escapePath(path: string): string {
  return escapeText(path, 240);
}

/** JSON text with everything invisible or cursor-moving in its strings spelt as `\\uXXXX`: the same value to a reader, harmless on a terminal. */
export function escapeJson(json: string): string {
  if (PLAIN.test(json)) return json;
  return json.replace(UNSAFE, (char) => (char === '\n' ? char : toUnits(char)));
}

function toUnits(char: string): string {
  return char
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');
}

/** A path as one word of a command that somebody may copy into a shell: quoted unless it is plain, never an option. */
export function shellWord(path: string): string {
  const told = escapePath(path.startsWith('-') ? `./${path}` : path);
  return /^[\w./@+:,%-]+$/.test(told) ? told : `'${told.replaceAll("'", "'\\''")}'`;
}

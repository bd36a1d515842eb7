const ID = /^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,255}$/;

/** Begins the id of a base set. It governs no workspace by itself, whatever pin or pattern there is. */
export const BASE_ID = 'base/';

/**
 * @returns whether a text is a workspace id, or a pattern for ids: `*` stands for anything within one part, `**` as the last part for everything below. The
 * first part has no wildcard: a pin for everything would be a pin for whatever anybody sends.
 */
export function isIdPattern(text: string): boolean {
  if (text.length > 256 || text.startsWith(BASE_ID)) return false;
  const parts = text.split('/');
  if (!ID.test(text.replaceAll('*', 'x'))) return false;
  return parts.every((part, index) => {
    if (!part.includes('*')) return true;
    if (index === 0) return false;
    return part === '**' ? index === parts.length - 1 : !part.includes('**');
  });
}

/** @returns whether an id is one a pattern stands for; `**` alone stands for all. Compared part by part, so time is linear. */
export function matchesId(pattern: string, id: string): boolean {
  if (!pattern.includes('*')) return pattern === id;
  const wanted = pattern.split('/');
  const parts = id.split('/');
  const open = wanted.at(-1) === '**';
  const fixed = open ? wanted.slice(0, -1) : wanted;
  if (open ? parts.length <= fixed.length : parts.length !== fixed.length) return false;
  return fixed.every((part, index) => matchesPart(part, parts[index] ?? ''));
}

/** Literals of one part found in order: the first at its start, the last at its end. */
function matchesPart(pattern: string, text: string): boolean {
  const [first = '', ...rest] = pattern.split('*');
  const last = rest.pop();
  if (last === undefined) return first === text;
  if (text.length < first.length + last.length || !text.startsWith(first) || !text.endsWith(last)) return false;
  let at = first.length;
  for (const literal of rest) {
    const found = text.indexOf(literal, at);
    if (found === -1 || found + literal.length > text.length - last.length) return false;
    at = found + literal.length;
  }
  return true;
}

/** How much of a pattern is spelt out: of two that match, the one that says more counts. */
export function precision(pattern: string): number {
  return pattern.includes('*') ? pattern.replaceAll('*', '').length : Number.MAX_SAFE_INTEGER;
}

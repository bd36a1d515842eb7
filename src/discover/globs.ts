/** Longest pattern that is matched at all, in characters. */
const MAX_LENGTH = 256;
/** Most wildcards in one pattern. */
const MAX_WILDCARDS = 8;
/** Most alternatives that the braces of one pattern make. */
const MAX_ALTERNATIVES = 32;
const MAX_CACHED = 1_024;

type Token =
  | { readonly kind: 'literal'; readonly char: string }
  | { readonly kind: 'one' }
  | { readonly kind: 'class'; readonly negated: boolean; readonly ranges: readonly (readonly [number, number])[] }
  | { readonly kind: 'star' }
  /** Any number of whole folders, each with its slash. */
  | { readonly kind: 'folders' }
  /** Everything, slashes included. */
  | { readonly kind: 'rest' };

interface Compiled {
  readonly prefix: string;
  readonly suffix: string;
  readonly tokens: readonly Token[];
}

const cache = new Map<string, readonly Compiled[] | null>();

/**
 * @returns whether a workspace-relative path matches one of the globs: `*`, `?`, `[a-z]`, `{a,b}`, and `**` as a whole folder part; dot files
 * match like others, case counts. A pattern that `isValidGlob` refuses matches nothing. Time is linear in the path for every pattern.
 */
export function matchesAny(path: string, globs: readonly string[]): boolean {
  return globs.some((glob) => compiled(glob)?.some((one) => matches(path, one)) === true);
}

/** @returns whether a glob is one that `matchesAny` understands: relative, at most 256 characters and 8 wildcards, no `..`, no `!`, no backslash, no extended groups. */
export function isValidGlob(glob: string): boolean {
  return compiled(glob) !== null;
}

function compiled(glob: string): readonly Compiled[] | null {
  const known = cache.get(glob);
  if (known !== undefined) return known;
  const fresh = compile(glob);
  if (cache.size >= MAX_CACHED) cache.clear();
  cache.set(glob, fresh);
  return fresh;
}

function compile(glob: string): readonly Compiled[] | null {
  if (glob === '' || glob.length > MAX_LENGTH || /^[!/]|[\\\0()]|^[A-Za-z]:/.test(glob)) return null;
  if (glob.split('/').some((part) => part === '' || part === '.' || part === '..')) return null;
  if ((glob.match(/\*+|\?|\[|\{/g) ?? []).length > MAX_WILDCARDS) return null;
  const plain = alternatives(glob);
  if (plain === null) return null;
  const all: Compiled[] = [];
  for (const one of plain) {
    const tokens = tokensOf(one);
    if (tokens === null) return null;
    all.push({ tokens, prefix: literalRun(tokens), suffix: literalRun([...tokens].reverse(), true) });
  }
  return all;
}

function alternatives(glob: string): readonly string[] | null {
  const open = glob.indexOf('{');
  if (open < 0) return glob.includes('}') ? null : [glob];
  const close = glob.indexOf('}', open);
  const inner = glob.slice(open + 1, close);
  if (close < 0 || !inner.includes(',') || /[{/]/.test(inner)) return null;
  const tails = alternatives(glob.slice(close + 1));
  const all = tails?.flatMap((tail) => inner.split(',').map((word) => glob.slice(0, open) + word + tail)) ?? null;
  return all === null || all.length > MAX_ALTERNATIVES ? null : all;
}

function tokensOf(glob: string): readonly Token[] | null {
  const tokens: Token[] = [];
  for (let at = 0; at < glob.length; at += 1) {
    const char = glob.charAt(at);
    if (char === '*') {
      const run = /^\*+/.exec(glob.slice(at))?.[0].length ?? 1;
      const starts = at === 0 || glob[at - 1] === '/';
      const next = glob[at + run];
      at += run - 1;
      if (run === 2 && starts && next === '/') {
        tokens.push({ kind: 'folders' });
        at += 1;
      } else if (run === 2 && starts && next === undefined) {
        tokens.push({ kind: 'rest' });
      } else tokens.push({ kind: 'star' });
    } else if (char === '?') tokens.push({ kind: 'one' });
    else if (char === '[') {
      const close = glob.indexOf(']', at + 2);
      const found = close < 0 ? null : classOf(glob.slice(at + 1, close));
      if (found === null) return null;
      tokens.push(found);
      at = close;
    } else tokens.push({ kind: 'literal', char });
  }
  return tokens;
}

function classOf(body: string): Token | null {
  const negated = /^[!^]/.test(body);
  const chars = negated ? body.slice(1) : body;
  if (chars === '' || /[[/:]/.test(chars)) return null;
  const ranges: [number, number][] = [];
  for (let at = 0; at < chars.length; at += 1) {
    const ranged = chars[at + 1] === '-' && at + 2 < chars.length;
    const to = ranged ? at + 2 : at;
    ranges.push([chars.charCodeAt(at), chars.charCodeAt(to)]);
    at = to;
  }
  return { kind: 'class', negated, ranges };
}

function literalRun(tokens: readonly Token[], backwards = false): string {
  let run = '';
  for (const token of tokens) {
    if (token.kind !== 'literal') break;
    run = backwards ? token.char + run : run + token.char;
  }
  return run;
}

/** Walks all places of the pattern at once, so that no pattern backtracks. */
function matches(path: string, { tokens, prefix, suffix }: Compiled): boolean {
  if (!path.startsWith(prefix) || !path.endsWith(suffix)) return false;
  let here = new Set<number>();
  const settle = (places: Set<number>, place: number, atFolderStart: boolean): void => {
    places.add(place);
    const token = tokens[place];
    const canBeEmpty = token?.kind === 'star' || (token?.kind === 'folders' && atFolderStart) || token?.kind === 'rest';
    if (canBeEmpty && !places.has(place + 1)) settle(places, place + 1, atFolderStart);
  };
  settle(here, 0, true);
  for (const char of path.split('')) {
    const next = new Set<number>();
    for (const place of here) {
      const token = tokens[place];
      if (token === undefined || !takes(token, char)) continue;
      const stays = token.kind === 'star' || token.kind === 'folders' || token.kind === 'rest';
      settle(next, stays ? place : place + 1, char === '/');
    }
    here = next;
    if (here.size === 0) return false;
  }
  return here.has(tokens.length);
}

function takes(token: Token, char: string): boolean {
  switch (token.kind) {
    case 'literal':
      return token.char === char;
    case 'one':
    case 'star':
      return char !== '/';
    case 'class': {
      const code = char.charCodeAt(0);
      return char !== '/' && token.ranges.some(([from, to]) => code >= from && code <= to) !== token.negated;
    }
    case 'folders':
    case 'rest':
      return true;
  }
}

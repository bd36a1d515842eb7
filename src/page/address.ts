import type { PageText } from './data.ts';

/** What the address says: which text is open, and how the list is narrowed. Empty texts mean: not narrowed. */
export interface Wish {
  readonly q: string;
  readonly ranks: readonly string[];
  readonly class: string;
  readonly who: string;
  readonly host: string;
  readonly code: string;
  readonly sort: string;
  /** `path` or `path:line` of the text that is open. */
  readonly text: string;
}

export const NO_WISH: Wish = { q: '', ranks: [], class: '', who: '', host: '', code: '', sort: '', text: '' };

/** Reads the part of an address behind `#?`; null where it names a section or nothing. */
export function readAddress(hash: string): Wish | null {
  if (!hash.startsWith('#?')) return null;
  const given = new URLSearchParams(hash.slice(2));
  const word = (name: string): string => (given.get(name) ?? '').slice(0, 2_000);
  return {
    q: word('q'),
    ranks: word('rank').split(',').filter(Boolean),
    class: word('class'),
    who: word('who'),
    host: word('host'),
    code: word('code'),
    sort: word('sort'),
    text: word('text'),
  };
}

/** The address of a wish, to be followed or kept. */
export function toAddress(wish: Partial<Wish>): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(wish)) {
    const text = Array.isArray(value) ? value.join(',') : String(value);
    if (text !== '') params.set(name === 'ranks' ? 'rank' : name, text);
  }
  return `#?${params.toString()}`;
}

/** What the address calls a text. */
export function nameOf(one: PageText): string {
  return one.line === null ? one.path : `${one.path}:${one.line}`;
}

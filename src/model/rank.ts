/** What an artifact loads as, lowest first. */
export const RANKS = ['quarantined', 'reference', 'advisory', 'binding'] as const;
export type Rank = (typeof RANKS)[number];

/** The lower of two ranks: the only way ranks are ever combined. */
export function lower(a: Rank, b: Rank): Rank {
  return RANKS.indexOf(a) <= RANKS.indexOf(b) ? a : b;
}

/** @returns whether `a` is strictly below `b`. */
export function isBelow(a: Rank, b: Rank): boolean {
  return RANKS.indexOf(a) < RANKS.indexOf(b);
}

/** What was noticed since the last judgement began. */
export interface Pending {
  /** When the first change was noticed, on the clock of `performance.now()`; null where none was. */
  since: number | null;
  /** How many changes were told. */
  count: number;
  /** Names came or went, so folders may have. */
  names: boolean;
  /** A tree of dependencies may be another. */
  dependencies: boolean;
  /** Nothing kept may be believed. */
  all: boolean;
  /** Watches that broke. */
  readonly faults: Error[];
}

export function nothing(): Pending {
  return { since: null, count: 0, names: false, dependencies: false, all: false, faults: [] };
}

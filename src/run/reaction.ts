import type { Status } from '../result/run-result.ts';

/** What a host does about each status (FLT-2, status semantics). */
export const REACTIONS: Readonly<Record<Status, { readonly reaction: string; readonly meaning: string }>> = {
  completed: {
    reaction: 'review_and_validate',
    meaning: 'The agent believes it is done: review and validate. Belief is not truth.',
  },
  failed: { reaction: 'next_agent', meaning: 'It errored or gave up: the next agent on the ladder.' },
  timed_out: {
    reaction: 'larger_budget',
    meaning: 'The host killed it: once more with a larger budget, then the next agent.',
  },
  rate_limited: {
    reaction: 'other_vendor',
    meaning: 'The vendor throttled the account: another vendor now, this one later.',
  },
  approval_required: {
    reaction: 'human_gate',
    meaning: 'It stopped at a decision it may not make: a human decides, with the partial work kept.',
  },
};

/** One agent on the ladder. */
export interface Rung<T> {
  readonly agent: T;
  readonly vendor: string;
  /** ms. */
  readonly timeout: number;
  /** It ran out of time once already. */
  readonly larger: boolean;
  /** Its vendor throttled it once already: it is not put back again. */
  readonly throttled: boolean;
}

/** How much larger the budget of a second try is. */
const LARGER = 2;

/**
 * The next run after one that ended in a status, and the rungs that are left then. Pure.
 * @returns null where the ladder ends here: what there is goes to a human.
 */
export function nextRung<T>(
  current: Rung<T>,
  status: Status,
  left: readonly Rung<T>[],
): { readonly rung: Rung<T>; readonly left: readonly Rung<T>[] } | null {
  switch (status) {
    case 'completed':
    case 'approval_required':
      return null;
    case 'timed_out':
      return current.larger
        ? first(left)
        : { rung: { ...current, timeout: current.timeout * LARGER, larger: true }, left };
    case 'failed':
      return first(left);
    case 'rate_limited': {
      // Only what is behind an agent of another vendor is tried again: by then some time has passed.
      const others = left.filter(({ vendor }) => vendor !== current.vendor);
      const same = left.filter(({ vendor }) => vendor === current.vendor);
      return others.length === 0
        ? null
        : first([...others, ...same, ...(current.throttled ? [] : [{ ...current, throttled: true }])]);
    }
  }
}

function first<T>(left: readonly Rung<T>[]): ReturnType<typeof nextRung<T>> {
  const [rung, ...rest] = left;
  return rung === undefined ? null : { rung, left: rest };
}

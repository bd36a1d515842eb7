import { STATES, type State } from './envelope.ts';

/** The state machine of a contract, from one finalized state to the next. */
export const TRANSITIONS: Readonly<Record<State, readonly State[]>> = {
  IN_PROGRESS: STATES,
  APPROVAL_REQUEST: ['IN_PROGRESS'],
  COMPLETE: ['IN_PROGRESS'],
  BLOCKED: ['IN_PROGRESS'],
  NEEDS_INPUT: ['IN_PROGRESS'],
  NEEDS_VERIFICATION: ['COMPLETE', 'IN_PROGRESS'],
};

/** Most consecutive IN_PROGRESS; the last of them is warned of. A resume begins to count anew. */
export const MAX_RETRIES = 2;

export interface Step {
  /** Null where nothing was recorded yet: the first state is always right. */
  readonly from: State | null;
  readonly to: State;
  /** Consecutive IN_PROGRESS recorded since the last resume. */
  readonly retries: number;
}

/** What a step comes to: the new count of retries, or the code that refuses it. */
export type Stepped =
  | { readonly retries: number; readonly last: boolean }
  | { readonly refused: 'ILLEGAL_TRANSITION' | 'RETRY_CAP' };

/** @returns whether a step may be made. */
export function step({ from, to, retries }: Step): Stepped {
  if (from !== null && !TRANSITIONS[from].includes(to)) return { refused: 'ILLEGAL_TRANSITION' };
  if (to !== 'IN_PROGRESS') return { retries: 0, last: false };
  return retries >= MAX_RETRIES
    ? { refused: 'RETRY_CAP' }
    : { retries: retries + 1, last: retries + 1 === MAX_RETRIES };
}

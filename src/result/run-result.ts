/** Version of the shape below (FLT-2, frozen 2026-07-14). Another field, name, order or status means another version, here and in every implementation. */
export const WIRE_VERSION = 1;

/** How a run of an agent ended. Nothing else, ever. */
export const STATUSES = ['completed', 'failed', 'timed_out', 'rate_limited', 'approval_required'] as const;
export type Status = (typeof STATUSES)[number];

/** What every run of every agent comes to (FLT-2). All but the host's own entries are claims. */
export interface RunResult {
  readonly status: Status;
  /** Empty where the agent said nothing, never null. */
  readonly summary: string;
  /** Paths relative to the repository that the agent believes it changed. */
  readonly changed_files: readonly string[];
  /** Commands the agent says it ran, with the outcomes it claims. */
  readonly tests_attempted: readonly string[];
  readonly known_risks: readonly string[];
  /** Once true, never lowered. */
  readonly needs_human_review: boolean;
}

// What reorders or breaks a line of text where it is shown, and the controls that JSON leaves as they are. Joiners and selectors of emoji stay.
const UNSAFE = /[\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

/** The result on the wire: one line of JSON, keys in the order of the contract, UTF-8, no line break in or behind it. */
export function toWire(result: RunResult): string {
  return toJsonLine(ordered(result));
}

/** The six fields and no others, in the order of the contract. */
export function ordered(result: RunResult): RunResult {
  return {
    status: result.status,
    summary: result.summary,
    changed_files: result.changed_files,
    tests_attempted: result.tests_attempted,
    known_risks: result.known_risks,
    needs_human_review: result.needs_human_review,
  };
}

/** JSON in one line in which nothing moves a cursor or turns text around; it reads as the same value. */
export function toJsonLine(value: unknown): string {
  return JSON.stringify(value).replace(
    UNSAFE,
    (char) => `\\u${(char.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`,
  );
}

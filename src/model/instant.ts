/** A point in time, unix milliseconds, always a finite integer: no comparison of instants can meet NaN. */
export type Instant = number & { readonly __instant: true };

const MS_FLOOR = 100_000_000_000;
const MS_CEIL = 253_402_300_799_999;
const ISO = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?Z$/;

/** @returns the instant for a count of unix milliseconds, or null where the number is no whole millisecond of the years 1973 to 9999 (a 10-digit number is seconds, not milliseconds). */
export function instantFromMs(ms: number): Instant | null {
  return Number.isSafeInteger(ms) && ms >= MS_FLOOR && ms <= MS_CEIL ? (ms as Instant) : null;
}

/** @returns the instant of an ISO 8601 date-time that ends in Z, or null for every other spelling and for dates that do not exist. */
export function instantFromIso(text: string): Instant | null {
  if (!ISO.test(text)) return null;
  const ms = Date.parse(text);
  if (!Number.isFinite(ms)) return null;
  const day = Number(text.slice(8, 10));
  return new Date(ms).getUTCDate() === day ? instantFromMs(Math.trunc(ms)) : null;
}

/** The instant as ISO 8601, seconds precision, for people and for signed statements. */
export function isoOf(at: Instant): string {
  return new Date(at).toISOString();
}

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** @returns the milliseconds of a duration spelled `90s 15m 8h 7d`, or null. */
export function durationMs(text: string): number | null {
  const found = /^(\d{1,9})([smhd])$/.exec(text);
  const unit = UNITS[found?.[2] ?? ''];
  return found && unit ? Number(found[1]) * unit : null;
}

/** @returns the instant a duration from `now`, or the ISO 8601 instant itself, or null (cli.md: durations). */
export function instantFromDuration(text: string, now: Instant): Instant | null {
  const span = durationMs(text);
  return span === null ? instantFromIso(text) : instantFromMs(now + span);
}

/** @returns `at` moved by `ms`, held within the range of instants. */
export function shift(at: Instant, ms: number): Instant {
  return Math.min(MS_CEIL, Math.max(MS_FLOOR, Math.trunc(at + ms))) as Instant;
}

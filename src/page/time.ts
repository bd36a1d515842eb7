import { el } from './dom.ts';

const DAY = 86_400_000;

/** The day, in UTC: `2026-12-01`. */
export function dayOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}

/** An instant as people read it, in UTC, with the exact one behind it. */
export function instant(at: number): HTMLElement {
  const iso = new Date(at).toISOString();
  return el('time', { datetime: iso, title: iso }, `${iso.slice(0, 10)} ${iso.slice(11, 16)}`);
}

/** How far an instant is from the one the page was made at: `in 3 days`, `2 hours ago`. */
export function away(at: number, now: number): string {
  const gap = Math.abs(at - now);
  const [size, unit] =
    gap >= 2 * DAY
      ? [Math.round(gap / DAY), 'days']
      : gap >= 2 * 3_600_000
        ? [Math.round(gap / 3_600_000), 'hours']
        : [Math.max(1, Math.round(gap / 60_000)), 'minutes'];
  const words = `${size} ${size === 1 ? unit.slice(0, -1) : unit}`;
  return at >= now ? `in ${words}` : `${words} ago`;
}

import { toAddress } from './address.ts';
import type { PageData, PageVersion } from './data.ts';
import { count, el, folded, middle, section, svg, table } from './dom.ts';
import { dayOf, instant } from './time.ts';

/** Paths drawn; all are in the list. */
const MOST = 24;
const LANE = 26;
const NAMES = 250;
const CHART = 900;
const TOP = 26;
const DAY = 86_400_000;

/** What was approved when, and what took its place. */
export function versionsSection(data: PageData): HTMLElement {
  const { versions } = data;
  const paths = lanes(versions);
  return section(
    'versions',
    'Versions',
    versions.length === 0
      ? 'Nothing was ever approved here, as far as the proofs in this workspace say.'
      : `${count(versions.length, 'approval')} of ${count(paths.length, 'path')} over time. A version that was replaced does not come back by itself.`,
    versions.length === 0 ? null : draw(data, paths.slice(0, MOST)),
    versions.length === 0
      ? null
      : folded(paths.length > MOST ? `All ${paths.length} paths as a list` : 'The same as a list', () =>
          list(versions),
        ),
  );
}

/** Paths with their versions: those that changed most first, then the newest. */
function lanes(versions: readonly PageVersion[]): readonly (readonly PageVersion[])[] {
  const byPath = new Map<string, PageVersion[]>();
  for (const one of versions) {
    const known = byPath.get(one.path);
    if (known) known.push(one);
    else byPath.set(one.path, [one]);
  }
  const newest = (lane: readonly PageVersion[]): number => Math.max(...lane.map((one) => one.from));
  return [...byPath.values()].sort((a, b) => b.length - a.length || newest(b) - newest(a));
}

function draw({ at }: PageData, paths: readonly (readonly PageVersion[])[]): HTMLElement {
  const all = paths.flat();
  const first = Math.min(...all.map((one) => one.from));
  // Of the future no more than of the past, or a season: what changed when is what the drawing is for.
  const last = Math.min(Math.max(at + DAY, ...all.map((one) => one.to ?? at)), at + Math.max(at - first, 90 * DAY));
  const span = Math.max(1, last - first);
  const x = (when: number): number => NAMES + ((Math.min(last, Math.max(first, when)) - first) / span) * CHART;
  const height = TOP + paths.length * LANE + 8;
  const width = NAMES + CHART + 16;
  const ticks = [0, 1, 2, 3, 4].map((step) => first + (span * step) / 4);
  return el(
    'div',
    { class: 'scroll picture', role: 'region', 'aria-label': 'Versions over time', tabindex: 0 },
    svg(
      'svg',
      {
        class: 'time',
        width,
        height,
        viewBox: `0 0 ${width} ${height}`,
        role: 'group',
        'aria-label': 'Approvals of each path over time; the list below says the same',
      },
      ...ticks.flatMap((when, index) => [
        svg('line', { class: 'tick', x1: x(when), x2: x(when), y1: TOP - 6, y2: height }),
        svg(
          'text',
          { class: 'tick', x: x(when), y: 13, 'text-anchor': index === 0 ? 'start' : index === 4 ? 'end' : 'middle' },
          dayOf(when),
        ),
      ]),
      ...paths.flatMap((lane, index) => drawLane(lane, TOP + index * LANE, x, at)),
      svg('line', { class: 'now', x1: x(at), x2: x(at), y1: TOP - 6, y2: height }),
    ),
  );
}

function drawLane(
  lane: readonly PageVersion[],
  y: number,
  x: (at: number) => number,
  now: number,
): readonly SVGElement[] {
  const path = lane[0]?.path ?? '';
  return [
    svg(
      'a',
      { href: toAddress({ text: path }), 'aria-label': `${path}, ${count(lane.length, 'version')}` },
      svg('title', {}, path),
      svg('text', { class: 'name', x: 4, y: y + 16 }, middle(path, 33)),
    ),
    ...lane.flatMap((one) => {
      const start = x(one.from);
      const end = Math.max(start + 3, x(one.to ?? now));
      return [
        svg(
          'rect',
          { class: `span ${one.state}`, x: start, y: y + 5, width: end - start, height: 14, rx: 3 },
          svg(
            'title',
            {},
            `${one.class} ${one.level} approved by ${one.approver}, ${dayOf(one.from)} to ${one.to === null ? 'no end' : dayOf(one.to)}: ${one.state}`,
          ),
        ),
        svg('circle', { class: `start ${one.state}`, cx: start, cy: y + 12, r: 4 }),
      ];
    }),
  ];
}

function list(versions: readonly PageVersion[]): HTMLElement {
  return table(
    'Approvals',
    ['Path', 'Approved', 'By', 'Class', 'State', 'Until', 'Id'],
    versions.map((one) => [
      el('span', { class: 'path' }, one.path),
      instant(one.from),
      el('span', {}, one.approver),
      el('span', {}, `${one.class} ${one.level}`),
      el(
        'span',
        { class: one.state === 'stands' ? null : 'nobody' },
        one.state,
        one.by.length === 0 ? null : el('small', { class: 'path' }, `by ${one.by.join(', ')}`),
      ),
      one.to === null ? el('span', {}, 'no end') : instant(one.to),
      el('small', { class: 'path' }, one.id),
    ]),
  );
}

import type { PageData } from './data.ts';
import { el, middle, svg } from './dom.ts';
import { type Box, type Graph, type Line, layOut } from './layout.ts';

const WIDTH = 176;
const HEIGHT = 42;
const GAP = 12;
const ACROSS = 72;
const EDGE = 12;

/** The graph as a drawing whose boxes are links; what hangs on a box lights up when it is pointed at or focused. */
export function drawGraph(data: PageData): HTMLElement {
  const graph = layOut(data);
  const tallest = Math.max(...graph.columns.map((column) => column.length));
  const height = tallest * (HEIGHT + GAP) - GAP + EDGE * 2;
  const width = graph.columns.length * (WIDTH + ACROSS) - ACROSS + EDGE * 2;
  const places = new Map<string, { readonly x: number; readonly y: number }>();
  for (const [index, column] of graph.columns.entries()) {
    const top = (height - (column.length * (HEIGHT + GAP) - GAP)) / 2;
    for (const [row, box] of column.entries())
      places.set(box.key, { x: EDGE + index * (WIDTH + ACROSS), y: top + row * (HEIGHT + GAP) });
  }
  const paths = graph.lines.map((line) => ({ line, path: drawLine(line, places) }));
  const boxes = graph.columns
    .flat()
    .map((box) => ({ box, node: drawBox(box, graph, places.get(box.key) ?? { x: 0, y: 0 }) }));
  const drawing = svg(
    'svg',
    {
      class: 'graph',
      width,
      height,
      viewBox: `0 0 ${width} ${height}`,
      role: 'group',
      'aria-label': 'Graph of who stands behind what; the list below says the same',
    },
    ...paths.map((one) => one.path),
    ...boxes.map((one) => one.node),
  );
  const light = (key: string | null): void => {
    drawing.classList.toggle('lit', key !== null);
    const near = new Set([key]);
    for (const { line, path } of paths) {
      const on = line.from === key || line.to === key;
      path.classList.toggle('on', on);
      if (on) near.add(line.from).add(line.to);
    }
    for (const { box, node } of boxes) node.classList.toggle('on', near.has(box.key));
  };
  for (const { box, node } of boxes) {
    for (const event of ['mouseenter', 'focus']) node.addEventListener(event, () => light(box.key));
    for (const event of ['mouseleave', 'blur']) node.addEventListener(event, () => light(null));
  }
  return el(
    'div',
    { class: 'scroll picture', role: 'region', 'aria-label': 'Graph of who stands behind what', tabindex: 0 },
    drawing,
  );
}

function drawLine(line: Line, places: ReadonlyMap<string, { readonly x: number; readonly y: number }>): SVGPathElement {
  const from = places.get(line.from) ?? { x: 0, y: 0 };
  const to = places.get(line.to) ?? { x: 0, y: 0 };
  const [x1, y1, x2, y2] = [from.x + WIDTH, from.y + HEIGHT / 2, to.x, to.y + HEIGHT / 2];
  // Within one column a line leaves and arrives at the right side.
  const d =
    x2 > x1
      ? `M${x1} ${y1}C${x1 + ACROSS / 2} ${y1} ${x2 - ACROSS / 2} ${y2} ${x2} ${y2}`
      : `M${x1} ${y1}C${x1 + ACROSS / 2} ${y1} ${to.x + WIDTH + ACROSS / 2} ${y2} ${to.x + WIDTH} ${y2}`;
  return svg('path', { class: `line ${line.kind}`, d, 'aria-hidden': 'true' });
}

function drawBox(box: Box, { lines }: Graph, { x, y }: { readonly x: number; readonly y: number }): SVGElement {
  const told = (kind: Line['kind'], word: string): readonly string[] => {
    const number = lines.filter((one) => one.from === box.key && one.kind === kind).length;
    return number === 0 ? [] : [`${word} ${number}`];
  };
  const label = [
    box.title,
    box.under,
    ...told('spawned', 'spawned'),
    ...told('approved', 'approved groups'),
    ...told('wrote', 'wrote groups'),
  ].join(', ');
  const parts = [
    svg('title', {}, `${box.title}: ${box.under}`),
    svg('rect', { x, y, width: WIDTH, height: HEIGHT, rx: 7 }),
    svg('rect', { class: 'mark', x, y, width: 5, height: HEIGHT, rx: 2 }),
    svg('text', { class: 'title', x: x + 14, y: y + 18 }, middle(box.title, 18)),
    svg('text', { class: 'under', x: x + 14, y: y + 33 }, middle(box.under, 25)),
  ];
  const kind = `box ${box.kind} ${box.rank ?? ''} ${box.faulty ? 'faulty' : ''}`;
  return box.href === null
    ? svg('g', { class: kind }, ...parts)
    : svg('a', { class: kind, href: box.href, 'aria-label': label }, ...parts);
}

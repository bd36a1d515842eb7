type Child = Node | string | null;
type Attributes = Readonly<Record<string, string | number | boolean | null>>;

const SVG = 'http://www.w3.org/2000/svg';

/** Makes an element. Text only ever becomes a text node. An attribute of null or false is left out, of true is empty. */
export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  return filled(document.createElement(tag), attributes, children);
}

/** The same for a drawing. */
export function svg<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: readonly Child[]
): SVGElementTagNameMap[K] {
  return filled(document.createElementNS(SVG, tag) as SVGElementTagNameMap[K], attributes, children);
}

function filled<T extends Element>(element: T, attributes: Attributes, children: readonly Child[]): T {
  for (const [name, value] of Object.entries(attributes))
    if (value !== null && value !== false) element.setAttribute(name, value === true ? '' : String(value));
  for (const child of children) if (child !== null) element.append(child);
  return element;
}

/** A section with its heading, which the navigation leads to. */
export function section(id: string, title: string, lead: string | null, ...children: readonly Child[]): HTMLElement {
  return el(
    'section',
    { id, 'aria-labelledby': `${id}-title` },
    el('h2', { id: `${id}-title` }, title),
    lead === null ? null : el('p', { class: 'lead' }, lead),
    ...children,
  );
}

/** A table of plain cells. `name` is what a screen reader calls it. */
export function table(
  name: string,
  heads: readonly string[],
  rows: readonly (readonly Child[])[],
  kind = '',
): HTMLElement {
  return el(
    'div',
    { class: 'scroll', role: 'region', 'aria-label': name, tabindex: 0 },
    el(
      'table',
      { class: `plain ${kind}` },
      el('thead', {}, el('tr', {}, ...heads.map((head) => el('th', { scope: 'col' }, head)))),
      el('tbody', {}, ...rows.map((row) => el('tr', {}, ...row.map((cell) => el('td', {}, cell))))),
    ),
  );
}

/** Something long that is folded away until it is asked for, and built only then. Printed where it is open. */
export function folded(summary: string, build: () => Node): HTMLElement {
  const details = el('details', { class: 'fold' }, el('summary', {}, summary));
  details.addEventListener('toggle', () => {
    if (details.open && details.children.length === 1) details.append(build());
  });
  return details;
}

/** `1 text`, `2 texts`. */
export function count(number: number, one: string, many = `${one}s`): string {
  return `${number.toLocaleString('en')} ${number === 1 ? one : many}`;
}

/** A text shortened in its middle, so that start and end can still be told. */
export function middle(text: string, most: number): string {
  if (text.length <= most) return text;
  const half = Math.floor((most - 1) / 2);
  return `${text.slice(0, half)}\u2026${text.slice(text.length - half)}`;
}

import { toAddress } from './address.ts';
import type { PageData, PagePerson } from './data.ts';
import { count, el, folded, section, table } from './dom.ts';
import { drawGraph } from './graph.ts';
import { instant } from './time.ts';

/** Who stands behind what: the root, the people it lists, the agents they spawned, and the texts these wrote and approved. */
export function peopleSection(data: PageData): HTMLElement {
  const { people } = data;
  const standing = people.filter((one) => one.fault === null);
  return section(
    'people',
    'Who stands behind what',
    people.length === 0
      ? 'Nobody is proven here: no policy set names anybody, so every text is evidence at most.'
      : `${count(standing.length, 'key holder stands', 'key holders stand')}. The root lists people, people spawn agents; a solid line approves, a dashed line wrote.`,
    people.length === 0 ? null : drawGraph(data),
    people.length === 0 ? null : folded('The same as a list', () => list(data)),
  );
}

function list({ people, texts }: PageData): HTMLElement {
  const wrote = tally(texts.flatMap((one) => (one.writer === null ? [] : [one.writer.name])));
  const approved = tally(texts.flatMap((one) => one.approvedBy));
  return table(
    'People and agents',
    ['Name', 'Role', 'Known by', 'Wrote', 'Approved', 'Ends', 'Stands'],
    people.map((one) => [
      el(
        'span',
        {},
        el('a', { href: toAddress({ who: one.name }) }, one.name),
        ...one.keys.map((key) => el('small', { class: 'path' }, key)),
      ),
      el('span', {}, one.role),
      el('span', {}, known(one), ...one.paths.map((path) => el('small', { class: 'path' }, path))),
      el('span', {}, String(wrote.get(one.name) ?? 0)),
      el('span', {}, String(approved.get(one.name) ?? 0)),
      one.ends === null ? el('span', {}, 'never') : instant(one.ends),
      el('span', { class: one.fault === null ? null : 'soon' }, one.fault ?? 'yes'),
    ]),
  );
}

function known(one: PagePerson): string {
  if (one.parent !== null) return `spawned by ${one.parent}`;
  return one.kind === 'root' ? 'signs the policy set' : 'listed in the policy set';
}

/** How often each name stands in a list. */
export function tally(names: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}

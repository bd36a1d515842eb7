import { toAddress } from './address.ts';
import type { PageData, PageEnd } from './data.ts';
import { count, el, folded, section, table } from './dom.ts';
import { bar, RANKS } from './rank.ts';
import { away, instant } from './time.ts';

const SHOWN = 10;
const DAY = 86_400_000;

/** What runs out next. */
export function endsSection({ ends, at }: PageData): HTMLElement {
  const heads = ['When', 'What', 'Which', 'To renew it'];
  const row = (one: PageEnd): readonly Node[] => [
    el(
      'span',
      { class: one.at <= at ? 'over' : one.at - at < 14 * DAY ? 'soon' : 'later' },
      `${away(one.at, at)} `,
      el('br'),
      instant(one.at),
    ),
    el('span', {}, one.what),
    el('span', { class: 'path' }, one.name),
    el('code', { class: 'command' }, one.cure),
  ];
  const rest = ends.slice(SHOWN);
  return section(
    'ends',
    'What ends next',
    ends.length === 0
      ? 'Nothing here has an end.'
      : 'Approvals, texts, keys, spawned agents and exceptions, the next first. What ended in the last 30 days stands here too.',
    ends.length === 0 ? null : table('What ends next', heads, ends.slice(0, SHOWN).map(row), 'ends'),
    rest.length === 0
      ? null
      : folded(`${count(rest.length, 'later end')}`, () => table('Later ends', heads, rest.map(row), 'ends')),
  );
}

/** Handoffs nobody has finished; null where none are kept here. */
export function handoffsSection({ handoffs, at }: PageData): HTMLElement | null {
  if (handoffs === null) return null;
  return section(
    'handoffs',
    'Open handoffs',
    handoffs.length === 0 ? 'None is open.' : 'What one agent gave another and is not finished.',
    handoffs.length === 0
      ? null
      : table(
          'Open handoffs',
          ['State', 'From', 'To', 'Intent', 'Since', 'Ends'],
          handoffs.map((one) => [
            el('b', {}, one.state),
            el('span', {}, one.from),
            el('span', {}, one.to),
            el('span', {}, one.intent, el('br'), el('small', { class: 'path' }, one.id)),
            instant(one.at),
            one.expiresAt === null
              ? el('span', {}, 'never')
              : el('span', {}, `${away(one.expiresAt, at)} `, instant(one.expiresAt)),
          ]),
        ),
  );
}

/** What each host reads here, and how much of that it reads without writ. */
export function hostsSection({ hosts }: PageData): HTMLElement {
  return section(
    'hosts',
    'What each host reads',
    hosts.length === 0
      ? 'No host reads anything here.'
      : 'A host that is not started by writ exec reads its files where they lie: what ranks below binding is law to it all the same (raw).',
    hosts.length === 0
      ? null
      : table(
          'What each host reads',
          ['Host', 'Texts by rank', 'At launch', 'Raw at launch', 'Cut short', 'Facts of'],
          hosts.map((one) => {
            const told = RANKS.filter((rank) => one.counts[rank] > 0).map((rank) => `${one.counts[rank]} ${rank}`);
            return [
              el(
                'span',
                {},
                el('a', { href: toAddress({ host: one.name }) }, one.title),
                ' ',
                el('small', { class: one.used ? 'badge good' : 'badge' }, one.used ? 'in use here' : 'not seen here'),
                one.judged ? null : el('small', { class: 'badge warn' }, 'left out by policy.yaml'),
              ),
              el('div', {}, bar(one.counts), el('small', {}, told.join(', ') || 'none')),
              el('span', {}, String(one.launch)),
              el('span', { class: one.raw > 0 && one.used ? 'soon' : null }, String(one.raw)),
              el('span', { class: one.truncated > 0 ? 'soon' : null }, String(one.truncated)),
              el('small', {}, one.seen),
            ];
          }),
          'hosts',
        ),
  );
}

/** What was taken out of the agents' way. */
export function heldSection({ held, heldFaults }: PageData): HTMLElement {
  return section(
    'held',
    'Held in quarantine',
    held.length === 0
      ? 'Nothing is held.'
      : 'Moved away with its record; nothing of it loads. To see one: writ quarantine show ID',
    held.length === 0
      ? null
      : table(
          'Held in quarantine',
          ['From', 'Why', 'Taken', 'Size', 'Record'],
          held.map((one) => [
            el('span', { class: 'path' }, one.path),
            el('span', {}, one.codes.join(', ')),
            instant(one.at),
            el('span', {}, `${one.bytes.toLocaleString('en')} bytes`),
            el('code', {}, one.id),
          ]),
        ),
    heldFaults.length === 0
      ? null
      : el(
          'ul',
          { class: 'plain-list' },
          ...heldFaults.map((one) =>
            el('li', { class: 'soon' }, el('span', { class: 'path' }, one.file), `: ${one.why}`),
          ),
        ),
  );
}

import { toAddress } from './address.ts';
import type { PageData, PageFinding } from './data.ts';
import { count, el } from './dom.ts';
import { bar, MEANING, RANKS } from './rank.ts';
import { away, instant } from './time.ts';

const SOON = 14 * 86_400_000;

/** What the workspace is, in one sentence and one bar, and what asks to be looked at first. */
export function header(data: PageData): HTMLElement {
  const { workspace } = data;
  return el(
    'header',
    {},
    el('p', { class: 'brand' }, el('b', {}, 'writ'), ' report'),
    el('h1', {}, workspace.id ?? 'A workspace without a policy set'),
    el('p', { class: 'sentence' }, sentence(data)),
    el('p', { class: 'facts' }, ...facts(data)),
    bar(data.counts),
    el('ul', { class: 'legend', 'aria-label': 'Texts by rank' }, ...legend(data)),
    attention(data),
  );
}

function sentence({ counts, texts }: PageData): string {
  const refused = counts.quarantine + counts.withheld;
  const parts = [
    counts.binding === 0
      ? 'Nothing binds an agent here'
      : `${count(counts.binding, 'text binds', 'texts bind')} an agent here`,
    ...(refused > 0 ? [`${refused.toLocaleString('en')} ${refused === 1 ? 'does' : 'do'} not load`] : []),
    ...(counts.unchecked > 0 ? [`${counts.unchecked.toLocaleString('en')} could not be checked`] : []),
  ];
  return texts.length === 0 ? 'No text here would be read by a host at boot.' : `${parts.join('; ')}.`;
}

function facts({ workspace, at }: PageData): readonly Node[] {
  const badge = (text: string, kind: string): HTMLElement => el('span', { class: `badge ${kind}` }, text);
  return [
    badge(`root ${workspace.root}`, workspace.root === 'pinned' ? 'good' : 'bad'),
    badge(workspace.intact ? 'policy set intact' : 'policy set not proven', workspace.intact ? 'good' : 'bad'),
    ...(workspace.version === null ? [] : [badge(`version ${workspace.version}`, '')]),
    badge(
      workspace.enforcement === 'observe' ? 'observe: nothing is blocked' : 'enforce',
      workspace.enforcement === 'observe' ? 'warn' : '',
    ),
    el('span', { class: 'when' }, 'judged ', instant(at), ' UTC'),
  ];
}

function legend({ counts }: PageData): readonly Node[] {
  return RANKS.map((rank) =>
    el(
      'li',
      { class: counts[rank] === 0 ? 'none' : null },
      el(
        'a',
        { href: toAddress({ ranks: [rank] }), title: MEANING[rank] },
        el('span', { class: `dot ${rank}`, 'aria-hidden': 'true' }),
        el('b', {}, counts[rank].toLocaleString('en')),
        ` ${rank}`,
        el('small', {}, MEANING[rank]),
      ),
    ),
  );
}

/** What a person should look at before anything else; one line where there is nothing. */
function attention(data: PageData): HTMLElement {
  const { counts, findings, ends, at, held, handoffs } = data;
  const item = (kind: string, text: string, href: string): HTMLElement =>
    el('li', { class: kind }, el('a', { href }, text));
  const soon = ends.filter((one) => one.at > at && one.at <= at + SOON);
  const items = [
    ...findings.map((one) => told(one)),
    ...(counts.quarantine > 0
      ? [
          item(
            'bad',
            `${count(counts.quarantine, 'text is', 'texts are')} refused`,
            toAddress({ ranks: ['quarantine'] }),
          ),
        ]
      : []),
    ...(counts.withheld > 0
      ? [item('bad', `${count(counts.withheld, 'text is', 'texts are')} withheld`, toAddress({ ranks: ['withheld'] }))]
      : []),
    ...(counts.unchecked > 0
      ? [item('bad', `${count(counts.unchecked, 'text')} could not be checked`, toAddress({ ranks: ['unchecked'] }))]
      : []),
    ...(soon[0]
      ? [
          item(
            'warn',
            `${count(soon.length, 'thing ends', 'things end')} within 14 days, the first ${away(soon[0].at, at)}`,
            '#ends',
          ),
        ]
      : []),
    ...(held.length > 0
      ? [item('warn', `${count(held.length, 'text is', 'texts are')} held in quarantine`, '#held')]
      : []),
    ...(handoffs !== null && handoffs.length > 0
      ? [item('warn', `${count(handoffs.length, 'handoff is', 'handoffs are')} open`, '#handoffs')]
      : []),
  ];
  return el(
    'div',
    { class: 'attention' },
    el('h2', {}, 'First'),
    items.length === 0 ? el('p', { class: 'calm' }, 'Nothing asks to be looked at.') : el('ul', {}, ...items),
  );
}

function told(one: PageFinding): HTMLElement {
  const loud = one.unchecked || one.effect === 'quarantine' || one.effect === 'reference';
  return el(
    'li',
    { class: loud ? 'bad' : 'warn' },
    el(
      'span',
      {},
      `${one.message} `,
      one.file === null ? null : el('span', { class: 'path' }, `${one.file} `),
      el('code', {}, one.code),
    ),
    one.cure === '' ? null : el('p', { class: 'cure' }, one.cure),
  );
}

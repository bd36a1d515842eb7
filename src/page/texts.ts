import { NO_WISH, nameOf, readAddress, toAddress, type Wish } from './address.ts';
import type { PageData, PageText } from './data.ts';
import { el, section } from './dom.ts';
import { pill, RANKS } from './rank.ts';
import { details } from './text-details.ts';
import { away } from './time.ts';

/** Rows drawn at once; more on request, and all that match when printing. */
const STEP = 300;
const UNPROVEN = 'nobody proven';
const COLUMNS = ['rank', 'text', 'class', 'writer', 'approver', 'ends', 'why'] as const;
type Column = (typeof COLUMNS)[number];
const HEADS: Readonly<Record<Column, string>> = {
  rank: 'Rank',
  text: 'Text',
  class: 'Class',
  writer: 'Written by',
  approver: 'Approved by',
  ends: 'Ends',
  why: 'Why',
};

/** The list of every judged text, which can be searched, narrowed and sorted; its state stands in the address. */
export function textsSection(data: PageData): { readonly element: HTMLElement; readonly follow: () => void } {
  const rows = new Map<PageText, HTMLElement>();
  const hay = new Map<PageText, string>();
  let wish: Wish = NO_WISH;
  let shown = STEP;

  const search = el('input', {
    type: 'search',
    id: 'q',
    placeholder: 'path, name, code, words of a reason',
    autocomplete: 'off',
    spellcheck: 'false',
  });
  const chips = RANKS.map((rank) =>
    el(
      'button',
      {
        type: 'button',
        class: `chip ${rank}`,
        'aria-pressed': 'false',
        'data-rank': rank,
        disabled: data.counts[rank] === 0,
      },
      rank,
      el('small', {}, data.counts[rank].toLocaleString('en')),
    ),
  );
  const choices = {
    class: choice('Class', unique(data.texts.map((one) => one.declared ?? one.class))),
    who: choice('Who', [UNPROVEN, ...unique(data.texts.flatMap(namesOf))]),
    host: choice('Host', unique(data.texts.flatMap((one) => one.readBy.map((use) => use.host)))),
    code: choice('Finding', unique(data.texts.flatMap((one) => one.findings.map((found) => found.code)))),
    sort: choice(
      'Sort by',
      COLUMNS.flatMap((one) => [one, `-${one}`]),
      (one) => `${HEADS[one.replace('-', '') as Column] ?? one}${one.startsWith('-') ? ', backwards' : ''}`,
      'Path',
    ),
  };
  choices.sort.label.classList.add('narrow');
  const clear = el('button', { type: 'button', class: 'quiet' }, 'Clear');
  const status = el('p', { class: 'status', role: 'status' });
  const heads = COLUMNS.map((column) => {
    const button = el('button', { type: 'button' }, HEADS[column]);
    button.addEventListener('click', () => change({ sort: wish.sort === column ? `-${column}` : column }));
    return el('th', { scope: 'col', role: 'columnheader', class: `c-${column}` }, button);
  });
  const body = el('tbody', { role: 'rowgroup' });
  const more = el('button', { type: 'button', class: 'more', hidden: true });

  function matching(): readonly PageText[] {
    const words = wish.q.toLowerCase().split(/\s+/).filter(Boolean);
    const found = data.texts.filter(
      (one) =>
        (wish.ranks.length === 0 || wish.ranks.includes(one.rank)) &&
        (wish.class === '' || (one.declared ?? one.class) === wish.class) &&
        (wish.who === '' ||
          (wish.who === UNPROVEN
            ? one.writer === null && one.approvedBy.length === 0
            : namesOf(one).includes(wish.who))) &&
        (wish.host === '' || one.readBy.some((use) => use.host === wish.host)) &&
        (wish.code === '' || one.findings.some((finding) => finding.code === wish.code)) &&
        words.every((word) => hayOf(one).includes(word)),
    );
    const column = wish.sort.replace('-', '') as Column;
    if (!COLUMNS.includes(column)) return found;
    const turn = wish.sort.startsWith('-') ? -1 : 1;
    const keys = new Map(found.map((one) => [one, keyOf(one, column)]));
    return [...found].sort((a, b) => turn * compare(keys.get(a) ?? '', keys.get(b) ?? ''));
  }

  function hayOf(one: PageText): string {
    const known = hay.get(one);
    if (known !== undefined) return known;
    const made = [
      one.path,
      one.rank,
      one.class,
      one.declared,
      one.id,
      one.author,
      ...namesOf(one),
      ...one.findings.flatMap((found) => [found.code, found.message]),
    ]
      .join('\n')
      .toLowerCase();
    hay.set(one, made);
    return made;
  }

  function rowOf(one: PageText): HTMLElement {
    const known = rows.get(one);
    if (known) return known;
    const made = row(one, data.at, () => change({ text: wish.text === nameOf(one) ? '' : nameOf(one) }));
    rows.set(one, made);
    return made;
  }

  function draw(all = false): void {
    const found = matching();
    const at = wish.text === '' ? -1 : found.findIndex((one) => nameOf(one) === wish.text);
    const visible = found.slice(0, all ? found.length : Math.max(shown, at + 1));
    body.replaceChildren(
      ...visible.flatMap((one) => {
        const line = rowOf(one);
        const open = nameOf(one) === wish.text;
        line.querySelector('button')?.setAttribute('aria-expanded', String(open));
        line.classList.toggle('open', open);
        return open
          ? [
              line,
              el(
                'tr',
                { class: 'detail', role: 'row' },
                el('td', { colspan: COLUMNS.length, role: 'cell' }, details(one, data)),
              ),
            ]
          : [line];
      }),
    );
    more.hidden = visible.length >= found.length;
    more.textContent = `Show ${Math.min(STEP, found.length - visible.length)} more of ${(found.length - visible.length).toLocaleString('en')}`;
    status.textContent =
      found.length === data.texts.length
        ? `${data.texts.length.toLocaleString('en')} texts`
        : `${found.length.toLocaleString('en')} of ${data.texts.length.toLocaleString('en')} texts`;
    for (const chip of chips) chip.setAttribute('aria-pressed', String(wish.ranks.includes(chip.dataset.rank ?? '')));
    for (const [name, { select }] of Object.entries(choices)) select.value = String(wish[name as keyof Wish]);
    if (document.activeElement !== search) search.value = wish.q;
    for (const [index, head] of heads.entries()) {
      const column = COLUMNS[index];
      head.setAttribute(
        'aria-sort',
        wish.sort === column ? 'ascending' : wish.sort === `-${column}` ? 'descending' : 'none',
      );
    }
    clear.hidden = toAddress({ ...wish, text: '', sort: '' }) === '#?';
  }

  function change(part: Partial<Wish>): void {
    wish = { ...wish, ...part };
    if (!('text' in part)) shown = STEP;
    const address = toAddress(wish);
    history.replaceState(null, '', address === '#?' ? '#texts' : address);
    draw();
  }

  function follow(): void {
    const asked = readAddress(location.hash);
    if (asked !== null) {
      wish = asked;
      shown = STEP;
    }
    draw();
    if (asked === null) document.getElementById(decoded(location.hash.slice(1)))?.scrollIntoView();
    else {
      const open = body.querySelector<HTMLElement>('tr.open');
      (open ?? element).scrollIntoView({ block: 'start' });
      open?.querySelector('button')?.focus({ preventScroll: true });
    }
  }

  search.addEventListener('input', () => change({ q: search.value }));
  for (const chip of chips)
    chip.addEventListener('click', () => {
      const rank = chip.dataset.rank ?? '';
      change({ ranks: wish.ranks.includes(rank) ? wish.ranks.filter((one) => one !== rank) : [...wish.ranks, rank] });
    });
  for (const [name, { select }] of Object.entries(choices))
    select.addEventListener('change', () => change({ [name]: select.value }));
  clear.addEventListener('click', () => {
    search.value = '';
    change({ ...NO_WISH, sort: wish.sort });
    search.focus();
  });
  more.addEventListener('click', () => {
    shown += STEP;
    draw();
  });
  addEventListener('hashchange', follow);
  addEventListener('beforeprint', () => draw(true));
  addEventListener('afterprint', () => draw());
  addEventListener('keydown', (event) => {
    if (event.key === '/' && !(event.target instanceof HTMLInputElement) && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      search.focus();
    }
    if (event.key === 'Escape' && wish.text !== '') {
      const open = body.querySelector<HTMLElement>('tr.open button');
      change({ text: '' });
      open?.focus();
    }
  });
  body.addEventListener('keydown', (event) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    const buttons = [...body.querySelectorAll<HTMLElement>('button.name')];
    const here = buttons.indexOf(document.activeElement as HTMLElement);
    if (step === 0 || here < 0) return;
    event.preventDefault();
    buttons[here + step]?.focus();
  });

  const element = section(
    'texts',
    'Texts',
    data.texts.length === 0 ? 'No init file was found.' : null,
    el(
      'div',
      { class: 'tools', role: 'search' },
      el('label', { class: 'search', for: 'q' }, el('span', {}, 'Search'), search),
      el('div', { class: 'chips', role: 'group', 'aria-label': 'Only these ranks' }, ...chips),
      el('div', { class: 'choices' }, ...Object.values(choices).map((one) => one.label), clear),
    ),
    status,
    el(
      'table',
      { class: 'texts', role: 'table', 'aria-label': 'Judged texts' },
      el('thead', { role: 'rowgroup' }, el('tr', { role: 'row' }, ...heads)),
      body,
    ),
    more,
  );
  return { element, follow };
}

function choice(
  name: string,
  options: readonly string[],
  word: (option: string) => string = (option) => option,
  none = 'any',
): { readonly label: HTMLElement; readonly select: HTMLSelectElement } {
  const select = el(
    'select',
    {},
    el('option', { value: '' }, none),
    ...options.map((one) => el('option', { value: one }, word(one))),
  );
  return { label: el('label', {}, el('span', {}, name), select), select };
}

function row(one: PageText, now: number, toggle: () => void): HTMLElement {
  const cell = (column: Column, ...parts: readonly (Node | string | null)[]): HTMLElement =>
    el('td', { role: 'cell', class: `c-${column}`, 'data-head': HEADS[column] }, ...parts);
  const button = el(
    'button',
    { type: 'button', class: 'name path', 'aria-expanded': 'false' },
    ...broken(one.path),
    one.line === null ? null : el('b', {}, `:${one.line}`),
  );
  button.addEventListener('click', toggle);
  const end = endOf(one);
  const reason = one.reason === null ? null : one.findings[one.reason];
  const same = one.declared === null || one.declared === one.class;
  return el(
    'tr',
    { class: one.rank, role: 'row' },
    cell('rank', pill(one.rank)),
    cell('text', button, one.aliasOf === null ? null : el('small', { class: 'path' }, `leads to ${one.aliasOf}`)),
    cell('class', same ? one.class : el('span', {}, el('s', {}, one.declared ?? ''), ` ${one.class}`)),
    cell(
      'writer',
      one.writer === null
        ? el('span', { class: 'nobody' }, 'unproven')
        : el('span', {}, one.writer.name, el('small', {}, one.writer.role)),
    ),
    cell(
      'approver',
      one.approvedBy.length === 0 ? el('span', { class: 'nobody' }, '\u2014') : one.approvedBy.join(', '),
    ),
    cell(
      'ends',
      end === null
        ? el('span', { class: 'nobody' }, '\u2014')
        : el('span', { class: end <= now ? 'over' : end - now < 14 * 86_400_000 ? 'soon' : 'later' }, away(end, now)),
    ),
    cell(
      'why',
      reason
        ? el('span', {}, reason.message, ' ', el('code', {}, reason.code))
        : el('span', { class: 'nobody' }, 'at the ceiling of its class'),
    ),
  );
}

/** A path that may be broken behind each slash. */
function broken(path: string): readonly Node[] {
  return path.split(/(?<=\/)/).flatMap((part) => [document.createTextNode(part), el('wbr')]);
}

function namesOf(one: PageText): readonly string[] {
  return one.writer === null ? one.approvedBy : [one.writer.name, ...one.approvedBy];
}

function endOf(one: PageText): number | null {
  const ends = [one.approvalEnds, one.ends].filter((end) => end !== null);
  return ends.length === 0 ? null : Math.min(...ends);
}

function keyOf(one: PageText, column: Column): string | number {
  switch (column) {
    case 'rank':
      return RANKS.indexOf(one.rank);
    case 'text':
      return one.path;
    case 'class':
      return one.declared ?? one.class;
    case 'writer':
      return one.writer?.name ?? '\uffff';
    case 'approver':
      return one.approvedBy.join(', ') || '\uffff';
    case 'ends':
      return endOf(one) ?? Number.MAX_SAFE_INTEGER;
    case 'why':
      return one.reason === null ? '' : (one.findings[one.reason]?.code ?? '');
  }
}

function compare(a: string | number, b: string | number): number {
  return a < b ? -1 : Number(a > b);
}

function unique(words: readonly string[]): readonly string[] {
  return [...new Set(words)].sort();
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

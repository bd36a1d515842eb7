import { nameOf, toAddress } from './address.ts';
import type { PageData, PageFinding, PageText } from './data.ts';
import { el } from './dom.ts';
import { MEANING } from './rank.ts';
import { instant } from './time.ts';

/** Why one text ranks as it does, step by step, and what would raise it. */
export function details(one: PageText, { codes, versions }: PageData): HTMLElement {
  const { writer } = one;
  const claimed = one.author === null || one.author === writer?.name ? '' : `; its manifest says ${one.author}`;
  const history = versions.filter((version) => version.path === one.path);
  return el(
    'div',
    { class: 'why' },
    el(
      'dl',
      {},
      ...pair('Loads as', `${one.rank}: ${MEANING[one.rank]}`),
      ...pair('Class', `${one.declared ?? 'none'} declared, loads as ${one.class}; its ceiling is ${one.ceiling}`),
      ...pair('Read by', one.readBy.map((use) => `${use.host} (${use.loads})`).join(', ') || 'no known host'),
      ...pair(
        'Written by',
        `${writer === null ? 'unproven' : `${writer.name}, ${writer.role}, proven by ${writer.via}`}${claimed}`,
      ),
      ...(writer !== null && writer.chain.length > 1
        ? pair('Spawned by', writer.chain.slice(0, -1).join(' \u2192 '))
        : []),
      ...pair('Approved by', one.approvedBy.join(', ') || 'nobody', one.approvalEnds),
      ...(one.ends === null ? [] : pair('Expires', '', one.ends)),
      ...(one.id === null ? [] : pair('Manifest', `${one.carrier ?? ''}, id ${one.id}, level ${one.level ?? ''}`)),
      ...(one.created === null ? [] : pair('Created', '', one.created)),
      ...(one.nested === null ? [] : pair('Lies in', one.nested)),
      ...pair(
        'Bytes',
        one.sha256 === null ? 'not read' : `${(one.bytes ?? 0).toLocaleString('en')}, sha256 ${one.sha256}`,
      ),
      ...(history.length > 1 ? pair('Versions', `${history.length} approvals of this path, below under Versions`) : []),
    ),
    one.findings.length === 0
      ? el('p', {}, 'No finding: it stands at the ceiling of its class.')
      : el(
          'ol',
          { class: 'findings', 'aria-label': 'Findings' },
          ...one.findings.map((found) => finding(found, codes)),
        ),
    one.raise === ''
      ? null
      : el('p', { class: 'raise' }, 'To raise it, start with: ', el('code', { class: 'command' }, one.raise)),
    el('p', {}, el('a', { href: toAddress({ text: nameOf(one) }) }, 'Link to this text')),
  );
}

function pair(name: string, text: string, at: number | null = null): readonly HTMLElement[] {
  return [
    el('dt', {}, name),
    el('dd', {}, text, at === null || text === '' ? null : ' until ', at === null ? null : instant(at)),
  ];
}

function finding(found: PageFinding, codes: PageData['codes']): HTMLElement {
  const effect =
    found.effect === 'note' ? 'note' : found.effect === 'quarantine' ? 'refuses' : `at most ${found.effect}`;
  const place = `${found.file ?? ''}${found.line === null ? '' : `${found.file === null ? 'line ' : ':'}${found.line}`}`;
  return el(
    'li',
    { class: found.effect },
    el('code', { title: codes[found.code] ?? null }, found.code),
    el('b', { class: 'effect' }, found.relief === null ? effect : `${effect} (${found.relief})`),
    place === '' ? null : el('span', { class: 'path' }, place),
    el('p', {}, found.message),
    found.cure === '' ? null : el('p', { class: 'cure' }, found.cure),
  );
}

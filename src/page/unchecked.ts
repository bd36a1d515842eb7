import { toAddress } from './address.ts';
import type { PageData } from './data.ts';
import { count, el, section } from './dom.ts';

/** What the page does not know. Could not check is never clean, so this stands on the page even where it is short. */
export function uncheckedSection(data: PageData): HTMLElement {
  const { texts, findings, heldFaults, cut, hosts, workspace } = data;
  const has = (code: string): number => texts.filter((one) => one.findings.some((found) => found.code === code)).length;
  const unread = texts.filter((one) => one.rank === 'unchecked').length;
  const blind = findings.filter((one) => one.unchecked);
  const nested = has('nested-repository');
  const outside = has('outside-workspace');
  const skipped = hosts.filter((one) => !one.judged);
  const item = (kind: string, ...parts: readonly (Node | string)[]): HTMLElement => el('li', { class: kind }, ...parts);
  const open = [
    ...(unread > 0
      ? [
          item(
            'bad',
            el('a', { href: toAddress({ ranks: ['unchecked'] }) }, `${count(unread, 'text')} could not be checked`),
            ' and so do not load.',
          ),
        ]
      : []),
    ...blind.map((one) => item('bad', `${one.message} `, el('code', {}, one.code))),
    ...(workspace.intact
      ? []
      : [item('bad', 'The policy set is not pinned and intact: nobody is proven, so no signature was counted.')]),
    ...(heldFaults.length > 0
      ? [item('bad', `${count(heldFaults.length, 'thing')} in quarantine/ could not be read.`)]
      : []),
    ...cut.map((one) => item('bad', `Left out of this page for length: ${one}.`)),
    ...(nested > 0
      ? [
          item(
            'warn',
            el(
              'a',
              { href: toAddress({ code: 'nested-repository' }) },
              `${count(nested, 'text lies', 'texts lie')} in a dependency or nested repository`,
            ),
            ': judged, never above reference, never moved.',
          ),
        ]
      : []),
    ...(outside > 0
      ? [
          item(
            'warn',
            el(
              'a',
              { href: toAddress({ code: 'outside-workspace' }) },
              `${count(outside, 'text lies', 'texts lie')} outside the workspace`,
            ),
            ' under no policy set: hosts read them all the same.',
          ),
        ]
      : []),
    ...skipped.map((one) =>
      item('warn', `policy.yaml leaves ${one.title} out: what only that host reads was not looked for.`),
    ),
  ];
  return section(
    'unchecked',
    'What was not checked',
    open.length === 0 ? 'Every text that was found was read whole and judged.' : null,
    open.length === 0 ? null : el('ul', { class: 'open-list' }, ...open),
    el(
      'p',
      { class: 'lead' },
      'Never judged: scripts and programs that a text tells agents to run; what is fetched from an address; hosts writ has no profile of. The scan of the text misses disguised prose, which is why rank rests on proof and not on the scan.',
    ),
  );
}

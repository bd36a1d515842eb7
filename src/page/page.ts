import type { PageData } from './data.ts';
import { el } from './dom.ts';
import { header } from './head.ts';
import { endsSection, handoffsSection, heldSection, hostsSection } from './lists.ts';
import { peopleSection } from './people.ts';
import { textsSection } from './texts.ts';
import { uncheckedSection } from './unchecked.ts';
import { versionsSection } from './versions.ts';

/** Draws the page from the data in it. Every text of the workspace goes in as a text node or an attribute value, never as markup. */
function draw(): void {
  const source = document.getElementById('data');
  const data = JSON.parse(source?.textContent ?? '') as PageData;
  source?.remove();
  const texts = textsSection(data);
  const sections = [
    texts.element,
    peopleSection(data),
    versionsSection(data),
    endsSection(data),
    handoffsSection(data),
    hostsSection(data),
    heldSection(data),
    uncheckedSection(data),
  ].filter((one) => one !== null);
  const links = sections.map((one) => el('a', { href: `#${one.id}` }, one.querySelector('h2')?.textContent ?? ''));
  document.title = `writ report: ${data.workspace.id ?? 'no policy set'}`;
  document.body.append(
    el('a', { class: 'skip', href: '#texts' }, 'Skip to the texts'),
    header(data),
    el('nav', { 'aria-label': 'Sections' }, ...links),
    el('main', { id: 'main' }, ...sections),
    el(
      'footer',
      {},
      `Made by writ ${data.version}. The same from the machine itself: `,
      el('code', {}, 'writ check --verbose'),
      '. A page can be changed by whoever holds it; it proves nothing by itself.',
    ),
  );
  texts.follow();
}

draw();

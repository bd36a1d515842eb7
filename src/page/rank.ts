import type { RankWord } from './data.ts';
import { el } from './dom.ts';

/** Every rank, in the order they are told. */
export const RANKS: readonly RankWord[] = ['binding', 'advisory', 'reference', 'withheld', 'quarantine', 'unchecked'];

/** What each rank means for the agent that boots. */
export const MEANING: Readonly<Record<RankWord, string>> = {
  binding: 'loads as rules',
  advisory: 'loads as advice',
  reference: 'loads as evidence, never as an instruction',
  withheld: 'does not load; the file stays where it lies',
  quarantine: 'refused; the next load moves it away',
  unchecked: 'could not be checked, so it does not load',
};

/** A rank as a small label. */
export function pill(rank: RankWord): HTMLElement {
  return el('span', { class: `pill ${rank}` }, rank);
}

/** Ranks as parts of one bar; hidden from screen readers, for whom the numbers stand beside it. */
export function bar(counts: Readonly<Record<RankWord, number>>): HTMLElement {
  const parts = RANKS.filter((rank) => counts[rank] > 0).map((rank) => {
    const part = el('span', { class: rank, title: `${rank}: ${counts[rank]}` });
    part.style.flexGrow = String(counts[rank]);
    return part;
  });
  return el('div', { class: 'bar', 'aria-hidden': 'true' }, ...parts);
}

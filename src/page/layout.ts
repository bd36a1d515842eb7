import { nameOf, toAddress } from './address.ts';
import type { PageData, PagePerson, PageText, RankWord } from './data.ts';
import { RANKS } from './rank.ts';

/** One box of the graph. */
export interface Box {
  readonly key: string;
  readonly title: string;
  readonly under: string;
  /** Where a click leads; null for what only counts the rest. */
  readonly href: string | null;
  readonly kind: 'person' | 'spawned' | 'text';
  readonly rank: RankWord | null;
  readonly faulty: boolean;
  readonly column: number;
}

export interface Line {
  readonly from: string;
  readonly to: string;
  readonly kind: 'lists' | 'spawned' | 'wrote' | 'approved';
}

export interface Graph {
  readonly columns: readonly (readonly Box[])[];
  readonly lines: readonly Line[];
}

/** Most boxes of one column; the rest is counted in one box. */
const MOST = 18;
/** Up to so many texts are drawn one by one, more as groups of the same rank, class, writer and approvers. */
const SINGLE = 14;
const ROLES = ['root', 'sovereign', 'approver', 'orchestrator', 'specialist'];

/** Lays people and texts out in columns from the root to the texts. */
export function layOut(data: PageData): Graph {
  const chosen = foremost(data);
  const depths = depthsOf(chosen);
  const texts = textBoxes(data.texts);
  const deepest = Math.max(0, ...depths.values());
  const columns: Box[][] = Array.from({ length: deepest + 2 }, () => []);
  const people = chosen.map((one) => personBox(one, depths.get(one.name) ?? 0));
  for (const box of people) columns[box.column]?.push(box);
  for (const { box } of texts) columns[deepest + 1]?.push({ ...box, column: deepest + 1 });
  const rest: Line[] = [];
  const roots = chosen.filter((one) => one.kind === 'root').map((one) => one.name);
  for (const one of chosen) {
    if (one.parent !== null) rest.push({ from: `p ${one.parent}`, to: `p ${one.name}`, kind: 'spawned' });
    else if (one.kind === 'principal')
      for (const root of roots) rest.push({ from: `p ${root}`, to: `p ${one.name}`, kind: 'lists' });
  }
  for (const { box, writer, approvers } of texts) {
    for (const name of approvers) rest.push({ from: `p ${name}`, to: box.key, kind: 'approved' });
    if (writer !== null && !approvers.includes(writer)) rest.push({ from: `p ${writer}`, to: box.key, kind: 'wrote' });
  }
  const kept = columns.map((column, index) =>
    cut(index === 0 ? column : nearTheirs(column, rest, columns[index - 1] ?? []), index),
  );
  const there = new Set(kept.flat().map((box) => box.key));
  return {
    columns: kept.filter((column) => column.length > 0),
    lines: rest.filter((one) => there.has(one.from) && there.has(one.to)),
  };
}

/** One box a name: the record that stands before one that does not; whoever wrote or approved something before the rest. */
function foremost({ people, texts }: PageData): readonly PagePerson[] {
  const active = new Set(
    texts.flatMap((one) => [...(one.writer === null ? [] : [one.writer.name]), ...one.approvedBy]),
  );
  const byName = new Map<string, PagePerson>();
  for (const one of people) {
    const known = byName.get(one.name);
    if (known === undefined || (known.fault !== null && one.fault === null)) byName.set(one.name, one);
  }
  const weight = (one: PagePerson): number => Number(active.has(one.name)) * 2 + Number(one.fault === null);
  return [...byName.values()].sort(
    (a, b) => weight(b) - weight(a) || ROLES.indexOf(a.role) - ROLES.indexOf(b.role) || (a.name < b.name ? -1 : 1),
  );
}

/** Root 0, people it lists 1, whoever they spawned below them. A chain that leads nowhere or in a circle starts at 2. */
function depthsOf(people: readonly PagePerson[]): ReadonlyMap<string, number> {
  const byName = new Map(people.map((one) => [one.name, one]));
  const depth = (one: PagePerson, left: number): number => {
    if (one.kind === 'root') return 0;
    const parent = one.parent === null ? undefined : byName.get(one.parent);
    if (one.kind === 'principal') return 1;
    return parent === undefined || left === 0 ? 2 : Math.min(5, Math.max(1, depth(parent, left - 1)) + 1);
  };
  return new Map(people.map((one) => [one.name, depth(one, 6)]));
}

function personBox(one: PagePerson, column: number): Box {
  return {
    key: `p ${one.name}`,
    title: one.name,
    under: one.fault === null ? one.role : 'does not stand',
    href: toAddress({ who: one.name }),
    kind: one.kind === 'spawned' ? 'spawned' : 'person',
    rank: null,
    faulty: one.fault !== null,
    column,
  };
}

interface TextBox {
  readonly box: Box;
  readonly writer: string | null;
  readonly approvers: readonly string[];
}

function textBoxes(texts: readonly PageText[]): readonly TextBox[] {
  const groups = new Map<string, PageText[]>();
  for (const one of texts) {
    const key =
      texts.length <= SINGLE
        ? nameOf(one)
        : JSON.stringify([one.rank, one.declared ?? one.class, one.writer?.name ?? null, one.approvedBy]);
    const known = groups.get(key);
    if (known) known.push(one);
    else groups.set(key, [one]);
  }
  const boxes = [...groups].flatMap(([key, members]): readonly TextBox[] => {
    const [first] = members;
    if (first === undefined) return [];
    const writer = first.writer?.name ?? null;
    const cls = first.declared ?? first.class;
    const single = members.length === 1;
    const who = writer ?? first.approvedBy[0] ?? 'nobody proven';
    return [
      {
        box: {
          key: `t ${key}`,
          title: single ? nameOf(first) : `${members.length.toLocaleString('en')} \u00d7 ${cls}`,
          under: first.rank,
          href: single ? toAddress({ text: nameOf(first) }) : toAddress({ ranks: [first.rank], class: cls, who }),
          kind: 'text',
          rank: first.rank,
          faulty: false,
          column: 0,
        },
        writer,
        approvers: first.approvedBy,
      },
    ];
  });
  // Groups with somebody behind them are the ones lines lead to: they are the last to be left out.
  const proven = (one: TextBox): number => Number(one.writer !== null || one.approvers.length > 0);
  const rank = (one: TextBox): number => RANKS.indexOf(one.box.rank ?? 'reference');
  return boxes.sort((a, b) => proven(b) - proven(a) || rank(a) - rank(b) || (a.box.title < b.box.title ? -1 : 1));
}

/** Boxes in the order of those they hang on, so that few lines cross. */
function nearTheirs(column: readonly Box[], lines: readonly Line[], before: readonly Box[]): readonly Box[] {
  const place = new Map(before.map((box, index) => [box.key, index]));
  const middle = (box: Box): number => {
    const at = lines.flatMap((line) => (line.to === box.key ? (place.get(line.from) ?? []) : []));
    return at.length === 0 ? Number.MAX_SAFE_INTEGER : at.reduce((a, b) => a + b, 0) / at.length;
  };
  const keys = new Map(column.map((box) => [box, middle(box)]));
  const head = column.slice(0, MOST - 1);
  const near = (list: readonly Box[]): Box[] => [...list].sort((a, b) => (keys.get(a) ?? 0) - (keys.get(b) ?? 0));
  return column.length <= MOST ? near(column) : [...near(head), ...column.slice(MOST - 1)];
}

function cut(column: readonly Box[], index: number): readonly Box[] {
  if (column.length <= MOST) return column;
  const rest: Box = {
    key: `rest ${index}`,
    title: `and ${column.length - MOST + 1} more`,
    under: 'in the list below',
    href: null,
    kind: column[0]?.kind ?? 'person',
    rank: null,
    faulty: false,
    column: index,
  };
  return [...column.slice(0, MOST - 1), rest];
}

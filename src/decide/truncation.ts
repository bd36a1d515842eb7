import type { Budget } from '../discover/profile.ts';
import { BUDGETS, HOSTS } from '../generated/hosts.ts';
import { finding } from '../model/codes.ts';
import type { Judged } from '../model/stages.ts';
import { fits, type Lost, lostOf, sizeIn, type Total } from './lost-lines.ts';

/** OpenClaw leaves out what would get fewer characters than this. */
const LEAST_CHARS = 64;

/** A host that is in use, and one artifact of which it reads no more than the first `left` bytes or characters; null: only the limits of one file hold. */
interface Cut {
  readonly budget: Budget;
  readonly left: number | null;
}

/**
 * Adds the note `host-truncates` where a host stops reading before the end. A file within its limits costs a comparison of sizes.
 * @param isUsed whether a host is in use here, as far as the root or the policy says; what lies outside the workspace is there for its host.
 */
export function withTruncation(judged: readonly Judged[], isUsed: (host: string) => boolean): readonly Judged[] {
  const cuts = new Map<Judged, Cut[]>();
  const together = new Map<Budget, Judged[]>();
  for (const one of judged) {
    const { candidate, line } = one.evidence.parsed;
    if (candidate.budgets === undefined || line !== null || !isRead(one)) continue;
    for (const at of candidate.budgets) {
      const budget = BUDGETS[at];
      if (budget === undefined) continue;
      if (budget.over !== undefined) {
        if (rankOf(one, budget) >= 0) add(together, budget, one);
      } else if (!fits(one.evidence.parsed, budget)) add(cuts, one, { budget, left: null });
    }
  }
  for (const [budget, files] of together) {
    for (const [one, left] of budget.over === 'chain' ? leftInChain(budget, files) : leftInFolder(budget, files))
      add(cuts, one, { budget, left });
  }
  if (cuts.size === 0) return judged;
  const used = usedHosts(judged, isUsed);
  return judged.map((one) => {
    const notes = (cuts.get(one) ?? [])
      .filter(({ budget }) => one.evidence.parsed.candidate.outside || used(budget.host))
      .flatMap(({ budget, left }) => noteOf(one, budget, left));
    return notes.length === 0 ? one : { ...one, findings: [...one.findings, ...notes] };
  });
}

/** A name that only looks like an init path is read by no host, and what belongs to a dependency is its own affair. */
function isRead({ evidence: { parsed } }: Judged): boolean {
  return parsed.candidate.confusableWith === null && parsed.candidate.nested === null;
}

/**
 * What is left of the budget for each file that does not fit: per folder from the root down the first of the budget's files, the second is not read at all.
 * A file of nothing but blanks takes nothing.
 */
function leftInChain(budget: Budget, files: readonly Judged[]): ReadonlyMap<Judged, number> {
  const total = totalOf(budget);
  const cut = new Map<Judged, number>();
  if (files.reduce((sum, one) => sum + sizeIn(one.evidence.parsed, total), 0) <= total.most) return cut;
  const first = new Map<string, Judged>();
  for (const one of files) {
    const { folder } = placeOf(one);
    const known = first.get(folder);
    if (known === undefined || rankOf(one, budget) < rankOf(known, budget)) first.set(folder, one);
  }
  const spent = new Map<string, number>();
  const above = (folder: string): number => {
    for (let at = folder; at !== ''; ) {
      at = at.slice(0, Math.max(0, at.lastIndexOf('/')));
      const known = spent.get(at);
      if (known !== undefined) return known;
    }
    return 0;
  };
  const downwards = [...first].sort(([a], [b]) => a.length - b.length || (a < b ? -1 : 1));
  for (const [folder, one] of downwards) {
    const before = above(folder);
    const size = sizeIn(one.evidence.parsed, total);
    spent.set(folder, Math.min(total.most, before + size));
    if (before + size > total.most) cut.set(one, total.most - before);
  }
  return cut;
}

/** The same for the budget's files of one folder, in their order; a file that is too long by itself takes what one file may. */
function leftInFolder(budget: Budget, files: readonly Judged[]): ReadonlyMap<Judged, number> {
  const total = totalOf(budget);
  const cut = new Map<Judged, number>();
  const folders = new Map<string, Judged[]>();
  for (const one of files) add(folders, placeOf(one).folder, one);
  for (const beside of folders.values()) {
    // Nothing has more characters than bytes.
    const sizes = beside.map((one) => one.evidence.parsed.bytes?.length ?? total.most + 1);
    if (Math.max(...sizes) <= (budget.chars ?? total.most) && sizes.reduce((a, b) => a + b) <= total.most) continue;
    let left = total.most;
    for (const one of beside.sort((a, b) => rankOf(a, budget) - rankOf(b, budget))) {
      const size = sizeIn(one.evidence.parsed, total);
      const may = left < LEAST_CHARS ? 0 : Math.min(left, budget.chars ?? left);
      if (size > may) cut.set(one, may);
      left -= Math.min(size, may);
    }
  }
  return cut;
}

function totalOf(budget: Budget): Total {
  return budget.totalBytes === undefined
    ? { unit: 'characters', most: budget.totalChars ?? 0 }
    : { unit: 'bytes', most: budget.totalBytes };
}

function placeOf(one: Judged): { readonly folder: string; readonly name: string } {
  const { path } = one.evidence.parsed.candidate;
  const slash = path.lastIndexOf('/');
  return { folder: path.slice(0, Math.max(0, slash)), name: path.slice(slash + 1) };
}

function rankOf(one: Judged, { files = [] }: Budget): number {
  return files.indexOf(placeOf(one).name);
}

/** A host is in use where its marks lie in the root, where the policy names it, and where something that only it reads lies deeper. */
function usedHosts(judged: readonly Judged[], isUsed: (host: string) => boolean): (host: string) => boolean {
  const known = new Map<string, boolean>();
  return (name) => {
    const found = known.get(name);
    if (found !== undefined) return found;
    const marks = HOSTS.find((host) => host.name === name)?.presence ?? [];
    const used =
      isUsed(name) ||
      judged.some((one) => isRead(one) && marks.some((mark) => `/${pathOf(one)}/`.includes(`/${mark}/`)));
    known.set(name, used);
    return used;
  };
}

function pathOf(one: Judged): string {
  return one.evidence.parsed.candidate.path;
}

function noteOf(one: Judged, budget: Budget, left: number | null): Judged['findings'] {
  const lost = lostOf(one.evidence.parsed, budget, left === null ? null : { ...totalOf(budget), most: left });
  if (lost === null) return [];
  const what = wordsOf(lost);
  const message = `${one.rank === 'binding' ? `It is binding, but ${what}` : `${what.charAt(0).toUpperCase()}${what.slice(1)}`} ${budget.title}, which ${limitOf(budget)}.`;
  const note = finding('host-truncates', {
    message,
    line: lost.first,
    ...(budget.over === undefined
      ? {}
      : { cure: 'Shorten it, or a file that is read before it, until all of them fit.' }),
  });
  return [{ ...note, effect: 'note' as const }];
}

function wordsOf({ first, last, all }: Lost): string {
  const lines = first === last ? `line ${first}` : `lines ${first} to ${last}`;
  if (all) return `nothing of it (${lines}) reaches`;
  return first === last ? `${lines} does not wholly reach` : `${lines} do not wholly reach`;
}

/** What the host reads at most, as words. */
function limitOf(budget: Budget): string {
  if (budget.skips !== undefined) return `reads no file of more than ${budget.skips} bytes`;
  const one = [
    ...(budget.lines === undefined ? [] : [`${budget.lines} lines`]),
    ...(budget.bytes === undefined ? [] : [`${budget.bytes} bytes`]),
    ...(budget.chars === undefined ? [] : [`${budget.chars} characters`]),
  ].join(' or ');
  const { unit, most } = totalOf(budget);
  const whole = `${most} ${unit} of ${(budget.files ?? []).join(', ')} together`;
  if (budget.over === 'chain') return `reads ${whole}, from the root down to a folder`;
  if (budget.over === 'folder') return `reads ${one} of a file and ${whole}`;
  return `reads ${one} of it`;
}

function add<K, V>(map: Map<K, V[]>, key: K, value: V): void {
  const list = map.get(key);
  if (list) list.push(value);
  else map.set(key, [value]);
}

import type { Judgement } from '../../gate.ts';
import { CEILING } from '../../model/artifact-class.ts';
import type { Judged } from '../../model/stages.ts';
import type { Entry } from '../../quarantine/list.ts';
import { isUnclaimed, rankWord } from '../../report/verdicts-text.ts';

/** One thing to decide: a text held in quarantine, by its record, or one where it lies, by its path. */
export type Item =
  | { readonly kind: 'held'; readonly id: string; readonly path: string }
  | { readonly kind: 'text'; readonly path: string };

const ORDER = ['quarantine', 'withheld', 'unchecked', 'binding', 'advisory', 'reference'];

/**
 * What waits for a person, the most urgent first: what is held, what is refused or withheld, what ranks below what it declares, what nobody has said
 * anything of yet. A text that stands at its ceiling waits for nobody, and what is not of this workspace is not decided here.
 * @param paths only these and what lies below them; null for all.
 */
export function toQueue(
  { artifacts }: Judgement,
  held: readonly Entry[],
  paths: readonly string[] | null,
): readonly Item[] {
  const isAsked = (path: string): boolean =>
    paths === null || paths.some((one) => one === '.' || path === one || path.startsWith(`${one}/`));
  const waiting = artifacts.filter(isWaiting).sort((a, b) => urgency(a) - urgency(b));
  return [
    ...held.map(({ id, path }): Item => ({ kind: 'held', id, path })),
    ...[...new Set(waiting.map(({ evidence }) => evidence.parsed.candidate.path))].map(
      (path): Item => ({ kind: 'text', path }),
    ),
  ].filter((item) => isAsked(item.path));
}

function isWaiting(judged: Judged): boolean {
  const { evidence, rank, declaredClass } = judged;
  const { candidate, line, aliasOf } = evidence.parsed;
  // A link is decided with the file it leads to; a document of the constitution by signing the set.
  if (
    line !== null ||
    aliasOf !== null ||
    candidate.nested !== null ||
    candidate.outside ||
    candidate.kind === 'document'
  )
    return false;
  if (rank === 'quarantined') return true;
  if (declaredClass !== null) return rank !== CEILING[declaredClass];
  // A person has said already that it needs no manifest, or has not yet that its name is no accident.
  const open = (code: string): boolean => judged.findings.some((one) => one.code === code && one.relief === undefined);
  return open('path-confusable') || (isUnclaimed(judged) && open('manifest-missing'));
}

function urgency(judged: Judged): number {
  return ORDER.indexOf(rankWord(judged)) * 2 + Number(judged.declaredClass === null);
}

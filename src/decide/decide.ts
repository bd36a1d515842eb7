import { type ArtifactClass, CEILING } from '../model/artifact-class.ts';
import { CAP, type CodeEntry, type CodeName, effectOf, entryOf, isScanCode } from '../model/codes.ts';
import type { Finding, FindingCode } from '../model/finding.ts';
import { isBelow, lower, type Rank } from '../model/rank.ts';
import type { Weighed } from '../model/stages.ts';

/** Everything the decision depends on. Nothing else may reach it: no clock, no file, no mode of enforcement. */
export interface Case {
  /** The class the manifest declares, or the set gives; null where nothing does. */
  readonly declaredClass: ArtifactClass | null;
  readonly findings: readonly Finding[];
  /** Scan codes a valid approval accepts. */
  readonly accepted: ReadonlySet<FindingCode>;
  /** Indexes of `findings` that a standing exception covers. */
  readonly excepted: ReadonlySet<number>;
  /** Codes policy.yaml puts in audit. */
  readonly audit: ReadonlySet<CodeName>;
  /** policy.yaml: `unmanifested: quarantined`. */
  readonly strict: boolean;
  /** The sovereign's approval adopts the text. */
  readonly adopted: boolean;
  /** A pinned, intact policy set judges. */
  readonly intact: boolean;
  /** False for what is never moved: dependencies, files outside, board lines, constitution documents. */
  readonly movable: boolean;
  /** Ceilings policy.yaml narrows. */
  readonly ceilings: ReadonlyMap<ArtifactClass, Rank>;
}

export interface Decision {
  readonly rank: Rank;
  readonly class: ArtifactClass;
  readonly disposition: 'load' | 'withhold' | 'move';
  readonly unchecked: boolean;
  readonly findings: readonly Weighed[];
}

/**
 * The rank is the lowest of the class ceiling and every finding's effect, so the order of checks cannot matter and one
 * more finding can never raise a rank (decisions.md). Pure and total.
 */
export function decide(of: Case): Decision {
  const cls = of.declaredClass ?? 'observation';
  const ceiling = lower(CEILING[cls], of.ceilings.get(cls) ?? 'binding');
  const weighed = of.findings.map((one, index) => weigh(one, index, of));
  const rank = weighed.reduce<Rank>((lowest, one) => lower(lowest, CAP[one.effect]), ceiling);
  const refusing = weighed.filter((one) => one.effect === 'quarantine').map(entryOf);
  const unchecked = refusing.length > 0 && refusing.every((entry) => entry.unchecked === true);
  return {
    rank,
    class: effectiveClass(cls, rank, weighed),
    disposition:
      rank !== 'quarantined'
        ? 'load'
        : of.movable && refusing.some((entry) => moves(entry, of.intact))
          ? 'move'
          : 'withhold',
    unchecked,
    findings: weighed,
  };
}

function weigh(one: Finding, index: number, of: Case): Weighed {
  const entry = entryOf(one);
  const effect = effectOf(entry, of);
  if (effect === 'note') return { ...one, effect };
  const relief = reliefOf(one, index, entry, of);
  return relief === null ? { ...one, effect } : { ...one, effect: 'note', relief };
}

function reliefOf(one: Finding, index: number, entry: CodeEntry, of: Case): NonNullable<Weighed['relief']> | null {
  if (entry.adoptable && of.adopted) return 'adopted';
  if (isScanCode(one.code)) return of.accepted.has(one.code) ? 'accepted' : null;
  if (entry.exceptable && of.excepted.has(index)) return 'excepted';
  return entry.auditable && of.audit.has(one.code) ? 'audit' : null;
}

function moves(entry: CodeEntry, intact: boolean): boolean {
  return entry.withheld === 'never' || (entry.withheld === 'unless-intact' && intact);
}

/** What it loads as: an expired policy, or one nobody is proven to have written, is an observation (WAJIB 8 check 4). */
function effectiveClass(cls: ArtifactClass, rank: Rank, weighed: readonly Weighed[]): ArtifactClass {
  if (rank === 'quarantined') return cls;
  if (isBelow(rank, CEILING[cls]) && rank === 'reference') return 'observation';
  return weighed.some((one) => one.effect === 'reference' && entryOf(one).demotes === true) ? 'observation' : cls;
}

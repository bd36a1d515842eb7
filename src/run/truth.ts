import { escapePath } from '../model/escaped.ts';
import type { RunResult } from '../result/run-result.ts';

/** What git says changed, beside what the agent says. */
export interface Truth {
  readonly changed: readonly string[];
  readonly claimedUnchanged: readonly string[];
  readonly changedUnclaimed: readonly string[];
}

/** Most paths named one by one as risks. */
const MAX_NAMED = 50;

/**
 * Compares a claim with the measured change.
 * @param changed paths relative to the repository. @param prefix the folder the agent worked in, ending in `/`, or empty: it may name paths from there.
 */
export function compareClaim(claimed: readonly string[], changed: readonly string[], prefix: string): Truth {
  const spellings = claimed.map((claim) => {
    const plain = claim
      .trim()
      .replace(/^(?:\.\/+)+/, '')
      .replace(/\/+/g, '/')
      .replace(/\/$/, '');
    return { claim, names: prefix === '' ? [plain] : [plain, prefix + plain] };
  });
  const names = new Set(spellings.flatMap((one) => one.names));
  const isClaimed = (path: string): boolean => {
    for (let at = path.length; at > 0; at = path.lastIndexOf('/', at - 1))
      if (names.has(path.slice(0, at))) return true;
    return false;
  };
  const wasChanged = new Set<string>();
  for (const path of changed)
    for (let at = path.length; at > 0; at = path.lastIndexOf('/', at - 1)) wasChanged.add(path.slice(0, at));
  return {
    changed,
    claimedUnchanged: spellings
      .filter((one) => !one.names.some((name) => wasChanged.has(name)))
      .map((one) => one.claim),
    changedUnclaimed: changed.filter((path) => !isClaimed(path)),
  };
}

/** The result with what its claim and the truth disagree on as risks. */
export function withTruth(result: RunResult, truth: Truth): RunResult {
  const risks = [
    ...named('claimed but unchanged', truth.claimedUnchanged),
    ...named('changed but unclaimed', truth.changedUnclaimed),
  ];
  return risks.length === 0 ? result : { ...result, known_risks: [...result.known_risks, ...risks] };
}

/**
 * The result with an entry of the host.
 * @param doubt `review` asks for a human as well; `failed` also takes a claim of success back.
 */
export function withRisk(result: RunResult, risk: string, doubt: 'none' | 'review' | 'failed'): RunResult {
  return {
    ...result,
    status: doubt === 'failed' && result.status === 'completed' ? 'failed' : result.status,
    known_risks: [...result.known_risks, risk],
    needs_human_review: result.needs_human_review || doubt !== 'none',
  };
}

function named(what: string, paths: readonly string[]): readonly string[] {
  const more = paths.length - MAX_NAMED;
  return [
    ...paths.slice(0, MAX_NAMED).map((path) => `${what}: ${escapePath(path)}`),
    ...(more > 0 ? [`${what}: and ${more} more`] : []),
  ];
}

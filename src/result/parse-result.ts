import { splitClaimed } from './claimed-paths.ts';
import { type Block, findBlock } from './find-block.ts';
import { saysRateLimited } from './rate-limit.ts';
import { type RunResult, STATUSES, type Status } from './run-result.ts';

/** What the host saw of a run, which no claim of the agent changes. */
export interface Ended {
  /** Null where the agent was killed: counts as nonzero. */
  readonly exitCode: number | null;
  /** The host killed it at the timeout. */
  readonly timedOut: boolean;
}

/** Length of the tail of an output that stands for a missing summary, in characters (contracts.md). */
const TAIL = 2_000;
const NO_BLOCK = 'the output holds no result block: what was done is not known';

const REPEATS = 'the result block names a field twice: the last one was taken';

/**
 * Reads what an agent printed into the one object of the contract (FLT-2). Pure, linear in the length of the output; never throws, whatever the
 * output is.
 */
export function parseResult(output: string, ended: Ended): RunResult {
  const block = findBlock(output);
  return block === null ? withoutBlock(output, ended) : fromBlock(block, ended);
}

function fromBlock({ fields: block, repeats }: Block, { exitCode, timedOut }: Ended): RunResult {
  const claimed = toStatus(block.status);
  const { paths, risks } = splitClaimed(toList(block.changed_files));
  const fields = {
    summary: block.summary === undefined || block.summary === null ? '' : toText(block.summary),
    changed_files: paths,
    tests_attempted: toList(block.tests_attempted),
    known_risks: [...toList(block.known_risks), ...risks, ...(repeats ? [REPEATS] : [])],
    needs_human_review: block.needs_human_review === true || repeats,
  };
  const doubted = (status: Status, risk: string): RunResult => ({
    status,
    ...fields,
    known_risks: [...fields.known_risks, risk],
    needs_human_review: true,
  });
  if (timedOut)
    return claimed === 'completed'
      ? doubted('timed_out', 'killed at the timeout despite completed claim')
      : { status: 'timed_out', ...fields };
  if (claimed === 'completed' && exitCode !== 0)
    return doubted(
      'failed',
      exitCode === null ? 'CLI was killed despite completed claim' : `CLI exited ${exitCode} despite completed claim`,
    );
  return { status: claimed, ...fields };
}

function withoutBlock(output: string, { exitCode, timedOut }: Ended): RunResult {
  const status = timedOut
    ? 'timed_out'
    : saysRateLimited(output)
      ? 'rate_limited'
      : exitCode === 0
        ? 'completed'
        : 'failed';
  return {
    status,
    summary: tailOf(output),
    changed_files: [],
    tests_attempted: [],
    known_risks: status === 'completed' ? [NO_BLOCK] : [],
    needs_human_review: status === 'completed',
  };
}

/** A status in any case and with white space around it; every other value is a failure: a malformed claim of success is not success. */
function toStatus(claimed: unknown): Status {
  const word = typeof claimed === 'string' ? claimed.trim().toLowerCase() : null;
  return STATUSES.find((one) => one === word) ?? 'failed';
}

function toList(claimed: unknown): readonly string[] {
  if (claimed === undefined || claimed === null) return [];
  return Array.isArray(claimed) ? claimed.map(toText) : [toText(claimed)];
}

function toText(value: unknown): string {
  if (typeof value === 'string') return value;
  try {
    return JSON.stringify(value) ?? '';
  } catch {
    // Nested deeper than it can be written out.
    return '[nested too deep]';
  }
}

/** The last characters, none of them cut in two. */
function tailOf(output: string): string {
  return Array.from(output.slice(-2 * TAIL))
    .slice(-TAIL)
    .join('');
}

import type { ArtifactClass } from '../model/artifact-class.ts';
import type { FindingCode } from '../model/finding.ts';
import type { Instant } from '../model/instant.ts';
import type { Rank } from '../model/rank.ts';
import { canonicalJson } from '../sign/canonical.ts';
import { sha256Hex } from '../sign/digest.ts';
import { CHAIN_START, type LedgerDraft, type LedgerTail, type StoredRow, type UnsealedRow } from '../store/ledger.ts';
import type { Store } from '../store/store.ts';

/** One verdict, as far as the ledger keeps it. No artifact text. */
export interface Decision {
  readonly workspace: string | null;
  readonly path: string;
  /** 1-based line of a board, null for a whole file. */
  readonly line: number | null;
  /** Bare hex sha256 of the bytes judged; null where they could not be read. */
  readonly digest: string | null;
  readonly rank: Rank;
  readonly class: ArtifactClass;
  readonly codes: readonly FindingCode[];
}

/** What a walk of the chain found. `seq` is the first row that does not stand, or the last row where the chain itself stands but ends short. */
export type LedgerVerdict =
  | { readonly ok: true; readonly head: string | null; readonly rows: number }
  | { readonly ok: false; readonly seq: number; readonly why: string };

/** Appends one row a decision, in the order given. @returns the new tail for the pin to keep; null where the ledger is still empty. Throws where the store breaks. */
export async function recordDecisions(
  store: Pick<Store, 'ledger'>,
  decisions: readonly Decision[],
  at: Instant,
  actor: string,
): Promise<LedgerTail | null> {
  if (decisions.length === 0) return store.ledger.tail();
  const drafts = decisions.map((decision) => toDraft(decision, at, actor));
  return store.ledger.append(drafts, sealRow);
}

/**
 * Walks the whole chain and names the first row that does not stand.
 * @param head a head kept elsewhere, bare hex, or null. Only against a head can a tail that was cut off be noticed.
 */
export async function verifyLedger(store: Pick<Store, 'ledger'>, head: string | null): Promise<LedgerVerdict> {
  return verifyRows(store.ledger.all(), head);
}

/** The same over rows from wherever they lie: state alone, or the archive and then state. */
export async function verifyRows(rows: AsyncIterable<StoredRow>, head: string | null): Promise<LedgerVerdict> {
  let prev = CHAIN_START;
  let seq = 0;
  let headSeen = head === null || head === CHAIN_START;
  for await (const stored of rows) {
    const why = faultOf(stored, seq + 1, prev);
    if (why !== null) return { ok: false, seq: stored.seq, why };
    seq += 1;
    prev = stored.row?.hash ?? prev;
    if (prev === head) headSeen = true;
  }
  if (!headSeen)
    return { ok: false, seq, why: 'the head given is not in the chain: rows were cut off, or it is another ledger' };
  return { ok: true, head: seq === 0 ? null : prev, rows: seq };
}

/** A row's hash: sha256(prev || RFC 8785 of the row without its hash), bare hex (formats.md, ledger entry). */
function sealRow(prev: string, row: UnsealedRow): string {
  return sha256Hex(prev + canonicalJson(row));
}

/** @returns why a row does not stand at its place in the chain, or null. */
export function faultOf(stored: StoredRow, expected: number, prev: string): string | null {
  if (stored.why !== undefined) return stored.why;
  if (stored.seq !== expected) return `row ${expected} is missing`;
  if (stored.row === null) return 'a column does not hold what writ writes';
  const { hash, ...unsealed } = stored.row;
  if (unsealed.prev !== prev) return 'it does not follow the row before it';
  return sealRow(prev, unsealed) === hash ? null : 'its fields are not the ones it was sealed with';
}

function toDraft(decision: Decision, at: Instant, actor: string): LedgerDraft {
  return {
    at,
    workspace: decision.workspace === null ? null : storable(decision.workspace),
    actor: storable(actor),
    path: storable(decision.path),
    line: decision.line,
    digest: decision.digest,
    rank: decision.rank,
    class: decision.class,
    codes: decision.codes,
  };
}

const MAX_TEXT = 4_096;

/** Neither lone surrogates (no RFC 8785 form) nor NUL (PostgreSQL refuses it) may stop a decision from being recorded. */
function storable(text: string): string {
  return text.slice(0, MAX_TEXT).replaceAll(/\p{Surrogate}|\0/gu, '\ufffd');
}

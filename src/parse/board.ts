import { finding } from '../model/codes.ts';
import type { Finding } from '../model/finding.ts';
import type { Candidate } from '../model/source.ts';
import type { Parsed } from '../model/stages.ts';
import type { PostPredicate, Statement } from '../model/statement.ts';
import { openStatement } from '../sign/statement.ts';
import { parseStrictJson } from '../sign/strict-json.ts';
import { toText } from './decode.ts';
import { boardLine } from './parse.ts';
import { readJson } from './readings.ts';

const LINE_DEPTH = 32;
const BOM_BYTES = 3;

export interface Board {
  readonly lines: readonly Parsed[];
  readonly findings: readonly Finding[];
}

export interface RawLine {
  /** 1-based. */
  readonly line: number;
  /** Null where the line was longer than a file may be. */
  readonly bytes: Uint8Array | null;
}

/**
 * Reads a JSONL board: each readable line is one artifact; an unreadable line is skipped and counted, the board itself
 * is never moved or rewritten (decisions.md, board).
 */
export function parseBoard(candidate: Candidate, raw: Iterable<RawLine>): Board {
  const lines: Parsed[] = [];
  const skipped: { readonly line: number; readonly why: string }[] = [];
  const nonces = new Set<string>();
  for (const { line, bytes } of raw) {
    if (bytes === null) {
      skipped.push({ line, why: 'longer than limits.fileBytes' });
      continue;
    }
    const decoded = toText(bytes);
    if ('finding' in decoded) {
      skipped.push({ line, why: 'not UTF-8 text' });
      continue;
    }
    // A board may begin with a byte order mark and end its lines with CR LF: neither is part of a line.
    const whole = decoded.read();
    const hasBom = line === 1 && whole.startsWith('\ufeff');
    const text = (hasBom ? whole.slice(1) : whole).replace(/\r$/, '');
    if (text.trim() === '') continue;
    const parsed = parseStrictJson(text, { maxDepth: LINE_DEPTH });
    if ('fault' in parsed) {
      skipped.push({ line, why: parsed.fault });
      continue;
    }
    const opened = readPost(parsed.value, hasBom ? bytes.subarray(BOM_BYTES) : bytes, `${candidate.path}:${line}`);
    if (typeof opened === 'string') {
      skipped.push({ line, why: opened });
      continue;
    }
    if (opened) {
      // A repeated nonce is a replay of the line: dropped (handoffs.md, boards). A nonce is its signer's own: nobody can
      // spend another's by copying it into a line of theirs.
      const used = opened.signers.map((signer) => `${signer.fingerprint} ${opened.predicate.nonce}`);
      if (used.some((one) => nonces.has(one))) {
        skipped.push({ line, why: 'its nonce was used by an earlier line of the same signer' });
        continue;
      }
      for (const one of used) nonces.add(one);
    }
    const reading = opened ? null : readJson(text, line);
    lines.push(boardLine(candidate, { number: line, bytes, text }, { reading, post: opened }));
  }
  return { lines, findings: skipped.length === 0 ? [] : [skippedFinding(candidate.path, skipped)] };
}

/** @returns the opened statement of a signed line, null for a plain line, or why a line that claims to be signed is not. */
function readPost(value: unknown, bytes: Uint8Array, file: string): Statement<PostPredicate> | string | null {
  if (typeof value !== 'object' || value === null || !('payloadType' in value) || !('signatures' in value)) return null;
  const opened = openStatement(bytes, file);
  if ('refused' in opened) return `its signature does not stand (${opened.refused})`;
  return opened.predicate.type === 'post' ? (opened as Statement<PostPredicate>) : 'the signed line is no post';
}

function skippedFinding(path: string, skipped: readonly { readonly line: number; readonly why: string }[]): Finding {
  const [first] = skipped;
  const more = skipped.length > 1 ? `, and ${skipped.length - 1} more` : '';
  return finding('board-line-unreadable', {
    message: `Line ${first?.line ?? 1} was skipped: ${first?.why ?? 'unreadable'}${more}.`,
    line: first?.line ?? 1,
    file: path,
  });
}

import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { readOutside } from '../files/read-once.ts';
import { escapePath } from '../model/escaped.ts';
import type { Severity } from '../model/finding.ts';
import { wasRead } from '../model/source.ts';
import { toText } from '../parse/decode.ts';
import { DEFAULT_LIMITS } from '../policy/defaults.ts';
import { DEFAULT_RULES } from '../scan/default-rules.ts';
import { type ScanResult, scanText } from '../scan/scan.ts';
import { toFindings } from '../scan/to-findings.ts';
import { readStdin } from './ask.ts';
import { type Call, EXIT, type Exit, flag, oneOf, text, UsageError } from './command.ts';
import { print, tell } from './output.ts';
import { renderPassage } from './passage.ts';
import { openWorkspace } from './workspace.ts';

const MAX_BYTES = 67_108_864;
const ORDER: readonly ('none' | Severity)[] = ['none', 'notice', 'suspect', 'block'];

/** `writ scan`: the text scan alone. It proves nothing about authority. */
export async function scan(call: Call): Promise<Exit> {
  const format = oneOf(call, 'format', ['text', 'json']) ?? 'text';
  openWorkspace(call);
  if (flag(call, 'jsonl')) return scanLines();
  const sources = call.positionals.length === 0 ? ['-'] : call.positionals;
  if (sources.length === 1 && sources[0] === '-' && process.stdin.isTTY === true)
    throw new UsageError('usage: writ scan FILE..., or text on stdin');
  const results: ReturnType<typeof toResult>[] = [];
  const pages: string[] = [];
  let unchecked = false;
  for (const source of sources) {
    const name = source === '-' ? (text(call, 'as-path') ?? '-') : source;
    const read = await textOf(source);
    if (typeof read !== 'string') {
      unchecked = true;
      await tell(`writ: ${escapePath(name)}: ${read.why}`);
      continue;
    }
    const result = scanText(read, { rules: DEFAULT_RULES, workLimit: DEFAULT_LIMITS.scanWork });
    if (!result.complete) unchecked = true;
    const judged = toResult(name, result);
    results.push(judged);
    if (format === 'text') pages.push(renderResult(judged, read, result));
  }
  if (format === 'json') await print(`${JSON.stringify(results, null, 1)}\n`);
  else await print(pages.join(''));
  if (results.some((one) => one.worst === 'block')) return EXIT.refused;
  return unchecked ? EXIT.unchecked : EXIT.ok;
}

async function textOf(source: string): Promise<string | { readonly why: string }> {
  const read = source === '-' ? { bytes: await readStdin(MAX_BYTES) } : readOutside(resolve(source), MAX_BYTES);
  if ('finding' in read && !wasRead(read)) return { why: read.finding.message };
  const text = toText((read as { readonly bytes: Uint8Array }).bytes);
  return 'finding' in text ? { why: text.finding.message } : text.read();
}

function toResult(name: string, result: ScanResult) {
  return {
    path: escapePath(name),
    worst: worstOf(result),
    complete: result.complete,
    findings: toFindings(result).map((one) => ({
      code: one.code,
      severity: one.severity ?? null,
      line: one.line,
      column: one.column,
      message: one.message,
    })),
  };
}

function renderResult(one: ReturnType<typeof toResult>, text: string, result: ScanResult): string {
  // Findings are the hits in their order, behind the one that says the scan is incomplete.
  const skipped = one.findings.length - result.hits.length;
  const rows = one.findings.map((found, at) => {
    const hit = result.hits[at - skipped];
    const row = `  ${found.line ?? 1}:${found.column ?? 1}  ${(found.severity ?? 'notice').padEnd(7)}  ${found.code}  ${found.message}\n`;
    return hit === undefined ? row : row + renderPassage(text, hit);
  });
  return `${one.path}: ${one.worst}${one.complete ? '' : ' (not checked whole)'}\n${rows.join('')}`;
}

export function worstOf(result: ScanResult): 'none' | Severity {
  const found = result.hits.map((hit) => ORDER.indexOf(hit.severity));
  return ORDER[Math.max(0, ...found)] ?? 'none';
}

/** JSON lines in, JSON lines out: for evaluation and pipes. A line that cannot be read ends in exit 4, never in silence. */
async function scanLines(): Promise<Exit> {
  let unread = 0;
  let number = 0;
  for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
    number += 1;
    if (line.trim() === '') continue;
    const row = rowOf(line);
    if (row === null) {
      unread += 1;
      await tell(`writ: line ${number} is no {"id","text"} object`);
      continue;
    }
    const start = performance.now();
    const result = scanText(row.text, { rules: DEFAULT_RULES, workLimit: DEFAULT_LIMITS.scanWork });
    const ms = Math.round((performance.now() - start) * 1_000) / 1_000;
    const rules = result.hits.map((hit) => ({ rule: hit.rule, severity: hit.severity, line: hit.line }));
    await print(
      `${JSON.stringify({ id: row.id, worst: worstOf(result), rules, ...(result.complete ? {} : { complete: false }), ms })}\n`,
    );
    if (!result.complete) unread += 1;
  }
  return unread > 0 ? EXIT.unchecked : EXIT.ok;
}

function rowOf(line: string): { readonly id: unknown; readonly text: string } | null {
  try {
    const value = JSON.parse(line) as { id?: unknown; text?: unknown } | null;
    return typeof value?.text === 'string' ? { id: value.id ?? null, text: value.text } : null;
  } catch {
    return null;
  }
}

import { createHmac, randomBytes } from 'node:crypto';
import { LEVELS } from '../model/artifact-class.ts';
import { escapePath } from '../model/escaped.ts';
import { isoOf } from '../model/instant.ts';
import type { Judged } from '../model/stages.ts';

export type BootRank = 'binding' | 'advisory' | 'reference';

export interface BootSection {
  readonly rank: BootRank;
  readonly artifacts: readonly BootArtifact[];
}

export interface BootArtifact {
  readonly path: string;
  readonly line: number | null;
  readonly header: string;
  readonly content: string;
}

export interface BootContext {
  readonly nonce: string;
  /** The character that stands for a space in advisory and reference text, or null where text is only delimited. */
  readonly marker: string | null;
  readonly sections: readonly BootSection[];
  /** Artifacts left out because their text holds the delimiter\u2019s nonce. */
  readonly refused: readonly Judged[];
}

export interface BootOptions {
  /** Hosts to load for; null: all. */
  readonly hosts: readonly string[] | null;
  readonly frame: 'delimit' | 'datamark';
  /** Machine secret for a stable nonce (prompt caches hold), or null for a random one. */
  readonly secret: Uint8Array | null;
}

const BOOT_RANKS: readonly BootRank[] = ['binding', 'advisory', 'reference'];
const MARKERS = ['\u02c6', '\u00a6', '\u00a7', '\u2020', '\u2021', '\u00b6'] as const;

/** Builds the boot context from verdicts alone: only what the gate let load, at its rank, in a fixed order (formats.md, boot context). */
export function toBootContext(judged: readonly Judged[], options: BootOptions): BootContext {
  const fitting = judged
    .filter((one) => one.disposition === 'load' && isProse(one) && isFor(one, options.hosts))
    .sort(inOrder);
  const loading = fitting.filter((one) => !isSaidAlready(one, fitting));
  const contents = loading.map(contentOf);
  const nonce = nonceFor(contents, options.secret);
  const refused = loading.filter((_one, index) => contents[index]?.includes(nonce) === true);
  const marker =
    options.frame === 'datamark'
      ? (MARKERS.find((one) => !contents.some((text) => text.includes(one))) ?? MARKERS[0])
      : null;
  const sections = BOOT_RANKS.map((rank) => ({
    rank,
    artifacts: loading.flatMap((one, index) => {
      const content = contents[index] ?? '';
      if (one.rank !== rank || refused.includes(one)) return [];
      const { parsed } = one.evidence;
      const marked = marker !== null && rank !== 'binding' ? content.replaceAll(' ', marker) : content;
      return [{ path: escapePath(parsed.candidate.path), line: parsed.line, header: headerOf(one), content: marked }];
    }),
  }));
  return { nonce, marker, sections, refused };
}

function isProse(one: Judged): boolean {
  const { candidate } = one.evidence.parsed;
  return candidate.kind !== 'executable' && !candidate.outside && one.evidence.parsed.text !== null;
}

/** A link to a file that loads at the same rank says nothing new. */
function isSaidAlready(one: Judged, all: readonly Judged[]): boolean {
  const { aliasOf } = one.evidence.parsed;
  return (
    aliasOf !== null && all.some((other) => other.evidence.parsed.candidate.path === aliasOf && other.rank === one.rank)
  );
}

function isFor(one: Judged, hosts: readonly string[] | null): boolean {
  const { candidate } = one.evidence.parsed;
  if (hosts === null || candidate.kind === 'document' || one.rank === 'binding' || candidate.uses.length === 0)
    return true;
  return candidate.uses.some((use) => use.host === 'generic' || hosts.includes(use.host));
}

/** Constitution first, then policy with the highest level first, then by path. */
function inOrder(a: Judged, b: Judged): number {
  return (
    weight(a) - weight(b) ||
    compare(a.evidence.parsed.candidate.path, b.evidence.parsed.candidate.path) ||
    (a.evidence.parsed.line ?? 0) - (b.evidence.parsed.line ?? 0)
  );
}

function weight(one: Judged): number {
  if (one.declaredClass === 'constitution') return 0;
  const level = one.evidence.claimed?.manifest.level;
  return one.declaredClass === 'policy' && level ? LEVELS.length - LEVELS.indexOf(level) : LEVELS.length + 1;
}

function contentOf(one: Judged): string {
  const { parsed, claimed } = one.evidence;
  if (parsed.post) return parsed.post.predicate.text;
  return (claimed?.content ?? parsed.text?.read() ?? '').replace(/^\ufeff/, '');
}

function headerOf(one: Judged): string {
  const { parsed, claimed } = one.evidence;
  const parts = [
    `path=${nameOf(parsed.candidate.path)}${parsed.line === null ? '' : `:${parsed.line}`}`,
    `class=${one.class}`,
    ...(one.declaredClass !== null && one.declaredClass !== one.class ? [`declared=${one.declaredClass}`] : []),
    `writer=${one.writer ? `${one.writer.principal} (${one.writer.role})` : one.rank === 'binding' ? 'adopted' : 'unproven'}`,
    `approved_by=${one.approvedBy.join(',') || 'nobody'}`,
    `expires=${claimed?.manifest.expiresAt ? isoOf(claimed.manifest.expiresAt) : 'never'}`,
    ...(one.rank === 'reference' ? ['output_is_instruction=false'] : []),
  ];
  return parts.join(' | ');
}

/** A file name that cannot write a field of its own. */
function nameOf(path: string): string {
  return escapePath(path).replaceAll('|', '\\u{7c}');
}

/** Random, drawn again while any text holds it; or derived from a machine secret and the texts, so that the same context has the same bytes. */
function nonceFor(contents: readonly string[], secret: Uint8Array | null): string {
  if (secret !== null) {
    const mac = createHmac('sha256', secret);
    for (const text of contents) mac.update(`${text.length}:`).update(text);
    return mac.digest('hex').slice(0, 24);
  }
  for (let tries = 0; tries < 8; tries += 1) {
    const nonce = randomBytes(12).toString('hex');
    if (!contents.some((text) => text.includes(nonce))) return nonce;
  }
  return randomBytes(12).toString('hex');
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

import type { Judgement } from '../gate.ts';
import { isoOf } from '../model/instant.ts';
import { nativeSha256Hex } from '../sign/digest.ts';
import type { Catalogue, Described } from './catalogue.ts';
import { type Level, type Told, toldFindings } from './told.ts';

/** What a SARIF log says besides the findings. */
export interface SarifOptions {
  readonly catalogue: Catalogue;
  /** Path of the workspace within its repository, ending in `/`, or empty: GitHub counts paths from the top of the repository. */
  readonly prefix: string;
  /** What the command ends in. */
  readonly exit: number;
}

/** GitHub takes at most so many results and so many bytes, here before they are packed, and rejects the whole file beyond (facts 5.1). */
export const MOST_RESULTS = 25_000;
export const MOST_BYTES = 10_000_000;
/** Longest description of a rule and longest message, in characters. */
const DESCRIPTION = 1_024;
const BASE = '%SRCROOT%';

/**
 * The findings of a judgement as SARIF 2.1.0, as GitHub code scanning takes it (facts 5.1). What is beyond its limits is left out, quietest last, and
 * the log says how much. A level follows the effect, so no rule carries a `security-severity`: GitHub would show that instead.
 */
export function renderSarif(judgement: Judgement, { catalogue, prefix, exit }: SarifOptions): string {
  const told = toldFindings(judgement, catalogue);
  const rules = rulesOf(told, catalogue);
  const indexOf = new Map(rules.map((rule, index) => [rule.id, index]));
  const toResult = resultMaker(judgement, prefix, indexOf);
  const results: string[] = [];
  const log = (left: number): string[] => {
    const text = JSON.stringify(logOf(rules, { catalogue, prefix, exit }, left));
    return text.split('"@results"');
  };
  let room = MOST_BYTES - log(told.length).join('').length * 2;
  for (const one of told.slice(0, MOST_RESULTS)) {
    const text = JSON.stringify(toResult(one));
    room -= Buffer.byteLength(text) + 1;
    if (room < 0) break;
    results.push(text);
  }
  return `${log(told.length - results.length).join(`[${results.join(',')}]`)}\n`;
}

function logOf(rules: readonly object[], { catalogue, prefix, exit }: SarifOptions, left: number): object {
  const notifications =
    left === 0
      ? {}
      : {
          toolExecutionNotifications: [
            {
              level: 'error',
              message: { text: `${left} findings more were made than GitHub takes; writ check shows them all.` },
            },
          ],
        };
  return {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: { driver: { name: 'writ', semanticVersion: catalogue.version, rules } },
        automationDetails: { id: `writ/${prefix}` },
        invocations: [{ executionSuccessful: exit !== 4, exitCode: exit, ...notifications }],
        originalUriBaseIds: { [BASE]: { description: { text: 'The top of the repository.' } } },
        columnKind: 'utf16CodeUnits',
        results: '@results',
      },
    ],
  };
}

/** Every rule that ships, and the workspace's own rules that found something. */
function rulesOf(told: readonly Told[], { kinds, entryOf }: Catalogue): readonly { readonly id: string }[] {
  const known = new Set(kinds.map((kind) => kind.id));
  const own = new Map<string, Described>();
  for (const { code, severity } of told) {
    if (known.has(code) || own.has(code)) continue;
    const finding = { code: code as `scan/${string}`, ...(severity === undefined ? {} : { severity }) };
    own.set(code, { id: code, entry: entryOf(finding), severity: severity ?? 'block', why: null });
  }
  return [...kinds, ...[...own.values()].sort((a, b) => (a.id < b.id ? -1 : 1))].map(toRule);
}

function toRule({ id, entry, severity, why }: Described) {
  const short = cut(why ?? entry.meaning);
  const does = EFFECTS[entry.effect];
  return {
    id,
    name: cut(
      id
        .split(/[^A-Za-z0-9]+/)
        .map(capital)
        .join(''),
    ).slice(0, 255),
    shortDescription: { text: short },
    fullDescription: { text: cut(why === null ? entry.meaning : `${entry.meaning} ${why}`) },
    help: {
      text: `${entry.meaning} ${does} Cure: ${entry.cure}`,
      markdown: `${entry.meaning}\n\n${does}\n\n**Cure:** ${markdown(entry.cure)}\n\nMore: \`writ explain ${markdown(id)}\``,
    },
    defaultConfiguration: { level: DEFAULT_LEVELS[entry.effect] },
    properties: {
      tags: ['security', 'ai-agents', entry.stage],
      precision: severity === null ? 'very-high' : PRECISION[severity],
      'problem.severity': PROBLEM[DEFAULT_LEVELS[entry.effect]],
    },
  };
}

const EFFECTS = {
  quarantine: 'The text is refused.',
  reference: 'The text loads as evidence at most.',
  advisory: 'The text loads as advice at most.',
  note: 'It lowers no rank by itself.',
} as const;
const DEFAULT_LEVELS = { quarantine: 'error', reference: 'warning', advisory: 'warning', note: 'note' } as const;
const PROBLEM: Readonly<Record<Level, string>> = { error: 'error', warning: 'warning', note: 'recommendation' };
const PRECISION = { block: 'high', suspect: 'medium', notice: 'low' } as const;

function resultMaker(
  { set }: Judgement,
  prefix: string,
  indexOf: ReadonlyMap<string, number>,
): (one: Told) => Record<string, unknown> {
  const seen = new Map<string, number>();
  return (one) => {
    const hash = fingerprint(one);
    const nth = (seen.get(hash) ?? 0) + 1;
    seen.set(hash, nth);
    return {
      ruleId: one.code,
      ruleIndex: indexOf.get(one.code) ?? -1,
      level: one.level,
      message: { text: toMessage(one.message) },
      locations: [
        {
          physicalLocation: {
            artifactLocation: toLocation(one.place ?? `${set.dir}/policy.yaml`, prefix),
            region: toRegion(one),
          },
        },
      ],
      partialFingerprints: { primaryLocationLineHash: `${hash}:${nth}` },
      ...(one.relief === null ? {} : { suppressions: [suppression(one, set.exceptions)] }),
      properties: {
        effect: one.effect,
        ...(one.path === null ? {} : { path: one.path, rank: one.rank }),
        ...(one.cure === '' ? {} : { cure: one.cure }),
      },
    };
  };
}

/** By what stands on the line and not by its number, so that an alert follows its line; never by the message, which may count. */
function fingerprint({ code, path, place, text }: Told): string {
  const line = text === null ? '' : text.replaceAll(/\s+/g, ' ').trim().slice(0, 4_096);
  return nativeSha256Hex(JSON.stringify([code, path, place, line])).slice(0, 16);
}

/** Files of the workspace by a path relative to the repository, others (a home, a folder above) by an address of their own. */
function toLocation(place: string, prefix: string): object {
  const absolute = /^(?:\/|[A-Za-z]:[\\/])/.test(place);
  const path = (absolute ? place : `${prefix}${place}`).replaceAll('\\', absolute ? '/' : '\\');
  const uri = wellFormed(path).split('/').map(encodeURIComponent).join('/');
  if (!absolute) return { uri, uriBaseId: BASE };
  return { uri: `file://${uri.startsWith('/') ? '' : '/'}${uri.replace('%3A', ':')}` };
}

function toRegion({ line, column, text }: Told): object {
  const startColumn = Math.max(1, column ?? 1);
  const end = text === null ? 0 : text.replace(/\r$/, '').length + 1;
  const startLine = Math.max(1, line ?? 1);
  return { startLine, startColumn, endLine: startLine, endColumn: Math.max(end, startColumn + 1) };
}

/** What people decided about it. A code in audit is still under review, so it stays visible. */
function suppression(one: Told, exceptions: Judgement['set']['exceptions']): object {
  const excepted = exceptions.find((other) => other.code === one.code && other.path === one.place);
  const why = {
    accepted: 'An approval accepts this rule for exactly these bytes.',
    adopted: 'The approval of the sovereign adopts the text.',
    audit: 'policy.yaml has this code in audit.',
    excepted: excepted
      ? `Excepted by ${excepted.owner} until ${isoOf(excepted.until)}.`
      : 'exceptions.yaml excepts this finding.',
  }[one.relief ?? 'excepted'];
  return { kind: 'external', status: one.relief === 'audit' ? 'underReview' : 'accepted', justification: why };
}

/** A message may hold words of an artifact: none of them may become a link or a placeholder (SARIF 3.11.5, 3.11.6). */
function toMessage(message: string): string {
  const plain = message.replaceAll(/\[(?=[^\]]*\]\()/g, '\\[').replaceAll(/\{(\d+)\}/g, '{{$1}}');
  return plain === '' ? 'No more is known.' : cut(plain);
}

function cut(text: string): string {
  return text.length > DESCRIPTION ? `${wellFormed(text.slice(0, DESCRIPTION - 1))}\u2026` : text;
}

/** Half a character has no UTF-8. */
function wellFormed(text: string): string {
  return text.replaceAll(/\p{Surrogate}/gu, '\ufffd');
}

function capital(word: string): string {
  return word.slice(0, 1).toUpperCase() + word.slice(1);
}

/** Rule names are the workspace's own words: nothing in them is markup. */
function markdown(text: string): string {
  return text.replaceAll(/[<>[\]`!*_]/g, (sign) => `&#${sign.charCodeAt(0)};`);
}

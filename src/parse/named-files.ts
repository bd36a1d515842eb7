import type { ConfigForm } from '../model/source.ts';
import { parseStrictJson } from '../sign/strict-json.ts';
import { placeOf } from './decode.ts';
import { readPlainSettings } from './plain-settings.ts';
import { toStrictJson } from './relaxed-json.ts';
import { parseStrictYaml } from './strict-yaml.ts';

/** Most entries of one configuration that are looked at, and its largest text, in characters, and depth. */
const MAX_ENTRIES = 256;
const MAX_TEXT = 1_048_576;
const MAX_DEPTH = 64;
const OPENS = '{file:';
const YAML_LIMITS = { bytes: 65_536, depth: 16 };

/** One entry that names files: as written, and where. */
export interface NamedEntry {
  readonly value: string;
  /** 1-based; columns in UTF-16 units. */
  readonly line: number;
  readonly column: number;
  /** Relative to the folder of the configuration alone, and one file: `{file:...}`. */
  readonly beside: boolean;
}

export interface NamedFiles {
  readonly entries: readonly NamedEntry[];
  /** Why not everything it names is known, in plain words; null where all is. */
  readonly fault: string | null;
}

/**
 * Reads which files a configuration has its host load: `instructions` and `{file:...}` of OpenCode (facts 1.6), `read` of aider. Strict: what another
 * reader may take otherwise is a fault, and what was found before it still counts.
 */
export async function namedFiles(form: ConfigForm, text: string): Promise<NamedFiles> {
  if (text.length > MAX_TEXT) return { entries: [], fault: `it is over ${MAX_TEXT} characters` };
  const inserted = form === 'opencode' ? insertedFiles(text) : [];
  const read = form === 'opencode' ? readJson(text) : await readYaml(text);
  if ('fault' in read) return capped(inserted, read.fault);
  const all = fieldOf(read.value, form === 'opencode' ? 'instructions' : 'read');
  if (all === null) return capped(inserted, 'an entry is no text');
  const list = [...new Set(all)].slice(0, MAX_ENTRIES + 1);
  let from = 0;
  const entries = list.map((value): NamedEntry => {
    // In their order, as far as they are spelt plainly; else the top.
    const at = text.indexOf(value, from);
    if (at >= 0) from = at + value.length;
    return { value, ...placeOf(text, Math.max(0, at)), beside: false };
  });
  return capped([...entries, ...inserted], null);
}

function capped(entries: readonly NamedEntry[], fault: string | null): NamedFiles {
  const unique = [...new Map(entries.map((one) => [`${one.beside} ${one.value}`, one])).values()];
  return unique.length <= MAX_ENTRIES
    ? { entries: unique, fault }
    : { entries: unique.slice(0, MAX_ENTRIES), fault: fault ?? `it has more than ${MAX_ENTRIES} entries` };
}

function readJson(text: string): { readonly value: unknown } | { readonly fault: string } {
  const read = parseStrictJson(toStrictJson(text), { maxDepth: MAX_DEPTH });
  return 'fault' in read ? { fault: `line ${read.line}: ${read.fault}` } : read;
}

async function readYaml(text: string): Promise<{ readonly value: unknown } | { readonly fault: string }> {
  if (/^(?:\s*(?:#[^\n]*)?(?:\n|$))*$/.test(text)) return { value: null };
  const read = readPlainSettings(text) ?? (await parseStrictYaml(text, 1, YAML_LIMITS));
  return 'fault' in read ? { fault: `line ${read.line}: ${read.fault}` } : read;
}

/** @returns the texts of a field, none where it is absent; null where it holds anything else. */
function fieldOf(value: unknown, field: string): readonly string[] | null {
  if (value === null) return [];
  if (typeof value !== 'object' || Array.isArray(value)) return null;
  const found = Object.hasOwn(value, field) ? (value as Readonly<Record<string, unknown>>)[field] : null;
  const list = found === null || found === undefined ? [] : Array.isArray(found) ? found : [found];
  return list.every((one): one is string => typeof one === 'string') ? list : null;
}

/** `{file:PATH}` anywhere in the text but in a line that is a comment: OpenCode puts the file there before it reads the text as JSON. */
function insertedFiles(text: string): readonly NamedEntry[] {
  const found: NamedEntry[] = [];
  for (let at = text.indexOf(OPENS); at >= 0 && found.length <= MAX_ENTRIES; ) {
    const close = text.indexOf('}', at);
    if (close < 0) break;
    const value = text.slice(at + OPENS.length, close).trim();
    const before = text.slice(text.lastIndexOf('\n', at) + 1, at);
    if (value !== '' && !before.trimStart().startsWith('//')) found.push({ value, ...placeOf(text, at), beside: true });
    at = text.indexOf(OPENS, close);
  }
  return found;
}

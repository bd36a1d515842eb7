import type { Place } from './place.ts';

/** What the places of a YAML block are asked of: the parser's own document, or what `readPlainYaml` gives instead. */
export interface YamlPlaces {
  readonly value: unknown;
  readonly document: {
    readonly contents: unknown;
    get(key: string): unknown;
  };
  readonly lines: { linePos(offset: number): { readonly line: number; readonly col: number } };
}

interface Key {
  readonly key: { readonly value: string; readonly range: readonly [number] };
}

const HEAD = 'context_manifest:\n';
const MARGIN = '  ';
/** A field on a line of its own. Quoted or not, a value has no space, no quote, no backslash, no `#` and no `: `. */
const FIELD =
  / {2}([a-z][a-z_]{0,63}): (?:(null)|(true|false)|(\[\])|(0|[1-9][0-9]{0,14})|"([A-Za-z0-9][A-Za-z0-9._:/@+-]{0,255})"|([A-Za-z][A-Za-z0-9._/@+-]{0,127}(?::[A-Za-z0-9._/@+-]{1,127})?)|([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}))\n/y;
/** Words that are no strings in the core schema, in any case. */
const WORDS: ReadonlySet<string> = new Set(['null', 'true', 'false']);
/** Larger blocks go to the parser and its limits. */
const LONGEST = 4_096;

/**
 * Reads the one spelling of a manifest that writ itself and most tools write: `context_manifest:`, then fields indented by two spaces, each with a
 * plain value. A parser takes a millisecond for what this takes microseconds; a workspace has one for every file.
 * @returns null for everything else, valid or not: then the parser decides. What is accepted here the parser reads alike (test/parse/plain-yaml.test.ts).
 */
export function readPlainYaml(text: string): YamlPlaces | null {
  if (text.length > LONGEST || !text.startsWith(HEAD)) return null;
  const fields: Record<string, unknown> = {};
  const starts = [0];
  const items: Key[] = [];
  let at = HEAD.length;
  while (at < text.length) {
    FIELD.lastIndex = at;
    const found = FIELD.exec(text);
    if (found === null) return null;
    const [line, name = '', none, truth, list, digits, quoted, word, uuid] = found;
    if (WORDS.has(name) || Object.hasOwn(fields, name)) return null;
    if (word !== undefined && WORDS.has(word.toLowerCase())) return null;
    fields[name] =
      none !== undefined
        ? null
        : truth !== undefined
          ? truth === 'true'
          : list !== undefined
            ? []
            : digits !== undefined
              ? Number(digits)
              : (quoted ?? word ?? uuid);
    items.push({ key: { value: name, range: [at + MARGIN.length] } });
    starts.push(at);
    at += line.length;
  }
  if (items.length === 0) return null;
  const map = { items };
  return {
    value: { context_manifest: fields },
    document: {
      contents: { items: [{ key: { value: 'context_manifest', range: [0] } }] },
      get: (key) => (key === 'context_manifest' ? map : undefined),
    },
    lines: { linePos: (offset) => placeIn(starts, offset) },
  };
}

function placeIn(starts: readonly number[], offset: number): { readonly line: Place['line']; readonly col: number } {
  let line = 1;
  while (line < starts.length && (starts[line] as number) <= offset) line += 1;
  return { line, col: offset - (starts[line - 1] as number) + 1 };
}

import { placeOf } from './decode.ts';
import type { YamlPlaces } from './plain-yaml.ts';

/** A place in a file, 1-based. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

/** The first character of a file. */
export const TOP: Place = { line: 1, column: 1 };

/** The place in the file of a place in one of its blocks; `firstLine` is where the block begins. */
export function shiftBy(place: Place, firstLine: number): Place {
  return { line: place.line + firstLine - 1, column: place.column };
}

/** The place of a key in JSON text, as far as a plain spelling of it is there; else the first line. */
export function jsonPlace(text: string, field: string, firstLine: number): Place {
  const at = text.indexOf(`"${field}"`);
  return shiftBy(at === -1 ? TOP : placeOf(text, at), firstLine);
}

/** @returns the places of the manifest's fields in a YAML block that begins at `firstLine`; the block's first line for a field that is not there. */
export function fieldPlace(read: YamlPlaces, firstLine: number): (field: string) => Place {
  return (field) => {
    const map = read.document.get('context_manifest') as
      | { items?: readonly { key?: { value?: unknown; range?: readonly number[] } }[] }
      | undefined;
    const pair = map?.items?.find((item) => item.key?.value === field);
    const offset = pair?.key?.range?.[0];
    if (offset === undefined) return shiftBy(TOP, firstLine);
    const { line, col } = read.lines.linePos(offset);
    return shiftBy({ line, column: col }, firstLine);
  };
}

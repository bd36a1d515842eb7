import type { HeadBlock } from './carrier.ts';
import type { YamlPlaces } from './plain-yaml.ts';

/** The lines of one entry of front matter, as a byte range of the file and the 1-based line it begins at. */
export interface Entry {
  readonly from: number;
  readonly to: number;
  readonly line: number;
}

/**
 * The byte range of the lines of the `context_manifest` entry: to the next top-level key, or to the closing line.
 * @returns null where the entry has no lines of its own: flow style, or an explicit key.
 */
export function entryLines(read: YamlPlaces, head: HeadBlock): Entry | null {
  const contents = read.document.contents as {
    flow?: boolean;
    items?: readonly { key?: { value?: unknown; range?: readonly number[] } }[];
  } | null;
  if (!contents?.items || contents.flow) return null;
  const starts = contents.items.map((pair) => ({
    key: pair.key?.value,
    line: read.lines.linePos(pair.key?.range?.[0] ?? 0),
  }));
  const index = starts.findIndex((start) => start.key === 'context_manifest');
  const here = starts[index];
  if (here?.line.col !== 1) return null;
  const next = starts[index + 1];
  const from = head.lineStarts[here.line.line - 1];
  const end = next ? next.line.line - 1 : head.lineStarts.length - 1;
  const to = head.lineStarts[endOfEntry(head, here.line.line, end)];
  return from === undefined || to === undefined || to <= from
    ? null
    : { from, to, line: here.line.line + head.firstLine - 1 };
}

/** A comment at the margin after the entry belongs to what follows: it stays content, and every byte of it is hashed. */
function endOfEntry(head: HeadBlock, firstIndex: number, end: number): number {
  const lines = head.yaml.split('\n');
  let to = end;
  for (let index = end - 1; index > firstIndex; index -= 1) {
    const line = lines[index] ?? '';
    if (line.startsWith('#')) to = index;
    else if (line.trim() !== '') break;
  }
  return to;
}

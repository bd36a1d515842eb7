/** The name a hit gives for where it was found. */
export type ViewName = 'text' | 'normalised' | 'hidden' | 'decoded';

/** A text to search, with the way back to the original. */
export interface View {
  readonly name: ViewName;
  readonly text: string;
  /** Original offset at which the unit at `at` of this view begins. */
  toStart(at: number): number;
  /** Original offset behind the last unit of a passage that ends before `at` of this view. */
  toEnd(at: number): number;
}

/** The text as written. */
export function writtenView(text: string): View {
  return { name: 'text', text, toStart: (at) => at, toEnd: (at) => at };
}

/** Collects the pieces of a derived view. */
export interface ViewBuilder {
  /** Appends original[from, to) unchanged. */
  copy(from: number, to: number): void;
  /** Appends `made`, which stands for original[from, to). */
  put(made: string, from: number, to: number): void;
  /** Appends a gap that no pattern crosses. */
  cut(): void;
  /** @returns the view, or null where nothing was appended. */
  build(): View | null;
}

const GAP = '\n\u0000\n';

/** Starts a derived view over `original`. */
export function viewBuilder(name: ViewName, original: string): ViewBuilder {
  const parts: string[] = [];
  // One entry a piece: where it begins in the view, and what it stands for in the original.
  const at: number[] = [];
  const from: number[] = [];
  const to: number[] = [];
  let length = 0;
  const append = (piece: string, start: number, end: number): void => {
    if (piece === '') return;
    parts.push(piece);
    at.push(length);
    from.push(start);
    to.push(end);
    length += piece.length;
  };
  const pieceAt = (position: number): number => {
    let low = 0;
    let high = at.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((at[middle] ?? 0) <= position) low = middle;
      else high = middle - 1;
    }
    return low;
  };
  const place = (position: number, edge: 'start' | 'end'): number => {
    const piece = pieceAt(position);
    const start = from[piece] ?? 0;
    const end = to[piece] ?? start;
    const within = position - (at[piece] ?? 0);
    const size = (parts[piece] ?? '').length;
    if (size === end - start) return Math.min(start + within + (edge === 'end' ? 1 : 0), end);
    return edge === 'start' ? start : end;
  };
  return {
    copy: (start, end) => append(original.slice(start, end), start, end),
    put: append,
    cut: () => {
      if (length > 0) append(GAP, to[to.length - 1] ?? 0, to[to.length - 1] ?? 0);
    },
    build: () =>
      length === 0
        ? null
        : {
            name,
            text: parts.join(''),
            toStart: (position) => place(position, 'start'),
            toEnd: (position) => (position === 0 ? place(0, 'start') : place(position - 1, 'end')),
          },
  };
}

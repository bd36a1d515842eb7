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

const GAP = '\n\u0000\n';

/** Collects the pieces of a derived view over a text. */
export class ViewBuilder {
  readonly #name: ViewName;
  readonly #original: string;
  readonly #parts: string[] = [];
  // One entry a piece: where it begins in the view, and what it stands for in the original.
  readonly #at: number[] = [];
  readonly #from: number[] = [];
  readonly #to: number[] = [];
  #length = 0;

  constructor(name: ViewName, original: string) {
    this.#name = name;
    this.#original = original;
  }

  /** Appends original[from, to) unchanged. */
  copy(from: number, to: number): void {
    this.put(this.#original.slice(from, to), from, to);
  }

  /** Appends `made`, which stands for original[from, to). */
  put(made: string, from: number, to: number): void {
    if (made === '') return;
    this.#parts.push(made);
    this.#at.push(this.#length);
    this.#from.push(from);
    this.#to.push(to);
    this.#length += made.length;
  }

  /** Appends a gap that no pattern crosses. */
  cut(): void {
    const end = this.#to.at(-1);
    if (end !== undefined) this.put(GAP, end, end);
  }

  /** @returns the view, or null where nothing was appended. */
  build(): View | null {
    if (this.#length === 0) return null;
    return {
      name: this.#name,
      text: this.#parts.join(''),
      toStart: (position) => this.#place(position, 'start'),
      toEnd: (position) => (position === 0 ? this.#place(0, 'start') : this.#place(position - 1, 'end')),
    };
  }

  #place(position: number, edge: 'start' | 'end'): number {
    const piece = this.#pieceAt(position);
    const start = this.#from[piece] ?? 0;
    const end = this.#to[piece] ?? start;
    const within = position - (this.#at[piece] ?? 0);
    const size = (this.#parts[piece] ?? '').length;
    if (size === end - start) return Math.min(start + within + (edge === 'end' ? 1 : 0), end);
    return edge === 'start' ? start : end;
  }

  #pieceAt(position: number): number {
    let low = 0;
    let high = this.#at.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#at[middle] ?? 0) <= position) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}

/** The end of a stream, and how much of its beginning was let go. */
export interface Tail {
  readonly bytes: Buffer;
  /** Bytes that came before and were not kept. */
  readonly dropped: number;
}

/** Keeps the last bytes of what is written to it, so that an output without end takes no more memory than `max` and one piece. */
export class TailBuffer {
  private readonly max: number;
  private pieces: Buffer[] = [];
  private first = 0;
  private size = 0;
  private dropped = 0;

  /** @param max bytes. */
  constructor(max: number) {
    this.max = max;
  }

  add(piece: Buffer): void {
    this.pieces.push(piece);
    this.size += piece.length;
    for (;;) {
      const oldest = this.pieces[this.first];
      if (oldest === undefined || this.size - oldest.length < this.max) break;
      this.size -= oldest.length;
      this.dropped += oldest.length;
      this.first += 1;
    }
    // Shifting one by one would copy the list each time.
    if (this.first > 1_024) {
      this.pieces = this.pieces.slice(this.first);
      this.first = 0;
    }
  }

  /** What is kept: at most `max` bytes. */
  end(): Tail {
    const all = Buffer.concat(this.pieces.slice(this.first));
    const over = Math.max(0, all.length - this.max);
    return { bytes: all.subarray(over), dropped: this.dropped + over };
  }
}

import type { Instant } from '../model/instant.ts';

/** How often clock, root and what lies outside the workspace are looked at, ms. */
const BEAT_MS = 1_000;
/** Looking outside takes at most one part in so many of the time. */
const LOOK_SHARE = 50;
/** Looking at everything takes at most one part in so many of the time. */
const POLL_SHARE = 4;
/** A clock that moved by more than this against the monotonic one was set, ms. */
const JUMP_MS = 2_000;

/** What a heart beats for. */
export interface Beating {
  /** Everything is judged anew so often, ms. */
  readonly everyMs: number;
  /** Everything is looked at so often, ms; null: changes are told. */
  readonly pollMs: number | null;
  /** @returns whether something is seen that no event tells of. */
  look(): boolean;
  /** Asks for a judgement. @param all nothing kept may be believed */
  wake(all: boolean): void;
  /** Asked at every beat; true asks for a judgement. */
  isTroubled(): boolean;
}

/** What a timer stands for: something runs out, a file is due to be moved, a tree of dependencies has come to rest. */
type Reason = 'expiry' | 'due' | 'tree';

/** Asks for judgements where no event does: what runs out, a clock that was set, what lies outside, the period. */
export class Heartbeat {
  private readonly beating: Beating;
  private readonly beats: NodeJS.Timeout;
  private readonly timers = new Map<Reason, NodeJS.Timeout>();
  private next: Instant | null = null;
  private everyDue: number;
  private pollDue = 0;
  private lookDue = 0;
  private clock = Date.now() - performance.now();

  constructor(beating: Beating) {
    this.beating = beating;
    this.everyDue = performance.now() + beating.everyMs;
    this.beats = setInterval(() => this.tryBeat(), BEAT_MS);
    if (beating.pollMs !== null && beating.pollMs < BEAT_MS) this.beats = this.faster(beating.pollMs);
  }

  /** The next instant at which a verdict may change by itself; null where none does. */
  expect(next: Instant | null): void {
    this.next = next;
    this.armExpiry();
  }

  /** A look at everything has just ended and took so long, ms. */
  looked(ms: number): void {
    const { pollMs } = this.beating;
    if (pollMs !== null) this.pollDue = performance.now() + Math.max(pollMs, ms * POLL_SHARE) - BEAT_MS / 100;
  }

  /** Asks for a judgement in so many ms. */
  wakeIn(what: Reason, ms: number): void {
    clearTimeout(this.timers.get(what));
    this.timers.set(
      what,
      setTimeout(() => this.beating.wake(false), Math.max(1, Math.ceil(ms))),
    );
  }

  stop(): void {
    clearInterval(this.beats);
    for (const timer of this.timers.values()) clearTimeout(timer);
  }

  private faster(pollMs: number): NodeJS.Timeout {
    clearInterval(this.beats);
    return setInterval(() => this.tryBeat(), pollMs);
  }

  /** A fault in looking is one in judging: the next judgement tells it, or finds that it is over. */
  private tryBeat(): void {
    try {
      this.beat();
    } catch {
      this.beating.wake(false);
    }
  }

  private beat(): void {
    const { beating } = this;
    const now = performance.now();
    const clock = Date.now() - now;
    const jumped = Math.abs(clock - this.clock) > JUMP_MS;
    this.clock = clock;
    if (now >= this.everyDue) {
      this.everyDue = now + beating.everyMs;
      beating.wake(true);
    }
    if (jumped || beating.isTroubled() || (beating.pollMs !== null && now >= this.pollDue)) beating.wake(false);
    if (now >= this.lookDue) {
      if (beating.look()) beating.wake(false);
      const ended = performance.now();
      this.lookDue = ended + (ended - now) * LOOK_SHARE;
    }
    this.armExpiry();
  }

  private armExpiry(): void {
    if (this.next === null) return;
    const left = this.next - Date.now();
    // Timers run on another clock and hold no year: only the last stretch is left to one.
    if (left <= BEAT_MS * 2) this.wakeIn('expiry', left);
  }
}

import { setImmediate as nextTurn } from 'node:timers/promises';
import { settleLeftovers, stateFault } from '../enact.ts';
import { type Judgement, judge, type Request } from '../gate.ts';
import { findRepository } from '../git/repository.ts';
import { escapeText } from '../model/escaped.ts';
import { type Instant, instantFromMs } from '../model/instant.ts';
import type { Places } from '../model/settings.ts';
import { exitOf, summaryOf } from '../report/verdicts.ts';
import type { StateLocation } from '../store/location.ts';
import { type Acting, act } from './act.ts';
import type { ErrorEvent, WatchEvent, WorkspaceFinding } from './event.ts';
import { WatchLimit } from './follow-folders.ts';
import { lookOutside } from './look-outside.ts';
import { nextInstant } from './next-instant.ts';
import { isOther, type Opened, openPlace } from './open-place.ts';
import { codesOf, compare, digestOf, shown, type Told, toRemovedEvent, toVerdictEvent } from './told.ts';

/** How often clock, root and what lies outside the workspace are looked at, ms. */
const BEAT_MS = 1_000;
/** Looking outside takes at most one part in so many of the time. */
const LOOK_SHARE = 50;
/** Looking at everything takes at most one part in so many of the time. */
const POLL_SHARE = 4;
/** Judgements before `ready` while files keep changing. */
const MAX_FIRST = 5;
/** Judgements after it was told to end while files keep changing. */
const MAX_LAST = 3;
/** A clock that moved by more than this against the monotonic one was set, ms. */
const JUMP_MS = 2_000;

export interface WatchOptions {
  /** The workspace, absolute and as it was given: where the folder goes and comes back, this place is opened again. */
  readonly place: string;
  readonly places: Places;
  readonly state: StateLocation;
  readonly observe: boolean;
  /** Moves and records as `load` does, in this name; null changes nothing and opens state for reading. */
  readonly quarantine: { readonly actor: string } | null;
  /** Everything is read and judged anew so often, ms. */
  readonly everyMs: number;
  /** Looks at everything so often instead of being told of changes, ms; null: is told. */
  readonly pollMs: number | null;
  /** Ends with `ready`. */
  readonly once: boolean;
}

export interface Watching {
  /** What it would exit with now: 1 something is refused or was moved, 4 the state could not be checked, 0 neither. */
  exit(): 0 | 1 | 4;
  /** Judges what was noticed and not judged yet, then ends. */
  stop(): void;
  /** Settles with the exit code when it has ended. */
  readonly ended: Promise<0 | 1 | 4>;
}

/** What was noticed since the last judgement began. */
interface Pending {
  /** When the first change was noticed, on the clock of `performance.now()`; null where none was. */
  since: number | null;
  names: boolean;
  dependencies: boolean;
  /** Nothing kept may be believed. */
  all: boolean;
  faults: Error[];
}

/**
 * Keeps judging a workspace as it changes, with the same gate as `check`: each judgement is of the whole, so what depends on what changed is
 * judged with it, and only verdicts that are new are told. The folders are watched before they are judged, and whatever is noticed during a
 * judgement is judged after it, so no change goes by between. `onEvent` is awaited: who reads slowly is waited for, and nothing piles up.
 */
export function watchWorkspace(options: WatchOptions, onEvent: (event: WatchEvent) => void | Promise<void>): Watching {
  const watch = new Watch(options, onEvent);
  return { exit: () => watch.exit(), stop: () => watch.stop(), ended: watch.run() };
}

class Watch {
  private readonly options: WatchOptions;
  private readonly tell: (event: WatchEvent) => void | Promise<void>;
  private readonly acting: Acting | null;
  private opened: Opened | null = null;
  private pending: Pending = nothing();
  private wakeUp: (() => void) | null = null;
  private awake = true;
  private stopping = false;
  private ready = false;
  private told: ReadonlyMap<string, Told> = new Map();
  private toldFindings = '';
  private toldFault = '';
  /** Exit code of the last judgement; null where the last state could not be judged. */
  private standing: 0 | 1 | 4 | null = null;
  private moved = false;
  private readonly held = new Set<string>();
  private noticedAt = performance.now();
  private next: Instant | null = null;
  private hosts: readonly string[] | null = null;
  private look = '';
  private lookDue = 0;
  private everyDue: number;
  private pollDue = 0;
  private clock = Date.now() - performance.now();
  private started = false;
  /** One for what runs out, one for what is due to be moved. */
  private readonly timers = new Map<'expiry' | 'due', NodeJS.Timeout>();

  constructor(options: WatchOptions, tell: (event: WatchEvent) => void | Promise<void>) {
    this.options = options;
    this.tell = tell;
    this.everyDue = performance.now() + options.everyMs;
    const { quarantine } = options;
    this.acting =
      quarantine === null ? null : { ...quarantine, refusedSince: new Map(), acted: new Map(), recordedSet: null };
  }

  exit(): 0 | 1 | 4 {
    const judged = this.judged();
    // What was noticed and not judged is not known to be clean.
    return judged === 0 && this.pending.since !== null ? 4 : judged;
  }

  private judged(): 0 | 1 | 4 {
    if (this.standing === null) return 4;
    return this.moved ? 1 : this.standing;
  }

  stop(): void {
    this.stopping = true;
    this.wake();
  }

  async run(): Promise<0 | 1 | 4> {
    const beat = setInterval(() => this.tryBeat(), BEAT_MS);
    let last = 0;
    try {
      for (;;) {
        this.awake = false;
        await this.round();
        if (this.options.once && (this.ready || this.standing === null)) break;
        // What happened meanwhile is heard only now.
        await nextTurn();
        if (this.stopping && (this.pending.since === null || ++last > MAX_LAST)) break;
        if (!this.awake && !this.stopping) await this.sleep();
      }
    } catch (error) {
      this.standing = null;
      if (!(error instanceof WatchLimit)) throw error;
      await this.tell(faultEvent(error.message, error.cure, 'discovery-incomplete'));
    } finally {
      clearInterval(beat);
      for (const timer of this.timers.values()) clearTimeout(timer);
      this.close();
    }
    return this.options.once && this.ready ? this.judged() : this.exit();
  }

  /** One judgement of everything, and what is new in it. */
  private async round(): Promise<void> {
    const { place, pollMs } = this.options;
    const noticed = this.pending;
    this.pending = nothing();
    for (const fault of noticed.faults)
      await this.tell(
        faultEvent(`A watch broke: ${textOf(fault)}`, 'It is set up again; nothing is to be done.', null),
      );
    if (this.opened !== null && isOther(place, this.opened)) this.close();
    const fresh = this.opened === null;
    if (fresh && !this.open()) return this.lost();
    const opened = this.opened;
    if (opened === null) return;
    const began = performance.now();
    try {
      if (noticed.all) this.forget(opened);
      if (noticed.dependencies) opened.kept.relist();
      if (noticed.names || noticed.all || fresh) opened.following?.cover();
      if (noticed.all || !this.started) await this.settle(opened);
      let { request, judgement } = await this.judge(opened);
      for (let tries = 1; !this.ready && tries < MAX_FIRST && (await this.isBehind()); tries += 1) {
        this.takeUp(opened);
        ({ request, judgement } = await this.judge(opened));
      }
      // The folder may have been taken away under the search: then what was found is not what is there.
      if (isOther(place, opened)) return this.wake();
      await this.report(judgement, request, noticed.since ?? began);
    } catch (error) {
      if (error instanceof WatchLimit) throw error;
      await this.fail(textOf(error), 'Run: writ check. It is tried again every second.', null);
    }
    if (pollMs !== null) this.pollDue = performance.now() + Math.max(pollMs, (performance.now() - began) * POLL_SHARE);
  }

  /** Ends what a crash cut off in quarantine/, as `load` does before it judges. */
  private async settle(opened: Opened): Promise<void> {
    if (this.acting === null || this.options.observe) return;
    for (const left of settleLeftovers(this.request(opened)))
      await this.tell(faultEvent(`Left over in quarantine/: ${left}`, 'Look at it: writ quarantine list', null));
  }

  private async judge(opened: Opened): Promise<{ readonly request: Request; readonly judgement: Judgement }> {
    const base = this.request(opened);
    const request = this.acting === null ? base : { ...base, stateFault: await stateFault(base) };
    // Taken before the judgement, so that what changes during it shows at the next beat.
    this.look = this.lookAt(opened);
    opened.kept.begin();
    const judgement = await judge(request);
    opened.kept.end();
    this.hosts = judgement.set.policy.hosts;
    this.next = nextInstant(judgement);
    return { request, judgement };
  }

  private request({ path, kept }: Opened): Request {
    const { places, state, observe } = this.options;
    const now = instantFromMs(Date.now());
    if (now === null) throw new Error('the clock of this machine cannot be read');
    const repository = findRepository(path);
    const root = { path, kept };
    const rest = { paths: null, overlay: new Map(), stateFault: null, onProgress: null };
    return { root, repository, places, state, now, observe, ...rest };
  }

  private async report(judgement: Judgement, request: Request, since: number): Promise<void> {
    const { at } = judgement;
    const changes = compare(this.told, judgement);
    const ms = (): number => Math.max(0, Math.round((performance.now() - since) * 10) / 10);
    this.standing = exitOf(judgement, false);
    this.toldFault = '';
    for (const one of changes.verdicts) {
      this.held.delete(one.evidence.parsed.candidate.path);
      await this.tell(toVerdictEvent(one, at, ms()));
    }
    for (const one of changes.removed) {
      const event = toRemovedEvent(one, judgement, ms());
      if (!this.held.delete(one.path) || event.codes.length > 0) await this.tell(event);
    }
    this.told = changes.told;
    const findings = await this.actOn(judgement, changes.verdicts, request, ms);
    const told = JSON.stringify(findings.map(({ code, file }) => [code, file]));
    const codes = [...new Set(findings.map((one) => one.code))];
    if (this.ready && told !== this.toldFindings)
      await this.tell({
        event: 'verdict',
        at,
        path: '.',
        rank: null,
        codes,
        ms: ms(),
        line: null,
        digest: null,
        class: null,
        disposition: null,
        unchecked: false,
        reason: null,
        findings,
      });
    this.toldFindings = told;
    if (this.ready) return;
    this.ready = true;
    await this.tell({
      event: 'ready',
      at,
      path: '.',
      rank: null,
      codes,
      ms: ms(),
      artifacts: judgement.artifacts.length,
      summary: summaryOf(judgement.artifacts),
      exit: this.judged(),
      findings,
      unwatched: (this.opened?.following?.dependencies() ?? []).map(shown),
      everyMs: this.options.everyMs,
      pollMs: this.options.pollMs,
    });
  }

  /** @returns what is found about the workspace, acting included. */
  private async actOn(
    judgement: Judgement,
    changed: Parameters<typeof act>[1],
    request: Request,
    ms: () => number,
  ): Promise<readonly WorkspaceFinding[]> {
    const { acting } = this;
    if (acting === null) return judgement.findings.map(toFinding);
    const at = performance.now();
    // Who only looks notices a change by what is new.
    if (changed.length > 0 && this.options.pollMs !== null) this.noticedAt = at;
    const first = !this.started;
    this.started = true;
    const done = await act(judgement, changed, request, acting, { at, noticedAt: this.noticedAt, first });
    if (done.dueAt !== null) this.wakeIn('due', done.dueAt - performance.now());
    for (const one of done.quarantine.filter(({ moved }) => moved)) {
      const judged = judgement.artifacts.find(({ evidence }) => shown(evidence.parsed.candidate.path) === one.path);
      this.moved = true;
      if (judged !== undefined) this.held.add(judged.evidence.parsed.candidate.path);
      await this.tell({
        event: 'quarantined',
        at: judgement.at,
        path: one.path,
        rank: 'quarantined',
        codes: judged === undefined ? [] : codesOf(judged),
        ms: ms(),
        id: one.id,
        digest: judged === undefined ? null : digestOf(judged),
      });
    }
    this.standing = exitOf({ ...judgement, findings: [...judgement.findings, ...done.findings] }, false);
    return [...judgement.findings, ...done.findings].map(toFinding);
  }

  /** A fault in looking is one in judging: the next judgement tells it, or finds that it is over. */
  private tryBeat(): void {
    try {
      this.beat();
    } catch {
      this.wake();
    }
  }

  /** Once a second: what no event tells of. */
  private beat(): void {
    const { opened } = this;
    const { place, pollMs } = this.options;
    const now = performance.now();
    const clock = Date.now() - now;
    if (Math.abs(clock - this.clock) > JUMP_MS) this.wake();
    this.clock = clock;
    if (opened === null ? this.canOpen() : isOther(place, opened)) this.notice({ names: true, dependencies: false });
    if (opened !== null && this.standing === null) this.wake();
    if (now >= this.everyDue) {
      this.everyDue = now + this.options.everyMs;
      this.pending.all = true;
      this.wake();
    }
    if (pollMs !== null && now >= this.pollDue) this.wake();
    if (opened !== null && now >= this.lookDue && this.lookAt(opened) !== this.look) this.wake();
    if (this.next !== null && this.next - Date.now() <= BEAT_MS) this.wakeIn('expiry', this.next - Date.now());
  }

  private lookAt({ path }: Opened): string {
    const began = performance.now();
    const { places, state } = this.options;
    const seen = lookOutside({ root: path, places, state, hosts: this.hosts });
    const ended = performance.now();
    this.lookDue = ended + (ended - began) * LOOK_SHARE;
    return seen;
  }

  private open(): boolean {
    const { place, pollMs } = this.options;
    const tell = {
      onChange: (noticed: { readonly names: boolean; readonly dependencies: boolean }) => this.notice(noticed),
      onFault: (error: Error) => this.pending.faults.push(error),
    };
    this.opened = openPlace(place, pollMs === null ? tell : null);
    return this.opened !== null;
  }

  private canOpen(): boolean {
    const opened = openPlace(this.options.place, null);
    return opened !== null;
  }

  private close(): void {
    this.opened?.following?.close();
    this.opened = null;
  }

  /** The root is gone: nothing that was told of it holds any more. */
  private async lost(): Promise<void> {
    await this.fail(
      'The workspace is gone, so nothing in it can be checked.',
      'Put it back: it is judged anew then.',
      'path-unreadable',
    );
    this.told = new Map();
    this.held.clear();
    this.ready = false;
    this.next = null;
  }

  private async fail(message: string, cure: string, code: string | null): Promise<void> {
    this.standing = null;
    this.opened?.kept.forget();
    if (message === this.toldFault) return;
    this.toldFault = message;
    await this.tell(faultEvent(message, cure, code));
  }

  private forget(opened: Opened): void {
    opened.kept.forget();
    opened.following?.renew();
    this.acting?.acted.clear();
  }

  private notice({ names, dependencies }: { readonly names: boolean; readonly dependencies: boolean }): void {
    const { pending } = this;
    this.noticedAt = performance.now();
    pending.since ??= this.noticedAt;
    pending.names ||= names;
    pending.dependencies ||= dependencies;
    this.wake();
  }

  /** Whether something was noticed while the first judgement ran. */
  private async isBehind(): Promise<boolean> {
    await nextTurn();
    return this.pending.since !== null;
  }

  private takeUp(opened: Opened): void {
    const { names, dependencies } = this.pending;
    this.pending = nothing();
    if (dependencies) opened.kept.relist();
    if (names) opened.following?.cover();
  }

  private wakeIn(what: 'expiry' | 'due', ms: number): void {
    clearTimeout(this.timers.get(what));
    this.timers.set(
      what,
      setTimeout(() => this.wake(), Math.max(1, Math.ceil(ms))),
    );
  }

  private wake(): void {
    this.awake = true;
    this.wakeUp?.();
  }

  private async sleep(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.wakeUp = resolve;
    });
    this.wakeUp = null;
    // All that the system has to tell at this moment is one change.
    await nextTurn();
  }
}

function nothing(): Pending {
  return { since: null, names: false, dependencies: false, all: false, faults: [] };
}

function faultEvent(message: string, cure: string, code: string | null): ErrorEvent {
  return {
    event: 'error',
    at: Date.now(),
    path: '.',
    rank: null,
    codes: code === null ? [] : [code],
    ms: 0,
    message,
    cure,
  };
}

function toFinding({ code, file, message, cure }: Judgement['findings'][number]): WorkspaceFinding {
  return { code, file: file === undefined ? null : shown(file), message, cure };
}

function textOf(error: unknown): string {
  return escapeText(error instanceof Error ? error.message : String(error), 500);
}

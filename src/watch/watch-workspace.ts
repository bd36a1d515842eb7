import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import { settleLeftovers, stateFault } from '../enact.ts';
import { type Judgement, judge, type Request } from '../gate.ts';
import { findRepository } from '../git/repository.ts';
import { escapeText } from '../model/escaped.ts';
import type { Finding } from '../model/finding.ts';
import { instantFromMs } from '../model/instant.ts';
import type { Places } from '../model/settings.ts';
import type { Judged } from '../model/stages.ts';
import { exitOf } from '../report/verdicts.ts';
import type { StateLocation } from '../store/location.ts';
import { type Acting, act } from './act.ts';
import type { WatchEvent } from './event.ts';
import { type Noticed, WatchLimit } from './follow-folders.ts';
import { type FollowingOutside, followOutside } from './follow-outside.ts';
import { Heartbeat } from './heartbeat.ts';
import { filesApart, lookOutside } from './look-outside.ts';
import { nextInstant } from './next-instant.ts';
import { isOther, type Opened, openPlace } from './open-place.ts';
import { nothing, type Pending } from './pending.ts';
import {
  shown,
  toErrorEvent,
  toQuarantinedEvent,
  toReadyEvent,
  toRemovedEvent,
  toVerdictEvent,
  toWorkspaceEvent,
} from './to-event.ts';
import { compare, type Told } from './told.ts';

/** So many changes at once may have overrun the system's queue, and then what it dropped may have been about folders. */
const FLOOD = 1_000;
/** Judgements without news after which changes that concern nothing are waited for, and how long at most, ms. */
const PATIENT_AFTER = 3;
const PATIENCE_MS = 250;
/** Judgements further apart are not in a row, ms. */
const LULL_MS = 1_000;
/** A tree of dependencies has come to rest so long after the last it told, ms. */
const TREE_MS = 3_000;
/** Judgements before `ready`, and after it was told to end, while files keep changing. */
const MAX_CATCHING_UP = 5;

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
  /** Ends with `ready`, or where there can be none. */
  readonly once: boolean;
}

export interface Watching {
  /** What it would exit with now: 1 something is refused or was moved, 4 the state could not be checked, 0 neither. */
  exit(): 0 | 1 | 4;
  /** Judges what was noticed and not judged yet, then ends. */
  stop(): void;
  /** Settles with the exit code when it has ended. Rejects with what `onEvent` throws. */
  readonly ended: Promise<0 | 1 | 4>;
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
  private readonly heart: Heartbeat;
  private opened: Opened | null = null;
  private outside: FollowingOutside | null = null;
  private pending: Pending = nothing();
  private wakeUp: (() => void) | null = null;
  private awake = false;
  private stopping = false;
  /** Whether `ready` was told and holds still. */
  private ready = false;
  private started = false;
  private told: ReadonlyMap<string, Told> = new Map();
  private toldFindings = '';
  private toldFault = '';
  /** Exit code of the last judgement; null where the last state could not be judged. */
  private standing: 0 | 1 | 4 | null = null;
  private moved = false;
  /** Paths this very run moved to quarantine: that they are gone is no news. */
  private readonly held = new Set<string>();
  private noticedAt = performance.now();
  private hosts: readonly string[] | null = null;
  private look = '';
  /** Files that may change without their folder telling. */
  private apart: readonly string[] = [];
  /** How long the last judgement took, ms, and how many in a row had no news. */
  private took = 0;
  private endedAt = 0;
  private quiet = 0;

  constructor(options: WatchOptions, tell: (event: WatchEvent) => void | Promise<void>) {
    this.options = options;
    this.tell = tell;
    const { quarantine, everyMs, pollMs } = options;
    this.acting =
      quarantine === null ? null : { ...quarantine, refusedSince: new Map(), acted: new Map(), recordedSet: null };
    this.heart = new Heartbeat({
      everyMs,
      pollMs,
      look: () => this.looksOther(),
      isTroubled: () => this.isTroubled(),
      wake: (all) => {
        this.pending.all ||= all;
        this.wake();
      },
    });
  }

  exit(): 0 | 1 | 4 {
    const judged = this.judged();
    // What was noticed and not judged is not known to be clean.
    return judged === 0 && this.pending.since !== null ? 4 : judged;
  }

  stop(): void {
    this.stopping = true;
    this.wake();
  }

  async run(): Promise<0 | 1 | 4> {
    const { once } = this.options;
    try {
      for (let last = 0; ; ) {
        this.awake = false;
        await this.round();
        if (once && (this.ready || this.standing === null)) break;
        await this.lookSooner();
        // What happened meanwhile is heard only now.
        await nextTurn();
        if (this.stopping && (this.pending.since === null || ++last >= MAX_CATCHING_UP)) break;
        if (!this.awake && !this.stopping) await this.sleep();
      }
    } catch (error) {
      this.standing = null;
      if (!(error instanceof WatchLimit)) throw error;
      await this.tell(toErrorEvent(error.message, error.cure, 'discovery-incomplete'));
    } finally {
      this.heart.stop();
      this.close();
      await this.outside?.close();
    }
    return once ? this.judged() : this.exit();
  }

  /** One judgement of everything, and what is new in it. */
  private async round(): Promise<void> {
    const { place } = this.options;
    for (const fault of this.pending.faults.splice(0))
      await this.tell(toErrorEvent(`A watch broke: ${textOf(fault)}`, 'It is set up again by itself.', null));
    if (this.opened !== null && isOther(place, this.opened)) this.close();
    if (this.opened === null && !this.open()) return this.lost();
    const { opened } = this;
    if (opened === null) return;
    const began = performance.now();
    const since = this.pending.since ?? began;
    try {
      await this.takeUp(opened);
      let { request, judgement } = await this.judge(opened);
      for (let tries = 1; !this.ready && tries < MAX_CATCHING_UP && (await this.isBehind()); tries += 1) {
        await this.takeUp(opened);
        ({ request, judgement } = await this.judge(opened));
      }
      // The folder may have been taken away under the search: then what was found is not what is there.
      if (isOther(place, opened)) return this.wake();
      await this.report(judgement, request, since);
    } catch (error) {
      if (error instanceof WatchLimit) throw error;
      await this.fail(textOf(error), 'Run: writ check. It is tried again every second.', null);
    }
    if (began - this.endedAt > LULL_MS) this.quiet = 0;
    this.endedAt = performance.now();
    this.took = this.endedAt - began;
    this.heart.looked(this.took);
  }

  /** Takes what was noticed as the reason of the judgement that follows. */
  private async takeUp(opened: Opened): Promise<void> {
    const { names, dependencies, all, faults, count } = this.pending;
    const { following } = opened;
    const flooded = count > FLOOD;
    this.pending = { ...nothing(), faults };
    if (all) {
      opened.kept.forget();
      this.acting?.acted.clear();
    }
    if (all || flooded) following?.renew();
    if (dependencies || flooded) opened.kept.relist();
    if (names || all || flooded || following?.isPartial()) following?.cover();
    if ((all || !this.started) && this.acting !== null && !this.options.observe)
      for (const left of settleLeftovers(this.request(opened)))
        await this.tell(toErrorEvent(`Left over in quarantine/: ${left}`, 'Look at it: writ quarantine list', null));
  }

  private async judge(opened: Opened): Promise<{ readonly request: Request; readonly judgement: Judgement }> {
    const base = this.request(opened);
    const request = this.acting === null ? base : { ...base, stateFault: await stateFault(base) };
    opened.kept.begin();
    const judgement = await judge(request);
    opened.kept.end();
    this.hosts = judgement.set.policy.hosts;
    this.apart = filesApart(judgement, opened.path);
    this.heart.expect(nextInstant(judgement));
    return { request, judgement };
  }

  private request({ path, kept }: Opened): Request {
    const { places, state, observe } = this.options;
    const now = instantFromMs(Date.now());
    if (now === null) throw new Error('the clock of this machine cannot be read');
    const rest = { paths: null, overlay: new Map(), stateFault: null, onProgress: null };
    return { root: { path, kept }, repository: findRepository(path), places, state, now, observe, ...rest };
  }

  private async report(judgement: Judgement, request: Request, since: number): Promise<void> {
    const { at } = judgement;
    const { everyMs, pollMs } = this.options;
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
    this.quiet = changes.verdicts.length + changes.removed.length > 0 ? 0 : this.quiet + 1;
    const found = [...judgement.findings, ...(await this.actOn(judgement, changes.verdicts, request, ms))];
    this.standing = exitOf({ ...judgement, findings: found }, false);
    const told = JSON.stringify(found.map(({ code, file }) => [code, file ?? null]));
    if (this.ready && told !== this.toldFindings) await this.tell(toWorkspaceEvent(found, at, ms()));
    this.toldFindings = told;
    if (this.ready) return;
    this.ready = true;
    const unwatched = this.opened?.following?.dependencies() ?? [];
    const exit = this.judged();
    await this.tell(toReadyEvent(judgement, found, { ms: ms(), exit, everyMs, pollMs, unwatched }));
  }

  /** @returns what acting found. */
  private async actOn(
    judgement: Judgement,
    changed: readonly Judged[],
    request: Request,
    ms: () => number,
  ): Promise<readonly Finding[]> {
    const first = !this.started;
    this.started = true;
    if (this.acting === null) return [];
    const at = performance.now();
    // Who only looks notices a change by what is new.
    if (changed.length > 0 && this.options.pollMs !== null) this.noticedAt = at;
    const done = await act(judgement, changed, request, this.acting, { at, noticedAt: this.noticedAt, first });
    if (done.dueAt !== null) this.heart.wakeIn('due', done.dueAt - performance.now());
    for (const one of done.quarantine.filter(({ moved }) => moved)) {
      const judged = judgement.artifacts.find(({ evidence }) => shown(evidence.parsed.candidate.path) === one.path);
      this.moved = true;
      if (judged !== undefined) this.held.add(judged.evidence.parsed.candidate.path);
      await this.tell(toQuarantinedEvent(one, judged, judgement.at, ms()));
    }
    return done.findings;
  }

  private judged(): 0 | 1 | 4 {
    if (this.standing === null) return 4;
    return this.moved ? 1 : this.standing;
  }

  /** Whether the last state could not be judged, a folder could not be watched, or the root is not the one that was. */
  private isTroubled(): boolean {
    const { opened } = this;
    const { place } = this.options;
    if (opened === null) return openPlace(place, null) !== null;
    return this.standing === null || opened.following?.isPartial() === true || isOther(place, opened);
  }

  /** Whether something outside is another than at the last look. The judgement that is asked for then sees at least this. */
  private looksOther(): boolean {
    if (this.opened === null) return false;
    const { places, state } = this.options;
    const seen = lookOutside({ root: this.opened.path, places, state, hosts: this.hosts, files: this.apart });
    const other = seen !== this.look;
    this.look = seen;
    return other;
  }

  private open(): boolean {
    const { place, pollMs } = this.options;
    const tell = {
      onChange: (noticed: Noticed) => this.notice(noticed),
      onFault: (error: Error) => this.pending.faults.push(error),
    };
    this.opened = openPlace(place, pollMs === null ? tell : null);
    this.pending.names = true;
    this.looksOther();
    return this.opened !== null;
  }

  /** Has what lies outside told of as well, once there is a workspace; only the beat looks where that is not to be had. */
  private async lookSooner(): Promise<void> {
    if (this.outside !== null || this.opened === null) return;
    const { path } = this.opened;
    const { places, pollMs } = this.options;
    this.outside = await followOutside({ root: path, places, pollMs }, () => {
      if (this.looksOther()) this.wake();
    });
  }

  private close(): void {
    this.opened?.following?.close();
    this.opened = null;
    this.apart = [];
  }

  /** The root is gone: nothing that was told of it holds any more. */
  private async lost(): Promise<void> {
    this.pending = nothing();
    this.told = new Map();
    this.held.clear();
    this.heart.expect(null);
    const message = 'The workspace is gone, so nothing in it can be checked.';
    await this.fail(message, 'Put it back: it is judged anew then.', 'path-unreadable');
  }

  /** From here on the state counts as unchecked, until a judgement ends in another `ready`. */
  private async fail(message: string, cure: string, code: string | null): Promise<void> {
    this.standing = null;
    this.ready = false;
    this.opened?.kept.forget();
    this.pending.names = true;
    if (message === this.toldFault) return;
    this.toldFault = message;
    await this.tell(toErrorEvent(message, cure, code));
  }

  private notice({ names, dependencies }: Noticed): void {
    const { pending } = this;
    this.noticedAt = performance.now();
    pending.since ??= this.noticedAt;
    pending.count += 1;
    pending.names ||= names;
    pending.dependencies ||= dependencies;
    // Only the top of such a tree tells: what is filled below it is judged again once it is quiet.
    if (dependencies) this.heart.wakeIn('tree', TREE_MS);
    this.wake();
  }

  /** Whether something was noticed while a judgement before `ready` ran. */
  private async isBehind(): Promise<boolean> {
    await nextTurn();
    return this.pending.since !== null;
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
    // A build that writes thousands of files that concern nobody must not keep a processor busy.
    if (this.quiet > PATIENT_AFTER) await pause(Math.min(PATIENCE_MS, this.took * (this.quiet - PATIENT_AFTER)));
    // All that the system has to tell at this moment is one change.
    await nextTurn();
  }
}

function textOf(error: unknown): string {
  return escapeText(error instanceof Error ? error.message : String(error), 500);
}

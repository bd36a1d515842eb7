import type { VerdictsJson } from '../report/verdicts.ts';

/** What every event says (cli.md, watch). `rank` is null where the event is about no artifact; `ms` from noticing the change to the verdict. */
interface About {
  /** The instant of the judgement, unix ms. */
  readonly at: number;
  /** Workspace-relative and escaped as in `check --format json`; absolute outside the workspace; `.` for the workspace itself. */
  readonly path: string;
  readonly rank: string | null;
  readonly codes: readonly string[];
  readonly ms: number;
}

/** A finding about the workspace as a whole. */
export interface WorkspaceFinding {
  readonly code: string;
  readonly file: string | null;
  readonly message: string;
  readonly cure: string;
}

/** The verdict on one artifact, or with path `.` what is now found about the workspace as a whole. */
export interface VerdictEvent extends About {
  readonly event: 'verdict';
  /** 1-based line of a board, else null. */
  readonly line: number | null;
  /** `sha256:…` of the bytes judged: the verdict is about these and about no others. Null where they could not be read. */
  readonly digest: string | null;
  readonly class: string | null;
  readonly disposition: 'load' | 'withhold' | 'move' | null;
  /** It could not be checked, which is not the same as refused. */
  readonly unchecked: boolean;
  /** The finding that explains the rank; null where nothing lowers it. */
  readonly reason: string | null;
  /** With path `.` alone. */
  readonly findings?: readonly WorkspaceFinding[];
}

/** Everything was judged once, and from here on changes are told. Told again after the root came back. */
export interface ReadyEvent extends About {
  readonly event: 'ready';
  readonly artifacts: number;
  readonly summary: VerdictsJson['summary'];
  /** What `check` would exit with. */
  readonly exit: 0 | 1 | 4;
  readonly findings: readonly WorkspaceFinding[];
  /** Folders of dependencies below which nothing is watched: judged again when their lock file or the folder itself changes, and every `everyMs`. */
  readonly unwatched: readonly string[];
  readonly everyMs: number;
  /** How often everything is looked at, ms; null where the system tells of changes. */
  readonly pollMs: number | null;
}

/** A file was moved to quarantine. */
export interface QuarantinedEvent extends About {
  readonly event: 'quarantined';
  readonly id: string | null;
  readonly digest: string | null;
}

/** An artifact is gone; `codes` says where it must not be. */
export interface RemovedEvent extends About {
  readonly event: 'removed';
  readonly line: number | null;
}

/** Something could not be checked or watched; the state counts as unchecked until a judgement says otherwise. */
export interface ErrorEvent extends About {
  readonly event: 'error';
  readonly message: string;
  readonly cure: string;
}

export type WatchEvent = VerdictEvent | ReadyEvent | QuarantinedEvent | RemovedEvent | ErrorEvent;

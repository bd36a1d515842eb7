import type { Judgement } from '../../gate.ts';
import type { Pins } from '../../policy/pins.ts';
import type { Workspace } from '../workspace.ts';

export type Status = 'ok' | 'warn' | 'fail' | 'could-not-check';

/** One line of `writ doctor`. `cure` is a command or an act; empty where there is nothing to cure. */
export interface Check {
  readonly id: string;
  readonly status: Status;
  readonly message: string;
  readonly cure: string;
}

/** What the checks look at: read once, for all of them. */
export interface Patient {
  readonly workspace: Workspace;
  readonly judgement: Judgement;
  /** Null where the pins cannot be read. */
  readonly pins: Pins | null;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The lines of one subject. What it throws becomes one `could-not-check` line of that subject. */
export interface Subject {
  readonly id: string;
  readonly run: (patient: Patient) => readonly Check[] | Promise<readonly Check[]>;
}

export function ok(id: string, message: string): Check {
  return { id, status: 'ok', message, cure: '' };
}

export function warn(id: string, message: string, cure: string): Check {
  return { id, status: 'warn', message, cure };
}

export function fail(id: string, message: string, cure: string): Check {
  return { id, status: 'fail', message, cure };
}

export function unchecked(id: string, message: string, cure: string): Check {
  return { id, status: 'could-not-check', message, cure };
}

import { randomBytes } from 'node:crypto';
import { readdirSync, rmSync, statSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder } from '../files/make-folder.ts';
import { exists, readOutside } from '../files/read-once.ts';
import { writeAtomic } from '../files/write-atomic.ts';
import { isRecord, wasReadText } from './draft-file.ts';
import { EVIDENCE_KEYS, type JsonObject, type Profile } from './envelope.ts';
import type { Input } from './input.ts';

/** Where the drafts of one checkout lie, and what its rows are kept under. */
export interface ContractPlace {
  /** The git common dir, so that all work trees of a repo share, else the folder. */
  readonly workspace: string;
  /** Outside the workspace, beside the state: a draft is no text that another agent should find and read. */
  readonly folder: string;
}

/** A contract while its agent is at work: one file, written whole. */
export interface Draft {
  /** The contract id: the agent id, a dot and 12 hex digits. */
  readonly draftId: string;
  readonly agentId: string;
  readonly agentName: string | null;
  readonly harnessId: string | null;
  readonly profile: Profile;
  readonly planTaskId: string | null;
  /** The row that this contract verifies, and what it held when the verifier began. */
  readonly parent: { readonly id: number; readonly digest: string } | null;
  readonly input: Input | null;
  /** Unix ms. */
  readonly createdAt: number;
  /** The revision of the row since which the state has been IN_PROGRESS again; null where it has not. */
  readonly reopened: number | null;
  /** The revision of the row at the last resume, which resets the count of retries. */
  readonly resumed: number | null;
  readonly envelope: JsonObject;
}

export const DRAFT_ID = /^a[0-9a-f]{5,64}\.[0-9a-f]{12}$/;

/** Largest draft file, bytes: an envelope and what is kept beside it. */
const MAX_FILE = 4_194_304;

/** How often a file is read that moves while it is read. */
const READS = 20;

/** A new draft of an agent; its envelope holds, in IN_PROGRESS. */
export function newDraft(
  of: Pick<Draft, 'agentId' | 'agentName' | 'harnessId' | 'profile' | 'planTaskId' | 'parent' | 'input' | 'createdAt'>,
): Draft {
  return {
    draftId: `${of.agentId}.${randomBytes(6).toString('hex')}`,
    ...of,
    reopened: null,
    resumed: null,
    envelope: firstEnvelope(of.agentId, of.profile),
  };
}

/** The envelope a turn begins with. */
export function firstEnvelope(agentId: string, profile: Profile): JsonObject {
  return {
    agent_status: { [profile]: 'IN_PROGRESS', agent_id: agentId, pending_steps: [], next_action: 'pending' },
    evidence_report: Object.fromEntries(EVIDENCE_KEYS.map((key) => [key, []])),
    consolidation_report: null,
    approval_request: null,
  };
}

/** An agent id nobody has: `a` and 16 hex digits, which both profiles take. */
export function mintAgentId(): string {
  return `a${randomBytes(8).toString('hex')}`;
}

/** Puts the draft on disk, whole or not at all. Throws the system error. */
export function writeDraft({ folder }: ContractPlace, draft: Draft): void {
  makeFolder(folder, 0o700);
  writeAtomic(fileOf(folder, draft.draftId), `${JSON.stringify(draft, null, 1)}\n`, 0o600);
}

/** @returns null where there is no such draft; `damaged` where the file does not hold what writ writes. */
export function readDraft({ folder }: ContractPlace, draftId: string): Draft | 'damaged' | null {
  if (!DRAFT_ID.test(draftId)) return null;
  const file = fileOf(folder, draftId);
  if (!exists(file)) return null;
  for (let attempt = 1; ; attempt += 1) {
    const text = wasReadText(readOutside(file, MAX_FILE));
    const draft = text === null ? null : toDraft(text);
    if (draft !== null && draft.draftId === draftId) return draft;
    // One that looks on without the lock may meet a writer that puts a new file in place of the one being read.
    if (text !== null || attempt >= READS) return exists(file) ? 'damaged' : null;
  }
}

/** The ids of all drafts, the one written last first. */
export function listDrafts({ folder }: ContractPlace): readonly { readonly id: string; readonly changed: number }[] {
  let names: readonly string[];
  try {
    names = readdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
  const found = names.flatMap((name) => {
    const id = name.endsWith('.json') ? name.slice(0, -5) : '';
    const stat = DRAFT_ID.test(id) ? statSync(join(folder, name), { throwIfNoEntry: false }) : undefined;
    return stat === undefined ? [] : [{ id, changed: stat.mtimeMs }];
  });
  return found.sort((a, b) => b.changed - a.changed || (a.id < b.id ? -1 : 1));
}

/** Takes a draft off the disk. Nothing where it is gone. */
export function removeDraft({ folder }: ContractPlace, draftId: string): void {
  try {
    unlinkSync(fileOf(folder, draftId));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}

/** Takes away what writers that were killed left half written. */
export function removeLeftovers({ folder }: ContractPlace, before: number): void {
  if (!exists(folder)) return;
  for (const name of readdirSync(folder)) {
    if (!/^\.writ-.*\.tmp$/.test(name)) continue;
    const file = join(folder, name);
    if ((statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? before) < before) rmSync(file, { force: true });
  }
}

function fileOf(folder: string, draftId: string): string {
  return join(folder, `${draftId}.json`);
}

function toDraft(text: string): Draft | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  return isRecord(value) ? value : null;
}

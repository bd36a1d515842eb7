import { readdirSync } from 'node:fs';
import path from 'node:path';
import type { WorkspaceRoot } from '../files/workspace-root.ts';
import { escapePath } from '../model/escaped.ts';
import { artifactFile, decompress, MAX_ARTIFACT, readArtifact } from './held.ts';
import {
  findQuarantine,
  heldDir,
  lstatOrNull,
  type QuarantineDir,
  RECORD_FILE,
  RECORD_ID,
  readPlain,
  SHA256,
  toInFlight,
  whyOf,
} from './layout.ts';
import { MAX_RECORD, parseRecord, type QuarantineRecord, type SidecarSuffix } from './record.ts';

/** One line of `quarantine list` (cli.md). */
export interface Entry {
  readonly id: string;
  readonly path: string;
  readonly sha256: string;
  readonly bytes: number;
  /** Unix ms. */
  readonly at: number;
  readonly codes: readonly string[];
}

/** Something in quarantine/ that is not what writ puts there. */
export interface ListFault {
  /** Relative to the workspace, escaped. */
  readonly file: string;
  readonly why: string;
}

export interface Listing {
  /** Oldest first, then by path and id. */
  readonly entries: readonly Entry[];
  readonly faults: readonly ListFault[];
}

/** An artifact opened for a second judgement, show or release. */
export interface Held extends Found {
  readonly bytes: Uint8Array;
  readonly sidecars: readonly { readonly suffix: SidecarSuffix; readonly mode: number; readonly bytes: Uint8Array }[];
}

/** Why something asked of quarantine is not done; for people. */
export interface Refused {
  readonly refused: string;
}

/** A record and where it lies. */
export interface Found {
  readonly record: QuarantineRecord;
  /** Absolute. */
  readonly file: string;
}

const MAX_RECORDS = 10_000;

/** Everything held; an absent folder holds nothing. What cannot be read is a fault, never left out. */
export function listQuarantine(root: WorkspaceRoot): Listing {
  const { found, faults } = survey(root);
  const entries = found.map(({ record }) => toEntry(record));
  return { entries: entries.sort((a, b) => a.at - b.at || compare(a.path, b.path) || compare(a.id, b.id)), faults };
}

/** @returns the one record with an id. */
export function findRecord(root: WorkspaceRoot, id: string): Found | Refused {
  if (!RECORD_ID.test(id)) return { refused: 'that is no id of a record; see: writ quarantine list' };
  const [match, ...more] = survey(root).found.filter(({ record }) => record.id === id);
  if (match === undefined) return { refused: 'no record has that id; see: writ quarantine list' };
  if (more.length > 0) return { refused: 'more than one record has that id: someone copied one by hand' };
  return match;
}

/** Opens one held artifact by the id of its record. Nothing of what the record says is believed before the bytes match its digest. */
export function openHeld(root: WorkspaceRoot, id: string): Held | Refused {
  const match = findRecord(root, id);
  if ('refused' in match) return match;
  const { record, file } = match;
  const dir = findQuarantine(root);
  const bytes = dir === null ? null : readArtifact(dir, record.sha256);
  if (bytes === null || bytes.length !== record.bytes)
    return { refused: 'the bytes held are not the ones the record names' };
  const sidecars = [];
  for (const { suffix, mode, sha256, data } of record.sidecars) {
    const unpacked = decompress(Buffer.from(data, 'base64'), sha256, MAX_ARTIFACT);
    if (unpacked === null) return { refused: 'a sidecar held is not the one the record names' };
    sidecars.push({ suffix, mode, bytes: unpacked });
  }
  return { record, file, bytes, sidecars };
}

function survey(root: WorkspaceRoot): { readonly found: readonly Found[]; readonly faults: readonly ListFault[] } {
  const found: Found[] = [];
  const faults: ListFault[] = [];
  try {
    const dir = findQuarantine(root);
    for (const name of dir === null ? [] : readdirSync(dir.path).sort()) {
      if (dir !== null) surveyName(dir, name, found, faults);
    }
  } catch (error) {
    faults.push({ file: 'quarantine', why: whyOf(error) });
  }
  return { found, faults };
}

function surveyName(dir: QuarantineDir, name: string, found: Found[], faults: ListFault[]): void {
  const fault = (why: string, ...below: string[]): void => {
    faults.push({ file: escapePath(['quarantine', name, ...below].join('/')), why });
  };
  if (toInFlight(name)?.kind === 'capture') fault('a move that was cut off; the next load ends it');
  if (!SHA256.test(name)) return;
  const folder = heldDir(dir, name);
  if (lstatOrNull(folder)?.isDirectory() !== true) {
    fault('not a folder');
    return;
  }
  const files = readdirSync(folder).sort();
  const records = files.filter((file) => RECORD_FILE.test(file));
  for (const file of files) if (file !== 'artifact.gz' && !records.includes(file)) fault('not written by writ', file);
  if (records.length === 0) fault('no record names these bytes');
  if (lstatOrNull(artifactFile(dir, name))?.isFile() !== true) fault('the bytes are missing');
  for (const file of records) {
    if (found.length >= MAX_RECORDS) {
      fault(`more than ${MAX_RECORDS} records; the rest is not listed`);
      return;
    }
    const bytes = readPlain(path.join(folder, file), MAX_RECORD);
    const record = bytes === null ? null : parseRecord(bytes);
    if (record === null) fault('not a record writ wrote', file);
    else if (record.sha256 !== name) fault('the record names another digest', file);
    else found.push({ record, file: path.join(folder, file) });
  }
}

function toEntry(record: QuarantineRecord): Entry {
  const { id, sha256, bytes, at } = record;
  return {
    id,
    path: record.path,
    sha256,
    bytes,
    at,
    codes: [...new Set(record.findings.map((finding) => finding.code))],
  };
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

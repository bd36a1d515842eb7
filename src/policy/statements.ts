import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { readOnce } from '../files/read-once.ts';
import type { WorkspaceRoot } from '../files/workspace-root.ts';
import { finding } from '../model/codes.ts';
import { escapePath } from '../model/escaped.ts';
import type { Finding } from '../model/finding.ts';
import { wasRead } from '../model/source.ts';
import type { Predicate, Statement } from '../model/statement.ts';
import { openStatement } from '../sign/statement.ts';

/** Largest statement file, bytes, and most files of one folder. */
const STATEMENT_BYTES = 65_536;
const MAX_FILES = 100_000;

export interface StatementFiles<P extends Predicate> {
  readonly statements: readonly Statement<P>[];
  /** `statement-invalid` for every file that does not parse, does not verify or speaks for another workspace; `proofs-unreadable` first where `whole` is false. */
  readonly findings: readonly Finding[];
  /** False where the folder is there and could not be read whole. */
  readonly whole: boolean;
}

/** Reads every statement of one folder of a policy set. A file that proves nothing is a finding, not silence (formats.md). */
export function readStatements<T extends Predicate['type']>(
  root: WorkspaceRoot,
  folder: string,
  type: T,
  workspace: string,
): StatementFiles<Extract<Predicate, { type: T }>> {
  const statements: Statement<Extract<Predicate, { type: T }>>[] = [];
  const findings: Finding[] = [];
  const seen = new Set<string>();
  const names = namesOf(join(root.path, folder));
  const whole = names !== null && names.length <= MAX_FILES;
  if (!whole)
    findings.push(
      finding('proofs-unreadable', {
        message:
          names === null
            ? `${escapePath(folder)} cannot be read as a folder.`
            : `${escapePath(folder)} holds more than ${MAX_FILES} files; the rest is not read.`,
        file: folder,
      }),
    );
  for (const name of (names ?? []).slice(0, MAX_FILES)) {
    const file = `${folder}/${name}`;
    const opened = openOrKept(root, file, type, workspace);
    if (typeof opened === 'string') findings.push(invalid(file, opened));
    else if (!seen.has(opened.payloadDigest)) {
      seen.add(opened.payloadDigest);
      statements.push(opened as Statement<Extract<Predicate, { type: T }>>);
    }
  }
  return { statements, findings, whole };
}

/** What a statement file said before, while it is the file it was: what was verified over its bytes then holds still. */
function openOrKept(root: WorkspaceRoot, file: string, type: string, workspace: string): Statement | string {
  const { kept } = root;
  if (kept === undefined) return openOne(root, file, type, workspace);
  const key = `statement ${type} ${workspace} ${file}`;
  const stamp = kept.stampOf([file]);
  const known = kept.get<Statement>(key, stamp);
  if (known !== undefined) return known;
  const opened = openOne(root, file, type, workspace);
  // Why one could not be read may be over the next moment.
  kept.set(key, [file], typeof opened === 'string' ? null : stamp, opened);
  return opened;
}

function openOne(root: WorkspaceRoot, file: string, type: string, workspace: string): Statement | string {
  const read = readOnce(root, file, STATEMENT_BYTES);
  if (!wasRead(read)) return 'it cannot be read';
  if (read.aliasOf !== null) return 'it is a link';
  const opened = openStatement(read.bytes, file);
  if ('refused' in opened) return `its signature or form does not stand (${opened.refused})`;
  if (opened.predicate.type !== type) return `it is no ${type} statement`;
  return opened.workspace === workspace ? opened : 'it speaks for another workspace';
}

/** @returns the statement files of a folder in order; none where it does not exist; null where it is anything but a folder that can be read. */
function namesOf(folder: string): readonly string[] | null {
  try {
    const found = lstatSync(folder, { throwIfNoEntry: false });
    if (found === undefined) return [];
    if (!found.isDirectory()) return null;
    return readdirSync(folder)
      .filter((name) => name.endsWith('.dsse.json'))
      .sort();
  } catch {
    return null;
  }
}

function invalid(file: string, why: string): Finding {
  return finding('statement-invalid', { message: `${escapePath(file)} proves nothing: ${why}.`, file });
}

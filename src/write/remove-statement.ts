import { unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { readOnce } from '../files/read-once.ts';
import type { WorkspaceRoot } from '../files/workspace-root.ts';
import { syncFolder } from '../files/write-atomic.ts';
import { wasRead } from '../model/source.ts';
import type { Statement } from '../model/statement.ts';
import { openStatement } from '../sign/statement.ts';

const STATEMENT_BYTES = 65_536;

/**
 * Removes the file of a statement, looked at once more: only while it still holds that very statement, and never an approval or a revocation.
 * @returns whether it is gone.
 */
export function removeStatement(root: WorkspaceRoot, statement: Statement): boolean {
  const { file, payloadDigest, predicate } = statement;
  if (predicate.type !== 'spawn' && predicate.type !== 'authorship') return false;
  const read = readOnce(root, file, STATEMENT_BYTES);
  if (!wasRead(read) || read.aliasOf !== null) return false;
  const opened = openStatement(read.bytes, file);
  if ('refused' in opened || opened.payloadDigest !== payloadDigest || opened.predicate.type !== predicate.type)
    return false;
  unlinkSync(join(root.path, file));
  syncFolder(join(root.path, file, '..'));
  return true;
}

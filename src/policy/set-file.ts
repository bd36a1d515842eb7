import { readOnce } from '../files/read-once.ts';
import type { WorkspaceRoot } from '../files/workspace-root.ts';
import { wasRead } from '../model/source.ts';
import type { Statement } from '../model/statement.ts';
import { openStatement } from '../sign/statement.ts';

/** Largest file of a policy set, bytes. */
export const SET_FILE_BYTES = 4_194_304;
export const SET_FILE = 'policy.dsse.json';

/** What lies at the place of the signed policy set: a statement whose signatures hold, why it is none, or `absent` where it could not be read. */
export type SetFile = Statement | { readonly refused: string } | 'absent';

/** Reads and opens the file once: who asks for its workspace and who judges it must see the same bytes. */
export function readSetFile(root: WorkspaceRoot, dir: string): SetFile {
  const read = readOnce(root, `${dir}/${SET_FILE}`, SET_FILE_BYTES);
  return wasRead(read) ? openStatement(read.bytes, `${dir}/${SET_FILE}`) : 'absent';
}

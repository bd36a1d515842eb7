import { createHash } from 'node:crypto';
import { GitFault, type Session, startGitWithInput } from './hardened.ts';
import { isObjectId } from './head.ts';
import type { Repository } from './repository.ts';

export type ObjectType = 'commit' | 'tree' | 'blob';

/** What one round of reading gave. An id in neither map is missing here, of another type, or damaged. */
export interface ObjectsRead {
  /** Object bytes whose hash is the id they were asked by. */
  readonly objects: ReadonlyMap<string, Buffer>;
  /** Id to size, in bytes, of those over the limit. */
  readonly tooLarge: ReadonlyMap<string, number>;
}

/** Reads objects by id through one `cat-file` process. Git does not check hashes when it reads, so a forged pack could put any text under any id; here every object is hashed again. */
export interface ObjectReader {
  read(ids: Iterable<string>, type: ObjectType, maxBytes: number): Promise<ObjectsRead>;
  close(): void;
}

interface Round {
  readonly type: ObjectType;
  readonly maxBytes: number;
  readonly objects: Map<string, Buffer>;
  readonly tooLarge: Map<string, number>;
  /** Asked and not yet answered, in the order of asking. */
  readonly waiting: string[];
  next: number;
  readonly done: (read: ObjectsRead) => void;
  readonly fail: (fault: GitFault) => void;
}

interface Pending {
  readonly id: string;
  readonly type: string;
  readonly size: number;
  readonly parts: Buffer[];
  /** Bytes still to come, the closing LF included. */
  left: number;
}

const LONGEST_HEADER = 256;

/** Opens a reader. Reads throw GitFault where the process fails or its time is up; the caller closes it. */
export function openObjects(repo: Repository, session: Session): ObjectReader {
  const child = startGitWithInput(session, ['cat-file', '--batch']);
  let round: Round | null = null;
  let fault: GitFault | null = null;
  let pending: Pending | null = null;
  let head: Buffer = Buffer.alloc(0);

  const stop = (why: string): void => {
    fault ??= new GitFault(why);
    round?.fail(fault);
    round = null;
  };
  const settle = (id: string, found: Pending | null): void => {
    if (round === null) return;
    if (round.waiting[round.next] !== id) {
      stop('git answered out of order');
      return;
    }
    round.next += 1;
    if (found !== null && found.type === round.type) {
      if (found.size > round.maxBytes) round.tooLarge.set(id, found.size);
      else {
        const bytes = found.parts.length === 1 ? (found.parts[0] as Buffer) : Buffer.concat(found.parts);
        const object = bytes.subarray(0, found.size);
        if (hashOf(repo, found.type, object) === id) round.objects.set(id, object);
      }
    }
    if (round.next < round.waiting.length) return;
    const { done, objects, tooLarge } = round;
    round = null;
    done({ objects, tooLarge });
  };
  const takeHeader = (line: string): void => {
    const [id = '', type = '', size = ''] = line.split(' ');
    if (type === 'missing') settle(id, null);
    else if (!/^\d{1,15}$/.test(size)) stop('git answered something else than an object');
    else pending = { id, type, size: Number(size), parts: [], left: Number(size) + 1 };
  };
  child.stdout.on('data', (chunk: Buffer) => {
    let at = 0;
    while (at < chunk.length && fault === null) {
      if (pending === null) {
        const end = chunk.indexOf(10, at);
        const part = chunk.subarray(at, end === -1 ? chunk.length : end);
        head = head.length === 0 ? part : Buffer.concat([head, part]);
        if (head.length > LONGEST_HEADER) stop('git answered something else than an object');
        if (end === -1 || fault !== null) return;
        at = end + 1;
        const line = head.toString('latin1');
        head = Buffer.alloc(0);
        takeHeader(line);
        continue;
      }
      const part: Buffer = chunk.subarray(at, at + pending.left);
      if (round !== null && pending.size <= round.maxBytes) pending.parts.push(part);
      pending.left -= part.length;
      at += part.length;
      if (pending.left > 0) continue;
      const whole: Pending = pending;
      pending = null;
      settle(whole.id, whole);
    }
  });
  child.on('error', (error: NodeJS.ErrnoException) => stop(`git could not run: ${error.code ?? error.name}`));
  child.on('close', () => stop('git ended before it had answered'));
  child.stdin.on('error', () => stop('git ended before it had answered'));

  return {
    read(ids, type, maxBytes) {
      const waiting = [...new Set(ids)].filter((id) => isObjectId(id, repo));
      const objects = new Map<string, Buffer>();
      const tooLarge = new Map<string, number>();
      if (waiting.length === 0) return Promise.resolve({ objects, tooLarge });
      return new Promise((done, fail) => {
        if (fault !== null) {
          fail(fault);
          return;
        }
        round = { type, maxBytes, objects, tooLarge, waiting, next: 0, done, fail };
        child.stdin.write(`${waiting.join('\n')}\n`);
      });
    },
    close() {
      child.stdin.end();
      child.kill('SIGKILL');
    },
  };
}

function hashOf(repo: Repository, type: string, bytes: Buffer): string {
  return createHash(repo.objectFormat).update(`${type} ${bytes.length}\0`).update(bytes).digest('hex');
}

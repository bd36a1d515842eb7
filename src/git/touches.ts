import { GitFault, type Session, startGit } from './hardened.ts';

/** The newest commit that a log says touched each path, and whether the whole history was searched for those not found. */
export interface Touches {
  /** Path to commit id. */
  readonly commits: ReadonlyMap<string, string>;
  readonly complete: boolean;
}

const MAX_COMMITS = 50_000;
/** Milliseconds until the search ends with what it has; less than the session's, so that time is left to check the finds. */
const SEARCH_TIME = 14_000;
/** Above so many paths git's own filtering by path costs more than reading every change. */
const MAX_PATHSPECS = 24;

/**
 * Streams the first-parent history of `head`, newest first, until every path was met. Merges are in it, compared with their first parent, so a merge
 * that changed a path is found and not passed over. A change of mode alone is none: the bytes are not that committer's.
 * Only a search: the log is git's word, so the caller checks what it names against hashed objects.
 */
export function findTouches(session: Session, head: string, paths: ReadonlySet<string>): Promise<Touches> {
  const child = startGit(session, [
    'log',
    '--first-parent',
    '--diff-merges=first-parent',
    `--max-count=${MAX_COMMITS}`,
    '-z',
    '--raw',
    '--no-renames',
    '--no-abbrev',
    '--no-ext-diff',
    '--no-textconv',
    '--no-color',
    '--no-decorate',
    '--no-notes',
    '--no-mailmap',
    '--no-show-signature',
    '--format=c%H',
    '--end-of-options',
    head,
    '--',
    ...(paths.size <= MAX_PATHSPECS ? paths : []),
  ]);
  const timer = setTimeout(() => child.kill('SIGKILL'), SEARCH_TIME);
  return new Promise((done, fail) => {
    const commits = new Map<string, string>();
    const missing = new Set(paths);
    let commit = '';
    let count = 0;
    let isPath = false;
    let isChange = false;
    let carry: Buffer | null = null;
    let fault: GitFault | null = null;

    const take = (bytes: Buffer): void => {
      if (isPath) {
        isPath = false;
        if (!isChange) return;
        const path = bytes.toString('utf8');
        if (missing.delete(path)) commits.set(path, commit);
        return;
      }
      const token = bytes.toString('latin1').trimStart();
      if (token.startsWith(':')) {
        const [, , before, after] = token.split(' ');
        isPath = true;
        isChange = before !== after;
      } else if (token.startsWith('c')) {
        commit = token.slice(1);
        count += 1;
      }
    };
    child.stdout.on('data', (chunk: Buffer) => {
      if (missing.size === 0) return;
      let data = chunk;
      if (carry !== null) data = Buffer.concat([carry, chunk]);
      carry = null;
      let start = 0;
      for (let end = data.indexOf(0); end !== -1; end = data.indexOf(0, start)) {
        take(data.subarray(start, end));
        start = end + 1;
      }
      if (start < data.length) carry = data.subarray(start);
      if (missing.size === 0) child.kill('SIGKILL');
    });
    child.on('error', (error: NodeJS.ErrnoException) => {
      fault = new GitFault(`git could not run: ${error.code ?? error.name}`);
    });
    child.on('close', (status) => {
      clearTimeout(timer);
      if (fault !== null) fail(fault);
      else done({ commits, complete: missing.size === 0 || (status === 0 && count < MAX_COMMITS) });
    });
  });
}

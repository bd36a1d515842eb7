import type { Finding } from './finding.ts';

/** How a host reads a path. */
export interface HostUse {
  readonly host: string;
  readonly loads: 'launch' | 'lazy' | 'spawn';
}

/** What kind of thing lies at an init path. */
export type InitKind = 'prose' | 'board' | 'executable' | 'document';

/** Configuration that names files its host loads. */
export type ConfigForm = 'opencode' | 'aider';

/** A path that some host, the policy or the user wants judged. */
export interface Candidate {
  /** Workspace-relative, `/` as separator, or absolute for a file outside the workspace. */
  readonly path: string;
  readonly kind: InitKind;
  readonly uses: readonly HostUse[];
  /** In a submodule, vendored tree or dependency: the folder that makes it so, else null. */
  readonly nested: string | null;
  /** The exact init path this name only looks like, else null. */
  readonly confusableWith: string | null;
  readonly outside: boolean;
  /** `@import` syntax its hosts follow, deepest hop count; 0 where none does. */
  readonly importHops: number;
  /** What hosts read of it at most: places in BUDGETS of the host profiles; absent where none says. */
  readonly budgets?: readonly number[];
}

/** What one read of a path gave. The bytes here are the bytes hashed, parsed, scanned and loaded. */
export interface Bytes {
  readonly bytes: Uint8Array;
  /** POSIX permission bits. */
  readonly mode: number;
  readonly links: number;
  /** Where the name is a link: the workspace-relative file it leads to. */
  readonly aliasOf: string | null;
}

/** A path that could not be read, with the finding that says why. */
export interface Unread {
  readonly finding: Finding;
}

export type ReadResult = Bytes | Unread;

/** @returns whether the read gave bytes. */
export function wasRead(result: ReadResult): result is Bytes {
  return 'bytes' in result;
}

import type { ConfigForm, HostUse, InitKind } from '../model/source.ts';

/** How much a host reads before it stops; what is absent has no known limit. */
export interface Budget {
  readonly host: string;
  /** The host's name for people. */
  readonly title: string;
  readonly name: string;
  /** Where the fact comes from, and the day it was seen. */
  readonly source: string;
  readonly at: string;
  /** Of one file. */
  readonly bytes?: number;
  readonly lines?: number;
  /** UTF-16 units, as hosts written in JavaScript count. */
  readonly chars?: number;
  /** `chars` are counted without front matter. */
  readonly body?: true;
  /** A file of more bytes is not read at all. */
  readonly skips?: number;
  /** Parts of `chars`, in 100, that a longer file keeps at its start and its end; absent: all of it at the start. */
  readonly head?: number;
  readonly tail?: number;
  /** Of several files together, in the order they are read. */
  readonly totalBytes?: number;
  readonly totalChars?: number;
  /** `chain`: the first of `files` in each folder from the root down to the one of the artifact; `folder`: `files` of one folder. */
  readonly over?: 'chain' | 'folder';
  readonly files?: readonly string[];
}

/** Constitution documents are named by policy.yaml alone, so no profile can make one. */
export type ProfileKind = Exclude<InitKind, 'document'>;

/** One path pattern of one host, compiled at build time from policies/defaults/hosts. */
export interface ProfileEntry {
  readonly host: string;
  readonly glob: string;
  /** Regular expression of the whole path, or of the part from the pattern's first folder on; flag `s`. Empty where the name decides. */
  readonly source: string;
  readonly loads: HostUse['loads'];
  readonly kind: ProfileKind;
  /** Found in nested folders too; what loads at launch in the root loads lazily there. */
  readonly anyDepth: boolean;
  /** Deepest `@import` hop the host follows from here; 0: none. */
  readonly hops: number;
  /** Place in BUDGETS. */
  readonly budget: number | null;
  readonly names?: ConfigForm;
}

/** A file a host loads from outside the workspace. */
export interface OutsideEntry {
  readonly where: 'home' | 'system' | 'ancestors';
  /** Relative to the home or the ancestor, else absolute; `{project}` is the host's name for the workspace folder. */
  readonly path: string;
  readonly loads: HostUse['loads'];
  readonly kind: ProfileKind;
  readonly hops: number;
  /** Place in BUDGETS. */
  readonly budget: number | null;
}

export interface HostProfile {
  readonly name: string;
  readonly title: string;
  /** Where the facts come from, and the day they were seen there. */
  readonly source: string;
  readonly at: string;
  /** Plain paths of the root, any of which says that the host is in use here. */
  readonly presence: readonly string[];
  readonly imports: { readonly syntax: 'claude' | 'gemini' | 'cursor'; readonly hops: number } | null;
  readonly outside: readonly OutsideEntry[];
}

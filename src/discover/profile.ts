import type { HostUse, InitKind } from '../model/source.ts';

/** How much of a file a host reads before it stops; what is absent has no known limit. */
export interface Budget {
  readonly bytes?: number;
  readonly lines?: number;
  readonly chars?: number;
  /** Over all files of the host together. */
  readonly totalBytes?: number;
  readonly totalChars?: number;
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
  readonly budget: Budget | null;
}

/** A file a host loads from outside the workspace. */
export interface OutsideEntry {
  readonly where: 'home' | 'system' | 'ancestors';
  /** Relative to the home or the ancestor, else absolute; `{project}` is the host's name for the workspace folder. */
  readonly path: string;
  readonly loads: HostUse['loads'];
  readonly kind: ProfileKind;
  readonly hops: number;
  readonly budget: Budget | null;
}

export interface HostProfile {
  readonly name: string;
  readonly title: string;
  /** Where the facts come from, and the day they were seen there. */
  readonly source: string;
  readonly at: string;
  /** Plain paths of the root, any of which says that the host is in use here. */
  readonly presence: readonly string[];
  readonly imports: { readonly syntax: 'claude' | 'gemini'; readonly hops: number } | null;
  readonly budget: Budget | null;
  readonly outside: readonly OutsideEntry[];
}

/** How a host is handed the boot context. */
export type Feed =
  /** An option that takes a file. */
  | { readonly by: 'file-option'; readonly option: string }
  /** An option `key=value` whose value is TOML: the text itself is on the command line. */
  | { readonly by: 'toml-option'; readonly option: string; readonly key: string }
  /** A variable that names a file. */
  | { readonly by: 'file-variable'; readonly variable: string }
  /** A variable that holds configuration as JSON, whose `instructions` name files. */
  | { readonly by: 'json-variable'; readonly variable: string }
  /** A folder with a plugin whose hook at the start of the session prints the text. */
  | { readonly by: 'plugin-hook'; readonly option: string };

/** Switches of a host. */
export interface Switches {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** Switches that are used only where something they keep out is there and does not bind. */
export interface Narrowing extends Switches {
  /** What the host does without because of them, for a person: `it uses no skills`. */
  readonly says: string;
  /** Words of CMD with which the switches do not do their work. */
  readonly unless: readonly string[];
}

/** What is known about starting a host, compiled at build time from the `launch` of policies/defaults/hosts. */
export interface LaunchProfile extends Switches {
  readonly host: string;
  /** Where the facts come from, and the day they were seen. */
  readonly source: string;
  readonly at: string;
  /** Names of the program, and of the package it comes in: the switches follow the first of them on the command line. */
  readonly commands: readonly string[];
  readonly narrow: Readonly<Record<string, Narrowing>>;
  readonly feed: Feed;
  /** Approved files that are handed over as private copies of the bytes judged. */
  readonly takes: readonly { readonly path: string; readonly option: string }[];
  /** Variables that make the host read more than its profile says; the child does not get them. */
  readonly drops: readonly string[];
  /** Options and keys that are set here: another on the command line would undo them. */
  readonly owns: readonly string[];
  /** Words that carry on an earlier session. */
  readonly resumes: readonly string[];
  /** Switches that such a session needs, so that it gets the boot context of today. */
  readonly resumeArgs: readonly string[];
  /**
   * By the pattern of the profile: `always`, `launch` (kept out at launch, but read below the folder it starts in as it works there) or the narrowing
   * that keeps it out. What is missing is read whatever is done.
   */
  readonly inside: Readonly<Record<string, string>>;
  /** The same by `home PATTERN`, `ancestors PATTERN`, `system PATTERN`. */
  readonly outside: Readonly<Record<string, string>>;
}

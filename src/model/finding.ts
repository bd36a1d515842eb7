import type { CodeName } from './codes.ts';

/** What a finding does to the rank of its artifact. */
export type Effect = 'quarantine' | 'reference' | 'advisory' | 'note';

/** How loud a scan rule is: block quarantines, suspect lowers to reference, notice is shown. */
export type Severity = 'notice' | 'suspect' | 'block';

/** A code of the closed table, or one scan rule by its id. */
export type FindingCode = CodeName | `scan/${string}`;

/** One fact about an artifact or about the whole workspace. Holds no more than 120 escaped characters of artifact text. */
export interface Finding {
  readonly code: FindingCode;
  /** One plain sentence, already escaped. */
  readonly message: string;
  /** 1-based line and column in the file, or null where the fact has no place. */
  readonly line: number | null;
  readonly column: number | null;
  /** The command or step that cures it, already escaped. */
  readonly cure: string;
  /** Only on `scan/<rule>`. */
  readonly severity?: Severity;
  /** The file the fact is about, where it is not the artifact itself. */
  readonly file?: string;
}

/** Where and what a finding says; the cure comes from the code table unless one is given. */
export interface FindingDetail {
  readonly message?: string;
  readonly line?: number | null;
  readonly column?: number | null;
  readonly cure?: string;
  readonly severity?: Severity;
  readonly file?: string;
}

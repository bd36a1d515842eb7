import type { ParseArgsConfig } from 'node:util';

/** Options of one command, as node:util takes them. */
export type OptionsConfig = NonNullable<ParseArgsConfig['options']>;

/** Exit codes (overview.md, faces). 2 belongs to host hooks alone. */
export const EXIT = { ok: 0, refused: 1, usage: 3, unchecked: 4 } as const;
export type Exit = 0 | 1 | 2 | 3 | 4;

/** What a command was called with, after parsing. */
export interface Call {
  readonly values: Readonly<Record<string, string | boolean | readonly string[] | undefined>>;
  readonly positionals: readonly string[];
  /** Everything after `--`. */
  readonly rest: readonly string[];
}

/** One command or sub-command as a row of data: its help is made from it. */
export interface Command {
  /** `trust pin` for a sub-command. */
  readonly name: string;
  readonly summary: string;
  readonly usage: string;
  readonly example: string;
  readonly options: OptionsConfig;
  readonly positionals: { readonly min: number; readonly max: number };
  /** @returns an `Exit`; from `exec` also whatever the program it started ended with. */
  readonly run: (call: Call) => Promise<number>;
}

/** Wrong usage or configuration: exit 3, the message says what to write instead. */
export class UsageError extends Error {}

/** It could not be checked or done: exit 4. */
export class CannotError extends Error {}

/** Something was refused on purpose: exit 1, with its code. */
export class RefusedError extends Error {
  readonly code: string;
  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** A text value of an option, or null. */
export function text(call: Call, name: string): string | null {
  const found = call.values[name];
  return typeof found === 'string' ? found : null;
}

/** All values of an option that may be given more than once. */
export function list(call: Call, name: string): readonly string[] {
  const found = call.values[name];
  return Array.isArray(found) ? (found as readonly string[]) : typeof found === 'string' ? [found] : [];
}

export function flag(call: Call, name: string): boolean {
  return call.values[name] === true;
}

/** A value that must be one of a few words; null where the option was not given. */
export function oneOf<T extends string>(call: Call, name: string, words: readonly T[]): T | null {
  const found = text(call, name);
  if (found === null) return null;
  const word = words.find((one) => one === found);
  if (word === undefined) throw new UsageError(`--${name} takes one of ${words.join(', ')}, not ${found}`);
  return word;
}

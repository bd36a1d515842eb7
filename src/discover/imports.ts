import { posix } from 'node:path';
import { textLines } from './code-regions.ts';

export type ImportSyntax = 'claude' | 'gemini' | 'cursor';

/** One `@path` in a text. */
export interface Import {
  /** As written, without escapes, closing punctuation and `#fragment`. */
  readonly target: string;
  /** Of the `@`, 1-based; columns in UTF-16 units. */
  readonly line: number;
  readonly column: number;
}

/** Longest path an operating system opens, in bytes; also in characters. */
const MAX_TARGET = 4_096;
// Endings of files that people import into instructions. Without a folder in front, only these tell a file from a name.
const FILE_ENDING =
  /\.(?:md|mdc|mdx|markdown|txt|rst|adoc|json|jsonc|json5|jsonl|ya?ml|toml|ini|cfg|conf|env|xml|html?|css|scss|csv|sql|graphql|proto|tex|log|sh|bash|zsh|fish|ps1|bat|[cm]?jsx?|[cm]?tsx?|py|rb|rs|go|java|kt|swift|c|h|cc|cpp|hpp|cs|php|lua|tf|lock|prisma|vue|svelte)$/i;
// A run of characters that hosts read as one word: a backslash ends it unless it escapes a blank.
const WORD = /(?:[^\s\\]|\\ )+/g;
// Before the `@` these make it an address, a package version or part of a path. Marks of Markdown don't: a host sees the text behind them by itself.
const PART_OF_WORD = /[\p{L}\p{N}.%+\-/@\\]$/u;
const ESCAPED = /\\[!-/:-@[-`{-~]$/;

/**
 * Finds the files a text pulls in (facts 1.1, 1.3): `@` and a path that begins with `./`, `../` or `~/`, or ends like a file. Not in code.
 * Addresses, handles, decorators, package names (`@anthropic-ai/sdk`) and source aliases (`@/lib/utils`) have no such shape; see `mentionsOf`.
 */
export function importsOf(text: string, syntax: ImportSyntax): readonly Import[] {
  return read(text).flatMap(({ raw, isWhole, line, column }) => {
    const target = tidy(raw);
    return !isWhole && isPathShaped(target, syntax) ? [{ target, line, column }] : [];
  });
}

/**
 * The rest: words behind an `@` which a host would open all the same if a file of that name were there (`@README`, `@docs/guide`). Whoever walks the imports
 * has to look whether such a file exists; if none does, it was no import.
 */
export function mentionsOf(text: string, syntax: ImportSyntax): readonly Import[] {
  return read(text).flatMap(({ raw, line, column }) => {
    const tidied = tidy(raw);
    const spellings = new Set([raw, tidied]);
    if (isPathShaped(tidied, syntax)) spellings.delete(tidied);
    if (syntax === 'gemini' && raw.startsWith('~')) return [];
    return [...spellings]
      .filter((one) => one !== '' && !/^[#%^&*()@]/.test(one))
      .map((target) => ({ target, line, column }));
  });
}

/** Where an import leads, by spelling alone. */
export type ImportTarget = { readonly path: string } | { readonly outside: string };

/**
 * Resolves a target against the file that imports it. `path` is workspace-relative and may be a folder or missing; `outside` is absolute, in the home (`~/`)
 * or climbs out of the workspace, as far as the spelling shows: links are for the reader to refuse, and an absolute path may still lie inside.
 */
export function resolveImport(importer: string, target: string): ImportTarget {
  if (/^(?:[/~]|[A-Za-z]:)|[\\\0]/.test(target)) return { outside: target };
  const path = posix.join(posix.dirname(importer), target);
  return path === '..' || path.startsWith('../') || path.startsWith('/')
    ? { outside: path }
    : { path: path.replace(/\/$/, '') };
}

interface Raw {
  readonly raw: string;
  /** The whole word from its first `@` on, where it holds a second one. */
  readonly isWhole: boolean;
  readonly line: number;
  readonly column: number;
}

function read(text: string): readonly Raw[] {
  if (!text.includes('@')) return [];
  const found: Raw[] = [];
  for (const { text: line, number, code } of textLines(text)) {
    if (!line.includes('@')) continue;
    let span = 0;
    for (const word of line.matchAll(WORD)) {
      if (!word[0].includes('@')) continue;
      const end = word.index + word[0].length;
      const starts = startsIn(line, word.index, end).filter((at) => {
        while (span < code.length && (code[span]?.[1] ?? 0) <= at) span += 1;
        return at < (code[span]?.[0] ?? Number.POSITIVE_INFINITY);
      });
      const add = (at: number, to: number, isWhole: boolean): void => {
        const raw = line.slice(at + 1, to).replaceAll('\\ ', ' ');
        if (raw !== '' && raw.length <= MAX_TARGET) found.push({ raw, isWhole, line: number, column: at + 1 });
      };
      if (starts.length > 1) add(starts[0] ?? 0, end, true);
      for (const [index, at] of starts.entries()) add(at, starts[index + 1] ?? end, false);
    }
  }
  return found;
}

function startsIn(line: string, from: number, end: number): readonly number[] {
  const starts: number[] = [];
  for (let at = line.indexOf('@', from); at >= 0 && at < end; at = line.indexOf('@', at + 1)) {
    const before = line.slice(Math.max(0, at - 2), at);
    if (ESCAPED.test(before) || !PART_OF_WORD.test(before)) starts.push(at);
  }
  return starts;
}

function tidy(raw: string): string {
  const cut = raw.replace(/[|<>"`*\]#].*$/s, '');
  let end = cut.length;
  while (end > 0 && /[.,;:!?)}'_]/.test(cut.charAt(end - 1))) end -= 1;
  return cut.slice(0, end);
}

function isPathShaped(target: string, syntax: ImportSyntax): boolean {
  if (/^\.{1,2}\/./.test(target)) return true;
  if (/^~\/./.test(target)) return syntax !== 'gemini';
  return (
    /^\/?[\p{L}\p{N}._-]/u.test(target) &&
    !target.includes('@') &&
    !target.includes('(') &&
    !target.includes('://') &&
    FILE_ENDING.test(target)
  );
}

import { type Dirent, readdirSync, statSync } from 'node:fs';
import { isAbsolute, join, resolve } from 'node:path';
import { matchesAny } from '../discover/globs.ts';
import type { Piece, Word } from './shell-words.ts';

/** What is known of a shell at one place of its command line. */
export interface ShellState {
  /** Folders it may be in, the likeliest first. Never empty. */
  readonly cwds: readonly string[];
  readonly home: string;
  /** Values of parameters the line itself set. */
  readonly set: Map<string, readonly string[]>;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** What a command substitution prints, or null where only a shell would know. */
  readonly printed: (source: string) => readonly string[] | null;
  /** Set to true where a word stands for more than is looked at. */
  readonly limits: { over: boolean };
}

/** Most texts one word may stand for. */
const MAX_VALUES = 4_096;
/** Folder entries looked at for the wildcards of one word, and for what a folder holds that is copied, moved or removed. */
const MAX_ENTRIES = 2_000;

interface Budget {
  left: number;
}

/** The texts a word may stand for, wildcards left as they are. */
export function expandWord(word: Word, state: ShellState): readonly string[] {
  let texts: readonly string[] = [''];
  for (const [index, piece] of word.entries()) {
    const values = valuesOf(piece, index === 0, state);
    if (texts.length * values.length > MAX_VALUES) {
      state.limits.over = true;
      return texts.slice(0, MAX_VALUES);
    }
    texts = texts.flatMap((text) => values.map((value) => text + value));
  }
  return texts;
}

/** The paths a word may stand for, absolute, wildcards and every folder the shell may be in looked up. */
export function expandPaths(text: string, state: ShellState): readonly string[] {
  if (text === '') return [];
  const bases = isAbsolute(text) ? ['/'] : state.cwds;
  if (!/[*?[]/.test(text)) return bases.map((base) => resolve(base, text));
  return bases.flatMap((base) => {
    const budget = { left: MAX_ENTRIES };
    const found = matching(
      base,
      text.split('/').filter((part) => part !== '' && part !== '.'),
      budget,
    );
    return [resolve(base, text), ...found];
  });
}

function valuesOf(piece: Piece, isFirst: boolean, state: ShellState): readonly string[] {
  switch (piece.kind) {
    case 'quoted':
      return [piece.text];
    case 'plain': {
      const text = isFirst ? piece.text.replace(/^~(?=\/|$)/, () => state.home) : piece.text;
      return braces(text.replace(/^~\+(?=\/|$)/, '.'), state);
    }
    case 'run':
      return state.printed(piece.text) ?? ['.'];
    case 'var':
      return parameter(piece.text, state);
  }
}

function parameter(text: string, state: ShellState): readonly string[] {
  const found = /^([A-Za-z_][A-Za-z0-9_]*|[0-9@*])(?::?([-=+?])(.*))?$/s.exec(text);
  if (found === null) return [''];
  const [, name = '', op, other = ''] = found;
  const set = state.set.get(name) ?? (name === 'PWD' ? state.cwds.slice(0, 1) : null);
  const value = set ?? (state.environment[name] === undefined ? null : [state.environment[name] ?? '']);
  if (op === '+') return value === null ? [''] : [other];
  return value ?? [op === '-' || op === '=' ? other : ''];
}

/** `{a,b}` as a shell reads it, the innermost first. */
function braces(text: string, state: ShellState): readonly string[] {
  let texts: readonly string[] = [text];
  for (;;) {
    const next = texts.flatMap(onceBraced);
    if (next.length === texts.length) return next;
    if (next.length > MAX_VALUES) {
      state.limits.over = true;
      return texts;
    }
    texts = next;
  }
}

function onceBraced(text: string): readonly string[] {
  for (let close = text.indexOf('}'); close >= 0; close = text.indexOf('}', close + 1)) {
    const open = text.lastIndexOf('{', close);
    const inner = open < 0 ? '' : text.slice(open + 1, close);
    if (inner.includes(',') && !inner.includes('}'))
      return inner.split(',').map((one) => text.slice(0, open) + one + text.slice(close + 1));
  }
  return [text];
}

function matching(base: string, parts: readonly string[], budget: Budget): readonly string[] {
  const [part, ...rest] = parts;
  if (part === undefined) return [base];
  if (!/[*?[]/.test(part)) return matching(join(base, part), rest, budget);
  return entriesOf(base, budget)
    .filter(({ name }) => (!name.startsWith('.') || part.startsWith('.')) && matchesAny(name, [part]))
    .flatMap(({ name }) => matching(join(base, name), rest, budget));
}

/** The files below a folder, at most 2,000; of dependencies and of git's own data none. */
export function filesBelow(folder: string): readonly string[] {
  return below(folder, '', { left: MAX_ENTRIES });
}

function below(folder: string, at: string, budget: Budget): readonly string[] {
  return entriesOf(join(folder, at), budget).flatMap((entry) => {
    if (entry.name === 'node_modules' || entry.name === '.git') return [];
    const path = at === '' ? entry.name : `${at}/${entry.name}`;
    return entry.isDirectory() ? below(folder, path, budget) : [path];
  });
}

export function isFolder(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  } catch {
    return false;
  }
}

function entriesOf(folder: string, budget: Budget): readonly Dirent[] {
  if (budget.left <= 0) return [];
  try {
    const found = readdirSync(folder, { withFileTypes: true }).slice(0, budget.left);
    budget.left -= found.length + 1;
    return found;
  } catch {
    return [];
  }
}

import { parseArgs } from 'node:util';
import { escapeText } from '../model/escaped.ts';
import type { OptionsConfig } from './command.ts';
import { type Call, type Command, UsageError } from './command.ts';

/** Options every command has. */
export const COMMON: OptionsConfig = {
  root: { type: 'string' },
  help: { type: 'boolean', short: 'h' },
};

/** Options of every command that signs. */
export const SIGNING: OptionsConfig = {
  as: { type: 'string' },
  key: { type: 'string' },
};

/** Reads the words after a command. Throws UsageError for unknown options, with the nearest known one. */
export function parseCall(command: Command, argv: readonly string[]): Call {
  const cut = argv.indexOf('--');
  const before = cut === -1 ? argv : argv.slice(0, cut);
  const options = { ...COMMON, ...command.options };
  for (const word of before) {
    const name = /^--([^=]+)/.exec(word)?.[1];
    if (name !== undefined && !Object.hasOwn(options, name)) {
      throw new UsageError(
        `writ ${command.name} knows no --${escapeText(name, 64)}${suggestion(name, Object.keys(options), '--')}`,
      );
    }
  }
  try {
    const { values, positionals } = parseArgs({ args: [...before], options, allowPositionals: true, strict: true });
    const call: Call = { values: values as Call['values'], positionals, rest: cut === -1 ? [] : argv.slice(cut + 1) };
    if (call.values.help === true) return call;
    const { min, max } = command.positionals;
    if (positionals.length < min || positionals.length > max) throw new UsageError(`usage: ${command.usage}`);
    return call;
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`${escapeText((error as Error).message.split('. ')[0] ?? '', 200)}; usage: ${command.usage}`);
  }
}

/** @returns `; did you mean …?` for the nearest known word, or nothing where none is near. */
export function suggestion(word: string, known: readonly string[], prefix: string): string {
  const near = known.map((one) => ({ one, far: distance(word, one) })).sort((a, b) => a.far - b.far)[0];
  return near && near.far <= Math.max(2, Math.floor(word.length / 3)) ? `; did you mean ${prefix}${near.one}?` : '';
}

function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= Math.min(a.length, 64); i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      next.push(
        Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)),
      );
    }
    row = next;
  }
  return row[b.length] ?? 0;
}

/** Help of one command, with its example. */
export function renderHelp(command: Command): string {
  return `${command.summary}\n\nUsage: ${command.usage}\n\nExample:\n  ${command.example}\n`;
}

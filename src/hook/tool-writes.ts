import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type HookEvent, isRecord, own } from './event.ts';
import { patchPaths } from './patch-paths.ts';
import { type ShellPlace, shellWrites } from './shell-writes.ts';

/** What a tool call would write, as absolute paths, or why that cannot be told. */
export type ToolWrites = { readonly paths: readonly string[] } | { readonly fault: string };

const SHELL =
  /^(?:bash|shell|powershell|pwsh|sh|run_?shell_?command|run_?terminal_?c(?:md|ommand)|run_?in_?terminal|execute_?bash|execute_?command|exec(?:_?command)?|shell_?command|local_?shell|unified_?exec|container\.exec|terminal|cmd|write_?bash|write_?powershell|write_?stdin)$/i;
const PATCH = /^(?:apply_?patch|patch)$/i;
/** Tools of the hosts that write files and nothing else. */
const WRITER =
  /^(?:write|edit|multi_?edit|notebook_?edit|write_?file|replace|create|create_?file|edit_?file|str_?replace(?:_editor|_based_edit_tool|_in_file)?|search_?replace|insert|delete|delete_?file|tab_?write|move|rename|edit_?notebook|editor)$/i;
/** Names by which tools of servers seem to change something. */
const CHANGES =
  /write|edit|create|replace|insert|append|patch|delete|remove|unlink|move|rename|copy|save|put|update|upload|touch/i;
const PATH_KEY =
  /^(?:(?:abs(?:olute)?|target|file|source|src|dest(?:ination)?|new|old|notebook|relative|to|from|output|out)?_?(?:path|file|filename|file_?path|uri|paths|files)|destination|target|filename|filepath|notebook_?path)$/i;
const TEXT_KEY = /^(?:command|cmd|script|input|chars|code)$/i;
const FOLDER_KEY = /^(?:cwd|workdir|working_?directory|dir_?path|directory)$/i;
const MAX_NODES = 20_000;
const MAX_DEPTH = 12;

/** Tells what a tool call would write. Of a tool it knows only by its name it takes what its input calls a path. */
export function toolWrites({ tool, input }: HookEvent, place: ShellPlace): ToolWrites {
  if (tool === null) return { fault: 'the event names no tool' };
  const name = tool.replace(/^(?:functions|default_api)[.:]/, '');
  const isServer = /^mcp_|__|^MCP:/.test(name);
  if (!isServer && SHELL.test(name)) return shellTool(input, place);
  if (!isServer && PATCH.test(name)) return patchTool(input, place);
  if (isServer || !WRITER.test(name)) {
    if (!CHANGES.test(name)) return { paths: [] };
    const { found } = collected(input, PATH_KEY);
    return { paths: found.map((one) => absolute(one, place.cwd)) };
  }
  // An editor that is asked to show a file writes none.
  if (isRecord(input) && own(input, 'command') === 'view') return { paths: [] };
  const { found, unread } = collected(input, PATH_KEY);
  if (found.length === 0 || unread) return { fault: 'it cannot be told which file it writes' };
  const inner = typeof input === 'string' ? [] : patchesIn(input);
  return { paths: [...found, ...inner].map((one) => absolute(one, place.cwd)) };
}

function shellTool(input: unknown, place: ShellPlace): ToolWrites {
  const { cwd, fault } = folderOf(input, place);
  if (fault !== null) return { fault };
  const lines = typeof input === 'string' ? [input] : Array.isArray(input) ? [wordsOf(input)] : linesIn(input);
  if (lines.length === 0 || lines.includes(null)) return { fault: 'it cannot be told which command it runs' };
  const paths = new Set<string>();
  for (const line of lines) {
    const read = shellWrites(line ?? '', { ...place, cwd });
    if (!read.whole) return { fault: 'its command names more files than can be looked at' };
    for (const path of read.paths) paths.add(path);
  }
  return { paths: [...paths] };
}

function linesIn(input: unknown): readonly (string | null)[] {
  if (!isRecord(input)) return [];
  return Object.entries(input).flatMap(([key, value]) => {
    if (!TEXT_KEY.test(key) || value === null) return [];
    return [typeof value === 'string' ? value : Array.isArray(value) ? wordsOf(value) : null];
  });
}

/** A command as a list of words: `["bash", "-lc", "..."]`. */
function wordsOf(words: readonly unknown[]): string | null {
  if (!words.every((one) => typeof one === 'string')) return null;
  return words.map((one) => `'${one.replaceAll("'", "'\\''")}'`).join(' ');
}

function folderOf(input: unknown, { cwd }: ShellPlace): { readonly cwd: string; readonly fault: string | null } {
  if (!isRecord(input)) return { cwd, fault: null };
  const named = Object.entries(input).find(([key, value]) => FOLDER_KEY.test(key) && value !== null && value !== '');
  if (named === undefined) return { cwd, fault: null };
  if (typeof named[1] !== 'string') return { cwd, fault: 'it cannot be told which folder it runs in' };
  return { cwd: absolute(named[1], cwd), fault: null };
}

function patchTool(input: unknown, place: ShellPlace): ToolWrites {
  const { cwd } = folderOf(input, place);
  const texts = typeof input === 'string' ? [input] : collected(input, /./).found;
  const paths = texts.flatMap(patchPaths);
  const named = isRecord(input) ? collected(input, PATH_KEY).found : [];
  const all = [...paths, ...named];
  if (all.length === 0) return { fault: 'it cannot be told which files its patch touches' };
  return { paths: [...new Set(all)].map((one) => absolute(one, cwd)) };
}

function patchesIn(input: unknown): readonly string[] {
  return collected(input, /patch/i).found.flatMap(patchPaths);
}

/** Every text below a key that is called like this, lists and objects included. `unread`: such a key holds something else, or there is too much to look at. */
function collected(input: unknown, wanted: RegExp): { readonly found: readonly string[]; readonly unread: boolean } {
  const found: string[] = [];
  let unread = false;
  let nodes = 0;
  const walk = (value: unknown, named: boolean, depth: number): void => {
    nodes += 1;
    if (nodes > MAX_NODES || depth > MAX_DEPTH) {
      unread = true;
      return;
    }
    if (typeof value === 'string') {
      if (named && value !== '') found.push(value);
    } else if (Array.isArray(value)) for (const one of value) walk(one, named, depth + 1);
    else if (isRecord(value)) for (const [key, one] of Object.entries(value)) walk(one, wanted.test(key), depth + 1);
    else if (named && value !== null && value !== undefined && typeof value !== 'boolean') unread = true;
  };
  walk(input, false, 0);
  return { found, unread };
}

function absolute(path: string, cwd: string): string {
  if (/^file:/i.test(path)) {
    try {
      return fileURLToPath(path);
    } catch {
      // Then it is a name like any other.
    }
  }
  return resolve(cwd, path);
}

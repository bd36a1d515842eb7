import { basename, isAbsolute, join, resolve } from 'node:path';
import { patchPaths } from './patch-paths.ts';
import { expandPaths, expandWord, filesBelow, isFolder, type ShellState } from './shell-expand.ts';
import { readShell, type SimpleCommand, type Word } from './shell-words.ts';

export interface ShellPlace {
  readonly cwd: string;
  readonly home: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

interface Running extends ShellState {
  cwds: readonly string[];
  readonly stack: (readonly string[])[];
  readonly found: Set<string>;
  readonly depth: number;
}

const MAX_DEPTH = 8;
const MAX_FOUND = 50_000;

const KEYWORDS = new Set('if then else elif do while until { } ! fi done time coproc'.split(' '));
/** Programs that run the rest of their words; the options that take a word of their own. */
const WRAPPERS: Readonly<Record<string, string>> = {
  sudo: 'ugpCDhRrTtU',
  doas: 'uC',
  env: 'uCS',
  nohup: '',
  command: '',
  builtin: '',
  exec: 'a',
  nice: 'n',
  ionice: 'cn',
  timeout: 'ks',
  stdbuf: 'ioe',
  setsid: '',
  time: 'fo',
  xargs: 'IiLnPsdEa',
  unbuffer: '',
  busybox: '',
};
const SHELLS = new Set(['sh', 'bash', 'zsh', 'dash', 'ksh', 'ash', 'fish', 'su', 'script']);
const TO_LAST = new Set([
  'cp',
  'mv',
  'install',
  'ln',
  'link',
  'rsync',
  'scp',
  'copy-item',
  'move-item',
  'copy',
  'move',
]);
const ALL = new Set(
  'tee sponge rm unlink rmdir truncate touch shred ed ex vi vim nvim nano emacs patch rename trash srm set-content add-content out-file clear-content remove-item new-item tee-object del erase'.split(
    ' ',
  ),
);
const OUTPUT: Readonly<Record<string, RegExp>> = {
  curl: /^(?:-[a-zA-Z]*o|--output)$/,
  wget: /^(?:-[a-zA-Z]*O|--output-document)$/,
  sort: /^(?:-[a-zA-Z]*o|--output)$/,
  pandoc: /^(?:-o|--output)$/,
  gpg: /^(?:-o|--output)$/,
  openssl: /^-out$/,
};
const INLINE = /^(?:python[\d.]*|node|nodejs|perl|ruby|php|deno|bun|pwsh|powershell|osascript|lua|tclsh)$/;
const WRITES_IN_CODE =
  /write|unlink|rename|remove|copy|move|truncate|append|\bopen\s*\(?[^)\n]*['"][+rb]*[wax>]|file_put|symlink|Set-Content|Out-File|print[^|\n]*>/i;

/**
 * The files a command line would write, replace or take away, as absolute paths. Nothing is run. Best effort (docs/hooks.md): what a program does
 * by itself, and what only a shell would know, is not seen. `whole` false: it names more than can be looked at.
 */
export function shellWrites(
  text: string,
  place: ShellPlace,
): { readonly paths: ReadonlySet<string>; readonly whole: boolean } {
  const found = new Set<string>();
  const limits = { over: false };
  runText(text, {
    cwds: [place.cwd],
    stack: [],
    home: place.home,
    environment: place.environment,
    set: new Map(),
    found,
    limits,
    depth: 0,
    printed: () => null,
  });
  return { paths: found, whole: !limits.over };
}

function runText(text: string, from: Running): void {
  if (from.depth > MAX_DEPTH) return;
  const state: Running = { ...from, stack: [], printed: (source) => substituted(source, state) };
  let before: readonly string[] = [];
  for (const command of readShell(text).commands) {
    for (let left = Math.min(command.opens, 64); left > 0; left -= 1) state.stack.push(state.cwds);
    for (let left = Math.min(command.closes, 64); left > 0; left -= 1) state.cwds = state.stack.pop() ?? state.cwds;
    before = runCommand(command, state, command.after === '|' ? before : []);
  }
}

/** @returns the words it prints, where it only prints: they may be what the next command of a pipe works on. */
function runCommand(command: SimpleCommand, state: Running, piped: readonly string[]): readonly string[] {
  for (const { op, word } of command.redirects) {
    const texts = expandWord(word, state);
    if (op !== '<' && op !== '<<' && op !== '<&')
      for (const one of texts) if (!/^(?:\d+|-)$/.test(one) || op !== '>&') touch(one, state);
  }
  const words = command.words.flatMap((word) => fields(word, state));
  return runWords(words, command, state, piped);
}

/** A parameter without quotes that holds blanks is more than one word. */
function fields(word: Word, state: Running): readonly string[] {
  const texts = expandWord(word, state);
  const splits = word.every((one) => one.kind === 'var' || one.kind === 'run');
  return splits
    ? texts.flatMap((one) => [one, ...(/\s/.test(one) ? one.split(/\s+/).filter((part) => part !== '') : [])])
    : texts;
}

function runWords(
  given: readonly string[],
  command: Pick<SimpleCommand, 'after' | 'input'>,
  state: Running,
  piped: readonly string[],
): readonly string[] {
  let words = given;
  for (;;) {
    const [first = ''] = words;
    const assigned = /^([A-Za-z_][A-Za-z0-9_]*)\+?=(.*)$/s.exec(first);
    if (assigned !== null) {
      const [, name = '', value = ''] = assigned;
      const values = command.after === '' || command.after === ';' ? [value] : [value, ...(state.set.get(name) ?? [])];
      state.set.set(name, values.slice(0, 4_096));
    } else if (!KEYWORDS.has(first)) break;
    words = words.slice(1);
  }
  const name = programOf(words[0] ?? '');
  const rest = words.slice(1);
  if (Object.hasOwn(WRAPPERS, name)) {
    const inner = unwrapped(name, rest);
    return runWords(
      name === 'xargs' ? xargs(inner, [...piped, ...command.input.split(/\s+/)]) : inner,
      command,
      state,
      piped,
    );
  }
  if (name === 'for' || name === 'select') {
    if (rest[1] === 'in') state.set.set(rest[0] ?? '', rest.slice(2, 4_098));
  } else if (/^(?:export|declare|local|readonly|typeset)$/.test(name)) {
    const settings = rest.filter((one) => one.includes('='));
    if (settings.length > 0) runWords(settings, { after: ';', input: '' }, state, []);
  } else if (name === 'set' && rest[0] === '--') setWords(rest, state);
  else if (name === 'read') for (const one of operands(rest)) state.set.set(one, [command.input.trim(), ...piped]);
  else if (name === 'cd' || name === 'pushd') change(rest, command.after, state);
  else if (name === 'echo' || name === 'printf')
    return rest.filter((one) => !/^-[neE]+$/.test(one)).flatMap((one) => one.split(/\\n|\s+/));
  else runProgram(name, rest, command.input === '' ? piped.join(' ') : command.input, state);
  return [];
}

function runProgram(name: string, rest: readonly string[], input: string, state: Running): void {
  const inner = (text: string): void => runText(text, { ...state, depth: state.depth + 1 });
  const plain = operands(rest);
  if (SHELLS.has(name)) {
    const flag = rest.findIndex((one) => /^-[a-z]*c$/.test(one));
    if (flag >= 0) {
      const [code = '', ...words] = rest.slice(flag + 1).filter((one) => !one.startsWith('-'));
      setWords(words, state);
      inner(code);
    } else if (plain.length === 0 || plain[0] === '-') inner(input);
  } else if (name === 'eval') inner(rest.join(' '));
  else if (name === 'trap') inner(plain[0] ?? '');
  else if (name === 'source' || name === '.') inner(`${rest.join(' ')}\n${input}`);
  else if (name === 'apply_patch' || name === 'applypatch')
    for (const path of patchPaths(`${rest.join('\n')}\n${input}`)) touch(path, state);
  else if (TO_LAST.has(name)) copies(name, rest, state);
  else if (ALL.has(name)) {
    for (const one of plain) touch(one, state);
    for (const one of rest) {
      const value = /^--?[A-Za-z-]+[=:](.+)$/.exec(one)?.[1];
      if (value !== undefined) touch(value, state);
    }
    if (name === 'patch') for (const path of patchPaths(input)) touch(path, state);
  } else if (name === 'sed' || name === 'gsed')
    inPlace(rest, /^(?:-[nErsuz]*i.*|--in-place.*)$/, /^(?:-[nErsuz]*[ef]|--expression|--file)$/, state);
  else if (name === 'dd') for (const one of rest) touch(/^of=(.+)$/s.exec(one)?.[1] ?? '', state);
  else if (name === 'git') gitWrites(rest, input, state);
  else if (name === 'find') findWrites(rest, state);
  else {
    if (name === 'perl' || name === 'ruby' || name === 'yq')
      inPlace(rest, /^(?:-[a-hj-zA-HJ-Z0-9]*i.*|--in-?place)$/, /^-[a-zA-Z0-9]*[eE]$/, state);
    if (/awk$/.test(name) && rest.includes('inplace')) for (const one of plain) touch(one, state);
    if (/awk$/.test(name)) codeWrites(['-e', ...plain.slice(0, 1)], '', state);
    else if (INLINE.test(name)) codeWrites(rest, input, state);
    const output = Object.hasOwn(OUTPUT, name) ? OUTPUT[name] : undefined;
    if (output === undefined) return;
    for (const [index, one] of rest.entries()) {
      if (output.test(one)) touch(rest[index + 1] ?? '', state);
      const [option = '', value] = one.startsWith('--') ? one.split('=', 2) : [one.slice(0, 2), one.slice(2)];
      if (value !== undefined && output.test(option)) touch(value, state);
    }
  }
}

function copies(name: string, rest: readonly string[], state: Running): void {
  const at = rest.findIndex((one) => one === '-t' || one === '--target-directory');
  const into = rest[at + 1];
  const named = rest.map((one) => /^(?:--target-directory=|-t)(.+)$/.exec(one)?.[1]).find((one) => one !== undefined);
  const folder = at >= 0 ? into : named;
  const all = operands(rest).filter((one, index, list) => !(at >= 0 && one === into && list.indexOf(one) === index));
  const sources = folder === undefined ? all.slice(0, -1) : all;
  const target = folder ?? all.at(-1) ?? '';
  const isLink = rest.some((one) => /^-[a-zA-Z]*s|^--symbolic$/.test(one));
  for (const source of sources) {
    // A second name for the same file writes it too.
    if (/^(?:mv|move|move-item|link)$/.test(name) || (name === 'ln' && !isLink)) touch(source, state);
    for (const from of expandPaths(source, state)) {
      for (const to of expandPaths(target, state)) {
        const isInto = folder !== undefined || target.endsWith('/') || sources.length > 1 || isFolder(to);
        const landed = isInto && !(name === 'rsync' && source.endsWith('/')) ? join(to, basename(from)) : to;
        add(landed, state);
        // An option that took a word of its own may have been read as one more source.
        if (!to.endsWith('/')) add(to, state);
        if (name !== 'ln' && isFolder(from)) for (const one of filesBelow(from)) add(join(landed, one), state);
      }
    }
  }
  if (sources.length === 0) touch(target, state);
}

function inPlace(rest: readonly string[], option: RegExp, script: RegExp, state: Running): void {
  if (!rest.some((one) => option.test(one))) return;
  const files: string[] = [];
  let hasScript = false;
  for (let at = 0; at < rest.length; at += 1) {
    const one = rest[at] ?? '';
    if (script.test(one)) {
      hasScript = true;
      at += 1;
    } else if (/^--(?:expression|file)=|^-[ef]./.test(one)) hasScript = true;
    else if (!one.startsWith('-') && one !== '') files.push(one);
  }
  for (const one of hasScript ? files : files.slice(1)) touch(one, state);
}

function gitWrites(rest: readonly string[], input: string, state: Running): void {
  let at = 0;
  let inner = state;
  while (rest[at]?.startsWith('-')) {
    const takes = /^-[Cc]$/.test(rest[at] ?? '');
    if (rest[at] === '-C') inner = { ...state, cwds: state.cwds.map((one) => resolve(one, rest[at + 1] ?? '.')) };
    at += takes ? 2 : 1;
  }
  const words = rest.slice(at + 1);
  if (rest[at] === 'mv') copies('mv', words, inner);
  else if (rest[at] === 'rm') for (const one of words.includes('--cached') ? [] : operands(words)) touch(one, inner);
  else if (rest[at] === 'apply') for (const path of patchPaths(input)) touch(path, inner);
}

function findWrites(rest: readonly string[], state: Running): void {
  const names = rest.filter((_one, index) => /^-(?:i?name|i?path|wholename)$/.test(rest[index - 1] ?? ''));
  const folders = rest.slice(
    0,
    Math.max(
      0,
      rest.findIndex((one) => /^[-(!]/.test(one)),
    ),
  );
  const places = (folders.length === 0 ? ['.'] : folders).flatMap((folder) =>
    names.map((name) => join(folder, basename(name))),
  );
  if (rest.includes('-delete')) for (const one of places) touch(one, state);
  const exec = rest.findIndex((one) => /^-(?:exec|execdir|ok|okdir)$/.test(one));
  if (exec < 0) return;
  const words = rest.slice(exec + 1).filter((one) => one !== ';' && one !== '+');
  for (const place of places.length === 0 ? [''] : places)
    runWords(
      words.map((one) => one.replaceAll('{}', place)),
      { after: ';', input: '' },
      { ...state, depth: state.depth + 1 },
      [],
    );
}

/** Code handed to an interpreter: what it names as text, where it also seems to write. */
function codeWrites(rest: readonly string[], input: string, state: Running): void {
  const flag = rest.findIndex((one) => /^(?:-[a-zA-Z]*[ceEr]|--eval|--print|-Command|eval)$/.test(one));
  const code =
    flag >= 0 ? rest.slice(flag + 1).join('\n') : operands(rest).length === 0 || rest[0] === '-' ? input : '';
  if (code === '' || !WRITES_IN_CODE.test(code)) return;
  for (const [, quote, text = ''] of code.matchAll(/(["'`])([^"'`\n]{1,512})\1/g))
    if (quote !== undefined) touch(text, state);
}

/** `$0`, `$1`, ... of what runs next. */
function setWords(words: readonly string[], { set }: Running): void {
  for (const [index, one] of words.slice(0, 64).entries()) set.set(`${index}`, [one]);
  for (const name of ['@', '*']) set.set(name, words);
}

/** What comes in stands at the end, and wherever the words say `{}`. */
function xargs(words: readonly string[], coming: readonly string[]): readonly string[] {
  return [
    ...words.flatMap((one) => (one.includes('{}') ? coming.map((word) => one.replaceAll('{}', word)) : [one])),
    ...coming,
  ];
}

function change(rest: readonly string[], after: string, state: Running): void {
  const to = operands(rest)[0] ?? state.home;
  if (to === '-') return;
  const next = expandPaths(to, state).slice(0, 8);
  const isSure = (after === '' || after === ';') && next.every(isFolder);
  const all = [...new Set(isSure ? next : [...next, ...state.cwds])];
  state.cwds = all.length > 16 ? [...all.slice(0, 15), ...all.slice(-1)] : all;
}

/** What a command substitution prints, where it only prints what it is told, or the folder. */
function substituted(source: string, state: Running): readonly string[] | null {
  if (state.depth >= MAX_DEPTH) return null;
  runText(source, { ...state, depth: state.depth + 1 });
  const { commands } = readShell(source);
  const [only] = commands;
  if (only === undefined || commands.length > 1) return /mktemp/.test(source) ? [] : null;
  const words = only.words.flatMap((word) => expandWord(word, { ...state, printed: () => null }));
  const name = programOf(words[0] ?? '');
  if (name === 'mktemp') return [];
  if (name === 'echo' || name === 'printf')
    return [
      words
        .slice(1)
        .filter((one) => !/^-[neE]+$|^%s(?:\\n)?$/.test(one))
        .join(' '),
    ];
  return name === 'pwd' ? state.cwds : null;
}

function unwrapped(name: string, rest: readonly string[]): readonly string[] {
  const takes = WRAPPERS[name] ?? '';
  let at = 0;
  for (; at < rest.length; at += 1) {
    const one = rest[at] ?? '';
    if (one === '--') {
      at += 1;
      break;
    }
    if (one.startsWith('-')) {
      if (one.length === 2 && takes.includes(one.charAt(1))) at += 1;
    } else if (
      !((name === 'env' || name === 'sudo') && /^\w+=/.test(one)) &&
      !(name === 'timeout' && /^[\d.]+[smhd]?$/.test(one))
    )
      break;
  }
  return rest.slice(at);
}

function operands(rest: readonly string[]): readonly string[] {
  const end = rest.indexOf('--');
  return rest.filter(
    (one, index) => one !== '--' && one !== '' && (!one.startsWith('-') || one === '-' || (end >= 0 && index > end)),
  );
}

function programOf(word: string): string {
  return basename(word.replaceAll('\\', '/'))
    .toLowerCase()
    .replace(/\.exe$/, '');
}

function touch(text: string, state: Running): void {
  for (const path of expandPaths(text, state)) {
    add(path, state);
    if (isFolder(path)) for (const one of filesBelow(path)) add(join(path, one), state);
  }
}

function add(path: string, { found, limits }: Running): void {
  if (found.size >= MAX_FOUND) limits.over = true;
  else if (isAbsolute(path)) found.add(path);
}

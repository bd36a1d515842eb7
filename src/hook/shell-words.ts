/** A part of a shell word. `plain` may hold wildcards, braces and a tilde; `var` names a parameter; `run` is the source of a command substitution. */
export interface Piece {
  readonly kind: 'plain' | 'quoted' | 'var' | 'run';
  readonly text: string;
}

export type Word = readonly Piece[];

/** One simple command of a command line. */
export interface SimpleCommand {
  /** What stands between it and the command before: `;`, `&&`, `||`, `|`, or empty at the start of a line. */
  readonly after: string;
  readonly words: readonly Word[];
  readonly redirects: readonly { readonly op: string; readonly word: Word }[];
  /** What here-documents and here-strings feed it; empty where none does. */
  readonly input: string;
  /** Subshells that begin before it, and that end before it. */
  readonly opens: number;
  readonly closes: number;
}

interface Draft {
  after: string;
  words: Word[];
  redirects: { op: string; word: Word }[];
  input: string;
  opens: number;
  closes: number;
}

/** Longest command line read, in UTF-16 units, and deepest nesting. */
const MAX_TEXT = 1_048_576;
const MAX_DEPTH = 24;
const NAME = /[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-]/y;
const REDIRECT = /&>>|&>|<<<|<<-|<<|<&|<>|<|>&|>>|>\||>/y;
const OPERATOR = /&&|\|\||\|&|;;|[;&|\n]/y;

/**
 * Reads a command line of a POSIX shell into its simple commands, in order, without running anything. Best effort: what a shell would only know when it
 * runs is left as a `run` or `var` piece. @returns what could be read; `whole` false where a quote never ends, it nests too deep or it is too long.
 */
export function readShell(text: string): { readonly commands: readonly SimpleCommand[]; readonly whole: boolean } {
  if (text.length > MAX_TEXT) return { commands: [], whole: false };
  const reader = new Reader(text.replaceAll('\r\n', '\n'));
  try {
    reader.read();
    return { commands: reader.commands, whole: true };
  } catch (error) {
    if (!(error instanceof Unended)) throw error;
    reader.end();
    return { commands: reader.commands, whole: false };
  }
}

/** The pieces of a text as they would be read between double quotes: what a here-document may run. */
export function readQuoted(text: string): Word {
  const reader = new Reader(text);
  const pieces: Piece[] = [];
  try {
    reader.doubled(pieces, '', 0);
  } catch (error) {
    if (!(error instanceof Unended)) throw error;
  }
  return pieces;
}

/** A quote, a substitution or nesting that has no end. */
class Unended extends Error {}

class Reader {
  readonly commands: SimpleCommand[] = [];
  private readonly text: string;
  private at = 0;
  private now: Draft = fresh('', 0, 0);
  private word: Piece[] | null = null;
  /** The redirection that waits for its word. */
  private waiting: string | null = null;
  private heres: { readonly of: Draft; readonly end: string; readonly quoted: boolean; readonly tabs: boolean }[] = [];

  constructor(text: string) {
    this.text = text;
  }

  read(): void {
    while (this.at < this.text.length) this.step();
    this.end();
  }

  end(): void {
    this.endWord();
    this.endCommand('');
  }

  private step(): void {
    const { text, at } = this;
    const char = text.charAt(at);
    if (char === '#' && this.word === null) {
      const line = text.indexOf('\n', at);
      this.at = line < 0 ? text.length : line;
    } else if (char === ' ' || char === '\t') {
      this.endWord();
      this.at += 1;
    } else if (char === '\\' && text[at + 1] === '\n') this.at += 2;
    else if ((char === '<' || char === '>') && text[at + 1] === '(') {
      this.at += 1;
      this.push('run', this.balanced());
    } else if (char === '(') {
      this.endWord();
      // `name()` defines a function: its body is read like any other command.
      const isFunction = /^\(\s*\)/.exec(text.slice(at, at + 16));
      if (isFunction) this.now.words.pop();
      else {
        this.endCommand('(');
        this.now.opens += 1;
      }
      this.at += isFunction ? isFunction[0].length : 1;
    } else if (char === ')') {
      this.endWord();
      this.endCommand(';');
      this.now.closes += 1;
      this.at += 1;
    } else if (!this.redirect() && !this.operator()) this.piece(char);
  }

  private redirect(): boolean {
    REDIRECT.lastIndex = this.at;
    const op = REDIRECT.exec(this.text)?.[0];
    if (op === undefined) return false;
    // A number right before it is a file descriptor.
    if (this.word?.length === 1 && this.word[0]?.kind === 'plain' && /^\d+$/.test(this.word[0].text)) this.word = null;
    this.endWord();
    this.waiting = op;
    this.at += op.length;
    return true;
  }

  private operator(): boolean {
    OPERATOR.lastIndex = this.at;
    const op = OPERATOR.exec(this.text)?.[0];
    if (op === undefined) return false;
    this.endWord();
    this.at += op.length;
    this.endCommand(op === '\n' || op === '&' || op === ';;' ? ';' : op === '|&' ? '|' : op);
    if (op === '\n') this.readHeres();
    return true;
  }

  private piece(char: string): void {
    const { text, at } = this;
    if (char === "'") {
      const close = text.indexOf("'", at + 1);
      if (close < 0) throw new Unended();
      this.push('quoted', text.slice(at + 1, close));
      this.at = close + 1;
    } else if (char === '"') {
      this.at += 1;
      this.word ??= [];
      this.doubled(this.word, '"', 0);
    } else if (char === '$' && text[at + 1] === "'") {
      const found = /^\$'((?:[^'\\]|\\[\s\S])*)'/.exec(text.slice(at));
      if (found === null) throw new Unended();
      this.push('quoted', unescaped(found[1] ?? ''));
      this.at += found[0].length;
    } else if (char === '$' || char === '`') {
      this.word ??= [];
      this.dollar(this.word, 0);
    } else if (char === '\\') {
      this.push('quoted', text.charAt(at + 1));
      this.at += 2;
    } else {
      const run = /[^\s\\'"$`;&|<>()]+/y;
      run.lastIndex = at;
      const found = run.exec(text)?.[0] ?? char;
      this.push('plain', found);
      this.at += found.length;
    }
  }

  /** Reads up to the closing quote, or to the end of the text where `close` is empty. */
  doubled(into: Piece[], close: string, depth: number): void {
    let run = '';
    const flush = (): void => {
      if (run !== '' || close !== '') into.push({ kind: 'quoted', text: run });
      run = '';
    };
    while (this.at < this.text.length) {
      const char = this.text.charAt(this.at);
      if (char === close) {
        flush();
        this.at += 1;
        return;
      }
      if (char === '\\') {
        const next = this.text.charAt(this.at + 1);
        run += next === '\n' ? '' : /[$`"\\]/.test(next) ? next : char + next;
        this.at += 2;
      } else if (char === '$' || char === '`') {
        flush();
        this.dollar(into, depth);
      } else {
        run += char;
        this.at += 1;
      }
    }
    flush();
    if (close !== '') throw new Unended();
  }

  /** A parameter or a command substitution. */
  private dollar(into: Piece[], depth: number): void {
    const { text } = this;
    if (depth > MAX_DEPTH) throw new Unended();
    if (text[this.at] === '`') {
      const found = /^`((?:[^`\\]|\\[\s\S])*)`/.exec(text.slice(this.at));
      if (found === null) throw new Unended();
      into.push({ kind: 'run', text: (found[1] ?? '').replace(/\\([`$\\])/g, '$1') });
      this.at += found[0].length;
      return;
    }
    this.at += 1;
    if (text[this.at] === '(') {
      into.push({ kind: 'run', text: this.balanced() });
      return;
    }
    if (text[this.at] === '{') {
      const close = text.indexOf('}', this.at);
      if (close < 0) throw new Unended();
      into.push({ kind: 'var', text: text.slice(this.at + 1, close) });
      this.at = close + 1;
      return;
    }
    NAME.lastIndex = this.at;
    const name = NAME.exec(text)?.[0];
    into.push(name === undefined ? { kind: 'quoted', text: '$' } : { kind: 'var', text: name });
    this.at += name?.length ?? 0;
  }

  /** What stands between this opening bracket and its closing one; goes behind it. */
  private balanced(): string {
    const start = this.at + 1;
    const end = closing(this.text, start, 0);
    this.at = end + 1;
    return this.text.slice(start, end);
  }

  private push(kind: Piece['kind'], text: string): void {
    this.word ??= [];
    this.word.push({ kind, text });
  }

  private endWord(): void {
    const { word, waiting } = this;
    if (word === null) return;
    this.word = null;
    this.waiting = null;
    if (waiting === null) this.now.words.push(word);
    else if (waiting === '<<' || waiting === '<<-') {
      const end = word.map((one) => one.text).join('');
      const quoted = word.some((one) => one.kind === 'quoted');
      this.heres.push({ of: this.now, end, quoted, tabs: waiting === '<<-' });
    } else if (waiting === '<<<') this.now.input += `${word.map((one) => one.text).join('')}\n`;
    else this.now.redirects.push({ op: waiting, word });
  }

  private endCommand(op: string): void {
    this.waiting = null;
    const { now } = this;
    if (now.words.length > 0 || now.redirects.length > 0) this.commands.push(now);
    else if (now.opens + now.closes > 0 || this.heres.some((one) => one.of === now)) {
      // An empty place still opens or ends a subshell.
      this.now = fresh(op || now.after, now.opens, now.closes);
      return;
    }
    this.now = fresh(op, 0, 0);
  }

  private readHeres(): void {
    for (const { of, end, quoted, tabs } of this.heres.splice(0)) {
      const lines: string[] = [];
      while (this.at < this.text.length) {
        const cut = this.text.indexOf('\n', this.at);
        const line = this.text.slice(this.at, cut < 0 ? this.text.length : cut);
        this.at = cut < 0 ? this.text.length : cut + 1;
        if ((tabs ? line.replace(/^\t+/, '') : line) === end) break;
        lines.push(line);
      }
      const body = lines.join('\n');
      of.input += `${body}\n`;
      if (quoted || !/[$`]/.test(body)) continue;
      const ran = readQuoted(body).filter((one) => one.kind === 'run');
      if (ran.length > 0) of.redirects.push({ op: '<<', word: ran });
    }
  }
}

function fresh(after: string, opens: number, closes: number): Draft {
  return { after, words: [], redirects: [], input: '', opens, closes };
}

/** The place of the bracket that closes, quotes set aside. */
function closing(text: string, from: number, depth: number): number {
  if (depth > MAX_DEPTH) throw new Unended();
  let open = 1;
  for (let at = from; at < text.length; at += 1) {
    const char = text[at];
    if (char === '\\') at += 1;
    else if (char === "'") {
      at = text.indexOf("'", at + 1);
      if (at < 0) throw new Unended();
    } else if (char === '"') at = closingQuote(text, at + 1, depth);
    else if (char === '(') open += 1;
    else if (char === ')') {
      open -= 1;
      if (open === 0) return at;
    }
  }
  throw new Unended();
}

function closingQuote(text: string, from: number, depth: number): number {
  for (let at = from; at < text.length; at += 1) {
    const char = text[at];
    if (char === '\\') at += 1;
    else if (char === '$' && text[at + 1] === '(') at = closing(text, at + 2, depth + 1);
    else if (char === '"') return at;
  }
  throw new Unended();
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', a: '\x07', b: '\b', e: '\x1b', f: '\f' };

function unescaped(text: string): string {
  return text.replace(
    /\\(?:x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|([0-7]{1,3})|([\s\S]))/g,
    (_all, hex?: string, unicode?: string, octal?: string, char?: string) => {
      if (char !== undefined) return ESCAPES[char] ?? char;
      const code = hex ?? unicode;
      return String.fromCharCode(code === undefined ? Number.parseInt(octal ?? '0', 8) : Number.parseInt(code, 16));
    },
  );
}

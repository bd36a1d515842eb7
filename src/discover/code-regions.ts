/** One line of a Markdown text and which of its characters are code. */
export interface TextLine {
  readonly text: string;
  /** 1-based. */
  readonly number: number;
  /** Pairs of offsets, end exclusive, that are inline code. The whole line where it lies in a fence. */
  readonly code: readonly (readonly [number, number])[];
}

interface Fence {
  readonly mark: string;
  readonly length: number;
  /** Columns in front of the opener; what stands further left has left the list item, if it is one. */
  readonly indent: number;
  readonly quotes: number;
  /** Index of its first line. */
  readonly from: number;
}

/**
 * Splits a Markdown text and finds its code, for hosts that skip imports there. Only what every reader of Markdown takes for code counts: from the first
 * fence on that readers may see differently (never closed, cut off by a list or quote that ends, inside HTML or front matter, closed by a mark only some
 * accept) no fence hides anything. Inline code is looked for within a line. Linear in the text.
 */
export function textLines(text: string): readonly TextLine[] {
  const lines = text.split(/\r\n|\n|\r/);
  const fenced = fencedLines(lines);
  const spans = new SpanReader();
  return lines.map((line, at) => ({
    text: line,
    number: at + 1,
    code: fenced[at] ? [[0, line.length]] : spans.read(line),
  }));
}

function fencedLines(lines: readonly string[]): readonly boolean[] {
  const fenced = lines.map(() => false);
  const raw = new RawReader(lines);
  const list = new ListReader();
  let fence: Fence | null = null;
  for (const [at, line] of lines.entries()) {
    if (fence === null) {
      const place = placeOf(line);
      const isRaw = raw.read(line, place, at);
      const isFirm = list.read(line, place);
      const opener = openerOf(place);
      if (opener === null) continue;
      if (isRaw || !isFirm || place.isMixed) return fenced;
      fence = { ...opener, from: at };
      fenced[at] = true;
      continue;
    }
    const { quotes, indent, rest } = insideOf(line, fence.quotes);
    const closes = closesFence(rest, indent, fence);
    const hasLeft = quotes < fence.quotes || (rest !== '' && indent < fence.indent);
    if (hasLeft || closes === 'perhaps') return fenced.fill(false, fence.from);
    fenced[at] = true;
    if (closes) fence = null;
  }
  return fence === null ? fenced : fenced.fill(false, fence.from);
}

interface Place {
  /** Quote marks in front. */
  readonly quotes: number;
  /** Columns between them and `rest`, list marks counted as blanks. */
  readonly indent: number;
  readonly rest: string;
  /** The list mark in front of `rest`, else null. */
  readonly listMark: string | null;
  /** Something other than quote marks stands in front of a quote mark: whether a later line still belongs to it is anyone's guess. */
  readonly isMixed: boolean;
}

/** What stands in front of a line's text, outside fences. */
function placeOf(line: string): Place {
  let quotes = 0;
  let indent = 0;
  let listMark: string | null = null;
  let isMixed = false;
  for (let at = 0; ; at += 1) {
    const char = line[at];
    if (char === ' ') indent += 1;
    else if (char === '\t') indent += 4 - (indent % 4);
    else if (char === '>') {
      isMixed ||= indent > 0 || listMark !== null;
      quotes += 1;
      indent = 0;
      if (line[at + 1] === ' ') at += 1;
    } else {
      const mark = /^(?:[-+*]|\d{1,9}[.)])(?=[ \t])/.exec(line.slice(at, at + 12))?.[0];
      if (mark === undefined) return { quotes, indent, rest: line.slice(at).trimEnd(), listMark, isMixed };
      listMark = mark;
      indent += mark.length;
      at += mark.length - 1;
    }
  }
}

/** What stands in front of a line's text inside a fence: as many quote marks as the fence has; everything else is text. */
function insideOf(line: string, wanted: number): Pick<Place, 'quotes' | 'indent' | 'rest'> {
  let quotes = 0;
  let indent = 0;
  for (let at = 0; ; at += 1) {
    const char = line[at];
    if (char === ' ') indent += 1;
    else if (char === '\t') indent += 4 - (indent % 4);
    else if (char === '>' && quotes < wanted && indent === 0) {
      quotes += 1;
      if (line[at + 1] === ' ') at += 1;
    } else return { quotes, indent, rest: line.slice(at).trimEnd() };
  }
}

function openerOf({ rest, indent, quotes }: Place): Omit<Fence, 'from'> | null {
  const run = /^(?:`{3,}|~{3,})/.exec(rest)?.[0];
  if (run === undefined) return null;
  const mark = run.charAt(0);
  return mark === '`' && rest.includes('`', run.length) ? null : { mark, length: run.length, indent, quotes };
}

function closesFence(rest: string, indent: number, fence: Fence): boolean | 'perhaps' {
  const run = /^(?:`{3,}|~{3,})/.exec(rest)?.[0] ?? '';
  if (!run.startsWith(fence.mark) || run.length < fence.length) return false;
  const tail = rest.slice(run.length);
  if (!/^[`~]*$/.test(tail)) return false;
  // In a paragraph the marks would be inline code, which only marks of the same length close.
  const isFirm = fence.indent < 4 || (run.length === fence.length && fence.mark === '`');
  return tail === '' && isFirm && indent <= Math.max(3, fence.indent) ? true : 'perhaps';
}

/** Knows whether a fence mark that stands four columns in or more opens a fence or goes on with a paragraph. */
class ListReader {
  private offset = 0;
  private wasBlank = true;

  /** @returns whether a fence mark on this line would be one for every reader. */
  read(line: string, { indent, listMark }: Place): boolean {
    const { wasBlank } = this;
    this.wasBlank = line.trim() === '';
    if (this.wasBlank) return true;
    const canStart = listMark !== null && (wasBlank || this.offset > 0 || /^(?:[-+*]|1[.)])$/.test(listMark));
    const fits = this.offset > 0 && indent >= this.offset && indent - this.offset <= 3;
    if (canStart) this.offset = indent;
    else if (indent < this.offset) this.offset = 0;
    return indent < 4 || wasBlank || canStart || fits;
  }
}

/** Knows where a fence mark may not be one: in front matter, in HTML comments and in HTML blocks. */
class RawReader {
  private until: RegExp | null = null;
  private inBlock = false;
  private readonly frontMatterEnd: number;

  constructor(lines: readonly string[]) {
    const opens = /^\ufeff?---\s*$/.test(lines[0] ?? '');
    const end = opens ? lines.findIndex((line, at) => at > 0 && /^(?:---|\.\.\.)\s*$/.test(line)) : -1;
    this.frontMatterEnd = opens ? (end < 0 ? lines.length : end) : -1;
  }

  /** @returns whether this line lies in something that is not plain Markdown. Lines of fences are not shown to it. */
  read(line: string, place: Place, at: number): boolean {
    if (at <= this.frontMatterEnd) return true;
    const wasRaw = this.until !== null;
    if (this.until !== null) {
      if (this.until.test(line)) this.until = null;
    } else {
      const opened = /<!--|<\?|<!\[CDATA\[|<![A-Za-z]|<(?:script|pre|style|textarea)\b/i.exec(line);
      if (opened !== null) {
        const end = endOf(opened[0].toLowerCase());
        this.until = end.test(line.slice(opened.index + opened[0].length)) ? null : end;
      }
    }
    if (place.rest === '') this.inBlock = false;
    else if (place.rest.startsWith('<')) this.inBlock = true;
    return wasRaw || this.until !== null || this.inBlock;
  }
}

function endOf(opener: string): RegExp {
  if (opener === '<!--') return /-->/;
  if (opener === '<?') return /\?>/;
  if (opener.startsWith('<![')) return /\]\]>/;
  return opener.startsWith('<!') ? />/ : /<\/(?:script|pre|style|textarea)>/i;
}

/** Finds inline code line by line. An odd mark earlier in the paragraph may pair with a later one, so after it nothing counts as code until a blank line. */
class SpanReader {
  private isOdd = false;

  read(line: string): readonly (readonly [number, number])[] {
    if (line.trim() === '') this.isOdd = false;
    if (!line.includes('`')) {
      if (line.includes('<')) this.isOdd = true;
      return [];
    }
    const spans: [number, number][] = [];
    const runs = runsOf(line);
    const lastByLength = new Map(runs.map((run) => [run.length, run.at]));
    let from = 0;
    for (let index = 0; index < runs.length; ) {
      const run = runs[index];
      if (run === undefined) break;
      const before = line.slice(from, run.at);
      if (before.includes('<') || isInLink(before)) this.isOdd = true;
      const escaped = (/\\*$/.exec(before)?.[0].length ?? 0) % 2;
      const length = run.length - escaped;
      let close = length > 0 && (lastByLength.get(length) ?? -1) > run.at ? index + 1 : runs.length;
      while (close < runs.length && runs[close]?.length !== length) close += 1;
      const end = runs[close];
      if (end === undefined) {
        if (length > 0) this.isOdd = true;
        from = run.at + run.length;
        index += 1;
        continue;
      }
      if (!this.isOdd) spans.push([run.at + escaped, end.at + end.length]);
      from = end.at + end.length;
      index = close + 1;
    }
    if (line.includes('<', from)) this.isOdd = true;
    return spans;
  }
}

/** Whether a text may break off inside the brackets of a link target, where a mark is not one. */
function isInLink(text: string): boolean {
  const opened = text.split('](').length - 1;
  return opened > 0 && (text.indexOf(')', text.lastIndexOf('](')) < 0 || opened > text.split(')').length - 1);
}

function runsOf(line: string): readonly { readonly at: number; readonly length: number }[] {
  return [...line.matchAll(/`+/g)].map((found) => ({ at: found.index, length: found[0].length }));
}

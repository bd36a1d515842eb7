import type { Structure } from './contexts.ts';
import type { Context } from './rule.ts';

const LOOK = 160;
/** Units within which a condition in front of a passage begins. */
const FAR = 400;

// Words that make what follows a report about an attack, a refusal of it, or a case to be handled.
const REPORTS =
  /\b(?:deny|denied|warning|never|don['\u2019]t|do not|not to|must not|mustn['\u2019]t|should not|shouldn['\u2019]t|cannot|can['\u2019]t|won['\u2019]t|refus\w{1,4}|reject\w{0,3}|detect\w{0,4}|flag\w{0,4}|block(?:s|ed|ing)?|prevent\w{0,4}|attack\w{0,5}|attempt\w{0,4}|adversar\w{1,5}|malicious|injection\w{0,1}|injected|phras\w{1,3}|pattern\w{0,1}|e\.g\.|i\.e\.|such as|for example|for instance|examples?|like|says?|said|saying|claim\w{0,3}|asks?|asked|asking|tells?|telling|told|contain\w{0,3}|instruct(?:s|ed|ing)|try|tries|tried|trying|tricks?|tricked|wants?|payloads?|jailbreak\w{0,4}|test(?:s|ing|ed)?|whether|might|may|matches|called|titled|named|means?|describ\w{1,4}|avoid\w{0,3}|forbid\w{0,5}|prohibit\w{0,4}|unauthori[sz]ed|disallow\w{0,3}|without|instead of|rather than|risk\w{0,2}|threat\w{0,2})\b/i;

// What something can do is a report; what the reader can do is speech to it.
const ABLE = /(?<!\byou )(?<!\byou\*\* )\b(?:can|could)\b(?! (?:you|i|we)\b)/i;

// `When the user asks for a commit, ...`: what comes behind the comma is the order.
const CONDITION =
  /^[\s>*_-]{0,12}(?:when(?:ever)?|if|after|before|once|every time|each time|instead of|rather than)\b[^,"\u201c\n]{1,120},(?! ?["\u201c])/i;

const THREATS =
  /\b(?:attack\w{0,3}|inject\w{0,4}|malicious|jailbreak\w{0,4}|examples?|payloads?|patterns?|phrases?|red flags?|threat\w{0,2}|detect\w{0,4}|suspicious|adversarial|anti-?patterns?|forbidden|prohibited|never|not allowed|avoid|bad|unsafe|signs?|indicators?|exploit\w{0,5}|vulnerab\w{1,9}|test cases?|samples?|don['\u2019]t|do not|must not|cannot|refuse|risks?|scenario\w{0,1}|dangerous|block\w{0,3}|poison\w{0,3}|tampering|abuse|misuse)\b/i;

// `Tell`, `say` or `ask` that open a sentence order it and report nothing.
const ORDER = /^[\s>*_#-]{0,12}(?:please |now |then )?(?:tell|say|ask)\b/i;

// What a whole section has to be called for all that it holds to be a report.
const SECTIONS =
  /\b(?:attack\w{0,3}|injection\w{0,1}|malicious|jailbreak\w{0,4}|threats?|red flags?|adversarial|forbidden|prohibited|not allowed|must not|do not|don['\u2019]t|never|exploit\w{0,5}|vulnerab\w{1,9}|unsafe)\b/i;

const QUOTES: Readonly<Record<string, string>> = {
  '"': '"',
  "'": "'",
  '\u201c': '\u201d',
  '\u2018': '\u2019',
  '\u00ab': '\u00bb',
  '\u300c': '\u300d',
  '\u201e': '\u201c',
};

const NEGATED =
  /\b(?:never|not|block\w{0,3}|prevent\w{0,3}|detect\w{0,3}|forbid\w{0,4}|refus\w{1,3}|reject\w{0,3}|distinguish\w{0,3}|den(?:y|ied|ies))\b/i;

/** @returns whether what lies between the parts of a match turns it into its opposite or into a report. */
export function isTurnedRound(between: string): boolean {
  return NEGATED.test(between);
}

/** @returns the context in which a passage of the original counts: its block's, or the narrower `code`, `title`, `quoted` or `described`. */
export function contextOf(text: string, start: number, end: number, structure: Structure): Context {
  const block = structure.blockAt(start);
  if (block === 'fence') return isAboutThreats(structure, start) ? 'described' : block;
  const lineStart = Math.max(structure.lineStart(start), start - LOOK * 2);
  const before = text.slice(lineStart, start);
  const after = upToBreak(text.slice(end, end + LOOK * 2));
  const isItem = block === 'list' || block === 'table' || block === 'block-quote';
  if (isInCode(before, after)) return isItem && isAboutThreats(structure, start) ? 'described' : 'code';
  if (block === 'comment' && /["'`\u201c]<!--[^\n]*$/.test(before)) return 'quoted';
  if (/\]\([^)\s]{1,300} ["'][^"'\n]{0,300}$/.test(before)) return 'title';
  if (block !== 'comment' && block !== 'front-matter' && isQuoted(before, after)) return 'quoted';
  if (isDescribed(text, start)) return 'described';
  if (block === 'comment' || block === 'front-matter') return block;
  if (isItem && isAboutThreats(structure, start)) return 'described';
  if (/!?\[[^\]\n]{0,200}$/.test(before.slice(-202)) && /^[^[\n]{0,200}\]\(/.test(after)) return 'title';
  return block;
}

function isAboutThreats(structure: Structure, at: number): boolean {
  return THREATS.test(structure.introduction(at)) || SECTIONS.test(structure.outline(at));
}

function upToBreak(after: string): string {
  const paragraph = after.search(/\n[ \t]*\n/);
  return paragraph < 0 ? after : after.slice(0, paragraph);
}

function isInCode(before: string, after: string): boolean {
  let ticks = 0;
  for (const char of before) if (char === '`') ticks++;
  return ticks % 2 === 1 && after.includes('`');
}

// Inside quotation marks on its line, unless they are those of a JSON or YAML value: such a value is speech to whoever reads it.
function isQuoted(before: string, after: string): boolean {
  let open = -1;
  let closing = '';
  for (let i = 0; i < before.length; i++) {
    const char = before.charAt(i);
    if (open >= 0) {
      if (char === closing && (closing !== "'" || !/\w/.test(before.charAt(i + 1)))) open = -1;
      continue;
    }
    const pair = QUOTES[char];
    if (pair === undefined) continue;
    if ((char === "'" || char === '\u2018') && i > 0 && /\w/.test(before.charAt(i - 1))) continue;
    open = i;
    closing = pair;
  }
  if (open < 0 || !after.includes(closing)) return false;
  // One of several quoted strings on the line: examples, and no value.
  if (
    after
      .slice(after.indexOf(closing) + closing.length)
      .search(/^,? (?:and |or )?["\u201c](?![\w-]{1,40}["\u201d] ?:)/) === 0
  )
    return true;
  return (
    !/["']?\w["']?(?:[ \t]{0,4}:[ \t]{0,4}|=)$/.test(before.slice(Math.max(0, open - 12), open)) ||
    !/^[ \t{,-]{0,20}["']?[\w-]{1,40}["']?(?:[ \t]{0,4}:|=)/.test(before)
  );
}

// The clause up to the passage reports, forbids or supposes it.
function isDescribed(text: string, start: number): boolean {
  const before = text.slice(Math.max(0, start - FAR), start);
  const sentence =
    before.split(/[.!?;]["')\]*_]{0,3}\s|\n\s*\n|\n[ \t]*(?:[-*+#>|]|\d+[.)])|[.!?;]$|\n(?=[A-Z])/).pop() ?? '';
  const clause = sentence.replace(CONDITION, '').replace(ORDER, '').slice(-LOOK);
  return REPORTS.test(clause) || ABLE.test(clause);
}

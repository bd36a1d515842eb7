import type { Structure } from './contexts.ts';

// Verbs that open an order and seldom open a changelog line or a to-do item.
const ORDER_VERBS = new Set(
  "always never add check update remove explain configure protect scan pin treat mark keep pass use run prefer keep avoid ensure follow read verify validate treat ask stop wait limit consult respect obey assume refuse reject require restrict escalate confirm adhere include maintain document consider test log monitor apply respond begin start review see set do don\u2019t don't return write make only store place define explain describe choose provide implement open create submit call put let give name include report commit sign encrypt sanitize rotate deny separate enforce establish design perform install help take work show state prefer".split(
    ' ',
  ),
);
const STOP = /[.!?][)"'*_]{0,3}\s/g;
const OPENERS = new Set(['do', "don't", 'don\u2019t', 'please']);
// A negated or universal opener is an order whatever follows.
const DEONTIC =
  /\b(?:MUST|SHALL|SHOULD|REQUIRED|NEVER|ALWAYS|MAY NOT|NOT RECOMMENDED|RECOMMENDED)\b|\b(?:must(?: not)?|shall(?: not)?|should(?: not| never| always)?|(?:is|are) (?:required|expected|forbidden|prohibited|not allowed|not permitted) to|(?:is|are) (?:forbidden|prohibited|mandatory|not permitted)|needs? to be|has to be|have to be|you (?:have|need) to|may not|may only|violates?)\b(?! have\b)/;
// The capitals of a specification are an order whatever else the sentence tells.
const CAPITALS = /\b(?:MUST|SHALL|SHOULD|REQUIRED|MAY NOT|NOT RECOMMENDED)\b(?! have\b)/;
// An order in the second half of a sentence: `...; always use it`, `If so, please say it`, `Style: use tabs`.
const SECOND_HALF =
  /(?:[;:\u2014]|, (?:then )?)\s{0,2}(?:please|always|never|do not|don['\u2019]t|verify|make sure|be sure|ensure)\b|^[A-Z][\w -]{2,40}: (?:Always|Never|Use|Do not|Keep|Run|Create|Avoid|Prefer|use|keep|run|avoid|prefer)\b/;
const PAST =
  /\b(?:was|were|had|did|been|added|fixed|caused|failed|removed|updated|now|yesterday|ago|shipped|merged|changed|reported|because|due to)\b/;
const REPORTED =
  /\b(?:said|says|reported|stated|noted|asked|according to|error|message|test|asserts?|checks? that|claims?|why|whether|if)\b/i;

/** @returns the first standing order of the text, as one span (start, end), or an empty list: deontic sentences and imperatives to whoever reads, outside code, quotes and tables. */
export function standingOrders(text: string, structure: () => Structure): readonly number[] {
  for (let from = 0; from < text.length; ) {
    const newline = text.indexOf('\n', from);
    const to = newline < 0 ? text.length : newline;
    const span = orderIn(text.slice(from, Math.min(to, from + 4_000)), from);
    if (span !== null) {
      const block = structure().blockAt(from);
      if (block === 'prose' || block === 'list') return span;
    }
    from = to + 1;
  }
  return [];
}

function orderIn(line: string, base: number): readonly number[] | null {
  // Parts longer than a sentence are looked at in part only: this rule is a note, not a gate.
  for (let from = 0; from < line.length; ) {
    STOP.lastIndex = from;
    const stop = STOP.exec(line);
    const to = stop === null ? line.length : stop.index + 1;
    const sentence = line.slice(from, to).slice(0, 400);
    if (isOrder(sentence, from === 0)) {
      const lead = sentence.length - sentence.trimStart().length;
      return [base + from + lead, base + from + sentence.trimEnd().length];
    }
    from = to + 1;
  }
  return null;
}

/** What stands before the first word: list marks, numbers, boxes, emphasis. */
const LEAD = /^[\s>*_#+-]{0,20}(?:\d{1,3}[.)]\s{1,4})?(?:\[[ x]\]\s{1,4})?[*_~]{0,3}/;
const WORD = /^[^\s*_,:]{0,40}/;

function isOrder(sentence: string, opensLine: boolean): boolean {
  // Most sentences are told by these two; what stands in code and quotes is taken out only of the rest.
  const begins = (WORD.exec(sentence.replace(LEAD, ''))?.[0] ?? '').toLowerCase();
  const opens = ORDER_VERBS.has(begins) || OPENERS.has(begins);
  if (!opens && !DEONTIC.test(sentence)) return false;
  const plain = sentence.replace(/`[^`]{0,200}`/g, 'x').replace(/"[^"]{0,200}"|\u201c[^\u201d]{0,200}\u201d/g, 'x');
  const body = plain.replace(LEAD, '');
  const words = body.split(/[\s*_,:]{1,4}/, 3);
  if (CAPITALS.test(body)) return true;
  if (DEONTIC.test(body) && !PAST.test(body) && !REPORTED.test(body)) return true;
  if (SECOND_HALF.test(body) && !PAST.test(body)) return true;
  const first = (words[0] ?? '').toLowerCase();
  if (first === 'do' || first === "don't" || first === 'don\u2019t')
    return (first !== 'do' || (words[1] ?? '').toLowerCase() === 'not') && !PAST.test(body);
  if (first === 'please') return true;
  return (
    opensLine &&
    ORDER_VERBS.has(first) &&
    /^[A-Z]/.test(body) &&
    body.length > 12 &&
    !PAST.test(body) &&
    !/^\w+ (?:of|is|are|has|have|to|now)\b/.test(body)
  );
}

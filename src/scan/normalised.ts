import { type View, ViewBuilder } from './view.ts';

// Units that folding may change and that plain prose in any script seldom mixes in. Symbols, dashes, curly quotes and emoji are left out on purpose: they hide nothing.
const FOLDABLE =
  /[\u00ad\u00c0-\u024f\u0370-\u03ff\u0400-\u052f\u0531-\u0587\u061c\u13a0-\u13ff\u1d00-\u1dbf\u1e00-\u1fff\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2100-\u214f\u2460-\u24ff\ua4d0-\ua4ff\uab30-\uabbf\ufeff\uff10-\uff19\uff21-\uff3a\uff41-\uff5a]|[\u0300-\u036f]|[\u180b-\u180f]|\ud835[\udc00-\udfff]|\ud83c[\udd10-\udd89]/;
const FOLDABLE_ALL = new RegExp(`(?:${FOLDABLE.source})`, 'g');
const REMOVED =
  /[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]|[\u0300-\u036f]|[\ufe00-\ufe0f\u180b-\u180d\u180f]/;

// Letters of other scripts that are drawn like Latin ones, after NFKC and lower-casing are left to the patterns.
const LOOKALIKES: Readonly<Record<string, string>> = Object.fromEntries(
  [
    ['\u0430\u03b1\u0251', 'a'],
    ['\u0432\u0412\u0392', 'B'],
    ['\u0441\u03f2\u1d04', 'c'],
    ['\u0501', 'd'],
    ['\u0435\u0451\u03b5', 'e'],
    ['\u0493\u03dd', 'f'],
    ['\u0261\u0581', 'g'],
    ['\u04bb\u0570', 'h'],
    ['\u0456\u0457\u03b9\u0131\u0269', 'i'],
    ['\u0458\u03f3', 'j'],
    ['\u043a\u03ba', 'k'],
    ['\u04cf\u0627\u2113', 'l'],
    ['\u043c', 'm'],
    ['\u0438\u0578\u03b7', 'n'],
    ['\u043e\u03bf\u0585\u03c3', 'o'],
    ['\u0440\u03c1', 'p'],
    ['\u051b', 'q'],
    ['\u0433', 'r'],
    ['\u0455', 's'],
    ['\u0442\u03c4', 't'],
    ['\u057d\u03c5\u1d1c', 'u'],
    ['\u03bd\u1d20', 'v'],
    ['\u051d\u0461\u03c9', 'w'],
    ['\u0445\u03c7', 'x'],
    ['\u0443\u04af\u03b3', 'y'],
    ['\u1d22', 'z'],
    ['\u0410\u0391', 'A'],
    ['\u0421\u03f9', 'C'],
    ['\u0415\u0395', 'E'],
    ['\u041d\u0397', 'H'],
    ['\u0406\u0399\u04c0', 'I'],
    ['\u0408', 'J'],
    ['\u041a\u039a', 'K'],
    ['\u041c\u039c', 'M'],
    ['\u039d', 'N'],
    ['\u041e\u039f', 'O'],
    ['\u0420\u03a1', 'P'],
    ['\u0405', 'S'],
    ['\u0422\u03a4', 'T'],
    ['\u0425\u03a7', 'X'],
    ['\u0423\u03a5', 'Y'],
    ['\u0396', 'Z'],
  ].flatMap(([letters, latin]) => [...(letters as string)].map((letter) => [letter, latin as string])),
);

/**
 * The paragraphs in which folding changes something, folded: NFKC, look-alikes and accents to plain Latin letters,
 * invisible characters gone. Null where there is none, so plain text pays one test.
 */
export function normalisedView(text: string): View | null {
  if (!FOLDABLE.test(text)) return null;
  const builder = new ViewBuilder('normalised', text);
  let doneTo = 0;
  FOLDABLE_ALL.lastIndex = 0;
  for (let match = FOLDABLE_ALL.exec(text); match !== null; match = FOLDABLE_ALL.exec(text)) {
    if (match.index < doneTo) continue;
    const { from, to } = neighbourhood(text, match.index, doneTo);
    fold(text, from, to, builder);
    builder.cut();
    doneTo = to;
    FOLDABLE_ALL.lastIndex = Math.max(to, match.index + 1);
  }
  return builder.build();
}

// The line of an odd character and its neighbours: a phrase may be wrapped.
function neighbourhood(text: string, at: number, floor: number): { from: number; to: number } {
  const lineBefore = text.lastIndexOf('\n', at - 1);
  const from = lineBefore <= 0 ? 0 : text.lastIndexOf('\n', lineBefore - 1) + 1;
  const lineAfter = text.indexOf('\n', at);
  const to = lineAfter < 0 ? -1 : text.indexOf('\n', lineAfter + 1);
  return { from: Math.max(floor, from), to: to < 0 ? text.length : to + 1 };
}

function fold(text: string, from: number, to: number, builder: ViewBuilder): void {
  let plainFrom = from;
  let i = from;
  while (i < to) {
    const code = text.charCodeAt(i);
    if (code < 0x80) {
      i++;
      continue;
    }
    const char = String.fromCodePoint(text.codePointAt(i) as number);
    const folded = foldChar(char);
    if (folded !== char) {
      if (plainFrom < i) builder.copy(plainFrom, i);
      builder.put(folded, i, i + char.length);
      plainFrom = i + char.length;
    }
    i += char.length;
  }
  if (plainFrom < to) builder.copy(plainFrom, to);
}

function foldChar(char: string): string {
  if (REMOVED.test(char)) return '';
  if (!FOLDABLE.test(char)) return char;
  const plain = char.normalize('NFKD').replace(/[\u0300-\u036f]/g, '');
  return [...plain].map((letter) => LOOKALIKES[letter] ?? letter).join('');
}

// A string, a comment of either kind, or one mark: whatever stands outside of strings is seen one piece at a time.
const PIECE = /"[^"\\\r\n]*(?:\\[^\r\n][^"\\\r\n]*)*"?|\/\/[^\r\n]*|\/\*[\s\S]*?(?:\*\/|$)|[^\s\ufeff]/g;

/**
 * Turns the JSON that hosts take for their settings (comments, a comma behind the last item, a byte order mark) into JSON of the same length and lines, so
 * that the strict reader can tell places. Anything else stays and is the strict reader's to refuse. Linear in the text.
 */
export function toStrictJson(text: string): string {
  const blanks: (readonly [number, number])[] = text.startsWith('\ufeff') ? [[0, 1]] : [];
  let comma: readonly [number, number] | null = null;
  // Behind nothing, a comma is a fault.
  let before = ',';
  for (const { 0: piece, index } of text.matchAll(PIECE)) {
    const place = [index, index + piece.length] as const;
    if (piece.startsWith('//') || (piece.startsWith('/*') && piece.length > 3 && piece.endsWith('*/')))
      blanks.push(place);
    else {
      // Comments may have come in between, so it can lie before the last of them.
      if (comma !== null && (piece === ']' || piece === '}')) blanks.push(comma);
      comma = piece === ',' && !/^[[{,:]$/.test(before) ? place : null;
      before = piece;
    }
  }
  if (blanks.length === 0) return text;
  blanks.sort(([a], [b]) => a - b);
  const out: string[] = [];
  let from = 0;
  for (const [start, end] of blanks) {
    out.push(text.slice(from, start), text.slice(start, end).replace(/[^\r\n]/g, ' '));
    from = end;
  }
  return `${out.join('')}${text.slice(from)}`;
}

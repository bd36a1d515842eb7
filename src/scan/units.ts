/** Room that is kept from one call to the next, units: at first, and at most (8 MB). */
const FIRST = 65_536;
const MOST = 4_194_304;
/** Whether this machine puts the low byte of a number first. */
export const isLittleEndian = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1;
let kept: Uint16Array | null = null;
/** The text whose units `kept` holds. */
let keptOf: string | null = null;

/**
 * The UTF-16 units of a text as numbers, which loops read several times faster than a string. The array may be longer than the text, and is good only
 * until the next call: texts share one, because fresh memory costs more than the copy.
 */
export function unitsOf(text: string): Uint16Array {
  const { length } = text;
  // One scan asks several times for the units of one text.
  if (kept !== null && keptOf === text) return kept;
  const units = roomFor(length);
  keptOf = units === kept ? text : null;
  // Node writes units in little-endian order whatever the machine.
  if (isLittleEndian) Buffer.from(units.buffer, units.byteOffset, length * 2).write(text, 'utf16le');
  else for (let i = 0; i < length; i++) units[i] = text.charCodeAt(i);
  return units;
}

function roomFor(length: number): Uint16Array {
  if (kept !== null && length <= kept.length) return kept;
  if (length > MOST) return new Uint16Array(length);
  let size = FIRST;
  while (size < length) size *= 2;
  kept = new Uint16Array(size);
  return kept;
}

/** @returns whether every unit is ASCII: then no test for look-alikes or invisible characters can find anything. */
export function isAsciiText(text: string): boolean {
  return Buffer.byteLength(text, 'utf8') === text.length;
}

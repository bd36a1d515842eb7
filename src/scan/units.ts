/** Units of a text kept from one call to the next. */
const KEPT = 65_536;
const isLittleEndian = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1;
let kept: Uint16Array | null = null;

/**
 * The UTF-16 units of a text as numbers, which loops read several times faster than a string. The array may be longer than the text, and is good only
 * until the next call: several texts of ordinary size share one.
 */
export function unitsOf(text: string): Uint16Array {
  const { length } = text;
  let units: Uint16Array;
  if (length > KEPT) units = new Uint16Array(length);
  else {
    kept ??= new Uint16Array(KEPT);
    units = kept;
  }
  // Node writes units in little-endian order whatever the machine.
  if (isLittleEndian) Buffer.from(units.buffer, units.byteOffset, length * 2).write(text, 'utf16le');
  else for (let i = 0; i < length; i++) units[i] = text.charCodeAt(i);
  return units;
}

/** @returns whether every unit is ASCII: then no test for look-alikes or invisible characters can find anything. */
export function isAsciiText(text: string): boolean {
  return Buffer.byteLength(text, 'utf8') === text.length;
}

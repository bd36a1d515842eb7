/** @returns the one spelling of a floor id, `F02` for `F2` and `F02`, or null for what is no floor id. Which floors there are is data of a workspace. */
export function floorOf(text: string): string | null {
  const found = /^F0?([1-9]\d?)$/.exec(text);
  return found?.[1] === undefined ? null : `F${found[1].padStart(2, '0')}`;
}

/** @returns every floor id named in a text, each in its one spelling. */
export function floorsIn(text: string): ReadonlySet<string> {
  const named = [...text.matchAll(/\bF\d{1,2}\b/g)].map(([word]) => floorOf(word));
  return new Set(named.filter((one) => one !== null));
}

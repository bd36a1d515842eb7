import canonicalize from 'canonicalize';

/**
 * @returns the RFC 8785 form of a JSON value.
 * Throws on what I-JSON cannot carry: NaN, infinities, lone surrogates, cycles, bigint, and a value that is no JSON at all.
 */
export function canonicalJson(value: unknown): string {
  const text: string | undefined = canonicalize(value);
  if (typeof text !== 'string') throw new TypeError('not a JSON value');
  return text;
}

import { sha256Hex } from '../sign/digest.ts';

/**
 * Today's constitution as `sha256:<hex>`: one document, the hash of its bytes; several, the hash over the lines
 * `<sha256>  <path>` in path order (formats.md).
 * @returns null where there is no document.
 */
export function constitutionHash(documents: ReadonlyMap<string, string>): string | null {
  const entries = [...documents].sort(([a], [b]) => (a < b ? -1 : 1));
  const [first] = entries;
  if (!first) return null;
  if (entries.length === 1) return `sha256:${first[1]}`;
  return `sha256:${sha256Hex(entries.map(([path, hash]) => `${hash}  ${path}\n`).join(''))}`;
}

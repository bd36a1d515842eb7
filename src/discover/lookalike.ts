import { fold, isPlain } from './skeleton.ts';

/** The exact spellings that names are compared with once case is set aside. */
export interface Spellings {
  /** Lower-case to exact: whole file names. */
  readonly names: ReadonlyMap<string, string>;
  /** Lower-case to exact: folders that belong to a host, all of which begin with a dot. */
  readonly folders: ReadonlyMap<string, string>;
  /** Lower-case to exact: names and folders that mean something only inside a host's folder. */
  readonly inner: ReadonlyMap<string, string>;
}

// Words that honest projects use for ordinary documents; spelt lower-case or Capitalised they are nobody's init path on a file system that tells case apart.
const WORDS = new Set([
  'SOUL.md',
  'IDENTITY.md',
  'USER.md',
  'MEMORY.md',
  'TOOLS.md',
  'BOOT.md',
  'BOOTSTRAP.md',
  'HEARTBEAT.md',
]);
const NESTED_WORDS = new Set(['AGENTS.md', 'AGENT.md']);
const DOCUMENTATION =
  /(?:^|\/)(?:docs?|documentation|guides?|wiki|website|site|content|pages|posts|blog|references?|book|manual|tutorials?|articles?)(?:\/|$)/i;
const ORDINARY_SPELLING = /^[A-Za-z][a-z]*(?:\.[a-z]+)*$/;

/** What a folder name stands for once look-alikes are read as what they imitate. */
export function canonicalFolder(name: string, inHostFolder: boolean, known: () => Spellings): string {
  if (name.toLowerCase() === name && isPlain(name)) return name;
  const read = isPlain(name) ? name : fold(name);
  const lower = read.toLowerCase();
  const spellings = known();
  return spellings.folders.get(lower) ?? (inHostFolder ? spellings.inner.get(lower) : undefined) ?? read;
}

/** The exact names a file name may imitate, best first; the name itself is never among them. Empty for nearly every file. */
export function imitated(name: string, inHostFolder: boolean, spellings: Spellings): readonly string[] {
  const read = isPlain(name) ? name : fold(name);
  const lower = read.toLowerCase();
  const exact = spellings.names.get(lower) ?? (inHostFolder ? spellings.inner.get(lower) : undefined);
  if (exact === undefined && read === name && lower === name) return [];
  const dot = read.lastIndexOf('.');
  const all = [exact ?? read, read.slice(0, dot + 1) + lower.slice(dot + 1), ...(inHostFolder ? [lower] : [])];
  return all.filter((one) => one !== name);
}

/** @returns whether a name differs only in case from an init path and is what an honest project would call a document there. */
export function isOrdinary(name: string, exact: string, folder: string): boolean {
  if (!ORDINARY_SPELLING.test(name) || !exact.endsWith('.md') || name.toLowerCase() !== exact.toLowerCase())
    return false;
  return WORDS.has(exact) || (folder !== '' && NESTED_WORDS.has(exact)) || DOCUMENTATION.test(folder);
}

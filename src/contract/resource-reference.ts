/** A resource of another repository: `host/owner/repo:table/name` (contracts.md). */
export interface ResourceReference {
  /** Normalised as a workspace id. */
  readonly workspace: string;
  readonly table: string;
  readonly name: string;
}

const MAX = 512;

/** The identity of a workspace from the address of its remote, in any of git's spellings: `github.com/owner/repo`. */
export function normaliseRemote(address: string): string {
  let text = address.trim().toLowerCase();
  text = text.replace(/^(?:git\+)?(?:https?|ssh):\/\//, '').replace(/^git:\/\//, '');
  if (text.startsWith('git@')) text = text.slice(4).replace(':', '/');
  return text
    .replace(/\/{1,64}$/, '')
    .replace(/\.git$/, '')
    .replace(/\/{1,64}$/, '');
}

/** @returns the reference in its one spelling, or null where a text is none: host, owner and repo, then table and name. */
export function parseResourceReference(text: string): ResourceReference | null {
  if (text.length > MAX) return null;
  const cut = text.lastIndexOf(':');
  const slash = text.indexOf('/', cut);
  if (cut <= 0 || slash === -1) return null;
  const workspace = normaliseRemote(text.slice(0, cut));
  const table = text.slice(cut + 1, slash);
  const name = text.slice(slash + 1);
  const parts = workspace.split('/');
  if (parts.length < 3 || !parts.every((part) => /^[a-z0-9][\w.-]{0,99}$/.test(part) && part !== '..')) return null;
  if (!parts[0]?.includes('.')) return null;
  if (!/^[A-Za-z][\w-]{0,63}$/.test(table) || !/^[\w][\w./-]{0,255}$/.test(name) || name.split('/').includes('..'))
    return null;
  return { workspace, table, name };
}

/** The one spelling of a reference. */
export function renderResourceReference({ workspace, table, name }: ResourceReference): string {
  return `${workspace}:${table}/${name}`;
}

/** @returns whether a text is meant as such a reference and is not spelt as one: an address of a repository followed by a table and a name. */
export function isMisspeltReference(text: string): boolean {
  if (text.length > MAX || /\s/.test(text)) return false;
  const looks = /^(?:(?:git\+)?(?:https?|ssh):\/\/|git@)?[\w.-]+\.[a-z]{2,}[/:][\w./-]+:[\w-]+\/[\w./-]+$/i.test(text);
  if (!looks) return false;
  const parsed = parseResourceReference(text);
  return parsed === null || renderResourceReference(parsed) !== text;
}

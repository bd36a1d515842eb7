export const ROLES = ['unknown', 'specialist', 'orchestrator', 'approver', 'sovereign'] as const;
export type Role = (typeof ROLES)[number];

const ALIASES: Readonly<Record<string, Role>> = {
  parent: 'orchestrator',
  child: 'specialist',
  sibling: 'specialist',
  worker: 'specialist',
};

/** @returns the role a word names (aliases included), or null. `unknown` is never granted by a word. */
export function toRole(word: string): Role | null {
  if (word === 'unknown') return null;
  return ROLES.find((role) => role === word) ?? ALIASES[word] ?? null;
}

/** @returns whether `a` holds more authority than `b`. */
export function outranks(a: Role, b: Role): boolean {
  return ROLES.indexOf(a) > ROLES.indexOf(b);
}

/** The pattern every principal and actor name matches, compared exactly: `evil[bot]` is not a name. */
export const PRINCIPAL_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

import type { Rank } from './rank.ts';
import type { Role } from './role.ts';

export const CLASSES = ['observation', 'operational_handoff', 'memory', 'guidance', 'policy', 'constitution'] as const;
export type ArtifactClass = (typeof CLASSES)[number];

export const LEVELS = ['T1', 'T2', 'T3'] as const;
export type Level = (typeof LEVELS)[number];

/** The highest rank a class may ever load at, whatever its proofs (WAJIB 8, artifact classes). */
export const CEILING: Readonly<Record<ArtifactClass, Rank>> = {
  observation: 'reference',
  operational_handoff: 'reference',
  memory: 'reference',
  guidance: 'advisory',
  policy: 'binding',
  constitution: 'binding',
};

const AUTHORS: Readonly<Record<ArtifactClass, readonly Role[]>> = {
  observation: ['unknown', 'specialist', 'orchestrator', 'approver', 'sovereign'],
  operational_handoff: ['specialist', 'orchestrator', 'approver', 'sovereign'],
  memory: ['specialist', 'orchestrator', 'approver', 'sovereign'],
  guidance: ['orchestrator', 'approver', 'sovereign'],
  policy: ['orchestrator', 'approver', 'sovereign'],
  constitution: ['orchestrator', 'approver', 'sovereign'],
};

/** @returns whether a proven role may write this class at all. */
export function mayAuthor(role: Role, cls: ArtifactClass): boolean {
  return AUTHORS[cls].includes(role);
}

const HIGHEST_LEVEL: Readonly<Record<Role, Level | null>> = {
  unknown: null,
  specialist: 'T1',
  orchestrator: 'T2',
  approver: 'T3',
  sovereign: 'T3',
};

/** @returns whether a role may claim this level for what it writes. */
export function mayClaim(role: Role, level: Level): boolean {
  const highest = HIGHEST_LEVEL[role];
  return highest !== null && LEVELS.indexOf(level) <= LEVELS.indexOf(highest);
}

/** @returns whether a role may approve this class at this level: a constitution and T3 need the sovereign, the rest an approver. */
export function mayApprove(role: Role, cls: ArtifactClass, level: Level): boolean {
  if (role === 'sovereign') return true;
  return role === 'approver' && cls !== 'constitution' && level !== 'T3';
}

/** Policy and constitution: the two classes that can bind and therefore need approval. */
export function canBind(cls: ArtifactClass | null): boolean {
  return cls === 'policy' || cls === 'constitution';
}

/** The class a board post of a kind stands for: only guidance is more than evidence (upstream 1.7: evidence is a mesh, authority a star). */
export function classOfKind(kind: string): ArtifactClass {
  return kind === 'guidance' ? 'guidance' : 'observation';
}

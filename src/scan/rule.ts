import type { Severity } from '../model/finding.ts';

/**
 * Where in a document a passage stands. The first six are read as speech to the reader; the rest are
 * mentions (code, quotes, descriptions of an attack) or places a human does not see.
 */
export const CONTEXTS = [
  'prose',
  'heading',
  'list',
  'table',
  'front-matter',
  'comment',
  'title',
  'hidden',
  'decoded',
  'fence',
  'code',
  'block-quote',
  'quoted',
  'described',
] as const;
export type Context = (typeof CONTEXTS)[number];

export const FAMILIES = [
  'forged-role',
  'hidden-unicode',
  'override',
  'authority',
  'concealment',
  'exfiltration',
  'coercion',
  'persistence',
  'remote-instructions',
  'safety',
  'judge',
  'padding',
  'encoded',
  'persona',
  'intent-claims-authority',
  'intent-mismatch',
] as const;
export type Family = (typeof FAMILIES)[number];

/** Tests that a pattern cannot express linearly; named by a rule file instead of patterns. */
export const DETECTORS = ['tag-characters', 'zero-width', 'bidi', 'padding', 'standing-orders'] as const;
export type Detector = (typeof DETECTORS)[number];

/** One part of a pattern; a pattern of several parts is found part by part, each near the last. */
export interface Step {
  readonly pattern: RegExp;
  /** Most units between the part before and this one; 0 for the first. */
  readonly within: number;
  /** Whether a line break may lie between. */
  readonly lines: boolean;
}

/** A rule without what it finds. */
export type RuleHead = Omit<Rule, 'literals' | 'patterns'>;

/** One rule of the scan, compiled from `policies/defaults/rules/<id>.yaml` or a user's rule file. */
export interface Rule {
  readonly id: string;
  readonly family: Family;
  readonly severity: Severity;
  /** Contexts in which a match has the rule's severity. */
  readonly contexts: readonly Context[];
  /** Contexts in which it counts one step lower; in any other it does not count. */
  readonly weak: readonly Context[];
  /** Lower-case strings, one of which stands within REACH of every match; empty only with a detector. */
  readonly literals: readonly string[];
  /** Each a list of steps whose global expressions the tests prove linear; empty only with a detector. */
  readonly patterns: readonly (readonly Step[])[];
  readonly detector: Detector | null;
  readonly why: string;
}

/** How far from its literal a match may begin or end, UTF-16 units. */
export const REACH = 240;

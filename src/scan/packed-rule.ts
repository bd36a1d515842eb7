import type { PackedTree } from './literal-tree.ts';
import type { Rule } from './rule.ts';

/** What a rule finds, as JSON can hold it: its literals, and for each pattern its steps as source, flags, `within` and `lines` of an expression. */
export interface PackedRule {
  readonly literals: readonly string[];
  readonly patterns: readonly (readonly PackedStep[])[];
}

type PackedStep = readonly [source: string, flags: string, within: number, lines: boolean];

/** Most patterns of one of the default rules. */
export const ROOM = 64;

/** What the build derived from the patterns of the default rules (src/build/needs.mjs). A pattern's number is ROOM times the place of its rule, plus its own place there. */
export interface PackedNeeds {
  /** For each pattern the strings of which every match holds one. */
  readonly tree: PackedTree;
  /** Patterns of which no such strings are known. */
  readonly always: readonly number[];
}

/** @returns what a rule finds, for a module made by the build. */
export function packRule({ literals, patterns }: Rule): PackedRule {
  return {
    literals,
    patterns: patterns.map((steps) =>
      steps.map(({ pattern, within, lines }) => [pattern.source, pattern.flags, within, lines] as const),
    ),
  };
}

/** @returns the literals of a packed rule as JSON. Throws where it is cut short. */
export function literalsIn(json: string): Rule['literals'] {
  return (JSON.parse(json) as PackedRule).literals;
}

/** @returns the patterns of a packed rule as JSON, made anew. Throws where it is cut short. */
export function patternsIn(json: string): Rule['patterns'] {
  return (JSON.parse(json) as PackedRule).patterns.map((steps) =>
    steps.map(([source, flags, within, lines]) => ({ pattern: new RegExp(source, flags), within, lines })),
  );
}

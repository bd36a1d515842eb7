import { type ImportSyntax, importsOf, mentionsOf } from '../discover/imports.ts';
import type { Parsed } from '../model/stages.ts';

/** The hops a host follows tell its syntax: Gemini five, Cursor one (facts 1.3, 1.4). */
const SYNTAX_OF_HOPS: ReadonlyMap<number, ImportSyntax> = new Map([
  [5, 'gemini'],
  [1, 'cursor'],
]);

/** @returns in which syntax a host that follows so many hops imports. */
export function syntaxOf(hops: number): ImportSyntax {
  return SYNTAX_OF_HOPS.get(hops) ?? 'claude';
}

/**
 * Finds what one text pulls in, at the place of each import.
 * @param locate where a target lies that is meant from a file, an empty name being the top of the workspace; nothing where it is only a word.
 */
export function targetsIn<At extends { readonly state: string }>(
  importer: Parsed,
  syntax: ImportSyntax,
  locate: (from: string, target: string, isSpelled: boolean) => readonly At[],
): readonly (At & { readonly line: number; readonly column: number })[] {
  const text = importer.text?.read() ?? '';
  const from = importer.aliasOf ?? importer.candidate.path;
  const find = (target: string, isSpelled: boolean): readonly At[] => {
    const near = locate(from, target, isSpelled);
    // Cursor means a file of the workspace; beside the rule it is looked for all the same.
    const far = syntax === 'cursor' ? locate('', target, isSpelled) : [];
    const there = [...near, ...far].filter((one) => one.state !== 'missing');
    return there.length > 0 ? there : far.length > 0 ? far : near;
  };
  const spelled = importsOf(text, syntax).flatMap((one) =>
    find(one.target, true).map((at) => ({ ...at, line: one.line, column: one.column })),
  );
  // A word behind an @ is an import only where a file of that name lies there; then the host opens it.
  const mentioned = mentionsOf(text, syntax).flatMap((one) =>
    find(one.target, false).map((at) => ({ ...at, line: one.line, column: one.column })),
  );
  return [...spelled, ...mentioned];
}

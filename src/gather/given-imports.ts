import { type ImportSyntax, resolveImport } from '../discover/imports.ts';
import type { ImportFact, Parsed } from '../model/stages.ts';
import { syntaxOf, targetsIn } from './import-targets.ts';

/**
 * What each text imports, where nothing but the given texts can be looked at: an import that leads to none of them is missing, so that it caps the
 * importer instead of going unseen. @returns by importing path; a text that imports nothing has no entry.
 */
export function givenImports(given: readonly Parsed[]): ReadonlyMap<string, readonly ImportFact[]> {
  const byPath = new Map(given.filter((one) => one.line === null).map((one) => [one.candidate.path, one]));
  const facts = new Map<string, readonly ImportFact[]>();
  for (const importer of byPath.values()) {
    const { importHops, path } = importer.candidate;
    const reached = importHops === 0 ? [] : reach(importer, byPath);
    if (reached.length > 0) facts.set(path, reached);
  }
  return facts;
}

function reach(importer: Parsed, byPath: ReadonlyMap<string, Parsed>): readonly ImportFact[] {
  const { importHops, path } = importer.candidate;
  const reached = new Map<string, ImportFact>();
  let level: readonly { readonly from: Parsed; readonly at: ImportFact | null }[] = [{ from: importer, at: null }];
  for (let hop = 0; hop < importHops && level.length > 0; hop += 1) {
    const next: { readonly from: Parsed; readonly at: ImportFact | null }[] = [];
    for (const { from, at } of level) {
      for (const found of targets(from, syntaxOf(importHops), byPath)) {
        if (reached.has(found.path) || found.path === path) continue;
        const fact = at === null ? found : { ...found, line: at.line, column: at.column };
        reached.set(found.path, fact);
        const target = byPath.get(found.path);
        if (target) next.push({ from: target, at: at ?? found });
      }
    }
    level = next;
  }
  return [...reached.values()];
}

function targets(from: Parsed, syntax: ImportSyntax, byPath: ReadonlyMap<string, Parsed>): readonly ImportFact[] {
  if (from.text?.read().includes('@') !== true) return [];
  return targetsIn(from, syntax, (importer, target, isSpelled): readonly Omit<ImportFact, 'line' | 'column'>[] => {
    const resolved = resolveImport(importer, target);
    const place = 'path' in resolved ? resolved.path : resolved.outside;
    const there = 'path' in resolved ? byPath.get(resolved.path) : undefined;
    if (there?.sha256) return [{ path: place, state: 'judged', sha256: there.sha256 }];
    // An absolute path is as often an alias in prose; a word behind an @ is an import only where a file of that name is.
    return isSpelled && !place.startsWith('/') ? [{ path: place, state: 'missing', sha256: null }] : [];
  });
}

import type { ImportSyntax } from '../discover/imports.ts';
import { configForm } from '../discover/named-paths.ts';
import { nestedFolderOf } from '../discover/nested.ts';
import type { WorkspaceRoot } from '../files/workspace-root.ts';
import type { Candidate } from '../model/source.ts';
import type { ImportFact, Parsed } from '../model/stages.ts';
import { syntaxOf, targetsIn } from './import-targets.ts';
import { type Found, locate, type Places } from './locate.ts';

/** Most files one file may pull in by `@import` that nothing else did: each has its own, so that no file can spend another's (hard rule 10). */
const MAX_IMPORTED = 1_000;
/** `@`, in any text. */
const AT = 0x40;

export interface Following extends Places {
  /** Everything read so far; grows by what `take` reads. */
  readonly byPath: Map<string, Parsed>;
  /** Reads and parses one more file. */
  readonly take: (candidate: Candidate) => Promise<void>;
  /** Says that hosts load a file that was read already in one more way. */
  readonly alsoUsed: (path: string, uses: Candidate['uses']) => void;
}

/**
 * Follows `@import`s breadth first, as deep as the importing host does (Claude 4 hops, Gemini 5), and reads what was not read
 * yet. What configuration names is followed no further. @returns for each importing file everything it reaches, at the place of the import that leads there.
 */
export async function followImports(following: Following): Promise<ReadonlyMap<string, readonly ImportFact[]>> {
  const { byPath } = following;
  const direct = new Map<string, readonly Found[]>();
  const findOf = (importer: Parsed, syntax: ImportSyntax): readonly Found[] => {
    const key = `${syntax} ${importer.candidate.path}`;
    const known = direct.get(key);
    if (known) return known;
    const found = hasImports(importer)
      ? targetsIn(importer, syntax, (from, target, isSpelled) => locate(from, target, following, isSpelled))
      : [];
    direct.set(key, found);
    return found;
  };
  const facts = new Map<string, readonly ImportFact[]>();
  const importers = [...byPath.values()];
  for (const importer of importers) {
    const { importHops: hops, outside, path } = importer.candidate;
    if (hops === 0 || outside || !hasImports(importer)) continue;
    const syntax = syntaxOf(hops);
    const reached = await reach(importer, hops, (from) => findOf(from, syntax), following);
    if (reached.length > 0) facts.set(path, reached);
  }
  const configs = importers.filter(namesFiles);
  if (configs.length === 0) return facts;
  const { findNamed } = await import('./named-files.ts');
  for (const [config, named] of await findNamed(configs, following)) {
    const reached = await reach(config, 1, () => named, following);
    if (reached.length > 0) facts.set(config.candidate.path, reached);
    for (const { path, state } of reached) if (state === 'judged') following.alsoUsed(path, config.candidate.uses);
  }
  return facts;
}

function namesFiles({ text, candidate }: Parsed): boolean {
  return (
    text !== null &&
    candidate.kind === 'executable' &&
    !candidate.outside &&
    candidate.confusableWith === null &&
    configForm(candidate.path) !== null
  );
}

/** Every import is spelt with an @, so most files are done here. */
function hasImports({ text, bytes }: Parsed): boolean {
  return text !== null && bytes?.includes(AT) === true;
}

async function reach(
  importer: Parsed,
  hops: number,
  findOf: (from: Parsed) => readonly Found[],
  following: Following,
): Promise<readonly ImportFact[]> {
  const { byPath, take } = following;
  const budget = { left: MAX_IMPORTED };
  const reached = new Map<string, ImportFact>();
  let level: readonly { readonly from: Parsed; readonly at: Found | null }[] = [{ from: importer, at: null }];
  for (let hop = 0; hop < hops && level.length > 0; hop += 1) {
    const next: { readonly from: Parsed; readonly at: Found | null }[] = [];
    for (const { from, at } of level) {
      for (const found of findOf(from)) {
        if (reached.has(found.path) || found.path === importer.candidate.path) continue;
        if (found.state === 'inside' && !byPath.has(found.path) && budget.left > 0) {
          budget.left -= 1;
          await take(importedCandidate(following.root, found.path, importer.candidate));
        }
        const target = byPath.get(found.path);
        reached.set(found.path, factOf(found, at ?? found, target));
        if (target?.text) next.push({ from: target, at: at ?? found });
      }
    }
    level = next;
  }
  return [...reached.values()];
}

function factOf(found: Found, place: Found, target: Parsed | undefined): ImportFact {
  const { line, column } = place;
  const fact = { path: found.path, line, column, sha256: null };
  if (found.state === 'escapes' || target?.findings.some((one) => one.code === 'path-escapes-root'))
    return { ...fact, state: 'escapes' };
  if (found.state === 'home' || found.state === 'remote') return { ...fact, state: found.state };
  if (found.state === 'unread') return { ...fact, state: 'unread', why: found.why ?? '' };
  if (!target || target.sha256 === null) return { ...fact, state: 'missing' };
  return { ...fact, state: 'judged', sha256: target.sha256 };
}

function importedCandidate(root: WorkspaceRoot, path: string, importer: Candidate): Candidate {
  return {
    path,
    kind: 'prose',
    uses: importer.uses,
    nested: importer.nested ?? nestedFolderOf(root.path, path),
    confusableWith: null,
    outside: false,
    importHops: 0,
  };
}

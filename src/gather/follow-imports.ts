import { statSync } from 'node:fs';
import { join } from 'node:path';
import { type ImportSyntax, importsOf, mentionsOf, resolveImport } from '../discover/imports.ts';
import { nestedFolderOf } from '../discover/nested.ts';
import { toRelative, type WorkspaceRoot } from '../files/workspace-root.ts';
import type { Candidate } from '../model/source.ts';
import type { ImportFact, Parsed } from '../model/stages.ts';

/** Most files one file may pull in by `@import` that nothing else did: each has its own, so that no file can spend another's (hard rule 10). */
const MAX_IMPORTED = 1_000;
/** Hops Gemini follows; its syntax is told by them (facts 1.3). */
const GEMINI_HOPS = 5;
/** `@`, in any text. */
const AT = 0x40;

export interface Following {
  readonly root: WorkspaceRoot;
  readonly home: string;
  /** Where the workspace lies; another folder than `root` for a tree laid out elsewhere. */
  readonly place: string;
  /** Everything read so far; grows by what `take` reads. */
  readonly byPath: Map<string, Parsed>;
  /** Reads and parses one more file. */
  readonly take: (candidate: Candidate) => Promise<void>;
}

interface Found {
  readonly path: string;
  readonly state: 'inside' | 'escapes' | 'missing' | 'home';
  readonly line: number;
  readonly column: number;
}

/**
 * Follows `@import`s breadth first, as deep as the importing host does (Claude 4 hops, Gemini 5), and reads what was not read
 * yet. @returns for each importing file everything it reaches, at the place of the import that leads there.
 */
export async function followImports(following: Following): Promise<ReadonlyMap<string, readonly ImportFact[]>> {
  const { byPath } = following;
  const direct = new Map<string, readonly Found[]>();
  const findOf = (importer: Parsed, syntax: ImportSyntax): readonly Found[] => {
    const key = `${syntax} ${importer.candidate.path}`;
    const known = direct.get(key);
    if (known) return known;
    const found = hasImports(importer) ? targetsIn(importer, syntax, following) : [];
    direct.set(key, found);
    return found;
  };
  const facts = new Map<string, readonly ImportFact[]>();
  for (const importer of [...byPath.values()]) {
    const { importHops: hops, outside, path } = importer.candidate;
    if (hops === 0 || outside || !hasImports(importer)) continue;
    const budget = { left: MAX_IMPORTED };
    const reached = await reach(
      importer,
      (from) => findOf(from, hops === GEMINI_HOPS ? 'gemini' : 'claude'),
      following,
      budget,
    );
    if (reached.length > 0) facts.set(path, reached);
  }
  return facts;
}

/** Every import is spelt with an @, so most files are done here. */
function hasImports({ text, bytes }: Parsed): boolean {
  return text !== null && bytes?.includes(AT) === true;
}

async function reach(
  importer: Parsed,
  findOf: (from: Parsed) => readonly Found[],
  following: Following,
  budget: { left: number },
): Promise<readonly ImportFact[]> {
  const { byPath, take } = following;
  const reached = new Map<string, ImportFact>();
  let level: readonly { readonly from: Parsed; readonly at: Found | null }[] = [{ from: importer, at: null }];
  for (let hop = 0; hop < importer.candidate.importHops && level.length > 0; hop += 1) {
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

function targetsIn(importer: Parsed, syntax: ImportSyntax, following: Following): readonly Found[] {
  const text = importer.text?.read() ?? '';
  const from = importer.aliasOf ?? importer.candidate.path;
  const spelled = importsOf(text, syntax).flatMap((one) =>
    locate(from, one.target, following, true).map((at) => ({ ...at, line: one.line, column: one.column })),
  );
  // A word behind an @ is an import only where a file of that name lies there; then the host opens it.
  const mentioned = mentionsOf(text, syntax).flatMap((one) =>
    locate(from, one.target, following, false).map((at) => ({ ...at, line: one.line, column: one.column })),
  );
  return [...spelled, ...mentioned];
}

/** Where a target lies. A spelled path inside that is not there is missing; one outside that is not there is only a word. */
function locate(
  importer: string,
  target: string,
  { root, home, place }: Following,
  spelled: boolean,
): readonly Pick<Found, 'path' | 'state'>[] {
  const resolved = resolveImport(importer, target);
  if ('path' in resolved) {
    const there = isFile(join(root.path, resolved.path));
    return there
      ? [{ path: resolved.path, state: 'inside' }]
      : spelled
        ? [{ path: resolved.path, state: 'missing' }]
        : [];
  }
  const { outside } = resolved;
  const inHome = outside.startsWith('~/');
  const absolute = inHome ? join(home, outside.slice(2)) : outside.startsWith('/') ? outside : join(place, outside);
  const inside = toRelative({ path: place }, absolute);
  if (inside !== null && inside !== '')
    return isFile(join(root.path, inside)) ? [{ path: inside, state: 'inside' }] : [];
  // A climbing or home path that is not there yet is opened by the host once it appears; an absolute one is as often an alias in prose.
  if (!isFile(absolute)) return spelled && !outside.startsWith('/') ? [{ path: outside, state: 'missing' }] : [];
  // The user's own preferences under a host's folder are a documented use: they cap the importer, they do not condemn it.
  return [
    { path: outside, state: inHome && /^~\/\.(?:claude|gemini|codex|config)\//.test(outside) ? 'home' : 'escapes' },
  ];
}

function factOf(found: Found, place: Found, target: Parsed | undefined): ImportFact {
  const { line, column } = place;
  const fact = { path: found.path, line, column, sha256: null };
  if (found.state === 'escapes' || target?.findings.some((one) => one.code === 'path-escapes-root'))
    return { ...fact, state: 'escapes' };
  if (found.state === 'home') return { ...fact, state: 'home' };
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

function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

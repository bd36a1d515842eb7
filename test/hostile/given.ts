import { expect } from 'vitest';
import { type Artifact, type Finding, type Verdicts, Workspace } from '../support/workspace.ts';

/** The approved policy and the plain file that lie in every workspace here: whatever else is wrong, they are judged. */
export const APPROVED = 'GOOD_INIT.md';
export const PLAIN = 'AGENTS.md';

let first: Workspace | null = null;
const made: Workspace[] = [];

/** A governed workspace with one approved policy and one plain file, copied from the first so that each costs no process. */
export function given(): Workspace {
  if (first === null) {
    first = new Workspace().govern();
    first.must('orch', ['write', APPROVED, '--class', 'policy'], {
      input: '# Rules\n\nRun the tests before a merge.\n',
    });
    first.must('lead', ['approve', APPROVED, '--yes']);
    first.put(PLAIN, '# Notes\n\nThe tests live in test/.\n');
  }
  const copy = first.copy();
  made.push(copy);
  return copy;
}

/** Forgets every workspace of a test file. */
export function removeAll(): void {
  for (const one of [...made, ...(first ? [first] : [])]) one.remove();
  made.length = 0;
  first = null;
}

export type Checked = Verdicts & { readonly exit: number };

/** What one hostile input must come to. */
interface Expected {
  readonly path: string;
  readonly code: string;
  /** Line of the finding; left out where it has no place. */
  readonly line?: number;
  readonly rank: 'binding' | 'advisory' | 'reference' | 'quarantined';
  readonly exit: 0 | 1 | 4;
}

/** The only verdict on a path. */
export function only(checked: Verdicts, path: string, line: number | null = null): Artifact {
  const found = checked.artifacts.filter((one) => one.path === path && one.line === line);
  expect(found, `verdicts on ${path}: ${checked.artifacts.map((one) => one.path).join(', ')}`).toHaveLength(1);
  return found[0] as Artifact;
}

/** A code with a message and a cure to follow, on one artifact. */
export function hasFinding(findings: readonly Finding[], code: string): Finding {
  const found = findings.find((one) => one.code === code);
  expect(found, `${code} among ${findings.map((one) => `${one.code} (${one.message})`).join(', ')}`).toBeDefined();
  expect(found?.message.length).toBeGreaterThan(10);
  expect(found?.cure.length).toBeGreaterThan(10);
  return found as Finding;
}

/** The hostile input got its code, place and cure; everything else in the workspace was judged as ever. */
export function expectRefusal(checked: Checked, expected: Expected): Artifact {
  const one = only(checked, expected.path);
  const found = hasFinding(one.findings, expected.code);
  expect(found.line).toBe(expected.line ?? null);
  expect(one.rank).toBe(expected.rank);
  expectOthersJudged(checked, expected.path);
  expect(checked.exit).toBe(expected.exit);
  return one;
}

/** The approved policy still binds, the plain file is still evidence. */
export function expectOthersJudged(checked: Verdicts, except = ''): void {
  if (except !== APPROVED) expect(only(checked, APPROVED).rank).toBe('binding');
  if (except !== PLAIN) expect(only(checked, PLAIN).rank).toBe('reference');
}

/** Fields of a manifest that parses, as YAML lines below `context_manifest:`. */
export function fields(changes: Readonly<Record<string, string | null>> = {}): string {
  const all: Record<string, string | null> = {
    artifact_id: 'hostile-1',
    class: 'operational_handoff',
    author: 'spec',
    source_commit: 'null',
    authority_level: 'T1',
    approved_by: 'null',
    binding: 'false',
    created_at: '1790000000000',
    expires_at: '4000000000000',
    constitution_compatibility: 'null',
    supersedes: '[]',
    content_hash: 'null',
    ...changes,
  };
  return Object.entries(all)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `  ${name}: ${value}\n`)
    .join('');
}

/** A whole file with its manifest in front matter. */
export function fronted(changes: Readonly<Record<string, string | null>> = {}, body = 'The importer runs.\n'): string {
  return `---\ncontext_manifest:\n${fields(changes)}---\n${body}`;
}

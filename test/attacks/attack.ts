import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Artifact, codes, type Verdicts, type Workspace } from '../support/workspace.ts';

/** One attack: what it does to a governed workspace, and the verdict it must end in. */
export interface Attack {
  /** A sentence: the name of the test. */
  readonly name: string;
  /** Where the verdict is looked for. */
  readonly path: string;
  /** Line of a board. */
  readonly line?: number;
  /** The code that must say why. Null: the file is honest and must keep its rank. */
  readonly code: string | null;
  readonly rank: string;
  /** Codes that must not appear. */
  readonly without?: readonly string[];
  /** A hole that is known and not closed yet, and who can close it: the test then says so by failing as expected. */
  readonly hole?: string;
  readonly make: (ws: Workspace) => unknown;
}

/** Carries out attacks that do not touch each other in one workspace, and holds each against one `check`. */
export function attacks(title: string, open: () => Promise<Workspace>, table: readonly Attack[]): void {
  describe(title, () => {
    let ws: Workspace | undefined;
    let seen: (Verdicts & { readonly exit: number }) | undefined;
    beforeAll(async () => {
      ws = await open();
      for (const one of table) await one.make(ws);
      seen = ws.check();
    });
    afterAll(() => ws?.remove());

    it('exits 1 where anything was refused and 0 otherwise', () => {
      expect(seen?.exit).toBe(table.some((one) => one.rank === 'quarantined' && one.hole === undefined) ? 1 : 0);
    });

    for (const { name, path, line, code, rank, without, hole } of table) {
      (hole === undefined ? it : it.fails)(name, () => {
        const one = only(seen?.artifacts ?? [], path, line ?? null);
        if (code !== null) expect(codes(one)).toContain(code);
        for (const unwanted of without ?? []) expect(codes(one)).not.toContain(unwanted);
        expect(one.rank, codes(one).join(' ')).toBe(rank);
      });
    }
  });
}

/** The one verdict on a path; throws where there is none or more than one. */
export function only(artifacts: readonly Artifact[], path: string, line: number | null = null): Artifact {
  const found = artifacts.filter((one) => one.path === path && one.line === line);
  const [one] = found;
  if (!one || found.length > 1) throw new Error(`${path}: ${found.length} verdicts`);
  return one;
}

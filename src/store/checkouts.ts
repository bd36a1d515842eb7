import type { Kysely } from 'kysely';
import type { StateSchema } from './schema.ts';

/** A git common dir and the workspace id it was last judged under. */
export interface Checkout {
  readonly commonDir: string;
  readonly workspace: string;
}

/** Which workspace id each checkout had: another id there is `root-mismatch` (overview.md, pin). */
export interface Checkouts {
  /** @returns the workspace id, or null where the checkout was never seen. */
  get(commonDir: string): Promise<string | null>;
  /** Replaces what was remembered. */
  set(commonDir: string, workspace: string): Promise<void>;
  /** Ordered by folder. */
  list(): Promise<readonly Checkout[]>;
}

export function checkoutsOf(db: Kysely<StateSchema>): Checkouts {
  return {
    async get(commonDir) {
      const row = await db
        .selectFrom('checkouts')
        .select('workspace')
        .where('common_dir', '=', commonDir)
        .executeTakeFirst();
      return row?.workspace ?? null;
    },
    async set(commonDir, workspace) {
      await db
        .insertInto('checkouts')
        .values({ common_dir: commonDir, workspace })
        .onConflict((conflict) => conflict.column('common_dir').doUpdateSet({ workspace }))
        .execute();
    },
    async list() {
      const rows = await db.selectFrom('checkouts').selectAll().orderBy('common_dir').execute();
      return rows.map((row) => ({ commonDir: row.common_dir, workspace: row.workspace }));
    },
  };
}

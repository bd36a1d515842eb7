import type { Kysely } from 'kysely';
import type { StateSchema } from './schema.ts';

/** The highest policy set seen of a workspace. */
export interface SeenFloor {
  readonly version: number;
  /** The highest floor of any set seen, which need not be this version's. */
  readonly floor: number;
  /** Bare hex sha256 of the payload of the highest version; of two with one version, the first seen. */
  readonly digest: string;
}

export interface Floors {
  /** @returns null for a workspace never seen. */
  get(workspace: string): Promise<SeenFloor | null>;
  /** Raises what is remembered; a lower version or floor changes nothing. @returns what is remembered now. */
  raise(workspace: string, seen: SeenFloor): Promise<SeenFloor>;
}

export function floorsOf(db: Kysely<StateSchema>): Floors {
  return {
    get: (workspace) => get(db, workspace),
    raise: (workspace, seen) => db.transaction().execute((trx) => raise(trx, workspace, seen)),
  };
}

async function get(db: Kysely<StateSchema>, workspace: string): Promise<SeenFloor | null> {
  const row = await db.selectFrom('floors').selectAll().where('workspace', '=', workspace).executeTakeFirst();
  return row ? { version: Number(row.version), floor: Number(row.floor), digest: row.digest } : null;
}

async function raise(db: Kysely<StateSchema>, workspace: string, seen: SeenFloor): Promise<SeenFloor> {
  const known = await get(db, workspace);
  const newest = known !== null && known.version >= seen.version ? known : seen;
  const raised = { ...newest, floor: Math.max(seen.floor, known?.floor ?? seen.floor) };
  await db
    .insertInto('floors')
    .values({ workspace, version: raised.version, floor: raised.floor, digest: raised.digest })
    .onConflict((conflict) =>
      conflict.column('workspace').doUpdateSet({ version: raised.version, floor: raised.floor, digest: raised.digest }),
    )
    .execute();
  return { version: raised.version, floor: raised.floor, digest: raised.digest };
}

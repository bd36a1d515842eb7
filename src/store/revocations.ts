import type { Kysely } from 'kysely';
import type { StateSchema } from './schema.ts';

/** A revocation once seen. The envelope is kept whole so that its signature can be checked again. */
export interface RememberedRevocation {
  /** Bare hex sha256 of the payload. */
  readonly payloadDigest: string;
  readonly envelope: string;
}

/** Every revocation seen, so that one that vanishes from the workspace still applies (formats.md, `revocation-missing`). */
export interface Revocations {
  /** Remembers it once; never replaces or forgets one. */
  remember(workspace: string, payloadDigest: string, envelope: string): Promise<void>;
  /** Ordered by digest. */
  of(workspace: string): Promise<readonly RememberedRevocation[]>;
}

export function revocationsOf(db: Kysely<StateSchema>): Revocations {
  return {
    async remember(workspace, payloadDigest, envelope) {
      await db
        .insertInto('revocations')
        .values({ workspace, payload_digest: payloadDigest, envelope })
        .onConflict((conflict) => conflict.columns(['workspace', 'payload_digest']).doNothing())
        .execute();
    },
    async of(workspace) {
      const rows = await db
        .selectFrom('revocations')
        .select(['payload_digest', 'envelope'])
        .where('workspace', '=', workspace)
        .orderBy('payload_digest')
        .execute();
      return rows.map((row) => ({ payloadDigest: row.payload_digest, envelope: row.envelope }));
    },
  };
}

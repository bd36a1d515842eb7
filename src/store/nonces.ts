import type { Kysely } from 'kysely';
import type { StateSchema } from './schema.ts';

/** The nonces of board lines, each good for one line. */
export interface Nonces {
  /** Remembers the nonce. @returns whether it had been seen before; of two callers at once exactly one is told false. */
  seen(workspace: string, board: string, nonce: string): Promise<boolean>;
}

export function noncesOf(db: Kysely<StateSchema>): Nonces {
  return {
    async seen(workspace, board, nonce) {
      const inserted = await db
        .insertInto('nonces')
        .values({ workspace, board, nonce })
        .onConflict((conflict) => conflict.columns(['workspace', 'board', 'nonce']).doNothing())
        .returning('nonce')
        .executeTakeFirst();
      return inserted === undefined;
    },
  };
}

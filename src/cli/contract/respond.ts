import { type ContractPlace, readDraft } from '../../contract/draft.ts';
import type { Profile } from '../../contract/envelope.ts';
import { error } from '../../contract/error.ts';
import { envelopeOf, sealEnvelope } from '../../contract/finalize.ts';
import { nextOf } from '../../contract/next.ts';
import { validate } from '../../contract/validate.ts';
import { escapeText } from '../../model/escaped.ts';
import type { ContractRow, ContractTables } from '../../store/contracts.ts';
import { type Call, EXIT, type Exit } from '../command.ts';
import { printJson } from '../print-json.ts';
import { refused, tellDone } from './draft.ts';
import { reading } from './place.ts';

/** `writ contract next`: what to do with a row. With several ids their answers are put together: nothing is relayed as it is. */
export async function next(call: Call): Promise<Exit> {
  const ids = [...new Set(call.positionals)];
  return reading(call, async ({ workspace, place, contracts }) => {
    const answers = [];
    for (const id of ids) {
      const row = contracts === null ? null : await findRow(contracts, place, id);
      if (contracts === null || row === null)
        return tellDone(
          refused(
            error('ROW_UNKNOWN', 'id', `there is no row ${escapeText(id, 100)}; writ contract list names them`),
            'plan_status',
          ),
        );
      const draft = readDraft(place, row.contractId);
      const newer =
        draft !== null &&
        draft !== 'damaged' &&
        sealEnvelope(draft.envelope).digest !== row.digest &&
        row.cutReason === null
          ? draft.envelope
          : null;
      answers.push(
        nextOf({
          row,
          verdict: await validate(envelopeOf(row), {
            profile: row.profile as Profile,
            input: null,
            formOnly: false,
            // Whether it waited was asked when the row was written.
            isPending: async () => true,
          }),
          grants: await contracts.grantsOf(place.workspace, row.contractId),
          draft: newer,
          agents: ids.length,
          now: workspace.now,
        }),
      );
    }
    await printJson(answers.length === 1 ? answers[0] : { agents: answers.length, answers });
    return EXIT.ok;
  });
}

/** A row by its number or by its contract id. */
export async function findRow(
  contracts: ContractTables,
  place: ContractPlace,
  id: string,
): Promise<ContractRow | null> {
  if (/^[1-9]\d{0,14}$/.test(id)) return contracts.byId(place.workspace, Number(id));
  return contracts.row(place.workspace, id);
}

import { type ContractPlace, DRAFT_ID, type Draft, listDrafts, readDraft } from '../../contract/draft.ts';
import { type ContractError, PROFILES } from '../../contract/envelope.ts';
import { error } from '../../contract/error.ts';
import { isClean, sealEnvelope } from '../../contract/finalize.ts';
import { escapeText } from '../../model/escaped.ts';
import type { ContractTables } from '../../store/contracts.ts';
import { type Call, CannotError, oneOf, text, UsageError } from '../command.ts';

/** A draft, or why none can be meant. */
export type FoundDraft = { readonly draft: Draft } | { readonly refused: ContractError };

/**
 * The draft a call means: the one named by --draft-id; else the one whose turn is open, of the agent where --agent-id names one. Among several nothing
 * is guessed. `newest` allows the one written last where no turn is open, for calls that change nothing.
 */
export async function findDraft(
  call: Call,
  tables: Pick<ContractTables, 'row'> | null,
  place: ContractPlace,
  newest: boolean,
): Promise<FoundDraft> {
  const profile = oneOf(call, 'profile', PROFILES);
  const found = await seekDraft(call, tables, place, newest);
  if ('draft' in found && profile !== null && found.draft.profile !== profile)
    return none(`the draft ${found.draft.draftId} is of the profile ${found.draft.profile}, which it keeps`);
  return found;
}

async function seekDraft(
  call: Call,
  tables: Pick<ContractTables, 'row'> | null,
  place: ContractPlace,
  newest: boolean,
): Promise<FoundDraft> {
  const id = text(call, 'draft-id');
  if (id !== null) {
    if (!DRAFT_ID.test(id))
      throw new UsageError(`--draft-id takes what writ contract init printed, not ${escapeText(id, 120)}`);
    const draft = opened(place, id);
    return draft === null ? none(`there is no draft ${id} in this workspace`) : { draft };
  }
  const agent = text(call, 'agent-id');
  const drafts = listDrafts(place)
    .filter((one) => agent === null || one.id.startsWith(`${agent}.`))
    .map((one) => opened(place, one.id))
    .filter((draft) => draft !== null);
  const open: Draft[] = [];
  for (const draft of drafts) if (!(await isDone(draft, tables, place))) open.push(draft);
  const [only, second] = open.length > 0 ? open : drafts;
  if (only === undefined) return none('there is no draft in this workspace: writ contract init');
  if (second === undefined || (newest && open.length === 0)) return { draft: only };
  const named = (open.length > 0 ? open : drafts).slice(0, 8).map((one) => one.draftId);
  return none(`several drafts could be meant, name one with --draft-id: ${named.join(', ')}`);
}

function none(detail: string): FoundDraft {
  return { refused: error('DRAFT_UNKNOWN', 'draft_id', detail) };
}

function opened(place: ContractPlace, id: string): Draft | null {
  const draft = readDraft(place, id);
  if (draft === 'damaged')
    throw new CannotError(
      `DRAFT_DAMAGED: the draft ${id} does not hold what writ writes; its file lies in ${place.folder}`,
    );
  return draft;
}

async function isDone(
  draft: Draft,
  tables: Pick<ContractTables, 'row'> | null,
  place: ContractPlace,
): Promise<boolean> {
  const row = tables === null ? null : await tables.row(place.workspace, draft.draftId);
  return isClean(row) && row.digest === sealEnvelope(draft.envelope).digest;
}

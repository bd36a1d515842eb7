import { type Instant, isoOf } from '../../model/instant.ts';
import { isOpen, openStore } from '../../store/store.ts';
import { openHandoffs } from '../open-handoffs.ts';
import { type Check, ok, type Patient, type Subject, unchecked, warn } from './check.ts';

/** Handoffs that somebody still owes a word on, and who would be told. */
export const HANDOFFS: readonly Subject[] = [{ id: 'handoffs', run: checkHandoffs }];

async function checkHandoffs({ workspace, judgement, pins }: Patient): Promise<readonly Check[]> {
  const { set } = judgement;
  if (workspace.state.kind === 'none' || !set.intact || set.workspace === null) return [];
  const store = await openStore(workspace.state, 'read');
  if (store === null) return [];
  if (!isOpen(store)) return [unchecked('handoffs', `State cannot be used: ${store.unavailable}.`, 'writ log verify')];
  try {
    const open = await store.handoffs.open(set.workspace);
    if (open.length === 0) return [ok('handoffs', 'No handoff is open.')];
    const since = isoOf(Math.min(...open.map((one) => one.since)) as Instant);
    const told = set.policy.handoffs.escalateUrl !== null || (pins?.escalate ?? null) !== null;
    return [
      warn('handoffs', `Open since ${since}: ${openHandoffs(open)}.`, 'writ handoff list --open'),
      ...(told
        ? []
        : [
            warn(
              'handoffs',
              'Nobody is told when a handoff is not answered.',
              'Set handoffs.escalate.url in policy.yaml and run writ trust sign, or a command of your own in pins.yaml',
            ),
          ]),
    ];
  } finally {
    await store.close();
  }
}

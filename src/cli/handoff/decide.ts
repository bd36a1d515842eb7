import { decide as decideRow } from '../../handoff/receive.ts';
import { sealHandoff } from '../../handoff/seal.ts';
import { escapeJson, escapePath, escapeText } from '../../model/escaped.ts';
import type { HandoffArtifact } from '../../model/handoff.ts';
import { readWire } from '../../parse/handoff-envelope.ts';
import type { HandoffRow, HandoffSide } from '../../store/handoffs.ts';
import type { Store } from '../../store/store.ts';
import { type Call, EXIT, type Exit, RefusedError, text, UsageError } from '../command.ts';
import { print, tell } from '../output.ts';
import { writeOut } from '../write-out.ts';
import { type Desk, openDesk, openRows } from './authority.ts';
import { refusedBy, tellFindings, timesOf } from './create.ts';

/** `writ handoff accept`: takes over what waits here; or confirms, as its sender, an answer that came too late. */
export async function accept(call: Call): Promise<Exit> {
  return atDesk(call, async (desk, store) => {
    const row = await one(call, desk, store, ['received', 'sent']);
    if (row.side === 'sent') return confirmLate(row, desk, store);
    return decided(row, { state: 'accepted', reason: null }, desk, store);
  });
}

/** `writ handoff reject`: it stays with its sender, as it was. */
export async function reject(call: Call): Promise<Exit> {
  const reason = reasonOf(call);
  return atDesk(call, async (desk, store) =>
    decided(await one(call, desk, store, ['received']), { state: 'rejected', reason }, desk, store),
  );
}

/** `writ handoff return`: gives back what was accepted, as a new handoff that names the old one. Prints its envelope, to be sent. */
export async function giveBack(call: Call): Promise<Exit> {
  const reason = reasonOf(call);
  return atDesk(call, async (desk, store) => {
    const { workspace, signer, authority } = desk;
    const row = await one(call, desk, store, ['received']);
    if (row.receiver !== signer.identity.principal)
      throw new RefusedError('handoff-audience', `it is ${row.receiver} who accepted it`);
    if (row.state !== 'accepted' && row.state !== 'returned')
      throw new RefusedError('handoff-replayed', `it is ${row.state}; only what was accepted is given back`);
    const prev = readWire(Buffer.from((await store.handoffs.wire(row)) ?? ''));
    if ('code' in prev) throw refusedBy(prev);
    const was = prev.artifact as HandoffArtifact;
    const sealed = await sealHandoff(
      {
        to: row.sender,
        intent: was.task_intent,
        constraints: [],
        evidence: was.evidence,
        steps: was.reasoning_chain,
        floors: was.floor_state,
        next: was.next_actions,
        note: reason,
        level: 'T1',
        taskId: row.taskId,
        supersedes: null,
        returns: row.handoffId,
        ...timesOf(call, workspace.now),
        prev,
      },
      signer,
      authority,
      workspace.now,
    );
    if ('refused' in sealed) throw refusedBy(sealed.refused);
    const moved = await store.handoffs.move(row, ['accepted', 'returned'], {
      state: 'returned',
      changed: workspace.now,
      reason,
    });
    if (!moved) throw new RefusedError('handoff-replayed', 'somebody else decided about it meanwhile');
    await tellFindings(sealed.findings);
    const out = text(call, 'out');
    if (out === null) await print(escapeJson(sealed.text));
    else await writeOut(out, sealed.text);
    await tell(
      `writ: returned ${row.handoffId} to ${row.sender} as ${sealed.handoffId}${out === null ? '' : ` in ${escapePath(out)}`}; send it with: writ handoff send FILE --url URL`,
    );
    return EXIT.ok;
  });
}

async function atDesk(call: Call, work: (desk: Desk, store: Store) => Promise<Exit>): Promise<Exit> {
  const desk = await openDesk(call);
  const store = await openRows(desk.workspace, 'write');
  try {
    return await work(desk, store);
  } finally {
    await store.close();
  }
}

async function decided(
  row: HandoffRow,
  decision: { readonly state: 'accepted' | 'rejected'; readonly reason: string | null },
  { workspace, signer, authority }: Desk,
  store: Store,
): Promise<Exit> {
  const receiver = { rows: store.handoffs, signer, now: () => workspace.now };
  const done = await decideRow(row, decision, receiver, authority);
  if ('code' in done) throw new RefusedError(done.code, done.why);
  await print(
    `${JSON.stringify({ handoffId: row.handoffId, state: decision.state, from: row.sender, to: row.receiver })}\n`,
  );
  await tell(`writ: ${decision.state} ${row.handoffId} from ${row.sender}; its sender is told when it asks`);
  return EXIT.ok;
}

async function confirmLate(row: HandoffRow, { workspace, signer }: Desk, store: Store): Promise<Exit> {
  if (row.sender !== signer.identity.principal)
    throw new RefusedError('handoff-audience', `${row.sender} sent it, and confirms it or not`);
  if (row.state !== 'late')
    throw new RefusedError('handoff-replayed', `it is ${row.state}; only a late answer is confirmed`);
  if (
    !(await store.handoffs.move(row, ['late'], {
      state: 'accepted',
      changed: workspace.now,
      reason: 'confirmed after it was late',
    }))
  )
    throw new RefusedError('handoff-replayed', 'somebody else decided about it meanwhile');
  await print(
    `${JSON.stringify({ handoffId: row.handoffId, state: 'accepted', from: row.sender, to: row.receiver })}\n`,
  );
  await tell(`writ: confirmed: ${row.receiver} owns ${row.handoffId}`);
  return EXIT.ok;
}

/** The one row a word means, of the sides given in their order. Throws UsageError where it means none, or several. */
export async function one(
  call: Call,
  { id }: Pick<Desk, 'id'>,
  store: Pick<Store, 'handoffs'>,
  sides: readonly HandoffSide[],
): Promise<HandoffRow> {
  const word = call.positionals[0] ?? '';
  const named = await store.handoffs.named(id, word);
  // Its id says more than a task that several handoffs may share.
  const byId = named.filter((row) => row.handoffId === word || row.digest === word);
  const found = byId.length > 0 ? byId : named;
  for (const side of sides) {
    const rows = found.filter((row) => row.side === side);
    if (rows.length > 1)
      throw new UsageError(
        `${escapeText(word, 80)} means several handoffs: name one by its digest: ${rows.map((row) => row.digest).join(', ')}`,
      );
    if (rows[0]) return rows[0];
  }
  throw new UsageError(`there is no handoff ${escapeText(word, 80)} here; see: writ handoff list`);
}

function reasonOf(call: Call): string {
  const reason = text(call, 'reason') ?? '';
  if (reason.trim() === '' || reason.length > 2_000)
    throw new UsageError('--reason says why, in at most 2,000 characters');
  return reason;
}

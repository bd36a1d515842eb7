import { isVerified, openHandoff } from '../../handoff/open.ts';
import type { Store } from '../../store/store.ts';
import { type Call, EXIT, type Exit, flag } from '../command.ts';
import { openDesk, openRows } from './authority.ts';
import { readEnvelopeFile, refusedBy, tellFindings } from './create.ts';
import { printJson } from './print-json.ts';

/** `writ handoff verify`: the artifact of an envelope addressed to whoever asks, or why it is refused. Takes nothing over. */
export async function verify(call: Call): Promise<Exit> {
  const { bytes } = readEnvelopeFile(call.positionals[0] ?? '');
  const { workspace, authority, signer } = await openDesk(call);
  const store = await openRows(workspace, 'read');
  try {
    const opened = await openHandoff(bytes, {
      ...authority,
      now: workspace.now,
      audience: signer.identity.principal,
      seen: (question) => wasTaken(store, question),
    });
    if (!isVerified(opened)) throw refusedBy(opened.refused);
    await tellFindings(opened.findings);
    await printJson(opened.artifact, 1);
    return flag(call, 'strict') && opened.findings.length > 0 ? EXIT.refused : EXIT.ok;
  } finally {
    await store?.close();
  }
}

/** Looking twice at what nobody has decided about yet is no replay. */
async function wasTaken(
  store: Store | null,
  question: Parameters<Store['handoffs']['seen']>[0] & { readonly digest: string },
): Promise<boolean> {
  const rows = (await store?.handoffs.seen(question)) ?? [];
  return rows.some((row) => row.digest !== question.digest || row.state !== 'received');
}

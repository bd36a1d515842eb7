import { isVerified, openHandoff } from '../../handoff/open.ts';
import type { Store } from '../../store/store.ts';
import { type Call, EXIT, type Exit, flag, UsageError } from '../command.ts';
import { printJson } from '../print-json.ts';
import { openSigner, signingFile, signingName } from '../signing.ts';
import { openReader, openRows, type Reader } from './authority.ts';
import { readEnvelopeFile, refusedBy, tellFindings } from './create.ts';

/** `writ handoff verify`: the artifact of an envelope addressed to whoever asks, or why it is refused. Takes nothing over. */
export async function verify(call: Call): Promise<Exit> {
  const { bytes } = readEnvelopeFile(call.positionals[0] ?? '');
  const reader = await openReader(call);
  const { workspace, authority } = reader;
  const audience = await audienceOf(call, reader);
  const store = await openRows(workspace, 'read');
  try {
    const opened = await openHandoff(bytes, {
      ...authority,
      now: workspace.now,
      audience,
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

/** Who asks: by the key where one is given, else the name alone (cli.md: the audience is `--as`). Reading signs nothing. */
async function audienceOf(call: Call, { judgement }: Reader): Promise<string> {
  if (signingFile(call) !== null) return (await openSigner(call, judgement)).identity.principal;
  const name = signingName(call);
  if (name === null) throw new UsageError('--as names who the handoff is to be for');
  return name;
}

/** Looking twice at what nobody has decided about yet is no replay. */
async function wasTaken(
  store: Store | null,
  question: Parameters<Store['handoffs']['seen']>[0] & { readonly digest: string },
): Promise<boolean> {
  const rows = (await store?.handoffs.seen(question)) ?? [];
  return rows.some((row) => row.digest !== question.digest || row.state !== 'received');
}

import type { Authority } from '../../handoff/authority.ts';
import { escapeText } from '../../model/escaped.ts';
import { instantFromMs } from '../../model/instant.ts';
import { type Call, CannotError, EXIT, type Exit, flag, text, UsageError } from '../command.ts';
import { print, tell } from '../output.ts';
import type { Workspace } from '../workspace.ts';
import { openDesk, openRows, readAuthority } from './authority.ts';

/** How old what a server knows of the policy set may be, ms: a revocation counts within this time. */
const FRESH = 1_000;

/** `writ handoff serve`: takes handoffs until it is told to stop. Listens on this machine alone unless told. */
export async function serve(call: Call): Promise<Exit> {
  const { host, port } = listenOn(text(call, 'listen') ?? '127.0.0.1:0');
  const publicUrl = publicUrlOf(text(call, 'public-url'));
  const { workspace, signer } = await openDesk(call);
  const store = await openRows(workspace, 'write');
  const stop = stopSignal();
  const { serveHandoffs } = await import('../../handoff/serve.ts');
  try {
    const serving = await serveHandoffs(
      { host, port, publicUrl },
      {
        rows: store.handoffs,
        signer,
        queue: flag(call, 'queue'),
        authority: refreshed(call, workspace),
        now: () => instantFromMs(Date.now()) ?? workspace.now,
      },
      (line) => void tell(`writ: ${escapeText(line, 400)}`),
    ).catch((error: NodeJS.ErrnoException) => {
      throw new CannotError(`cannot listen on ${host}:${port}: ${error.code ?? error.message}`);
    });
    await print(`${JSON.stringify({ url: serving.url, card: serving.card, as: signer.identity.principal })}\n`);
    await stop;
    await serving.close();
    return EXIT.ok;
  } finally {
    await store.close();
  }
}

function listenOn(given: string): { readonly host: string; readonly port: number } {
  const found = /^(?:\[([0-9A-Fa-f:]+)\]|([A-Za-z0-9.-]+)):(\d{1,5})$/.exec(given);
  const port = Number(found?.[3] ?? -1);
  const host = found?.[1] ?? found?.[2];
  if (host === undefined || port > 65_535)
    throw new UsageError('--listen takes HOST:PORT like 127.0.0.1:0; port 0 takes a free one');
  return { host, port };
}

function publicUrlOf(given: string | null): string | null {
  if (given === null) return null;
  if (!URL.canParse(given) || !/^https?:$/.test(new URL(given).protocol))
    throw new UsageError('--public-url takes the http or https address that senders reach this server by');
  return new URL(given).href;
}

/** Who is who, read again where it is older than a second; all who ask at once wait for one reading. */
function refreshed(call: Call, workspace: Workspace): () => Promise<Authority> {
  let at = Number.NEGATIVE_INFINITY;
  let held: Promise<Authority> | null = null;
  return () => {
    const now = performance.now();
    if (held === null || now - at > FRESH) {
      at = now;
      const reading = readAuthority(call, workspace);
      held = reading;
      reading.catch(() => {
        if (held === reading) held = null;
      });
    }
    return held;
  };
}

function stopSignal(): Promise<void> {
  return new Promise((done) => {
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.once(signal, () => done());
  });
}

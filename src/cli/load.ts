import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder } from '../files/make-folder.ts';
import { writeAtomic } from '../files/write-atomic.ts';
import { toBootContext } from '../load/boot-context.ts';
import { renderBoot } from '../load/render-boot.ts';
import { escapeText } from '../model/escaped.ts';
import { exitOf, toVerdictsJson } from '../report/verdicts.ts';
import { judgeToBoot, knownHost, tellBoot } from './boot.ts';
import { type Call, EXIT, type Exit, flag, list, oneOf } from './command.ts';
import { isTerminal, print, STDOUT } from './output.ts';
import { openWorkspace, type Workspace } from './workspace.ts';

/** `writ load`: judge, quarantine, record, then the boot context on stdout. */
export async function load(call: Call): Promise<Exit> {
  const format = oneOf(call, 'format', ['markdown', 'json', 'text', 'none']) ?? 'markdown';
  const frame = oneOf(call, 'frame', ['delimit', 'datamark']) ?? 'delimit';
  const nonce = oneOf(call, 'nonce', ['random', 'stable']) ?? 'random';
  const hosts = hostsOf(call);
  const dry = flag(call, 'dry-run');
  const workspace = openWorkspace(call);
  const { judgement: full, moved, handoffs } = await judgeToBoot(call, workspace, dry);
  const boot = toBootContext(full.artifacts, {
    hosts,
    frame,
    secret: nonce === 'stable' ? machineSecret(workspace) : null,
  });
  await tellBoot(full, moved, boot, { raw: !dry, host: null, handoffs });
  if (format === 'json') {
    await print(
      `${JSON.stringify({ ...toVerdictsJson(full), boot: { nonce: boot.nonce, sections: boot.sections }, quarantine: moved.map(({ path, id, moved: gone }) => ({ path, id, moved: gone })), handoffs }, null, 1)}\n`,
    );
  } else if (format !== 'none') await print(forReader(renderBoot(boot, format)));
  const exit = exitOf(full, flag(call, 'strict'));
  const raw =
    flag(call, 'strict') && full.artifacts.some((one) => one.findings.some((found) => found.code === 'host-loads-raw'));
  return exit === EXIT.ok && (raw || boot.refused.length > 0) ? EXIT.refused : exit;
}

function hostsOf(call: Call): readonly string[] | null {
  const asked = list(call, 'host').map((host) => knownHost(host).name);
  return asked.length === 0 ? null : asked;
}

/** An agent gets the exact text; a person at a terminal gets it with nothing in it that moves the cursor. */
function forReader(text: string): string {
  if (!isTerminal(STDOUT)) return text;
  return text
    .split('\n')
    .map((line) => escapeText(line, Number.POSITIVE_INFINITY))
    .join('\n');
}

function machineSecret({ places }: Workspace): Uint8Array {
  const file = join(places.configDir, 'secret');
  if (!existsSync(file)) {
    makeFolder(places.configDir, 0o700);
    writeAtomic(file, randomBytes(32), 0o600);
  }
  return readFileSync(file);
}

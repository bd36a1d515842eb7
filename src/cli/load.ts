import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { enact, settleLeftovers, stateFault } from '../enact.ts';
import { makeFolder } from '../files/make-folder.ts';
import { writeAtomic } from '../files/write-atomic.ts';
import { judge } from '../gate.ts';
import { HOSTS } from '../generated/hosts.ts';
import { type BootContext, toBootContext } from '../load/boot-context.ts';
import { renderBoot } from '../load/render-boot.ts';
import { escapePath, escapeText } from '../model/escaped.ts';
import { exitOf, toVerdictsJson } from '../report/verdicts.ts';
import { reasonOf } from '../report/verdicts-text.ts';
import { suggestion } from './arguments.ts';
import { type Call, EXIT, type Exit, flag, list, oneOf, UsageError } from './command.ts';
import { isTerminal, print, STDOUT, tell } from './output.ts';
import { signingName } from './signing.ts';
import { openWorkspace, toRequest, type Workspace } from './workspace.ts';

/** `writ load`: judge, quarantine, record, then the boot context on stdout. */
export async function load(call: Call): Promise<Exit> {
  const format = oneOf(call, 'format', ['markdown', 'json', 'text', 'none']) ?? 'markdown';
  const frame = oneOf(call, 'frame', ['delimit', 'datamark']) ?? 'delimit';
  const nonce = oneOf(call, 'nonce', ['random', 'stable']) ?? 'random';
  const hosts = hostsOf(call);
  const dry = flag(call, 'dry-run');
  const workspace = openWorkspace(call);
  const base = toRequest(workspace, call, null);
  const fault = dry ? null : await stateFault(base);
  const request = { ...base, stateFault: fault };
  if (!dry && !base.observe)
    for (const left of settleLeftovers(request)) await tell(`writ: left over in quarantine/: ${left}`);
  const judgement = await judge(request);
  const enacted = dry ? { quarantine: [], findings: [] } : await enact(judgement, request, actorOf(call));
  const full = { ...judgement, findings: [...judgement.findings, ...enacted.findings] };
  const boot = toBootContext(judgement.artifacts, {
    hosts,
    frame,
    secret: nonce === 'stable' ? machineSecret(workspace) : null,
  });
  await report(full, enacted.quarantine, boot, call);
  if (format === 'json') {
    await print(
      `${JSON.stringify({ ...toVerdictsJson(full), boot: { nonce: boot.nonce, sections: boot.sections }, quarantine: enacted.quarantine.map(({ path, id, moved }) => ({ path, id, moved })) }, null, 1)}\n`,
    );
  } else if (format !== 'none') await print(forReader(renderBoot(boot, format)));
  const exit = exitOf(full, flag(call, 'strict'));
  const raw =
    flag(call, 'strict') &&
    judgement.artifacts.some((one) => one.findings.some((found) => found.code === 'host-loads-raw'));
  return exit === EXIT.ok && (raw || boot.refused.length > 0) ? EXIT.refused : exit;
}

function hostsOf(call: Call): readonly string[] | null {
  const known = HOSTS.map((host) => host.name);
  const asked = list(call, 'host');
  const wrong = asked.find((host) => !known.includes(host));
  if (wrong !== undefined)
    throw new UsageError(`there is no host ${wrong}${suggestion(wrong, known, '')}; known: ${known.join(', ')}`);
  return asked.length === 0 ? null : asked;
}

/** Who ran the command, for the ledger: a name, not a proof. */
export function actorOf(call: Call): string {
  const named = signingName(call);
  if (named !== null) return named;
  try {
    return userInfo().username;
  } catch {
    return 'unknown';
  }
}

/** Says plainly what was moved, how to get it back, and what the host will read all the same. */
async function report(
  judgement: Awaited<ReturnType<typeof judge>>,
  moved: readonly { readonly path: string; readonly id: string | null; readonly moved: boolean }[],
  boot: BootContext,
  call: Call,
): Promise<void> {
  if (judgement.enforcement === 'observe')
    await tell(
      'writ: observe: verdicts only; nothing is moved or blocked, and nothing below is called binding that is not',
    );
  for (const one of judgement.findings)
    await tell(`writ: ${one.code}: ${one.message}${one.cure === '' ? '' : ` Cure: ${one.cure}`}`);
  for (const one of moved) {
    const judged = judgement.artifacts.find(({ evidence }) => escapePath(evidence.parsed.candidate.path) === one.path);
    const reason = judged ? reasonOf(judged) : null;
    if (one.moved)
      await tell(
        `writ: moved ${one.path} to quarantine (${reason?.code ?? 'refused'}). To look at it: writ quarantine show ${one.id}. To bring it back once cured: writ quarantine release ${one.id}`,
      );
  }
  if (moved.some((one) => one.moved))
    await tell('writ: in a git work tree the moved files show up as deleted in git status');
  for (const one of judgement.artifacts) {
    const { path } = one.evidence.parsed.candidate;
    if (one.disposition === 'withhold' || (one.disposition === 'move' && judgement.enforcement === 'observe'))
      await tell(`writ: withheld ${escapePath(path)}: ${reasonOf(one)?.message ?? ''}`);
    const raw = one.findings.find((found) => found.code === 'host-loads-raw');
    if (raw && !flag(call, 'dry-run')) await tell(`writ: ${escapePath(path)}: ${raw.message}`);
  }
  for (const one of boot.refused)
    await tell(
      `writ: left out ${escapePath(one.evidence.parsed.candidate.path)}: its text holds the delimiter of the boot context`,
    );
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

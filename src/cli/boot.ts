import { userInfo } from 'node:os';
import type { HostProfile } from '../discover/profile.ts';
import { enact, type MoveResult, settleLeftovers, stateFault } from '../enact.ts';
import { type Judgement, judge, type Request } from '../gate.ts';
import { HOSTS } from '../generated/hosts.ts';
import type { BootContext } from '../load/boot-context.ts';
import { escapePath, escapeText } from '../model/escaped.ts';
import { reasonOf } from '../report/verdicts-text.ts';
import type { OpenCount } from '../store/handoffs.ts';
import { suggestion } from './arguments.ts';
import { type Call, UsageError } from './command.ts';
import { openHandoffs } from './open-handoffs.ts';
import { tell } from './output.ts';
import { signingName } from './signing.ts';
import { toRequest, type Workspace } from './workspace.ts';

/** What `load` and `exec` act on: one judgement, enacted. */
export interface Booted {
  /** With what enacting it found. */
  readonly judgement: Judgement;
  readonly moved: readonly MoveResult[];
  readonly request: Request;
  /** Handoffs that somebody still owes a word on. */
  readonly handoffs: readonly OpenCount[];
}

/** Judges, quarantines and records, as every boot does. `dry` judges alone. */
export async function judgeToBoot(call: Call, workspace: Workspace, dry: boolean): Promise<Booted> {
  const base = toRequest(workspace, call, null);
  const request = { ...base, stateFault: dry ? null : await stateFault(base) };
  if (!dry && !base.observe)
    for (const left of settleLeftovers(request)) await tell(`writ: left over in quarantine/: ${left}`);
  const judgement = await judge(request);
  const enacted = dry ? { quarantine: [], findings: [], handoffs: [] } : await enact(judgement, request, actorOf(call));
  const findings = [...judgement.findings, ...enacted.findings];
  return {
    judgement: { ...judgement, findings },
    moved: enacted.quarantine,
    request,
    handoffs: enacted.handoffs,
  };
}

/** @returns the profile of a host named on the command line; throws UsageError with the nearest name. */
export function knownHost(name: string): HostProfile {
  const known = HOSTS.map((host) => host.name);
  const found = HOSTS.find((host) => host.name === name);
  if (found === undefined)
    throw new UsageError(
      `there is no host ${escapeText(name, 64)}${suggestion(name, known, '')}; known: ${known.join(', ')}`,
    );
  return found;
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

/**
 * Says plainly what was moved, how to get it back, and what the host will read all the same.
 * @param told `handoffs`: those that are open; `raw`: nothing keeps the host from its own files; `host`: of what stays where it lies only what that host reads, null: all.
 */
export async function tellBoot(
  judgement: Judgement,
  moved: readonly MoveResult[],
  boot: BootContext,
  told: { readonly raw: boolean; readonly host: string | null; readonly handoffs: readonly OpenCount[] },
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
    const { path, uses, outside } = one.evidence.parsed.candidate;
    if (told.host !== null && (outside || !uses.some((use) => use.host === told.host || use.host === 'generic')))
      continue;
    if (one.disposition === 'withhold' || (one.disposition === 'move' && judgement.enforcement === 'observe'))
      await tell(`writ: withheld ${escapePath(path)}: ${reasonOf(one)?.message ?? ''}`);
    const note = told.raw ? one.findings.find((found) => found.code === 'host-loads-raw') : undefined;
    if (note) await tell(`writ: ${escapePath(path)}: ${note.message}`);
  }
  if (told.handoffs.length > 0)
    await tell(`writ: handoffs: ${openHandoffs(told.handoffs)}; see: writ handoff list --open`);
  for (const one of boot.refused)
    await tell(
      `writ: left out ${escapePath(one.evidence.parsed.candidate.path)}: its text holds the delimiter of the boot context`,
    );
}

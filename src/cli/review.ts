import { intro, isCancel, log, outro, select } from '@clack/prompts';
import { type Judgement, judge } from '../gate.ts';
import { escapePath, escapeText } from '../model/escaped.ts';
import { instantFromMs, isoOf } from '../model/instant.ts';
import type { Judged } from '../model/stages.ts';
import { type Held, listQuarantine, openHeld } from '../quarantine/list.ts';
import { REFUSALS, SigningRefused } from '../sign/refusal.ts';
import { type Call, CannotError, EXIT, type Exit, RefusedError, UsageError } from './command.ts';
import { isTerminal, paintFor, print, STDOUT, tell } from './output.ts';
import { judgeHeld, releaseHeld } from './quarantine.ts';
import { approve, type Done, exceptable, revoke, type Shown, sure, waive } from './review/acts.ts';
import { type Item, toQueue } from './review/queue.ts';
import { renderItem } from './review/show.ts';
import { openSigner, signingFile } from './signing.ts';
import { openWorkspace, toPaths, toRequest, type Workspace } from './workspace.ts';

const NO_TERMINAL =
  'review asks on a terminal, and there is none. The same by commands: writ check, writ approve PATH --yes, writ revoke PATH --reason TEXT, writ waive CODE PATH --owner NAME --reason TEXT --until 30d, writ quarantine release ID';

type Act = 'approve' | 'revoke' | 'waive' | 'release' | 'whole' | 'skip' | 'quit';

/** `writ review`: what is held and what waits for an approval, one after the other; nothing is signed but the bytes that were shown. */
export async function review(call: Call): Promise<Exit> {
  if (process.stdin.isTTY !== true || !isTerminal(STDOUT)) throw new UsageError(NO_TERMINAL);
  const workspace = openWorkspace(call);
  const paths = call.positionals.length === 0 ? null : toPaths(workspace, call.positionals);
  const whole = await judge(toRequest(workspace, call, null));
  // A wrong key is said before anybody has read forty texts.
  if (signingFile(call) !== null) await openSigner(call, whole);
  const { entries, faults } = listQuarantine(workspace.root);
  for (const one of faults) await tell(`writ: ${escapePath(one.file)}: ${one.why}`);
  const queue = toQueue(whole, entries, paths);
  intro(`writ review: ${queue.length} to decide`);
  if (signingFile(call) === null && queue.length > 0)
    log.info('Nothing can be signed without a key: --as NAME --key FILE, or WRIT_AS and WRIT_KEY.');
  const counts = { done: 0, left: 0, refused: 0 };
  for (const [index, item] of queue.entries()) {
    log.step(`${index + 1} of ${queue.length}`);
    const { outcome, ends } = await decide(call, item, whole);
    counts[outcome] += 1;
    if (ends) break;
  }
  const rest = queue.length - counts.done;
  outro(`${counts.done} decided, ${rest} left as ${rest === 1 ? 'it is' : 'they are'}`);
  if (counts.done > 0 && whole.set.workspace !== null) await tell(`Commit ${whole.set.dir}/ and the texts.`);
  if (counts.refused > 0) return EXIT.refused;
  return faults.length > 0 ? EXIT.unchecked : EXIT.ok;
}

/** Shows one item until something was decided of it. `refused`: something asked was refused, and then it was left; `ends`: the person has had enough. */
async function decide(
  call: Call,
  item: Item,
  whole: Judgement,
): Promise<{ readonly outcome: Done; readonly ends: boolean }> {
  let outcome: Done = 'left';
  let all = false;
  for (;;) {
    // Read anew each time, with the clock of now: what is shown next is what can be signed next.
    const workspace = openWorkspace(call);
    const opened =
      item.kind === 'held' ? await openRecord(call, workspace, item) : await openText(call, workspace, item);
    if (opened === null) {
      log.warn(`${escapePath(item.path)} is no longer there.`);
      return { outcome, ends: false };
    }
    const { judgement, judged, held } = opened;
    if (held !== null) await print(`${renderRecord(held)}\n`);
    const shown = await renderItem(judged, {
      state: workspace.state,
      live: judgement.proofs.live.all,
      paint: paintFor(STDOUT),
      whole: all,
    });
    await print(shown.text);
    const act = await askAct(call, judged, held !== null, shown.rest > 0);
    if (act === 'quit' || act === 'skip') return { outcome, ends: act === 'quit' };
    all = act === 'whole' || all;
    if (act === 'whole') continue;
    try {
      const done =
        act === 'release'
          ? await release(call, workspace, held)
          : await sign(act, {
              workspace,
              judgement,
              judged,
              signer: await openSigner(call, judgement),
              aliases: whole.artifacts.filter((one) => one.evidence.parsed.aliasOf === item.path),
            });
      if (done === 'done') return { outcome: done, ends: false };
      if (done === 'refused') outcome = done;
    } catch (error) {
      outcome = 'refused';
      log.error(toldOf(error));
    }
  }
}

async function sign(act: 'approve' | 'revoke' | 'waive', shown: Shown): Promise<Done> {
  if (act === 'approve') return approve(shown);
  return act === 'revoke' ? revoke(shown) : waive(shown);
}

async function release(call: Call, workspace: Workspace, held: Held | null): Promise<Done> {
  if (held === null || !(await sure(`Put ${escapePath(held.record.path)} back where it was?`))) return 'left';
  await releaseHeld(call, workspace, held, null);
  return 'done';
}

interface Opened {
  readonly judgement: Judgement;
  readonly judged: Judged;
  readonly held: Held | null;
}

async function openText(call: Call, workspace: Workspace, item: Item): Promise<Opened | null> {
  const judgement = await judge({ ...toRequest(workspace, call, [item.path]), onProgress: null });
  const judged = judgement.artifacts.find(
    ({ evidence }) => evidence.parsed.candidate.path === item.path && evidence.parsed.line === null,
  );
  const gone = judged?.evidence.parsed.bytes === null && judged.findings.some((one) => one.code === 'path-unreadable');
  return judged === undefined || gone ? null : { judgement, judged, held: null };
}

async function openRecord(
  call: Call,
  workspace: Workspace,
  item: Extract<Item, { kind: 'held' }>,
): Promise<Opened | null> {
  const held = openHeld(workspace.root, item.id);
  if ('refused' in held) return null;
  const { judgement, judged } = await judgeHeld(call, workspace, held, null);
  return judged === undefined ? null : { judgement, judged, held };
}

function renderRecord({ record }: Held): string {
  const at = instantFromMs(record.at);
  return `held in quarantine as ${record.id}${at === null ? '' : ` since ${isoOf(at)}`}: ${[...new Set(record.findings.map((one) => one.code))].join(', ')}; judged again below, as if it lay there`;
}

async function askAct(call: Call, judged: Judged, isHeld: boolean, hasMore: boolean): Promise<Act> {
  const canSign = signingFile(call) !== null;
  const { rank } = judged;
  const options: { value: Act; label: string; hint?: string }[] = [
    ...(isHeld
      ? [
          {
            value: 'release' as const,
            label: `release: ${rank === 'quarantined' ? 'would be refused again' : `would rank ${rank}`}`,
          },
        ]
      : []),
    ...(canSign && !isHeld
      ? [
          { value: 'approve' as const, label: 'approve', hint: 'shows all that is signed, then asks' },
          { value: 'revoke' as const, label: 'revoke', hint: 'for good' },
          ...(exceptable(judged).length > 0
            ? [{ value: 'waive' as const, label: 'waive', hint: exceptable(judged).join(', ') }]
            : []),
        ]
      : []),
    ...(hasMore ? [{ value: 'whole' as const, label: 'show all of it' }] : []),
    { value: 'skip', label: 'skip' },
    { value: 'quit', label: 'quit' },
  ];
  const chosen = await select<Act>({ message: 'What is to be done?', options, initialValue: 'skip' });
  return isCancel(chosen) ? 'quit' : chosen;
}

/** What went wrong with one act, in words; the queue goes on. Anything unforeseen ends it. */
function toldOf(error: unknown): string {
  if (error instanceof RefusedError) return `refused (${error.code}): ${escapeText(error.message, 2_000)}`;
  if (error instanceof SigningRefused) return `nothing was signed: ${REFUSALS[error.refused]}`;
  if (error instanceof UsageError || error instanceof CannotError) return escapeText(error.message, 2_000);
  throw error;
}

import { confirm, isCancel, log, select, text } from '@clack/prompts';
import { readOnce } from '../../files/read-once.ts';
import type { Judgement } from '../../gate.ts';
import { type ArtifactClass, CLASSES } from '../../model/artifact-class.ts';
import { CODES, type CodeName, isCodeName } from '../../model/codes.ts';
import { escapePath } from '../../model/escaped.ts';
import { instantFromDuration } from '../../model/instant.ts';
import { wasRead } from '../../model/source.ts';
import type { Judged } from '../../model/stages.ts';
import type { AcceptedRule } from '../../model/statement.ts';
import { MAX_EXCEPTION_DAYS } from '../../policy/exceptions.ts';
import type { KnownSigner } from '../../write/signer.ts';
import { approvalEnd } from '../approve.ts';
import { approveEach } from '../approve-each.ts';
import { RefusedError } from '../command.ts';
import { revokeJudged } from '../revoke.ts';
import { except } from '../waive.ts';
import type { Workspace } from '../workspace.ts';

/** What an act needs: one text as it was judged and shown, and who signs. */
export interface Shown {
  readonly workspace: Workspace;
  /** Of this text alone; its set and proofs are those of now. */
  readonly judgement: Judgement;
  /** Links that lead to the text. */
  readonly aliases: Judgement['artifacts'];
  readonly judged: Judged;
  readonly signer: KnownSigner;
}

/** How an act ended; `left` where the person thought better of it. */
export type Done = 'done' | 'left' | 'refused';

/** Asks for what an approval of it would need, shows all that will be signed, asks once more, and signs. */
export async function approve(shown: Shown): Promise<Done> {
  const { workspace, judgement, judged, signer, aliases } = shown;
  const wanted = judged.evidence.claimed === null ? await askClass() : null;
  if (wanted === undefined) return 'left';
  const accepts = await askAccepts(judged);
  if (accepts === null) return 'left';
  const outcome = await approveEach(
    workspace,
    // The set and the proofs of now, with the links that were seen when the queue was made.
    { ...judgement, artifacts: [...judgement.artifacts, ...aliases] },
    signer,
    [judged],
    {
      expiresAt: approvalEnd(judgement, workspace),
      accepts,
      class: wanted,
      level: 'T1',
      yes: false,
      shows: true,
      goesOn: true,
      agrees: sure,
    },
  );
  return outcome.refused > 0 ? 'refused' : outcome.approved > 0 ? 'done' : 'left';
}

/** Withdraws it for good, after a reason and a yes. */
export async function revoke(shown: Shown): Promise<Done> {
  const { workspace, judgement, judged, signer } = shown;
  const reason = await askText('Why is it withdrawn? A revocation is never undone.');
  if (reason === null || !(await sure(`Revoke ${escapePath(pathOf(judged))} as ${signer.identity.principal}?`)))
    return 'left';
  requireUnchanged(shown);
  await revokeJudged(workspace, { ...judgement, artifacts: [judged] }, signer, reason);
  return 'done';
}

/** Excepts one finding at this path for a while. */
export async function waive(shown: Shown): Promise<Done> {
  const { workspace, judgement, judged, signer } = shown;
  const chosen = await select<string>({
    message: 'Which finding?',
    options: exceptable(judged).map((one) => ({ value: one, label: one, hint: CODES[one].meaning })),
  });
  const code = exceptable(judged).find((one) => one === chosen);
  if (code === undefined) return 'left';
  const reason = await askText('Why is it excepted?');
  const days = reason === null ? null : await askText(`For how long? At most ${MAX_EXCEPTION_DAYS}d.`, '30d');
  if (reason === null || days === null) return 'left';
  const end = instantFromDuration(days, workspace.now);
  if (end === null || end <= workspace.now || end - workspace.now > MAX_EXCEPTION_DAYS * 86_400_000)
    throw new RefusedError(code, `${escapePath(days)} is no time of at most ${MAX_EXCEPTION_DAYS} days, like 30d`);
  const path = pathOf(judged);
  if (!(await sure(`Except ${code} at ${escapePath(path)} as ${signer.identity.principal}?`))) return 'left';
  requireUnchanged(shown);
  await except(workspace, judgement, signer.key, { code, path, owner: signer.identity.principal, reason, end });
  return 'done';
}

/** Codes of a text that exceptions.yaml may except. */
export function exceptable(judged: Judged): readonly CodeName[] {
  const codes = judged.findings.filter((one) => one.relief === undefined).map((one) => one.code);
  return [...new Set(codes)].filter((one): one is CodeName => isCodeName(one) && CODES[one].exceptable === true);
}

/** Throws where the file is not the one that was shown: what is decided is decided of those bytes. */
function requireUnchanged({ workspace, judgement, judged }: Shown): void {
  const { bytes } = judged.evidence.parsed;
  const path = pathOf(judged);
  const again = readOnce(workspace.root, path, judgement.set.policy.limits.fileBytes);
  if (bytes === null || !wasRead(again) || Buffer.compare(again.bytes, bytes) !== 0)
    throw new RefusedError(
      'changed-while-reading',
      `${escapePath(path)} changed after it was shown; nothing was signed`,
    );
}

/** A yes; anything else is a no. */
export async function sure(message: string): Promise<boolean> {
  return (await confirm({ message, initialValue: false })) === true;
}

/** @returns undefined where the person turned back. */
async function askClass(): Promise<ArtifactClass | undefined> {
  const chosen = await select<ArtifactClass>({
    message: 'It carries no manifest. What is it?',
    options: [...CLASSES].reverse().map((one) => ({ value: one, label: one })),
    initialValue: 'policy',
  });
  return isCancel(chosen) ? undefined : chosen;
}

/** A reason for every finding of the scan that would refuse it. @returns null where one is not accepted. */
async function askAccepts(judged: Judged): Promise<readonly AcceptedRule[] | null> {
  const rules = judged.findings
    .filter((one) => one.relief === undefined && (one.severity === 'block' || one.severity === 'suspect'))
    .map((one) => one.code.slice('scan/'.length));
  const accepts: AcceptedRule[] = [];
  for (const rule of [...new Set(rules)].sort()) {
    const reason = await askText(`scan/${rule} was found. Accept it knowingly? Say why:`);
    if (reason === null) {
      log.info('Not accepted, so not approved.');
      return null;
    }
    accepts.push({ rule, reason: reason.slice(0, 500) });
  }
  return accepts;
}

/** @returns null where nothing was said. */
async function askText(message: string, initialValue = ''): Promise<string | null> {
  const said = await text({ message, initialValue, placeholder: 'empty: turn back' });
  return isCancel(said) || said === undefined || said.trim() === '' ? null : said.trim();
}

function pathOf({ evidence }: Judged): string {
  return evidence.parsed.candidate.path;
}

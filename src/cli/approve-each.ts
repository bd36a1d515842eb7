import type { Judgement } from '../gate.ts';
import type { ArtifactClass, Level } from '../model/artifact-class.ts';
import { escapePath } from '../model/escaped.ts';
import { type Instant, isoOf } from '../model/instant.ts';
import type { Judged } from '../model/stages.ts';
import type { AcceptedRule } from '../model/statement.ts';
import { type ApproveDraft, approveProposal, chainAt, type Proposal, propose } from '../write/approve-artifact.ts';
import { approvedText, keepApproved, renderDiff } from '../write/approved-text.ts';
import { keepBytes } from '../write/git-attributes.ts';
import type { KnownSigner } from '../write/signer.ts';
import { agrees, confirm } from './ask.ts';
import { paintFor, print, STDOUT, tell } from './output.ts';
import type { Workspace } from './workspace.ts';

/** What the person who approves asked for. */
export interface ApproveWish {
  readonly expiresAt: Instant;
  readonly accepts: readonly AcceptedRule[];
  readonly class: ArtifactClass | null;
  readonly level: Level;
  readonly yes: boolean;
  /** False: the texts are not printed, as where a whole repo is adopted without asking. */
  readonly shows: boolean;
  /** A no passes over the one text and goes on, where the others are still wanted. */
  readonly goesOn: boolean;
  /** Asks instead of the plain question on stderr. */
  readonly agrees?: (question: string) => Promise<boolean>;
}

/** Proposes, shows, asks and signs, one artifact after the other. @returns how many were refused, each told with its code. */
export async function approveEach(
  workspace: Workspace,
  whole: Judgement,
  signer: KnownSigner,
  chosen: readonly Judged[],
  wish: ApproveWish,
): Promise<{ readonly approved: number; readonly refused: number }> {
  const { set, proofs } = whole;
  const kept: string[] = [];
  let refused = 0;
  for (const judged of chosen) {
    const { path } = judged.evidence.parsed.candidate;
    const draft: ApproveDraft = {
      root: workspace.root,
      set,
      signer,
      now: workspace.now,
      expiresAt: wish.expiresAt,
      accepts: wish.accepts,
      class: wish.class,
      level: wish.level,
      live: proofs.live.all,
      aliases: whole.artifacts
        .filter((one) => one.evidence.parsed.aliasOf === path)
        .map((one) => one.evidence.parsed.candidate.path),
    };
    const proposal = propose(judged, draft);
    const outcome = 'why' in proposal ? proposal : await signShown(workspace, proposal, draft, wish, whole);
    if (outcome === null) await tell(`left as it is: ${escapePath(path)}`);
    else if ('why' in outcome) {
      refused += 1;
      await tell(`writ: refused (${outcome.code}): ${escapePath(path)}: ${outcome.why}`);
    } else {
      kept.push(path);
      await tell(
        `approved ${escapePath(path)} as ${signer.identity.principal} until ${isoOf(draft.expiresAt)}${wish.shows ? `; proof in ${outcome.file}` : ''}`,
      );
    }
  }
  if (workspace.repository) keepBytes(workspace.root, kept);
  return { approved: kept.length, refused };
}

async function signShown(
  workspace: Workspace,
  proposal: Proposal,
  draft: ApproveDraft,
  wish: ApproveWish,
  whole: Judgement,
): Promise<{ readonly file: string } | { readonly code: string; readonly why: string } | null> {
  if (wish.shows) await print(await renderProposal(workspace, proposal, draft, whole));
  else {
    for (const one of proposal.warnings) await tell(`writ: ${escapePath(proposal.path)}: ${one}`);
    for (const one of proposal.subjects.slice(1))
      await tell(`  ${escapePath(one.name)} is covered by the approval of ${escapePath(proposal.path)}`);
  }
  const question = `Approve ${escapePath(proposal.path)} as ${draft.signer.identity.principal}?`;
  if (!wish.goesOn) await confirm(question, wish.yes, '--yes');
  else if (!wish.yes && !(await (wish.agrees ?? agrees)(question))) return null;
  const done = await approveProposal(proposal, draft);
  if ('file' in done) keepApproved(workspace.state, proposal.content);
  return done;
}

async function renderProposal(
  workspace: Workspace,
  proposal: Proposal,
  draft: ApproveDraft,
  whole: Judgement,
): Promise<string> {
  const { manifest, subjects, judged } = proposal;
  const paint = paintFor(STDOUT);
  const [last] = [...chainAt(proposal.path, draft.live)].sort((a, b) => b.issuedAt - a.issuedAt);
  const before = last ? approvedText(workspace.state, last.sha256) : null;
  const { writer } = judged;
  const lines = [
    paint.bold(`${escapePath(proposal.path)}: ${manifest.class} ${manifest.level}, id ${manifest.artifactId}`),
    `  author       ${manifest.author}${writer === null ? ' (not proven)' : ` (proven: ${writer.principal}, ${writer.role})`}`,
    `  expires      ${manifest.expiresAt === null ? 'never' : isoOf(manifest.expiresAt)}; this approval ${isoOf(draft.expiresAt)}`,
    `  replaces     ${proposal.replacedIds.join(', ') || 'nothing'}`,
    ...(subjects.length > 1
      ? [
          `  also covers  ${subjects
            .slice(1)
            .map((one) => escapePath(one.name))
            .join(', ')}`,
        ]
      : []),
    ...draft.accepts.map((one) => `  accepts      ${one.rule}: ${escapePath(one.reason)}`),
    ...judged.findings
      .filter((one) => one.severity !== undefined)
      .map((one) => `  scan         ${one.code} (${one.severity}): ${one.message}`),
    ...proposal.warnings.map((one) => paint.yellow(`  warning      ${one}`)),
    '',
    last && before === null ? '  (the text approved last is not kept on this machine; all of it is shown)' : '',
    await renderDiff(before ?? '', proposal.content, paint),
  ];
  const own = lines.filter((line, index) => line !== '' || index === lines.length - 3);
  return `${[...own, ...(await renderImported(proposal, whole, paint))].join('\n')}\n`;
}

/** The texts an approval covers because the artifact imports them: they are signed too, so they are shown too. */
async function renderImported(
  { subjects }: Proposal,
  { artifacts }: Judgement,
  paint: ReturnType<typeof paintFor>,
): Promise<readonly string[]> {
  const [first, ...others] = subjects;
  const lines: string[] = [];
  for (const { name, sha256 } of others.filter((one) => one.sha256 !== first?.sha256)) {
    const found = artifacts.find(
      ({ evidence: { parsed, claimed } }) =>
        parsed.candidate.path === name && parsed.line === null && (claimed?.contentSha256 ?? parsed.sha256) === sha256,
    );
    const text = found?.evidence.claimed?.content ?? found?.evidence.parsed.text?.read() ?? null;
    lines.push('', paint.bold(`  ${escapePath(name)}, which it imports`));
    lines.push(text === null ? '  (not at hand as text: read the file)' : await renderDiff('', text, paint));
  }
  return lines;
}

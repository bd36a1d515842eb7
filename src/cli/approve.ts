import { type Judgement, judge } from '../gate.ts';
import { CLASSES, LEVELS } from '../model/artifact-class.ts';
import { escapePath } from '../model/escaped.ts';
import { instantFromDuration, isoOf, shift } from '../model/instant.ts';
import type { Judged } from '../model/stages.ts';
import type { AcceptedRule } from '../model/statement.ts';
import { matchesArtifact } from '../policy/approvals.ts';
import { type ApproveDraft, approveProposal, chainAt, type Proposal, propose } from '../write/approve-artifact.ts';
import { approvedText, keepApproved, renderDiff } from '../write/approved-text.ts';
import { keepBytes } from '../write/git-attributes.ts';
import { confirm } from './ask.ts';
import { type Call, EXIT, type Exit, flag, list, oneOf, RefusedError, text, UsageError } from './command.ts';
import { paintFor, print, STDOUT, tell } from './output.ts';
import { openSigner } from './signing.ts';
import { openWorkspace, toPaths, toRequest, type Workspace } from './workspace.ts';
import { until } from './write.ts';

const DAY = 86_400_000;
const DEFAULT_DAYS = 90;

/** `writ approve`: shows the diff to the last approved content and what it replaces, then signs exactly what was shown. */
export async function approve(call: Call): Promise<Exit> {
  const workspace = openWorkspace(call);
  const whole = await judge(toRequest(workspace, call, null));
  const signer = await openSigner(call, whole);
  const chosen = flag(call, 'renew') ? await renewable(call, workspace, whole) : await named(call, workspace);
  if (chosen.length === 0) {
    await tell('nothing to approve');
    return EXIT.ok;
  }
  const { set, proofs } = whole;
  const asked = until(call, 'expires', workspace.now);
  const accepts = list(call, 'accept').map(toAccept);
  let refused = 0;
  for (const judged of chosen) {
    const { path } = judged.evidence.parsed.candidate;
    const draft: ApproveDraft = {
      root: workspace.root,
      set,
      signer,
      now: workspace.now,
      expiresAt: asked ?? shift(workspace.now, Math.min(DEFAULT_DAYS, set.policy.approvals.maxDays) * DAY),
      accepts,
      class: oneOf(call, 'class', CLASSES),
      level: oneOf(call, 'level', LEVELS) ?? 'T1',
      live: proofs.live.all,
      aliases: whole.artifacts
        .filter((one) => one.evidence.parsed.aliasOf === path)
        .map((one) => one.evidence.parsed.candidate.path),
    };
    const proposal = propose(judged, draft);
    const outcome = 'why' in proposal ? proposal : await signShown(call, workspace, proposal, draft);
    if ('why' in outcome) {
      refused += 1;
      await tell(`writ: refused (${outcome.code}): ${escapePath(path)}: ${outcome.why}`);
    } else {
      await tell(
        `approved ${escapePath(path)} as ${signer.identity.principal} until ${isoOf(draft.expiresAt)}; proof in ${outcome.file}`,
      );
    }
  }
  return refused > 0 ? EXIT.refused : EXIT.ok;
}

async function named(call: Call, workspace: Workspace): Promise<readonly Judged[]> {
  if (call.positionals.length === 0)
    throw new UsageError('usage: writ approve PATH..., or writ approve --renew --expiring 30d');
  const paths = toPaths(workspace, call.positionals);
  const judgement = await judge(toRequest(workspace, call, paths));
  // A link is approved through the file it leads to, which then names the link.
  const targets = judgement.artifacts
    .flatMap(({ evidence }) => evidence.parsed.aliasOf ?? [])
    .filter((one) => !paths.includes(one));
  const direct = judgement.artifacts.filter(({ evidence }) => evidence.parsed.aliasOf === null);
  return targets.length === 0
    ? direct
    : [...direct, ...(await judge(toRequest(workspace, call, [...new Set(targets)]))).artifacts];
}

/** What was approved before with exactly these bytes, and runs out soon or has run out. */
async function renewable(call: Call, workspace: Workspace, whole: Judgement): Promise<readonly Judged[]> {
  const within =
    text(call, 'expiring') === null ? null : instantFromDuration(text(call, 'expiring') ?? '', workspace.now);
  if (text(call, 'expiring') !== null && within === null) throw new UsageError('--expiring takes a duration like 30d');
  if (call.positionals.length === 0 && within === null)
    throw new UsageError('name what to renew: PATH..., or --expiring 30d');
  const paths = call.positionals.length > 0 ? new Set(toPaths(workspace, call.positionals)) : null;
  const candidates = paths === null ? whole.artifacts : (await judge(toRequest(workspace, call, [...paths]))).artifacts;
  return candidates.filter(({ evidence, approvalExpiresAt }) => {
    const { claimed, parsed } = evidence;
    if (claimed === null) return false;
    const given = whole.proofs.approvals.all.filter((one) =>
      matchesArtifact(one.approval, parsed.candidate.path, claimed),
    );
    if (given.length === 0) {
      if (paths === null) return false;
      throw new RefusedError(
        'approval-stale',
        `${escapePath(parsed.candidate.path)} was never approved with these bytes: review it with writ approve`,
      );
    }
    return within === null || approvalExpiresAt === null || approvalExpiresAt <= within;
  });
}

async function signShown(
  call: Call,
  workspace: Workspace,
  proposal: Proposal,
  draft: ApproveDraft,
): Promise<{ readonly file: string } | { readonly code: string; readonly why: string }> {
  await print(await renderProposal(workspace, proposal, draft));
  await confirm(
    `Approve ${escapePath(proposal.path)} as ${draft.signer.identity.principal}?`,
    flag(call, 'yes'),
    '--yes',
  );
  const done = await approveProposal(proposal, draft);
  if ('file' in done) {
    keepApproved(workspace.state, proposal.content);
    if (workspace.repository) keepBytes(workspace.root, [proposal.path]);
  }
  return done;
}

async function renderProposal(workspace: Workspace, proposal: Proposal, draft: ApproveDraft): Promise<string> {
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
  return `${lines.filter((line, index) => line !== '' || index === lines.length - 3).join('\n')}\n`;
}

function toAccept(given: string): AcceptedRule {
  const cut = given.indexOf('=');
  const rule = given.slice(0, Math.max(0, cut)).replace(/^scan\//, '');
  const reason = cut === -1 ? '' : given.slice(cut + 1).trim();
  if (!/^[a-z0-9][a-z0-9-]{0,63}$/.test(rule) || reason === '')
    throw new UsageError('--accept takes RULE=REASON, for example --accept override-prior=quoted-example');
  return { rule, reason: reason.slice(0, 500) };
}

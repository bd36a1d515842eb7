import { escapePath } from '../../model/escaped.ts';
import { isoOf } from '../../model/instant.ts';
import type { Judged, LiveApproval } from '../../model/stages.ts';
import { type Colours, fill, rankWord } from '../../report/verdicts-text.ts';
import type { StateLocation } from '../../store/location.ts';
import { chainAt } from '../../write/approve-artifact.ts';
import { approvedText, renderDiff } from '../../write/approved-text.ts';

/** Lines of the text shown before anybody has decided; approving shows all of it. */
const PREVIEW = 40;

/** One text with all that speaks for and against it: writer, approvals, findings, what changed. Everything in it is escaped. `rest` lines are left out. */
export async function renderItem(
  judged: Judged,
  context: {
    readonly state: StateLocation;
    readonly live: readonly LiveApproval[];
    readonly paint: Colours;
    readonly whole: boolean;
  },
): Promise<{ readonly text: string; readonly rest: number }> {
  const { paint, live, state } = context;
  const { evidence, writer } = judged;
  const { parsed, claimed } = evidence;
  const { path, uses } = parsed.candidate;
  const lines = [
    `${paint.bold(escapePath(path))}  ${paintRank(judged, paint)}`,
    `  class        ${judged.declaredClass ?? 'none declared'}, loads as ${judged.class}${claimed === null ? '' : `, level ${claimed.manifest.level}, id ${escapePath(claimed.manifest.artifactId)}`}`,
    `  writer       ${writer === null ? `unproven${claimed === null ? '' : `; its manifest says ${escapePath(claimed.manifest.author)}`}` : `${writer.principal}, ${writer.role}, proven by ${writer.via}${writer.chain.length > 1 ? `, spawned by ${writer.chain.slice(0, -1).join(' > ')}` : ''}`}`,
    `  approved by  ${judged.approvedBy.join(', ') || 'nobody'}${judged.approvalExpiresAt === null ? '' : ` until ${isoOf(judged.approvalExpiresAt)}`}`,
    `  read by      ${[...new Set(uses.map((use) => `${use.host} (${use.loads})`))].join(', ') || 'no known host'}`,
    ...judged.findings.flatMap((found) => [
      `  ${found.effect === 'quarantine' ? paint.red(found.code) : found.effect === 'note' ? paint.dim(found.code) : paint.yellow(found.code)}${found.line === null ? '' : ` line ${found.line}`}: ${found.message}`,
      ...(found.effect === 'note' ? [] : [paint.dim(`    cure: ${fill(found.cure, judged)}`)]),
    ]),
  ];
  const unread = [...lines, '', '  (the bytes could not be read as text)'];
  if (parsed.text === null) return { text: `${unread.join('\n')}\n`, rest: 0 };
  const after = claimed?.content ?? parsed.text.read();
  const [last] = [...chainAt(path, live)].sort((a, b) => b.issuedAt - a.issuedAt);
  const before = last === undefined ? null : approvedText(state, last.sha256);
  const heading =
    last === undefined
      ? 'no approved version to compare with; all of the text'
      : before === null
        ? 'the text approved last is not kept on this machine; all of it'
        : `changed since ${escapePath(last.approver.principal)} approved it on ${isoOf(last.issuedAt)}`;
  const diff = (await renderDiff(before ?? '', after, paint)).split('\n');
  const shown = context.whole ? diff : diff.slice(0, PREVIEW);
  const rest = diff.length - shown.length;
  const more = rest > 0 ? [paint.dim(`  and ${rest} more lines`)] : [];
  return { text: `${[...lines, '', `  ${paint.dim(heading)}`, ...shown, ...more].join('\n')}\n`, rest };
}

function paintRank(judged: Judged, paint: Colours): string {
  const word = rankWord(judged);
  return judged.rank === 'quarantined'
    ? paint.red(word)
    : judged.rank === 'binding'
      ? paint.green(word)
      : paint.yellow(word);
}

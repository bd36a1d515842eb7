import { CEILING } from '../model/artifact-class.ts';
import { entryOf } from '../model/codes.ts';
import { escapeText } from '../model/escaped.ts';
import type { Effect, Finding } from '../model/finding.ts';
import type { Judged, Weighed } from '../model/stages.ts';
import type { PageFinding, PageText, RankWord } from '../page/data.ts';
import { fill, rankWord, reasonOf } from './verdicts-text.ts';

/** Most characters of one text that somebody else chose; paths are never cut, or two would look alike. */
const MOST = 500;

/** A path or name as the page shows it: escaped, whole. */
export function whole(text: string): string {
  return escapeText(text, Number.POSITIVE_INFINITY);
}

/** Any other text: escaped and cut. */
export function short(text: string): string {
  return escapeText(text, MOST);
}

/** One verdict with all its reasons, for the page. */
export function toPageText(judged: Judged): PageText {
  const { evidence, writer } = judged;
  const { parsed, claimed } = evidence;
  const { candidate } = parsed;
  const reason = reasonOf(judged);
  const lowering = judged.findings.filter((one) => one.effect !== 'note');
  const worst = lowering.find((one) => one.effect === 'quarantine') ?? lowering[0];
  return {
    path: whole(candidate.path),
    line: parsed.line,
    rank: rankWord(judged) as RankWord,
    declared: judged.declaredClass,
    class: judged.class,
    ceiling: CEILING[judged.declaredClass ?? 'observation'],
    kind: candidate.kind,
    id: claimed === null ? null : short(claimed.manifest.artifactId),
    level: claimed?.manifest.level ?? null,
    carrier: claimed === null ? null : claimed.sidecar === null ? claimed.carrier : whole(claimed.sidecar),
    sha256: parsed.sha256,
    bytes: parsed.bytes?.length ?? null,
    writer:
      writer === null
        ? null
        : { name: short(writer.principal), role: writer.role, via: writer.via, chain: writer.chain.map(short) },
    author: claimed === null ? null : short(claimed.manifest.author),
    approvedBy: judged.approvedBy.map(short),
    approvalEnds: judged.approvalExpiresAt,
    ends: claimed?.manifest.expiresAt ?? parsed.post?.predicate.expiresAt ?? null,
    created: claimed?.manifest.createdAt ?? null,
    readBy: candidate.uses.map(({ host, loads }) => ({ host, loads })),
    aliasOf: parsed.aliasOf === null ? null : whole(parsed.aliasOf),
    outside: candidate.outside,
    nested: candidate.nested === null ? null : whole(candidate.nested),
    reason: reason === null ? null : judged.findings.indexOf(reason),
    findings: judged.findings.map((one) => weighed(one, judged)),
    raise: worst ? short(fill(worst.cure, judged)) : '',
  };
}

function weighed(one: Weighed, judged: Judged): PageFinding {
  return { ...toPageFinding(one, one.effect), cure: short(fill(one.cure, judged)), relief: one.relief ?? null };
}

/** A finding about the workspace, or the part of one about a text that needs no artifact. */
export function toPageFinding(one: Finding, effect: Effect): PageFinding {
  return {
    code: one.code,
    effect,
    message: short(one.message),
    cure: short(one.cure),
    relief: null,
    file: one.file === undefined ? null : whole(one.file),
    line: one.line,
    unchecked: entryOf(one).unchecked === true,
  };
}

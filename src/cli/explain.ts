import { join } from 'node:path';
import { exists } from '../files/read-once.ts';
import { judge } from '../gate.ts';
import { CEILING } from '../model/artifact-class.ts';
import { CODES, isCodeName } from '../model/codes.ts';
import { escapePath, escapeText } from '../model/escaped.ts';
import { isoOf } from '../model/instant.ts';
import type { Judged, Weighed } from '../model/stages.ts';
import { exitOf, toVerdictsJson } from '../report/verdicts.ts';
import { fill } from '../report/verdicts-text.ts';
import { DEFAULT_RULES } from '../scan/default-rules.ts';
import { suggestion } from './arguments.ts';
import { type Call, EXIT, type Exit, oneOf, UsageError } from './command.ts';
import { print } from './output.ts';
import { openWorkspace, toPath, toRequest } from './workspace.ts';

/** `writ explain`: why a file ranks as it does, step by step, and what would raise it; or what a code means. */
export async function explain(call: Call): Promise<Exit> {
  const format = oneOf(call, 'format', ['text', 'json']) ?? 'text';
  const [subject = ''] = call.positionals;
  if (isCodeName(subject)) return explainCode(subject, format);
  if (subject.startsWith('scan/')) return explainRule(subject.slice('scan/'.length), format);
  const workspace = openWorkspace(call);
  const [, path = subject, line] = /^(.*?)(?::(\d+))?$/.exec(subject) ?? [];
  const asked = toPath(workspace, path);
  if (!exists(join(workspace.root.path, asked)))
    throw new UsageError(
      `${escapeText(subject, 200)} is neither a file here nor a code${suggestion(subject, Object.keys(CODES), '')}`,
    );
  const judgement = await judge(toRequest(workspace, call, [asked]));
  const found = judgement.artifacts.filter(
    ({ evidence }) => line === undefined || evidence.parsed.line === Number(line),
  );
  if (found.length === 0)
    throw new UsageError(
      `${escapeText(subject, 200)} holds nothing to judge${line === undefined ? '' : ' at that line'}`,
    );
  if (format === 'json')
    await print(
      `${JSON.stringify({ ...toVerdictsJson(judgement), artifacts: toVerdictsJson({ ...judgement, artifacts: found }).artifacts }, null, 1)}\n`,
    );
  else
    await print(
      `${found.map((one) => renderSteps(one, judgement.set.intact, workspace.user !== undefined)).join('\n')}`,
    );
  return exitOf({ ...judgement, artifacts: found }, false);
}

function renderSteps(one: Judged, intact: boolean, home: boolean): string {
  const { evidence, writer, rank, declaredClass } = one;
  const { parsed, claimed } = evidence;
  const declared = declaredClass ?? 'none';
  const lines = [`${escapePath(parsed.candidate.path)}${parsed.line === null ? '' : `:${parsed.line}`}: ${rank}`];
  lines.push(`  policy set   ${intact ? 'pinned and intact' : 'not proven: nobody is anybody here'}`);
  lines.push(
    `  read by      ${[...new Set(parsed.candidate.uses.map((use) => `${use.host} (${use.loads})`))].join(', ') || 'no known host'}`,
  );
  lines.push(
    `  class        declared ${declared}, loads as ${one.class}; ceiling ${CEILING[declaredClass ?? 'observation']}`,
  );
  if (claimed)
    lines.push(
      `  manifest     ${claimed.carrier}${claimed.sidecar ? ` (${escapePath(claimed.sidecar)})` : ''}, id ${claimed.manifest.artifactId}, level ${claimed.manifest.level}`,
    );
  lines.push(
    `  writer       ${writer ? `${writer.principal}, ${writer.role}, proven by ${writer.via}${writer.chain.length > 1 ? `, spawned by ${writer.chain.slice(0, -1).join(' > ')}` : ''}` : 'unproven'}`,
  );
  lines.push(
    `  approved by  ${one.approvedBy.join(', ') || 'nobody'}${one.approvalExpiresAt === null ? '' : ` until ${isoOf(one.approvalExpiresAt)}`}`,
  );
  lines.push('  findings', ...one.findings.flatMap((found) => renderFinding(found, one, home)));
  if (one.findings.length === 0) lines.push('    none');
  return `${lines.join('\n')}\n${raise(one, home)}`;
}

function renderFinding(found: Weighed, one: Judged, home: boolean): readonly string[] {
  const effect =
    found.effect === 'note'
      ? found.relief
        ? `note (${found.relief})`
        : 'note'
      : found.effect === 'quarantine'
        ? 'quarantine'
        : `at most ${found.effect}`;
  const place = found.line === null ? '' : ` line ${found.line}`;
  return [
    `    ${found.code}  ${effect}${place}`,
    `      ${found.message}`,
    `      cure: ${fill(found.cure, one, home)}`,
  ];
}

function raise(one: Judged, home: boolean): string {
  const lowering = one.findings.filter((found) => found.effect !== 'note');
  if (lowering.length === 0) return `  It stands at the ceiling of its class.\n`;
  const [worst] = lowering.filter((found) => found.effect === 'quarantine').concat(lowering);
  return `  To raise it, start with: ${worst ? fill(worst.cure, one, home) : ''}\n`;
}

async function explainCode(code: keyof typeof CODES, format: 'text' | 'json'): Promise<Exit> {
  const entry = CODES[code];
  if (format === 'json') {
    await print(`${JSON.stringify({ code, ...entry }, null, 1)}\n`);
    return EXIT.ok;
  }
  const effects = [
    entry.effect,
    ...(entry.effectPC ? [`${entry.effectPC} for policy and constitution`] : []),
    ...(entry.effectEvidence ? [`${entry.effectEvidence} where a manifest declares evidence`] : []),
    ...(entry.effectStrict ? [`${entry.effectStrict} with unmanifested: quarantined`] : []),
  ];
  await print(
    `${code} (${entry.stage})\n  ${entry.meaning}\n  effect: ${effects.join('; ')}${entry.unchecked ? '; counts as could not check' : ''}\n  cure: ${entry.cure}\n  rule: ${entry.rule}\n`,
  );
  return EXIT.ok;
}

async function explainRule(id: string, format: 'text' | 'json'): Promise<Exit> {
  const rule = DEFAULT_RULES.find((one) => one.id === id);
  if (!rule)
    throw new UsageError(
      `there is no rule ${escapeText(id, 64)}${suggestion(
        id,
        DEFAULT_RULES.map((one) => one.id),
        '',
      )}`,
    );
  if (format === 'json')
    await print(
      `${JSON.stringify({ code: `scan/${id}`, family: rule.family, severity: rule.severity, why: rule.why }, null, 1)}\n`,
    );
  else await print(`scan/${id} (${rule.family}, ${rule.severity})\n  ${rule.why}\n`);
  return EXIT.ok;
}

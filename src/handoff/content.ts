import { effectOf, entryOf, finding } from '../model/codes.ts';
import type { Finding } from '../model/finding.ts';
import type { HandoffArtifact } from '../model/handoff.ts';
import type { Rule } from '../scan/rule.ts';
import { scanText } from '../scan/scan.ts';
import { toFindings } from '../scan/to-findings.ts';

export interface ContentRules {
  readonly rules: readonly Rule[];
  /** policy.yaml limits.scanWork. */
  readonly scanWork: number;
}

/** What of an artifact is text, in the order of the schema. */
export function textsOf(artifact: HandoffArtifact): readonly string[] {
  return [
    artifact.task_intent,
    ...artifact.evidence.map((one) => one.source),
    ...artifact.reasoning_chain.flatMap((one) => [one.action, one.result]),
    ...artifact.provenance.map((one) => one.action),
    ...artifact.next_actions,
    artifact.escalation_note,
  ];
}

/** Fields as paragraphs, each read from its first word; and as lines of one, so that a payload cut in two is found whole. */
const READINGS = ['\n\n', '\n'];

/**
 * The scan of the gate over everything an artifact says, as class operational_handoff. A task gives orders by nature, so those are not looked for.
 * @returns `handoff-content` where the gate would quarantine it, or null.
 */
export function checkContent(artifact: HandoffArtifact, { rules, scanWork }: ContentRules): Finding | null {
  const texts = textsOf(artifact);
  for (const between of READINGS) {
    const text = texts.join(between);
    const found = toFindings(scanText(text, { rules, workLimit: scanWork, orders: false })).find(
      (one) => effectOf(entryOf(one), { declaredClass: 'operational_handoff', strict: false }) === 'quarantine',
    );
    if (found !== undefined) return finding('handoff-content', { message: `${found.code}: ${found.message}` });
  }
  return null;
}

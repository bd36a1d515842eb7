import { CEILING, canBind } from '../model/artifact-class.ts';
import type { Finding } from '../model/finding.ts';
import type { Scanned, Verified } from '../model/stages.ts';
import type { Rule } from './rule.ts';
import { scanText } from './scan.ts';
import { toFindings } from './to-findings.ts';

export interface ScanSettings {
  readonly rules: readonly Rule[];
  /** policy.yaml limits.scanWork: times the size of the text. */
  readonly workLimit: number;
}

/**
 * WAJIB 8 checks 2 and 6 over the whole text, manifest included: a payload in a manifest field or in front matter is read
 * like any other. No proof ever keeps a text from being scanned.
 */
export function scanArtifact(verified: Verified, settings: ScanSettings): Scanned {
  const { parsed } = verified.bound.evidence;
  const orders = ordersCount(verified);
  const findings =
    parsed.text === null
      ? []
      : toFindings(scanText(parsed.text, { ...settings, orders })).filter((one) => counts(one, verified));
  return { verified, findings: distinct(findings) } as unknown as Scanned;
}

/** Intent is asked only of what is not law: a policy gives orders by nature, and guidance may (decisions.md, scan). */
function counts(one: Finding, verified: Verified): boolean {
  const { parsed, claimed } = verified.bound.evidence;
  if (one.code !== 'intent-mismatch' && one.code !== 'intent-claims-authority') return true;
  if (one.code === 'intent-mismatch') return ordersCount(verified);
  return parsed.candidate.kind !== 'document' && !canBind(claimed?.manifest.class ?? null);
}

/** Standing orders are a mismatch only in what says of itself that it is evidence. */
function ordersCount(verified: Verified): boolean {
  const { parsed, claimed } = verified.bound.evidence;
  const declared = claimed?.manifest.class ?? null;
  return parsed.candidate.kind !== 'document' && declared !== null && CEILING[declared] === 'reference';
}

/** One finding a rule: the first place says where to look. */
function distinct(findings: readonly Finding[]): readonly Finding[] {
  const seen = new Set<string>();
  return findings.filter((one) => {
    const key = `${one.code} ${one.severity ?? ''}`;
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}

import { finding } from '../model/codes.ts';
import { excerpt } from '../model/escaped.ts';
import type { Finding } from '../model/finding.ts';
import type { Hit, ScanResult } from './scan.ts';

/**
 * The findings of a scan, in the order of the text: `scan/<rule>` with its severity, the two intent codes for the intent
 * families, and `scan-incomplete` first where the budget ended early. Empty only where every rule saw every unit and none matched.
 */
export function toFindings(result: ScanResult): readonly Finding[] {
  const findings: Finding[] = [];
  if (!result.complete) findings.push(finding('scan-incomplete'));
  for (const hit of result.hits) findings.push(toFinding(hit));
  return findings;
}

function toFinding(hit: Hit): Finding {
  const message = `${hit.why} ${shown(hit)}`;
  const place = { message, line: hit.line, column: hit.column };
  if (hit.family === 'intent-claims-authority' || hit.family === 'intent-mismatch') return finding(hit.family, place);
  return {
    code: `scan/${hit.rule}`,
    ...place,
    cure: `Remove the passage, or accept it knowingly: writ approve PATH --accept ${hit.rule}=REASON`,
    severity: hit.severity,
  };
}

function shown(hit: Hit): string {
  const where = {
    text: 'Text',
    normalised: 'Text with look-alikes folded',
    hidden: 'Hidden text',
    decoded: 'Decoded text',
  }[hit.view];
  return `${where}: "${excerpt(hit.passage)}"`;
}

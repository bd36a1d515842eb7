import { VERSION } from '../generated/template.ts';
import { CODES, type CodeEntry, type CodeName, entryOf, SCAN_CODES } from '../model/codes.ts';
import type { Finding, Severity } from '../model/finding.ts';
import { DEFAULT_RULES } from '../scan/default-rules.ts';
import { SET_REFUSALS } from './verdicts.ts';

/** One kind of finding, as the formats for other programs describe it. */
export interface Described {
  readonly id: string;
  readonly entry: CodeEntry;
  /** How loud a rule of the scan is; null for a code of the table. */
  readonly severity: Severity | null;
  /** Why a rule of the scan looks for this; null for a code of the table. */
  readonly why: string | null;
}

/** What the formats for other programs are told of the product. They are built apart from it, so it is handed to them. */
export interface Catalogue {
  readonly version: string;
  /** Every code of the table and every rule that ships, in one stable order: the same in every repo. */
  readonly kinds: readonly Described[];
  entryOf(finding: Pick<Finding, 'code' | 'severity'>): CodeEntry;
  /** Whether a finding ends the check in 1 whatever its effect on a rank is. */
  refuses(code: string): boolean;
}

const REFUSING: ReadonlySet<string> = new Set([...SET_REFUSALS, 'approval-removed', 'binding-missing']);

/** The code table and the rules of the scan as one catalogue. */
export function catalogue(): Catalogue {
  const codes = (Object.keys(CODES) as CodeName[]).map((id) => ({
    id,
    entry: CODES[id],
    severity: null,
    why: null,
  }));
  const rules = DEFAULT_RULES.filter((rule) => !Object.hasOwn(CODES, rule.family)).map((rule) => ({
    id: `scan/${rule.id}`,
    entry: SCAN_CODES[rule.severity],
    severity: rule.severity,
    why: rule.why,
  }));
  return { version: VERSION, kinds: [...codes, ...rules], entryOf, refuses: (code) => REFUSING.has(code) };
}

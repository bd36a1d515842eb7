import { CEILING, canBind } from '../model/artifact-class.ts';
import type { Finding } from '../model/finding.ts';
import type { Reading, Scanned, Verified } from '../model/stages.ts';
import type { Rule } from './rule.ts';
import { scanText } from './scan.ts';
import { toFindings } from './to-findings.ts';

export interface ScanSettings {
  readonly rules: readonly Rule[];
  /** policy.yaml limits.scanWork: times the size of the text. */
  readonly workLimit: number;
  /** Gives a scan again where text and settings are the very same; absent where every text is scanned once. */
  readonly again?:
    | ((holder: object, inputs: readonly unknown[], scan: () => readonly Finding[]) => readonly Finding[])
    | undefined;
}

/**
 * WAJIB 8 checks 2 and 6 over the whole text, manifest included: a payload in a manifest field, in front matter or in a
 * sidecar is read like any other. No proof ever keeps a text from being scanned.
 */
export function scanArtifact(verified: Verified, settings: ScanSettings): Scanned {
  const { parsed, claimed, strays } = verified.bound.evidence;
  const scan = (): readonly Finding[] => findingsOf(verified, settings);
  const findings =
    settings.again === undefined || parsed.bytes === null
      ? scan()
      : settings.again(
          parsed.bytes,
          [parsed.readings, claimed, ...strays, parsed.candidate.kind, settings.rules, settings.workLimit],
          scan,
        );
  return { verified, findings } as unknown as Scanned;
}

function findingsOf(verified: Verified, settings: ScanSettings): readonly Finding[] {
  const { parsed } = verified.bound.evidence;
  const orders = ordersCount(verified);
  const scan = (text: string): readonly Finding[] =>
    toFindings(scanText(text, { ...settings, orders })).filter((one) => counts(one, verified));
  const own = parsed.text === null ? [] : scan(parsed.text.read());
  const beside = sidecarsOf(verified).flatMap(({ path, bytes }) =>
    scan(Buffer.from(bytes).toString('utf8')).map((one) => ({ ...one, file: path })),
  );
  const spelt = escapedValues(verified).flatMap((value) =>
    scan(value).map((one) => ({ ...one, line: null, column: null, ...fileOf(verified) })),
  );
  return distinct([...own, ...beside, ...spelt]);
}

/** What unknown fields of the manifest say once their escapes are read: a quoted YAML or JSON string need not spell a word to hold it. */
function escapedValues(verified: Verified): readonly string[] {
  const { parsed, claimed } = verified.bound.evidence;
  if (claimed === null || Object.keys(claimed.manifest.unknown).length === 0) return [];
  const texts = [
    parsed.text?.read() ?? '',
    ...sidecarsOf(verified).map(({ bytes }) => Buffer.from(bytes).toString('utf8')),
  ];
  return texts.some((text) => text.includes('\\')) ? stringsIn(claimed.manifest.unknown) : [];
}

function stringsIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => [key, ...stringsIn(inner)]);
}

function fileOf(verified: Verified): Pick<Finding, 'file'> {
  const sidecar = verified.bound.evidence.claimed?.sidecar ?? null;
  return sidecar === null ? {} : { file: sidecar };
}

/** The sidecars that speak for it. One that lost against an approved manifest is refused alone, so what it says costs the text nothing (hard rule 10). */
function sidecarsOf(verified: Verified): readonly NonNullable<Reading['sidecar']>[] {
  const { parsed, strays } = verified.bound.evidence;
  return parsed.readings
    .filter((reading) => !strays.includes(reading))
    .map((reading) => reading.sidecar)
    .filter((sidecar) => sidecar !== null);
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

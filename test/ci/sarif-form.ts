import { expect } from 'vitest';

export interface SarifResult {
  readonly ruleId: string;
  readonly ruleIndex: number;
  readonly level: string;
  readonly message: { readonly text: string };
  readonly locations: readonly {
    readonly physicalLocation: {
      readonly artifactLocation: { readonly uri: string; readonly uriBaseId?: string };
      readonly region: Readonly<Record<'startLine' | 'startColumn' | 'endLine' | 'endColumn', number>>;
    };
  }[];
  readonly partialFingerprints: { readonly primaryLocationLineHash: string };
  readonly suppressions?: readonly { readonly kind: string; readonly status: string; readonly justification: string }[];
  readonly properties: { readonly path?: string; readonly effect: string };
}

export interface SarifRun {
  readonly tool: {
    readonly driver: { readonly name: string; readonly semanticVersion: string; readonly rules: readonly SarifRule[] };
  };
  readonly automationDetails: { readonly id: string };
  readonly invocations: readonly {
    readonly executionSuccessful: boolean;
    readonly exitCode: number;
    readonly toolExecutionNotifications?: readonly { readonly message: { readonly text: string } }[];
  }[];
  readonly originalUriBaseIds: Readonly<Record<string, unknown>>;
  readonly results: readonly SarifResult[];
}

interface SarifRule {
  readonly id: string;
  readonly name: string;
  readonly shortDescription: { readonly text: string };
  readonly fullDescription: { readonly text: string };
  readonly help: { readonly text: string; readonly markdown: string };
  readonly defaultConfiguration: { readonly level: string };
  readonly properties: { readonly tags: readonly string[]; readonly precision: string };
}

const keys = (value: object, ...known: readonly string[]): void =>
  expect(Object.keys(value).filter((key) => !known.includes(key))).toEqual([]);
const filled = (text: string, most: number): void => {
  expect(text.length).toBeGreaterThan(0);
  expect(text.length).toBeLessThanOrEqual(most);
};

/** Holds a log against SARIF 2.1.0 (the objects and properties writ uses) and against what GitHub code scanning asks and bounds. @returns its one run. */
export function checkSarif(text: string): SarifRun {
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(10_000_000);
  const log = JSON.parse(text) as { $schema: string; version: string; runs: readonly SarifRun[] };
  keys(log, '$schema', 'version', 'runs');
  expect([log.$schema, log.version, log.runs.length]).toEqual([
    'https://json.schemastore.org/sarif-2.1.0.json',
    '2.1.0',
    1,
  ]);
  const run = log.runs[0] as SarifRun;
  keys(run, 'tool', 'automationDetails', 'invocations', 'originalUriBaseIds', 'columnKind', 'results');
  const { driver } = run.tool;
  keys(driver, 'name', 'semanticVersion', 'rules');
  expect(driver.semanticVersion).toMatch(/^\d+\.\d+\.\d+/);
  expect(run.automationDetails.id).toMatch(/\/$/);
  for (const one of run.invocations) expect(one.executionSuccessful).toBe(one.exitCode !== 4);
  expect(new Set(driver.rules.map((rule) => rule.id)).size).toBe(driver.rules.length);
  for (const rule of driver.rules) checkRule(rule);
  expect(run.results.length).toBeLessThanOrEqual(25_000);
  for (const result of run.results) checkResult(result, run);
  const prints = run.results.map((one) => one.partialFingerprints.primaryLocationLineHash);
  expect(new Set(prints).size).toBe(prints.length);
  return run;
}

function checkRule(rule: SarifRule): void {
  keys(rule, 'id', 'name', 'shortDescription', 'fullDescription', 'help', 'defaultConfiguration', 'properties');
  filled(rule.id, 255);
  filled(rule.name, 255);
  filled(rule.shortDescription.text, 1_024);
  filled(rule.fullDescription.text, 1_024);
  filled(rule.help.text, 10_000);
  filled(rule.help.markdown, 10_000);
  expect(['error', 'warning', 'note']).toContain(rule.defaultConfiguration.level);
  expect(rule.properties.tags.length).toBeLessThanOrEqual(10);
  expect(new Set(rule.properties.tags).size).toBe(rule.properties.tags.length);
  expect(['very-high', 'high', 'medium', 'low']).toContain(rule.properties.precision);
  // GitHub would show it instead of the level, which follows the effect.
  expect(Object.keys(rule.properties)).not.toContain('security-severity');
}

function checkResult(result: SarifResult, { tool, originalUriBaseIds }: SarifRun): void {
  keys(
    result,
    'ruleId',
    'ruleIndex',
    'level',
    'message',
    'locations',
    'partialFingerprints',
    'suppressions',
    'properties',
  );
  expect(tool.driver.rules[result.ruleIndex]?.id).toBe(result.ruleId);
  expect(['error', 'warning', 'note']).toContain(result.level);
  filled(result.message.text, 1_024);
  expect(result.message.text).not.toMatch(/\p{Cc}|(?<!\\)\[[^\]]*\]\(|(?<!\{)\{\d+\}/u);
  expect(result.locations.length).toBe(1);
  const { artifactLocation, region } = result.locations[0]?.physicalLocation ?? expect.fail('no place');
  const { uri, uriBaseId } = artifactLocation;
  expect(uri).toMatch(/^(?:[A-Za-z0-9._~!*'()-]|%[0-9A-F]{2}|\/|(?<=^file):)+$/);
  if (uriBaseId === undefined) expect(uri).toMatch(/^file:\/\/\//);
  else {
    expect(Object.keys(originalUriBaseIds)).toContain(uriBaseId);
    expect(uri).toMatch(/^[^/]/);
  }
  for (const value of Object.values(region)) expect(Number.isInteger(value) && value >= 1).toBe(true);
  expect(region.endLine).toBe(region.startLine);
  expect(region.endColumn).toBeGreaterThan(region.startColumn);
  expect(result.partialFingerprints.primaryLocationLineHash).toMatch(/^[0-9a-f]{16}:\d+$/);
  for (const one of result.suppressions ?? []) {
    keys(one, 'kind', 'status', 'justification');
    expect(['inSource', 'external']).toContain(one.kind);
    expect(['accepted', 'underReview', 'rejected']).toContain(one.status);
  }
}

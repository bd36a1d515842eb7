import type { Finding } from '../../src/model/finding.ts';
import type { Candidate } from '../../src/model/source.ts';
import type { Claimed, Parsed, Reading } from '../../src/model/stages.ts';
import { parseArtifact, type SidecarRead } from '../../src/parse/parse.ts';

export const ID = '7d4f9a10-0000-4000-8000-00000000abcd';
export const HASH = 'ab'.repeat(32);

/** A manifest's YAML lines, the fields given put over the standard ones; undefined leaves one out. */
export function manifestYaml(over: Readonly<Record<string, string | undefined>> = {}): string {
  const fields: Record<string, string | undefined> = {
    artifact_id: ID,
    class: 'policy',
    author: 'orchestrator-1',
    source_commit: 'null',
    authority_level: 'T2',
    approved_by: 'null',
    binding: 'false',
    created_at: '1786000000000',
    expires_at: 'null',
    constitution_compatibility: `sha256:${HASH}`,
    supersedes: '[]',
    content_hash: `sha256:${HASH}`,
    ...over,
  };
  const lines = Object.entries(fields).flatMap(([field, value]) =>
    value === undefined ? [] : [`  ${field}: ${value}\n`],
  );
  return `context_manifest:\n${lines.join('')}`;
}

/** The same manifest as a JSON value. */
export function manifestJson(over: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return {
    artifact_id: ID,
    class: 'policy',
    author: 'orchestrator-1',
    source_commit: null,
    authority_level: 'T2',
    approved_by: null,
    binding: false,
    created_at: 1786000000000,
    expires_at: null,
    constitution_compatibility: `sha256:${HASH}`,
    supersedes: [],
    content_hash: `sha256:${HASH}`,
    ...over,
  };
}

export const BODY = '# Rules\n\nKeep the build green.\n';

export function candidateAt(path: string): Candidate {
  return {
    path,
    kind: 'prose',
    uses: [],
    nested: null,
    confusableWith: null,
    outside: false,
    importHops: 0,
  };
}

export function bytesOf(text: string | Uint8Array): Uint8Array {
  return typeof text === 'string' ? Buffer.from(text) : text;
}

/** Parses a file as if it had been read whole. */
export async function parseFile(
  text: string | Uint8Array,
  path = 'AGENTS.md',
  sidecars: Readonly<Record<string, string | Uint8Array>> = {},
): Promise<Parsed> {
  const beside: SidecarRead[] = Object.entries(sidecars).map(([name, of]) => ({
    path: name,
    read: { bytes: bytesOf(of), mode: 0o644, links: 1, aliasOf: null },
  }));
  return parseArtifact(candidateAt(path), { bytes: bytesOf(text), mode: 0o644, links: 1, aliasOf: null }, beside);
}

/** The one reading of a file that has exactly one. */
export async function onlyReading(text: string | Uint8Array, path = 'AGENTS.md'): Promise<Reading> {
  const { readings } = await parseFile(text, path);
  const [only] = readings;
  if (!only || readings.length !== 1) throw new Error(`expected one reading, got ${readings.length}`);
  return only;
}

/** The manifest of a file that has exactly one, without fault. */
export async function claimedOf(text: string | Uint8Array, path = 'AGENTS.md'): Promise<Claimed> {
  const { claimed, fault } = await onlyReading(text, path);
  if (!claimed || fault) throw new Error(`expected a manifest, got ${fault?.message ?? 'none'}`);
  return claimed;
}

/** Codes of everything a parse found, in the file and in its readings. */
export function codesOf(parsed: Parsed): readonly string[] {
  const found: Finding[] = [...parsed.findings];
  for (const { fault, notes } of parsed.readings) found.push(...notes, ...(fault ? [fault] : []));
  return found.map((one) => one.code);
}

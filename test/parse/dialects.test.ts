import { describe, expect, it } from 'vitest';
import type { Manifest } from '../../src/model/manifest.ts';
import { claimedOf, HASH, manifestJson, manifestYaml, onlyReading } from './given.ts';

const standard = {
  artifactId: '7d4f9a10-0000-4000-8000-00000000abcd',
  class: 'policy',
  author: 'orchestrator-1',
  sourceCommit: null,
  level: 'T2',
  approvedBy: null,
  binding: false,
  createdAt: 1786000000000,
  expiresAt: null,
  constitution: `sha256:${HASH}`,
  supersedes: [],
  contentHash: HASH,
  unknown: {},
};

/** A spelling, what it is read as, and whether it is a dialect that is noted. */
const cases: readonly (readonly [
  field: string,
  spelling: string,
  read: Partial<Record<keyof Manifest, unknown>>,
  noted: boolean,
])[] = [
  ['class', 'Operational handoff', { class: 'operational_handoff' }, true],
  ['class', '"Operational Handoff"', { class: 'operational_handoff' }, true],
  ['class', 'Policy', { class: 'policy' }, true],
  ['class', 'MEMORY', { class: 'memory' }, true],
  ['class', 'operational-handoff', { class: 'operational_handoff' }, true],
  ['class', 'observation', { class: 'observation' }, false],
  ['authority_level', 'advisory', { level: 'T1' }, true],
  ['authority_level', 'binding', { level: 'T2' }, true],
  ['authority_level', 'constitutional', { level: 'T3' }, true],
  ['authority_level', 'T3', { level: 'T3' }, false],
  ['created_at', '2026-08-06T07:06:40Z', { createdAt: 1786000000000 }, true],
  ['created_at', '"2026-08-06T07:06:40.000Z"', { createdAt: 1786000000000 }, true],
  ['expires_at', '2028-02-29T00:00Z', { expiresAt: Date.UTC(2028, 1, 29) }, true],
  ['expires_at', '1886000000000', { expiresAt: 1886000000000 }, false],
  ['supersedes', 'null', { supersedes: [] }, true],
  ['supersedes', '', { supersedes: [] }, true],
  ['supersedes', 'old-1', { supersedes: ['old-1'] }, true],
  ['supersedes', '[b, a, b]', { supersedes: ['a', 'b'] }, false],
  ['content_hash', HASH, { contentHash: HASH }, true],
  ['content_hash', `"sha256:${HASH.toUpperCase()}"`, { contentHash: HASH }, true],
  ['content_hash', 'null', { contentHash: null }, false],
  ['content_hash', '""', { contentHash: null }, false],
  ['constitution_compatibility', 'F1-F13-2026.05.05', { constitution: 'F1-F13-2026.05.05' }, true],
  ['constitution_compatibility', HASH, { constitution: `sha256:${HASH}` }, true],
  ['constitution_compatibility', `sha256:${HASH.toUpperCase()}`, { constitution: `sha256:${HASH}` }, true],
  ['constitution_compatibility', 'null', { constitution: null }, false],
  ['approved_by', '""', { approvedBy: null }, false],
  ['approved_by', 'f13', { approvedBy: 'f13' }, false],
  ['source_commit', `"${'1'.repeat(40)}"`, { sourceCommit: '1'.repeat(40) }, false],
  ['source_commit', 'ab'.repeat(32), { sourceCommit: 'ab'.repeat(32) }, false],
  ['source_commit', '', { sourceCommit: null }, false],
  ['binding', 'true', { binding: true }, false],
  ['binding', 'TRUE', { binding: true }, false],
];

describe('dialects', () => {
  it.each(cases)('%s: %s', async (field, spelling, read, noted) => {
    const { claimed, fault, notes } = await onlyReading(`---\n${manifestYaml({ [field]: spelling })}---\n`);
    expect(fault).toBeNull();
    expect(claimed?.manifest).toEqual({ ...standard, ...read });
    expect(notes.map((one) => one.code)).toEqual(noted ? ['manifest-dialect'] : []);
    if (noted) {
      expect(notes[0]?.message).toContain(field);
      expect(notes[0]?.line).toBe(3 + Object.keys(manifestJson()).indexOf(field));
    }
  });

  it('fields that may be left out', async () => {
    const left = {
      source_commit: undefined,
      approved_by: undefined,
      binding: undefined,
      expires_at: undefined,
      constitution_compatibility: undefined,
      supersedes: undefined,
      content_hash: undefined,
    };
    const { manifest } = await claimedOf(`---\n${manifestYaml(left)}---\n`);
    expect(manifest).toEqual({ ...standard, constitution: null, contentHash: null });
  });

  it('the spelling makes no difference to the digest', async () => {
    const plain = await claimedOf(`---\n${manifestYaml()}---\n`);
    const other = await claimedOf(
      `---\n${manifestYaml({ class: 'Policy', authority_level: 'binding', created_at: '2026-08-06T07:06:40Z', supersedes: 'null', content_hash: HASH, constitution_compatibility: HASH })}---\n`,
    );
    expect(other.manifestDigest).toBe(plain.manifestDigest);
  });

  it('several dialects are one note that names each', async () => {
    const { notes } = await onlyReading(
      `---\n${manifestYaml({ class: 'Policy', supersedes: 'null', content_hash: HASH })}---\n`,
    );
    expect(notes).toHaveLength(1);
    expect(notes[0]?.message).toMatch(/class, supersedes, content_hash/);
  });

  it('unknown fields are kept, named, and may be called like methods', async () => {
    const { claimed, notes } = await onlyReading(
      `---\n${manifestYaml({ note: 'hi', constructor: '{a: [1, null]}', toString: 'x', on: 'yes' })}---\n`,
    );
    expect(claimed?.manifest.unknown).toEqual({ note: 'hi', constructor: { a: [1, null] }, toString: 'x', on: 'yes' });
    expect(notes.map((one) => [one.code, one.line])).toEqual([
      ['manifest-unknown-field', 16],
      ['manifest-unknown-field', 15],
      ['manifest-unknown-field', 18],
      ['manifest-unknown-field', 17],
    ]);
  });
});

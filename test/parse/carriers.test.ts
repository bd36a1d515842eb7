import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { canonicalJson } from '../../src/sign/canonical.ts';
import { BODY, claimedOf, codesOf, HASH, ID, manifestJson, manifestYaml, onlyReading, parseFile } from './given.ts';

const sha256 = (of: string | Uint8Array): string => createHash('sha256').update(of).digest('hex');
const yaml = manifestYaml();

/** Each carrier: the file, and the exact bytes that are left when the carrier is taken out. */
const cases: readonly (readonly [string, string, string, string])[] = [
  ['front matter alone', 'front-matter', `---\n${yaml}---\n${BODY}`, BODY],
  ['front matter closed by ...', 'front-matter', `---\n${yaml}...\n${BODY}`, BODY],
  ['front matter without a body', 'front-matter', `---\n${yaml}---`, ''],
  ['front matter after a BOM: the BOM belongs to the carrier', 'front-matter', `\ufeff---\n${yaml}---\n${BODY}`, BODY],
  [
    'front matter with CRLF',
    'front-matter',
    `---\n${yaml}---\n${BODY}`.replaceAll('\n', '\r\n'),
    BODY.replaceAll('\n', '\r\n'),
  ],
  ['a key before it', 'front-matter', `---\nname: x\n${yaml}---\n${BODY}`, `---\nname: x\n---\n${BODY}`],
  ['a key after it', 'front-matter', `---\n${yaml}name: x\n---\n${BODY}`, `---\nname: x\n---\n${BODY}`],
  ['keys on both sides', 'front-matter', `---\na: 1\n${yaml}b: [2]\n---\n${BODY}`, `---\na: 1\nb: [2]\n---\n${BODY}`],
  [
    'keys on both sides, CRLF',
    'front-matter',
    `---\na: 1\n${yaml}b: 2\n---\nx\n`.replaceAll('\n', '\r\n'),
    '---\r\na: 1\r\nb: 2\r\n---\r\nx\r\n',
  ],
  [
    'keys on both sides after a BOM: the BOM is content',
    'front-matter',
    `\ufeff---\na: 1\n${yaml}---\nx`,
    '\ufeff---\na: 1\n---\nx',
  ],
  [
    'a comment that belongs to the next key stays content',
    'front-matter',
    `---\n${yaml}# for the host\nb: 2\n---\nx`,
    '---\n# for the host\nb: 2\n---\nx',
  ],
  [
    'a comment before it stays content',
    'front-matter',
    `---\n# for the host\nb: 2\n${yaml}---\nx`,
    '---\n# for the host\nb: 2\n---\nx',
  ],
  ['a quoted key', 'front-matter', `---\n${yaml.replace('context_manifest', '"context_manifest"')}---\nx`, 'x'],
  [
    'a key spelt with an escape',
    'front-matter',
    `---\n${yaml.replace('context_manifest', '"context\\u005fmanifest"')}---\nx`,
    'x',
  ],
  ['an HTML comment', 'comment', `<!--\n${yaml}-->\n${BODY}`, BODY],
  ['an HTML comment after a BOM', 'comment', `\ufeff<!--\n${yaml}-->\n${BODY}`, BODY],
  ['an HTML comment with CRLF', 'comment', `<!--\n${yaml}-->\nx\n`.replaceAll('\n', '\r\n'), 'x\r\n'],
  ['an HTML comment without a body', 'comment', `<!--\n${yaml}-->`, ''],
];

describe('carriers', () => {
  it.each(cases)('%s', async (_name, carrier, file, content) => {
    const claimed = await claimedOf(file);
    expect(claimed.carrier).toBe(carrier);
    expect(claimed.manifest.artifactId).toBe(ID);
    expect(claimed.content).toBe(content);
    expect(claimed.contentSha256).toBe(sha256(content));
    expect(claimed.sidecar).toBeNull();
  });

  it.each(cases.filter(([name]) => !name.includes('escape')))(
    'span of %s holds the manifest and nothing else',
    async (_name, carrier, file) => {
      const { span } = await claimedOf(file);
      const held = Buffer.from(file).subarray(span?.from, span?.to).toString().replaceAll('\r\n', '\n');
      expect(carrier).not.toBe('json');
      expect(held.replaceAll('"context_manifest"', 'context_manifest')).toBe(yaml);
    },
  );

  it('the span and line point into the bytes, multi-byte text before it or not', async () => {
    const file = `---\ntitle: "\u{1f600} über"\n${yaml}---\nx`;
    const { span, line } = await claimedOf(file);
    expect(Buffer.from(file).subarray(span?.from, span?.to).toString()).toBe(yaml);
    expect(line).toBe(3);
  });

  it('a JSON document leaves the RFC 8785 form of the rest', async () => {
    const document = { z: 1, a: ['\u00e9', 1e3, { b: null }], context_manifest: manifestJson() };
    const text = JSON.stringify(document, null, 4);
    const claimed = await claimedOf(text, 'policies/x.json');
    const { context_manifest: _, ...rest } = document;
    expect(claimed).toMatchObject({ carrier: 'json', span: null, line: 10, content: canonicalJson(rest) });
    expect(claimed.contentSha256).toBe(sha256('{"a":["é",1000,{"b":null}],"z":1}'));
    expect((await claimedOf(`\ufeff${JSON.stringify(document)}`, 'x.json')).contentSha256).toBe(claimed.contentSha256);
  });

  it.each(['yaml', 'json'])('a %s sidecar leaves the whole file', async (kind) => {
    const sidecar = kind === 'yaml' ? yaml : JSON.stringify({ context_manifest: manifestJson() });
    const file = `---\nname: skill\n---\n${BODY}`;
    for (const text of [sidecar, `\ufeff${sidecar}`, sidecar.replaceAll('\n', '\r\n')]) {
      const { readings } = await parseFile(file, 'SKILL.md', { [`SKILL.md.manifest.${kind}`]: text });
      expect(readings).toHaveLength(1);
      expect(readings[0]?.fault).toBeNull();
      expect(readings[0]?.claimed).toMatchObject({
        carrier: 'sidecar',
        sidecar: `SKILL.md.manifest.${kind}`,
        content: file,
        contentSha256: sha256(file),
        span: kind === 'yaml' ? { from: 0, to: Buffer.byteLength(text) } : null,
      });
    }
  });

  it('a sidecar may begin with a document marker', async () => {
    const { readings } = await parseFile('x', 'A.md', { 'A.md.manifest.yaml': `---\n${yaml}` });
    expect(readings[0]?.claimed?.manifest.artifactId).toBe(ID);
  });

  it('every carrier of one manifest has a digest of its own', async () => {
    const digests = await Promise.all([
      claimedOf(`---\n${yaml}---\n`),
      claimedOf(`<!--\n${yaml}-->\n`),
      claimedOf(JSON.stringify({ context_manifest: manifestJson() }), 'x.json'),
    ]);
    expect(new Set(digests.map((one) => one.manifestDigest)).size).toBe(3);
    expect(digests.map((one) => one.manifest)).toEqual([
      digests[0]?.manifest,
      digests[0]?.manifest,
      digests[0]?.manifest,
    ]);
  });

  it('a change to any other key of the front matter changes the content', async () => {
    const before = await claimedOf(`---\nalwaysApply: false\n${yaml}globs: src\n---\nx`);
    for (const file of [
      `---\nalwaysApply: true\n${yaml}globs: src\n---\nx`,
      `---\nalwaysApply: false\n${yaml}globs: src2\n---\nx`,
      `---\nalwaysApply: false\n${yaml}globs: src\nhooks: evil\n---\nx`,
      `---\nalwaysApply:  false\n${yaml}globs: src\n---\nx`,
    ]) {
      const after = await claimedOf(file);
      expect(after.contentSha256).not.toBe(before.contentSha256);
      expect(after.manifestDigest).toBe(before.manifestDigest);
    }
  });

  it('approved_by and binding are no part of the manifest digest, everything else is', async () => {
    const { manifestDigest } = await claimedOf(`---\n${yaml}---\n`);
    const digestWith = async (over: Record<string, string>): Promise<string> =>
      (await claimedOf(`---\n${manifestYaml(over)}---\n`)).manifestDigest;
    expect(await digestWith({ approved_by: 'f13' })).toBe(manifestDigest);
    expect(await digestWith({ binding: 'true' })).toBe(manifestDigest);
    for (const over of [
      { artifact_id: 'other' },
      { class: 'guidance' },
      { author: 'someone' },
      { source_commit: `"${'1'.repeat(40)}"` },
      { authority_level: 'T1' },
      { created_at: '1786000000001' },
      { expires_at: '1886000000001' },
      { constitution_compatibility: 'F1-F13' },
      { supersedes: '[a]' },
      { content_hash: `sha256:${'cd'.repeat(32)}` },
      { note: 'hello' },
      { note: '{a: 1}' },
    ]) {
      expect(await digestWith(over), JSON.stringify(over)).not.toBe(manifestDigest);
    }
    expect(await digestWith({ note: 'one' })).not.toBe(await digestWith({ note: 'two' }));
    expect(await digestWith({ constructor: '1' })).not.toBe(await digestWith({ constructor: '2' }));
  });

  it('two carriers are two readings, the file first', async () => {
    const { readings } = await parseFile(`---\n${yaml}---\n${BODY}`, 'A.md', {
      'A.md.manifest.yaml': manifestYaml({ artifact_id: 'second' }),
      'A.md.manifest.json': '{',
    });
    expect(readings.map((one) => one.claimed?.manifest.artifactId ?? one.fault?.code)).toEqual([
      ID,
      'second',
      'manifest-invalid',
    ]);
    expect(readings.map((one) => one.sidecar?.path ?? null)).toEqual([
      null,
      'A.md.manifest.yaml',
      'A.md.manifest.json',
    ]);
  });

  it('a link is judged with the sidecar of its own name, and says that it is a link', async () => {
    const { parseArtifact } = await import('../../src/parse/parse.ts');
    const { candidateAt, bytesOf } = await import('./given.ts');
    const parsed = await parseArtifact(
      candidateAt('CLAUDE.md'),
      { bytes: bytesOf(BODY), mode: 0o644, links: 1, aliasOf: 'AGENTS.md' },
      [{ path: 'CLAUDE.md.manifest.yaml', read: { bytes: bytesOf(yaml), mode: 0o644, links: 1, aliasOf: null } }],
    );
    expect(parsed.aliasOf).toBe('AGENTS.md');
    expect(codesOf(parsed)).toEqual(['symlink-alias']);
    expect(parsed.readings[0]?.claimed?.sidecar).toBe('CLAUDE.md.manifest.yaml');
  });

  it('the one manifest met in the wild is recognised: a comment at byte 0, a label, a session instead of a commit', async () => {
    const file = [
      '<!--',
      'context_manifest:',
      '  artifact_id: init-2026-08-17-a',
      '  class: operational_handoff',
      '  author: agent-7',
      '  source_session: SEAL-0123456789abcdef',
      '  authority_level: T1',
      '  approved_by: someone',
      '  binding: false',
      '  created_at: 2026-08-17T09:00:00Z',
      '  expires_at: 2026-08-24T09:00:00Z',
      '  constitution_compatibility: F1-F13-2026.05.05',
      '  supersedes: []',
      '  note: Handoff between two runs. It carries no orders.',
      '-->',
      '# Next',
      '',
    ].join('\n');
    const { claimed, fault, notes } = await onlyReading(file, 'prompts/NEXT_INIT.md');
    expect(fault).toBeNull();
    expect(claimed).toMatchObject({ carrier: 'comment', content: '# Next\n', line: 2 });
    expect(claimed?.manifest).toMatchObject({
      class: 'operational_handoff',
      level: 'T1',
      approvedBy: 'someone',
      sourceCommit: null,
      contentHash: null,
      constitution: 'F1-F13-2026.05.05',
      unknown: { source_session: 'SEAL-0123456789abcdef', note: 'Handoff between two runs. It carries no orders.' },
    });
    expect((claimed?.manifest.expiresAt ?? 0) - (claimed?.manifest.createdAt ?? 0)).toBe(7 * 86_400_000);
    expect(notes.map((one) => [one.code, one.line, one.column])).toEqual([
      ['manifest-dialect', 10, 3],
      ['manifest-unknown-field', 14, 3],
      ['manifest-unknown-field', 6, 3],
    ]);
    expect(HASH).toHaveLength(64);
  });
});

import type { Carrier, Manifest } from '../model/manifest.ts';

/** The manifest as YAML lines in the seed's field order, indented under `context_manifest`. Every value was held against its pattern before. */
export function renderManifest(manifest: Manifest): string {
  const fields: readonly (readonly [string, string])[] = [
    ['artifact_id', quote(manifest.artifactId)],
    ['class', manifest.class],
    ['author', quote(manifest.author)],
    ['source_commit', manifest.sourceCommit === null ? 'null' : quote(manifest.sourceCommit)],
    ['authority_level', manifest.level],
    ['approved_by', manifest.approvedBy === null ? 'null' : quote(manifest.approvedBy)],
    ['binding', String(manifest.binding)],
    ['created_at', String(manifest.createdAt)],
    ['expires_at', manifest.expiresAt === null ? 'null' : String(manifest.expiresAt)],
    ['constitution_compatibility', manifest.constitution === null ? 'null' : quote(manifest.constitution)],
    ['supersedes', `[${manifest.supersedes.map(quote).join(', ')}]`],
    ['content_hash', manifest.contentHash === null ? 'null' : quote(`sha256:${manifest.contentHash}`)],
    ...Object.keys(manifest.unknown)
      .sort()
      .map((field) => [field, JSON.stringify(manifest.unknown[field])] as const),
  ];
  return `context_manifest:\n${fields.map(([field, value]) => `  ${field}: ${value}\n`).join('')}`;
}

/** Puts a manifest before a content in its carrier; a sidecar stands alone. */
export function withCarrier(
  manifest: Manifest,
  carrier: Exclude<Carrier, 'json' | 'sidecar'>,
  content: string,
): string {
  const yaml = renderManifest(manifest);
  return carrier === 'comment' ? `<!--\n${yaml}-->\n${content}` : `---\n${yaml}---\n${content}`;
}

function quote(text: string): string {
  return JSON.stringify(text);
}

import { parseDocument } from 'yaml';
import type { Claimed } from '../model/stages.ts';

/**
 * Writes `approved_by` into a manifest where it lies: the one field an approver may set, which no digest covers (formats.md, manifestDigest).
 * @param bytes the file that carries the manifest: the artifact itself, or its sidecar.
 * @returns the new bytes; every byte outside the manifest is the one that was there.
 */
export function withApprovedBy(bytes: Uint8Array, claimed: Claimed, name: string): Uint8Array {
  if (claimed.span === null) return inJson(bytes, name);
  const { from, to } = claimed.span;
  const entry = Buffer.from(bytes.subarray(from, to)).toString('utf8');
  return Buffer.concat([bytes.subarray(0, from), Buffer.from(inYaml(entry, name)), bytes.subarray(to)]);
}

function inYaml(entry: string, name: string): string {
  const line = /^([ \t]+)(["']?)approved_by\2[ \t]*:[^\r\n]*(\r?\n|$)/m;
  const found = line.exec(entry);
  if (found)
    return `${entry.slice(0, found.index)}${found[1]}approved_by: ${JSON.stringify(name)}${found[3]}${entry.slice(found.index + found[0].length)}`;
  const document = parseDocument(entry);
  document.setIn(['context_manifest', 'approved_by'], name);
  return document.toString({ lineWidth: 0 });
}

function inJson(bytes: Uint8Array, name: string): Uint8Array {
  const document = JSON.parse(
    Buffer.from(bytes)
      .toString('utf8')
      .replace(/^\ufeff/, ''),
  ) as { context_manifest: Record<string, unknown> };
  document.context_manifest = { ...document.context_manifest, approved_by: name };
  return Buffer.from(`${JSON.stringify(document, null, 2)}\n`);
}

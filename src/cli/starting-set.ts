import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { WorkspaceRoot } from '../files/workspace-root.ts';
import { CONSTITUTION_TEMPLATE } from '../generated/template.ts';
import { POLICY_FILE, SIGNERS_FILE } from '../policy/policy-set.ts';
import { renderAllowedSigner } from '../sign/allowed-signers.ts';
import type { PublicKey } from '../sign/public-key.ts';

/** What a new policy set begins with. */
export interface Beginning {
  /** Workspace-relative folder of the set. */
  readonly dir: string;
  readonly id: string;
  /** The sovereign. */
  readonly name: string;
  readonly key: PublicKey;
}

/** @returns the files of a new policy set, path to text; a constitution that is there is kept. */
export function startingFiles(root: WorkspaceRoot, { dir, id, name, key }: Beginning): ReadonlyMap<string, string> {
  const constitution = `${dir}/constitution.md`;
  const files = new Map<string, string>();
  const { keyType, fingerprint, line } = key;
  const signer = renderAllowedSigner({
    principal: name,
    fingerprint,
    keyType,
    publicKey: line,
    namespaces: ['writ', 'git'],
    validAfter: null,
    validBefore: null,
  });
  files.set(`${dir}/${POLICY_FILE}`, policyText(id, constitution, name));
  files.set(
    `${dir}/${SIGNERS_FILE}`,
    `# Who may sign here, and with which key. OpenSSH allowed_signers format, one principal a line.\n${signer}\n`,
  );
  if (!existsSync(join(root.path, constitution))) files.set(constitution, CONSTITUTION_TEMPLATE);
  return files;
}

function policyText(id: string, constitution: string, name: string): string {
  return [
    '# What this workspace asks of the texts its agents read. After an edit run: writ trust sign',
    'version: 1',
    `workspace: ${id}`,
    'constitution:',
    `  documents: [${constitution}]`,
    '  accepts: []            # earlier hashes or labels still accepted',
    'principals:',
    `  ${name}: sovereign`,
    'approvals: {threshold: {policy: 1, constitution: 1}, maxDays: 365, presence: none}   # presence: touch asks for a security key',
    'commits: {authorship: specialist, approval: none}',
    'spawns: {maxHours: 24}',
    'unmanifested: reference  # or quarantined',
    'initPaths: []            # more init paths: - {path: "prompts/**/*.md", loads: launch}',
    '',
  ].join('\n');
}

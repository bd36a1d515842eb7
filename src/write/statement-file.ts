import { join } from 'node:path';
import type { WorkspaceRoot } from '../files/workspace-root.ts';
import { writeInside } from '../files/write-inside.ts';
import type { Instant } from '../model/instant.ts';
import type { Predicate, Subject } from '../model/statement.ts';
import { sha256Hex } from '../sign/digest.ts';
import { sealEnvelope } from '../sign/envelope.ts';
import type { SigningKey } from '../sign/private-key.ts';
import { toPayload } from '../sign/statement.ts';

const FOLDERS = { authorship: 'authorship', approval: 'approvals', revocation: 'revocations' } as const;

export interface StatementDraft {
  readonly predicate: Predicate;
  readonly workspace: string;
  readonly issuedAt: Instant;
  readonly subjects: readonly Subject[];
}

/** A sealed statement and where it belongs; nothing is written yet. */
export interface Sealed {
  readonly file: string;
  readonly text: string;
  readonly payloadDigest: string;
}

/** Signs a statement. The file is named by what it is about and by its own digest, so two never collide (formats.md, statements). */
export async function sealStatement(draft: StatementDraft, dir: string, keys: readonly SigningKey[]): Promise<Sealed> {
  const payload = toPayload(draft.predicate, draft);
  const payloadDigest = sha256Hex(payload);
  const text = await sealEnvelope(payload, keys);
  return { file: fileOf(draft, dir, payloadDigest), text, payloadDigest };
}

/** Writes a sealed statement. @returns why it could not be written, or null. */
export function writeStatement(root: WorkspaceRoot, sealed: Sealed): string | null {
  const written = writeInside(root, sealed.file, sealed.text, 0o644);
  return written === null ? null : written.message;
}

function fileOf({ predicate, subjects }: StatementDraft, dir: string, payloadDigest: string): string {
  switch (predicate.type) {
    case 'spawn':
      return join(dir, 'spawns', `${predicate.actor}.dsse.json`).replaceAll('\\', '/');
    case 'policy':
      return `${dir}/policy.dsse.json`;
    case 'post':
      return predicate.board;
    // What agents hand each other belongs to no folder of the set.
    case 'handoff':
    case 'ack':
    case 'cancel':
      return `${predicate.handoffId}.${predicate.type}.dsse.json`;
    case 'authorship':
    case 'approval':
    case 'revocation': {
      const about =
        subjects[0]?.sha256 ??
        (predicate.type === 'revocation'
          ? (predicate.digest ?? sha256Hex(predicate.artifactId ?? predicate.actor ?? predicate.publicKey ?? ''))
          : payloadDigest);
      return `${dir}/${FOLDERS[predicate.type]}/${about}-${payloadDigest.slice(0, 16)}.dsse.json`;
    }
  }
}

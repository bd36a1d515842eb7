import { randomUUID } from 'node:crypto';
import { withLock } from '../files/lock.ts';
import { readOnce } from '../files/read-once.ts';
import type { WorkspaceRoot } from '../files/workspace-root.ts';
import { writeInside } from '../files/write-inside.ts';
import { type ArtifactClass, canBind, type Level, mayApprove } from '../model/artifact-class.ts';
import type { FindingCode } from '../model/finding.ts';
import type { Instant } from '../model/instant.ts';
import type { Manifest } from '../model/manifest.ts';
import type { PolicySet } from '../model/policy.ts';
import { wasRead } from '../model/source.ts';
import type { Claimed, Judged, LiveApproval } from '../model/stages.ts';
import type { AcceptedRule, Subject } from '../model/statement.ts';
import { manifestDigestOf } from '../parse/manifest.ts';
import { replaces } from '../policy/approvals.ts';
import { withApprovedBy } from './approved-by.ts';
import { renderManifest } from './manifest-text.ts';
import type { KnownSigner } from './signer.ts';
import { type Sealed, sealStatement, writeStatement } from './statement-file.ts';
import { sealAuthorship } from './write-artifact.ts';

const SIDECAR_BYTES = 65_536;

export interface ApproveDraft {
  readonly root: WorkspaceRoot;
  readonly set: PolicySet;
  readonly signer: KnownSigner;
  readonly now: Instant;
  readonly expiresAt: Instant;
  readonly accepts: readonly AcceptedRule[];
  /** For a file without a manifest: the class its sidecar declares. */
  readonly class: ArtifactClass | null;
  readonly level: Level;
  readonly live: readonly LiveApproval[];
  /** Links of the workspace that lead to the artifact. */
  readonly aliases: readonly string[];
}

export interface Refused {
  readonly code: FindingCode;
  readonly why: string;
}

/** Everything that will be signed, worked out before anybody is asked. */
export interface Proposal {
  readonly judged: Judged;
  readonly path: string;
  readonly content: string;
  readonly manifest: Manifest;
  readonly manifestDigest: string;
  readonly subjects: readonly Subject[];
  /** Live approvals this one takes the place of. */
  readonly replaces: readonly LiveApproval[];
  readonly replacedIds: readonly string[];
  /** The sidecar to write first, or null where the manifest stands already. */
  readonly newSidecar: string | null;
  readonly warnings: readonly string[];
}

/** Works out what an approval would say, or why it may not be given. Only what was read once is shown, and only what is shown is signed. */
export function propose(judged: Judged, draft: ApproveDraft): Proposal | Refused {
  const { parsed, claimed } = judged.evidence;
  const { path } = parsed.candidate;
  const { signer, set } = draft;
  if (parsed.bytes === null || parsed.text === null)
    return {
      code: judged.findings[0]?.code ?? 'path-unreadable',
      why: judged.findings[0]?.message ?? 'it cannot be read',
    };
  if (parsed.line !== null)
    return { code: 'board-kind-unproven', why: 'a board line is never approved: write the text to a file of its own' };
  if (parsed.candidate.kind === 'document')
    return {
      code: 'approval-missing',
      why: 'a document of the constitution is approved by signing the set: writ trust sign',
    };
  const stop = judged.findings.find((one) => HARD_STOPS.has(one.code));
  if (stop) return { code: stop.code, why: stop.message };
  const blocked = judged.findings.find(
    (one) =>
      one.severity === 'block' &&
      one.relief !== 'accepted' &&
      !draft.accepts.some((accept) => `scan/${accept.rule}` === one.code),
  );
  if (blocked)
    return {
      code: blocked.code,
      why: `${blocked.message} To accept it knowingly: --accept ${blocked.code.slice('scan/'.length)}=REASON`,
    };
  const standing = chainAt(path, draft.live);
  const stamped = stampFor(judged, claimed, draft, standing);
  if ('why' in stamped) return stamped;
  const { manifest, carrier, contentSha256, content } = stamped;
  const refused = permission(manifest, signer, set, draft);
  if (refused) return refused;
  const replaced = standing.filter((one) => one.artifactId !== manifest.artifactId);
  const known = manifest.supersedes.filter(
    (id) => id !== manifest.artifactId && draft.live.some((one) => one.artifactId === id),
  );
  const self = standing.some((one) => one.artifactId === manifest.artifactId && one.sha256 !== contentSha256)
    ? [manifest.artifactId]
    : [];
  const replacedIds = [...new Set([...replaced.map((one) => one.artifactId), ...known, ...self])].sort();
  const silent = replaced.filter((one) => !manifest.supersedes.includes(one.artifactId)).map((one) => one.artifactId);
  const warnings =
    silent.length > 0 && canBind(manifest.class)
      ? [
          `the manifest does not say that it supersedes ${silent.join(', ')}, so it will rank advisory at most (supersession-gap); write it again with --supersedes ${silent.join(' --supersedes ')}`,
        ]
      : [];
  const subjects = [
    { name: path, sha256: contentSha256 },
    ...draft.aliases.map((name) => ({ name, sha256: contentSha256 })),
    ...judged.evidence.imports.flatMap((one) =>
      one.state === 'judged' && one.sha256 !== null && one.path !== path
        ? [{ name: one.path, sha256: one.sha256 }]
        : [],
    ),
  ];
  return {
    judged,
    path,
    content,
    manifest,
    manifestDigest: manifestDigestOf(manifest, carrier),
    subjects: uniqueByName(subjects),
    replaces: replaced,
    replacedIds,
    newSidecar: stamped.sidecar,
    warnings,
  };
}

/** What no approval may paper over. */
const HARD_STOPS: ReadonlySet<FindingCode> = new Set([
  'manifest-invalid',
  'manifest-ambiguous',
  'revoked',
  'import-escapes-root',
  'path-escapes-root',
  'not-text',
  'scan-incomplete',
  'nested-repository',
]);

interface Stamp {
  readonly manifest: Manifest;
  readonly carrier: Claimed['carrier'];
  readonly contentSha256: string;
  readonly content: string;
  readonly sidecar: string | null;
}

function stampFor(
  judged: Judged,
  claimed: Claimed | null,
  draft: ApproveDraft,
  standing: readonly LiveApproval[],
): Stamp | Refused {
  const { parsed } = judged.evidence;
  const name = draft.signer.identity.principal;
  const sovereign = draft.signer.identity.role === 'sovereign';
  const altered = claimed !== null && claimed.manifest.contentHash !== claimed.contentSha256;
  if (claimed !== null && !altered && (draft.class === null || draft.class === claimed.manifest.class)) {
    const { manifest, carrier, contentSha256, content } = claimed;
    return { manifest, carrier, contentSha256, content, sidecar: null };
  }
  const cls = draft.class ?? claimed?.manifest.class ?? null;
  if (cls === null)
    return {
      code: 'manifest-missing',
      why: 'it carries no manifest: say what it is with --class policy (or guidance, constitution, ...)',
    };
  if (claimed !== null && claimed.carrier !== 'sidecar') {
    const why = altered
      ? 'the bytes are not the ones its manifest was made for'
      : `its manifest declares ${claimed.manifest.class}`;
    return {
      code: altered ? 'content-hash-mismatch' : 'approval-stale',
      why: `${why}: stamp it anew with writ write ${parsed.candidate.path} --class ${cls} --from ${parsed.candidate.path}`,
    };
  }
  if (!sovereign)
    return {
      code: 'approver-is-author',
      why: 'a file without a proven author is adopted by the sovereign alone: let its author stamp it with writ write, then approve it',
    };
  const path = parsed.aliasOf ?? parsed.candidate.path;
  if (path !== parsed.candidate.path)
    return { code: 'symlink-alias', why: `it is a link: approve ${path}, which adds the alias` };
  const text = parsed.text?.read() ?? '';
  const manifest: Manifest = {
    artifactId: randomUUID(),
    class: cls,
    author: name,
    sourceCommit: null,
    level: claimed?.manifest.level ?? draft.level,
    approvedBy: name,
    binding: canBind(cls),
    createdAt: draft.now,
    expiresAt:
      claimed?.manifest.expiresAt !== undefined &&
      claimed.manifest.expiresAt !== null &&
      claimed.manifest.expiresAt > draft.now
        ? claimed.manifest.expiresAt
        : null,
    constitution: draft.set.constitution,
    // Two approvals of one version name it once; in the order the manifest is read in.
    supersedes: [...new Set(standing.map((one) => one.artifactId))].sort(),
    contentHash: parsed.sha256,
    unknown: {},
  };
  return {
    manifest,
    carrier: 'sidecar',
    contentSha256: parsed.sha256 ?? '',
    content: text,
    sidecar: renderManifest(manifest),
  };
}

function permission(
  manifest: Manifest,
  { identity, key }: KnownSigner,
  set: PolicySet,
  draft: ApproveDraft,
): Refused | null {
  if (!mayApprove(identity.role, manifest.class, manifest.level))
    return {
      code: 'approver-not-permitted',
      why: `${identity.principal} is ${identity.role}, which may not approve ${manifest.class} at ${manifest.level}`,
    };
  if (identity.role !== 'sovereign' && manifest.author === identity.principal)
    return { code: 'approver-is-author', why: `${identity.principal} is the author` };
  if (set.policy.approvals.presence === 'touch' && !key.publicKey.keyType.startsWith('sk-'))
    return {
      code: 'approver-not-permitted',
      why: 'this workspace asks for a touched security key (approvals.presence: touch)',
    };
  if (draft.expiresAt - draft.now > set.policy.approvals.maxDays * 86_400_000)
    return { code: 'approval-too-long', why: `approvals run at most ${set.policy.approvals.maxDays} days here` };
  return null;
}

/** Live approvals of a path that nothing live has replaced. */
export function chainAt(path: string, live: readonly LiveApproval[]): readonly LiveApproval[] {
  return live.filter(
    (one) =>
      !one.lapsed &&
      one.companion === undefined &&
      one.path === path &&
      canBind(one.class) &&
      !live.some((other) => replaces(other, one)),
  );
}

/**
 * Signs a proposal and sets `approved_by` in the manifest: the proof first, the manifest last. Refuses where the file is no longer the one that was shown.
 * @returns the file of the approval, or why nothing was approved.
 */
export async function approveProposal(
  proposal: Proposal,
  draft: ApproveDraft,
): Promise<{ readonly file: string } | Refused> {
  const { manifest, subjects, path, judged } = proposal;
  const { root, set, signer, now } = draft;
  const workspace = set.workspace ?? '';
  const predicate = {
    type: 'approval' as const,
    artifactId: manifest.artifactId,
    class: manifest.class,
    level: manifest.level,
    approver: signer.identity.principal,
    manifestDigest: proposal.manifestDigest,
    constitution: set.constitution,
    accepts: draft.accepts,
    replaces: proposal.replacedIds,
    expiresAt: draft.expiresAt,
  };
  const sealed = await sealStatement({ predicate, workspace, issuedAt: now, subjects }, set.dir, [signer.key]);
  const [subject] = subjects;
  const authored =
    proposal.newSidecar === null || !subject
      ? null
      : await sealAuthorship({ workspace, now, dir: set.dir, signer }, manifest, 'sidecar', subject);
  return withLock(`${root.path}/${set.dir}`, 'write', () => {
    const again = readOnce(root, path, set.policy.limits.fileBytes);
    const shown = judged.evidence.parsed.bytes;
    if (!wasRead(again) || shown === null || Buffer.compare(again.bytes, shown) !== 0)
      return {
        code: 'changed-while-reading' as const,
        why: `${path} changed after it was shown; nothing was approved`,
      };
    const fault = writeStatement(root, sealed) ?? place(proposal, draft, again.bytes, authored);
    return fault === null ? { file: sealed.file } : { code: 'path-unreadable' as const, why: fault };
  });
}

function place(
  proposal: Proposal,
  { root, signer }: ApproveDraft,
  bytes: Uint8Array,
  authored: Sealed | null,
): string | null {
  const { path, newSidecar, judged, manifest } = proposal;
  if (authored !== null) {
    const fault = writeStatement(root, authored);
    if (fault !== null) return fault;
  }
  if (newSidecar !== null) return writeInside(root, `${path}.manifest.yaml`, newSidecar, 0o644)?.message ?? null;
  const { claimed } = judged.evidence;
  if (claimed === null || manifest.approvedBy === signer.identity.principal) return null;
  if (manifest.approvedBy !== null && judged.approvedBy.includes(manifest.approvedBy)) return null;
  const carrierPath = claimed.sidecar ?? judged.evidence.parsed.aliasOf ?? path;
  const carrier = claimed.sidecar === null ? bytes : sidecarAsShown(root, judged, claimed.sidecar);
  if (carrier === null) return `${claimed.sidecar ?? path} changed after it was shown`;
  return (
    writeInside(root, carrierPath, withApprovedBy(carrier, claimed, signer.identity.principal), 0o644)?.message ?? null
  );
}

function sidecarAsShown(root: WorkspaceRoot, judged: Judged, path: string): Uint8Array | null {
  const shown = judged.evidence.parsed.readings.find((reading) => reading.sidecar?.path === path)?.sidecar?.bytes;
  const read = readOnce(root, path, SIDECAR_BYTES);
  return wasRead(read) && shown !== undefined && Buffer.compare(read.bytes, shown) === 0 ? read.bytes : null;
}

function uniqueByName(subjects: readonly Subject[]): readonly Subject[] {
  return subjects.filter((subject, index) => subjects.findIndex((other) => other.name === subject.name) === index);
}

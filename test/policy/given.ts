import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { openRoot, type WorkspaceRoot } from '../../src/files/workspace-root.ts';
import { type Instant, instantFromMs } from '../../src/model/instant.ts';
import type { PolicySet } from '../../src/model/policy.ts';
import type { AllowedKey, PrincipalEntry } from '../../src/model/principal.ts';
import type { Role } from '../../src/model/role.ts';
import type {
  ApprovalPredicate,
  Predicate,
  RevocationPredicate,
  Signer,
  SpawnPredicate,
  Statement,
  Subject,
} from '../../src/model/statement.ts';
import { DEFAULT_POLICY } from '../../src/policy/defaults.ts';
import type { SpawnLink } from '../../src/policy/identity.ts';
import type { Pin } from '../../src/policy/pins.ts';
import { NOTHING_REMEMBERED, type Remembered, readPolicySet } from '../../src/policy/policy-set.ts';
import { readSetFile } from '../../src/policy/set-file.ts';
import { readStatements } from '../../src/policy/statements.ts';
import { newKeyPair } from '../../src/sign/new-key.ts';
import { openSigningKey, type SigningKey } from '../../src/sign/private-key.ts';
import type { PublicKey } from '../../src/sign/public-key.ts';
import { type SignedSet, signSet } from '../../src/write/policy-set.ts';
import { sealStatement } from '../../src/write/statement-file.ts';

export function instant(ms: number): Instant {
  const at = instantFromMs(ms);
  if (at === null) throw new Error('no instant');
  return at;
}

export const HOUR = 3_600_000;
export const DAY = 24 * HOUR;
export const NOW = instant(1_790_000_000_000);
export const later = (ms: number): Instant => instant(NOW + ms);

export function tempDir(): string {
  return mkdtempSync(join(tmpdir(), 'writ-policy-'));
}

/** A native key written to and opened from a temp folder. */
export async function keyOnDisk(): Promise<SigningKey> {
  const file = join(tempDir(), 'key');
  writeFileSync(file, newKeyPair('test').privateKey, { mode: 0o600 });
  const key = await openSigningKey(file);
  if ('refused' in key) throw new Error(key.refused);
  return key;
}

export const WORKSPACE = 'example.com/acme/app';

export function policyYaml(workspace = WORKSPACE): string {
  return `version: 1\nworkspace: ${workspace}\nconstitution:\n  documents: [policies/constitution.md]\nprincipals:\n  f13: sovereign\n  lead: approver\n`;
}

/** A workspace folder with a signed set of two principals. */
export interface World {
  readonly root: WorkspaceRoot;
  readonly sovereign: SigningKey;
  readonly approver: SigningKey;
  readonly pin: Pin;
  readonly set: SignedSet;
  write(path: string, text: string | Uint8Array): void;
  sign(
    changes?: Readonly<Record<string, string>>,
    more?: { raiseFloor?: boolean; roots?: readonly string[]; keys?: readonly SigningKey[] },
  ): Promise<SignedSet>;
  read(over?: { pins?: readonly Pin[]; now?: Instant; remembered?: Partial<Remembered> }): Promise<PolicySet>;
  /** Seals a statement of this workspace and writes it; returns its file, text and digest. */
  seal(
    predicate: Predicate,
    keys: readonly SigningKey[],
    over?: { issuedAt?: Instant; subjects?: readonly Subject[]; workspace?: string; file?: string },
  ): Promise<{ readonly file: string; readonly text: string; readonly payloadDigest: string }>;
}

export async function world(workspace = WORKSPACE): Promise<World> {
  const dir = tempDir();
  const root = openRoot(dir);
  const [sovereign, approver] = [await keyOnDisk(), await keyOnDisk()];
  const write = (path: string, text: string | Uint8Array): void => {
    mkdirSync(dirname(join(dir, path)), { recursive: true });
    writeFileSync(join(dir, path), text);
  };
  const line = (name: string, key: PublicKey): string => `${name} namespaces="writ,git" ${key.line}\n`;
  write('policies/policy.yaml', policyYaml(workspace));
  write('policies/constitution.md', '# F1\n');
  write('policies/allowed_signers', line('f13', sovereign.publicKey) + line('lead', approver.publicKey));
  const sign: World['sign'] = async (changes = {}, more = {}) => {
    const signed = await signSet(
      {
        root,
        dir: 'policies',
        now: NOW,
        changes: new Map(Object.entries(changes)),
        raiseFloor: more.raiseFloor ?? false,
        roots: more.roots ?? null,
        recovery: null,
        revocations: readStatements(root, 'policies/revocations', 'revocation', workspace).statements.map(
          (one) => one.payloadDigest,
        ),
        takesEdits: true,
      },
      more.keys ?? [sovereign],
    );
    if ('refused' in signed) throw new Error(signed.refused);
    return signed;
  };
  const set = await sign();
  const pin: Pin = {
    workspace,
    roots: [sovereign.publicKey.fingerprint],
    floor: 1,
    version: 1,
    digest: null,
    dir: 'policies',
    seen: null,
    from: 'user',
  };
  return {
    root,
    sovereign,
    approver,
    pin,
    set,
    write,
    sign,
    read: ({ pins = [pin], now = NOW, remembered = {} } = {}) =>
      readPolicySet(
        { root, dir: 'policies', file: readSetFile(root, 'policies'), pins, now },
        { ...NOTHING_REMEMBERED, ...remembered },
      ),
    seal: async (predicate, keys, over = {}) => {
      const sealed = await sealStatement(
        {
          predicate,
          workspace: over.workspace ?? workspace,
          issuedAt: over.issuedAt ?? NOW,
          subjects: over.subjects ?? [],
        },
        'policies',
        keys,
      );
      const file = over.file ?? sealed.file;
      write(file, sealed.text);
      return { ...sealed, file };
    },
  };
}

export function revocation(over: Partial<RevocationPredicate>): RevocationPredicate {
  return {
    type: 'revocation',
    artifactId: null,
    digest: null,
    publicKey: null,
    actor: null,
    by: 'f13',
    reason: 'test',
    ...over,
  };
}

/** Public keys by a short name: the same name, the same key. */
const keys = new Map<string, PublicKey>();
export function keyNamed(name: string): PublicKey {
  const known = keys.get(name) ?? newKeyPair(name).publicKey;
  keys.set(name, known);
  return known;
}

export function signerNamed(name: string, over: Partial<Signer> = {}): Signer {
  const { fingerprint, keyType } = keyNamed(name);
  return { fingerprint, keyType, userPresent: false, ...over };
}

let counter = 0;

/** A statement as if it had been opened: the signatures stand, whoever the signers are. */
export function statement<P extends Predicate>(
  predicate: P,
  signers: readonly (string | Signer)[],
  over: Partial<Statement<P>> = {},
): Statement<P> {
  counter += 1;
  return {
    predicate,
    workspace: WORKSPACE,
    issuedAt: NOW,
    subjects: [],
    payloadDigest: counter.toString(16).padStart(64, '0'),
    signers: signers.map((one) => (typeof one === 'string' ? signerNamed(one) : one)),
    file: `policies/${predicate.type}/${counter}.dsse.json`,
    ...over,
  };
}

/** A line of allowed_signers: `principal` with the key of a name (its own by default). */
export function line(principal: string, over: Partial<AllowedKey> = {}, key = principal): AllowedKey {
  const { fingerprint, keyType, line: publicKey } = keyNamed(key);
  return {
    principal,
    fingerprint,
    keyType,
    publicKey,
    namespaces: ['writ', 'git'],
    validAfter: null,
    validBefore: null,
    ...over,
  };
}

export function entry(role: Role, over: Partial<PrincipalEntry> = {}): PrincipalEntry {
  return { role, paths: null, departed: null, keeps: [], ...over };
}

/** An intact set of f13 (sovereign), lead (approver), orch (orchestrator), spec (specialist). */
export function intactSet(
  over: Partial<PolicySet> = {},
  principals: Readonly<Record<string, PrincipalEntry>> = {},
): PolicySet {
  const all = {
    f13: entry('sovereign'),
    lead: entry('approver'),
    orch: entry('orchestrator'),
    spec: entry('specialist'),
    ...principals,
  };
  return {
    root: 'pinned',
    intact: true,
    workspace: WORKSPACE,
    version: 1,
    floor: 1,
    constitution: null,
    dir: 'policies',
    policy: { ...DEFAULT_POLICY, workspace: WORKSPACE, principals: new Map(Object.entries(all)) },
    keys: Object.keys(all).map((name) => line(name)),
    roots: [],
    exceptions: [],
    revocations: [],
    documents: new Map(),
    ruleFiles: [],
    endorsed: new Set(),
    digest: null,
    findings: [],
    ...over,
  };
}

/** A spawn record: `child` declared by `parent`, signed by the parent's key; the child's key is named like the child. */
export function spawn(
  child: string,
  parent: string,
  over: Partial<SpawnPredicate> = {},
  more: { signers?: readonly string[]; key?: string; issuedAt?: Instant } = {},
): SpawnLink {
  const key = keyNamed(more.key ?? child);
  const predicate: SpawnPredicate = {
    type: 'spawn',
    actor: child,
    role: 'specialist',
    parent,
    publicKey: key.line,
    paths: [],
    expiresAt: later(8 * HOUR),
    session: null,
    ...over,
  };
  return {
    statement: statement(predicate, more.signers ?? [parent], { issuedAt: more.issuedAt ?? NOW }),
    fingerprint: key.fingerprint,
  };
}

export function approval(
  over: Partial<ApprovalPredicate> = {},
  signers: readonly (string | Signer)[] = ['lead'],
  more: Partial<Statement<ApprovalPredicate>> = {},
): Statement<ApprovalPredicate> {
  const predicate: ApprovalPredicate = {
    type: 'approval',
    artifactId: 'a1',
    class: 'policy',
    level: 'T2',
    approver: 'lead',
    manifestDigest: 'd'.repeat(64),
    constitution: null,
    accepts: [],
    replaces: [],
    expiresAt: later(90 * DAY),
    ...over,
  };
  return statement(predicate, signers, { subjects: [{ name: 'AGENTS.md', sha256: 'c'.repeat(64) }], ...more });
}

import type { ArtifactClass, Level } from '../../src/model/artifact-class.ts';

/** One signed approval of the artifact under judgement, in plain words. */
export interface ApprovalFact {
  /** The principal it names. */
  readonly by: string;
  /** Whose key signed it, where that is somebody else. */
  readonly key?: string;
  /** The one field in which it differs from the artifact. */
  readonly off?: 'bytes' | 'path' | 'id' | 'class' | 'level' | 'manifest';
  readonly life?: 'expired' | 'future' | 'long' | 'endless';
  readonly touched?: true;
  readonly accepts?: readonly string[];
  /** Ids it replaces besides what the chain fact says. */
  readonly replaces?: readonly string[];
}

export const WRITERS = [
  'none',
  'spec',
  'orch',
  'lead',
  'f13',
  'orch-commit',
  'orch-git-commit',
  'lead-commit',
  'other-blob',
  'other-bytes',
  'other-manifest',
  'stranger',
  'closed',
  'gone',
  'pay',
  'kid-o',
  'kid-s',
  'grandkid',
  'kid-broken',
  'kid-expired',
  'kid-wide',
  'kid-twice',
  'kid-away',
  'spec+orch',
  'kid-broken+orch',
  'spec+commit',
] as const;
export type WriterFact = (typeof WRITERS)[number];

/** Whom the manifest names: the writer, or somebody. */
export const AUTHORS = ['self', 'lead', 'f13', 'somebody'] as const;

const lead: ApprovalFact = { by: 'lead' };
const f13: ApprovalFact = { by: 'f13' };

export const APPROVALS: Readonly<Record<string, readonly ApprovalFact[]>> = {
  none: [],
  lead: [lead],
  f13: [f13],
  'lead+lead2': [lead, { by: 'lead2' }],
  'lead+f13': [lead, f13],
  'lead twice': [lead, { by: 'lead', accepts: ['twice'] }],
  'lead touched': [{ by: 'lead', touched: true }],
  'f13 touched': [{ by: 'f13', touched: true }],
  spec: [{ by: 'spec' }],
  orch: [{ by: 'orch' }],
  'kid-o': [{ by: 'kid-o' }],
  stranger: [{ by: 'stranger' }],
  forged: [{ by: 'lead', key: 'spec' }],
  'off bytes': [{ by: 'lead', off: 'bytes' }],
  'off path': [{ by: 'lead', off: 'path' }],
  'off id': [{ by: 'lead', off: 'id' }],
  'off class': [{ by: 'f13', off: 'class' }],
  'off level': [{ by: 'f13', off: 'level' }],
  'off manifest': [{ by: 'lead', off: 'manifest' }],
  expired: [{ by: 'lead', life: 'expired' }],
  'f13 expired': [{ by: 'f13', life: 'expired' }],
  future: [{ by: 'lead', life: 'future' }],
  long: [{ by: 'lead', life: 'long' }],
  endless: [{ by: 'f13', life: 'endless' }],
  'key closed': [{ by: 'lead-closed' }],
  'key early': [{ by: 'lead-early' }],
  gone: [{ by: 'lead-gone' }],
  'out of scope': [{ by: 'lead-pay' }],
  'lead+expired': [lead, { by: 'lead2', life: 'expired' }],
  'lead+off': [lead, { by: 'lead2', off: 'manifest' }],
  'lead+spec': [lead, { by: 'spec' }],
};

export const APPROVED_BY = [null, 'lead', 'f13', 'lead2', 'somebody'] as const;

export const CHAINS = [
  'alone',
  'successor by lead',
  'successor by f13',
  'successor elsewhere',
  'successor given before',
  'successor revoked',
  'successor expired',
  'successor by spec',
  'rival',
  'newer version',
  'replaces lower',
  'replaces higher',
  'higher beside',
  'replaces unclaimed',
  'claims unreplaced',
  'claims unknown',
  'claims itself',
  'circle',
] as const;

export const REVOCATIONS = [
  'none',
  'id by f13',
  'id by lead',
  'digest by f13',
  'digest by lead',
  'id by spec',
  'id by stranger',
  'other id',
  'remembered',
] as const;

export const SCANS = [
  'clean',
  'notice',
  'suspect',
  'block',
  'incomplete',
  'intent-mismatch',
  'intent-claims-authority',
] as const;

export const IMPORTS = [
  'none',
  'missing',
  'escapes',
  'lower',
  'lower covered',
  'refused',
  'refused covered',
  'binding',
] as const;

export const READS = [
  'read',
  'path-unreadable',
  'too-large',
  'changed-while-reading',
  'path-escapes-root',
  'not-text',
  'hard-linked',
  'symlink-alias',
  'nested-repository',
  'outside-workspace',
  'path-confusable',
] as const;

export const SETS = [
  'intact',
  'root-unpinned',
  'root-mismatch',
  'policy-unsigned',
  'policy-altered',
  'policy-invalid',
  'policy-below-floor',
  'policy-expired',
  'revocation-missing',
  'constitution-unavailable',
  'state-unavailable',
] as const;

/** `plain`, `strict` (unmanifested: quarantined), every code in audit, or an exception for one code. */
export const MODES = ['plain', 'strict', 'audit', 'excepted', 'excepted elsewhere', 'exception over'] as const;

/** Everything the checks look at, as words. `class: null` is a file without a manifest. */
export interface Facts {
  readonly class: ArtifactClass | null;
  readonly level: Level;
  readonly writer: WriterFact;
  readonly author: (typeof AUTHORS)[number];
  readonly approvals: readonly ApprovalFact[];
  readonly approvedBy: string | null;
  readonly threshold: 1 | 2;
  readonly presence: 'none' | 'touch';
  readonly binding: boolean;
  readonly expires: 'never' | 'past' | 'now' | 'soon' | 'far';
  readonly created: 'past' | 'skewed' | 'future';
  readonly constitution: 'today' | 'label' | 'bare hash' | 'another' | 'null';
  readonly hash: 'equal' | 'another' | 'line endings' | 'null';
  readonly chain: (typeof CHAINS)[number];
  readonly revoked: (typeof REVOCATIONS)[number];
  readonly scan: (typeof SCANS)[number];
  readonly imports: (typeof IMPORTS)[number];
  readonly read: (typeof READS)[number];
  readonly set: (typeof SETS)[number];
  readonly mode: (typeof MODES)[number];
  readonly commit: 'missing' | 'unknown' | 'shallow' | 'known';
}

/** Every value of every axis. */
export const AXES: { readonly [K in keyof Facts]: readonly Facts[K][] } = {
  class: [null, 'observation', 'operational_handoff', 'memory', 'guidance', 'policy', 'constitution'],
  level: ['T1', 'T2', 'T3'],
  writer: WRITERS,
  author: AUTHORS,
  approvals: Object.values(APPROVALS),
  approvedBy: APPROVED_BY,
  threshold: [1, 2],
  presence: ['none', 'touch'],
  binding: [false, true],
  expires: ['never', 'past', 'now', 'soon', 'far'],
  created: ['past', 'skewed', 'future'],
  constitution: ['today', 'label', 'bare hash', 'another', 'null'],
  hash: ['equal', 'another', 'line endings', 'null'],
  chain: CHAINS,
  revoked: REVOCATIONS,
  scan: SCANS,
  imports: IMPORTS,
  read: READS,
  set: SETS,
  mode: MODES,
  commit: ['missing', 'unknown', 'shallow', 'known'],
};

/** The best state of an axis but class and level: a clean policy that binds, where its class may. */
export const BEST: Facts = {
  class: 'policy',
  level: 'T1',
  writer: 'orch',
  author: 'self',
  approvals: [lead],
  approvedBy: 'lead',
  threshold: 1,
  presence: 'none',
  binding: true,
  expires: 'never',
  created: 'past',
  constitution: 'today',
  hash: 'equal',
  chain: 'alone',
  revoked: 'none',
  scan: 'clean',
  imports: 'none',
  read: 'read',
  set: 'intact',
  mode: 'plain',
  commit: 'known',
};

/** @returns every combination of the axes named, the others held at `base`. */
export function* product<K extends keyof Facts>(
  base: Facts,
  axes: { readonly [Axis in K]: readonly Facts[Axis][] },
): Generator<Facts> {
  const names = Object.keys(axes) as K[];
  const at = names.map(() => 0);
  for (;;) {
    const state: Record<string, unknown> = { ...base };
    for (const [index, name] of names.entries()) state[name] = axes[name][at[index] ?? 0];
    yield state as unknown as Facts;
    let digit = names.length - 1;
    for (; digit >= 0; digit -= 1) {
      const next = (at[digit] ?? 0) + 1;
      const name = names[digit] as K;
      if (next < axes[name].length) {
        at[digit] = next;
        break;
      }
      at[digit] = 0;
    }
    if (digit < 0) return;
  }
}

/** @returns `count` states drawn from all axes at once, half of their values kept at the best so that some still bind. */
export function* random(count: number, seed: number): Generator<Facts> {
  let state = seed >>> 0;
  const next = (below: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 4_294_967_296) * below);
  };
  for (let index = 0; index < count; index += 1) {
    const facts: Record<string, unknown> = { ...BEST };
    for (const axis of Object.keys(AXES) as (keyof Facts)[]) {
      if (next(3) === 0 || axis === 'class') facts[axis] = AXES[axis][next(AXES[axis].length)];
    }
    yield facts as unknown as Facts;
  }
}

/** The name the manifest gives as author. */
export function authorOf(facts: Facts): string {
  if (facts.author !== 'self') return facts.author;
  const first = facts.writer.split('+')[0] ?? '';
  switch (facts.writer) {
    case 'none':
    case 'other-blob':
    case 'other-bytes':
    case 'other-manifest':
    case 'orch-commit':
    case 'spec+orch':
    case 'kid-broken+orch':
      return 'orch';
    case 'orch-git-commit':
      return 'orch-git';
    case 'lead-commit':
      return 'lead';
    case 'closed':
      return 'orch-closed';
    case 'gone':
      return 'orch-gone';
    case 'pay':
      return 'orch-pay';
    default:
      return first;
  }
}

/** A short text of what differs from the best state, for failures. */
export function told(facts: Facts): string {
  return (Object.keys(facts) as (keyof Facts)[])
    .filter(
      (axis) => JSON.stringify(facts[axis]) !== JSON.stringify(BEST[axis]) || axis === 'class' || axis === 'level',
    )
    .map((axis) => `${axis}=${JSON.stringify(facts[axis])}`)
    .join(' ');
}

import { type ApprovalFact, authorOf, type Facts, type WriterFact } from './facts.ts';

/*
 * What decisions.md and overview.md say of each state, written from those pages alone: nothing here comes from src.
 * Where the page leaves a choice the comment says so.
 */

export type PageEffect = 'quarantine' | 'reference' | 'advisory' | 'note';
type PageRank = 'quarantined' | 'reference' | 'advisory' | 'binding';
type PageRole = 'unknown' | 'specialist' | 'orchestrator' | 'approver' | 'sovereign';

/** One row of the page: effect, P/C effect, class letters, and where it is withheld. */
export interface PageRow {
  readonly effect: PageEffect;
  readonly pc?: PageEffect;
  /** Where a manifest of an evidence class stands over it. */
  readonly evidence?: PageEffect;
  /** With `unmanifested: quarantined`. */
  readonly strict?: PageEffect;
  readonly letters: string;
  readonly withheld: 'never' | 'unless-intact' | 'always';
}

const Q = 'quarantine';
const R = 'reference';
const A = 'advisory';
const N = 'note';
const row = (effect: PageEffect, letters = '', more: Partial<PageRow> = {}): PageRow => ({
  effect,
  letters,
  withheld: letters.includes('E') ? 'always' : 'never',
  ...more,
});
/** The page's `Q w P/C`: nothing for other classes but a note. */
const approvalRow: PageRow = { effect: N, pc: Q, letters: '', withheld: 'unless-intact' };
const setRow = row(R, '*');

/**
 * The table of decisions.md. Letters: E could not check, X exceptable, M may be audited, B an adoptable bind code, `*` on
 * all artifacts. The page marks no M row by row; it bars E, identity, signature, approval, hash and constitution codes.
 */
export const PAGE: Readonly<Record<string, PageRow>> = {
  'path-escapes-root': row(Q),
  'path-unreadable': row(Q, 'E'),
  'too-large': row(Q, 'E'),
  'changed-while-reading': row(Q, 'E'),
  'not-text': row(Q),
  'hard-linked': row(A, 'M'),
  'symlink-alias': row(N),
  'path-confusable': row(R, 'XM'),
  'nested-repository': row(R),
  'outside-workspace': row(N),
  'host-loads-raw': row(N),
  'executes-unapproved': row(Q, '', { withheld: 'always' }),
  'manifest-missing': row(R, 'XM', { strict: Q }),
  'manifest-ambiguous': row(Q),
  'manifest-invalid': row(Q),
  'front-matter-unreadable': row(N),
  'manifest-dialect': row(N),
  'manifest-unknown-field': row(N),
  'artifact-id-duplicate': row(R),
  'writer-unproven': row(R, 'B'),
  'author-mismatch': row(R, 'B'),
  'role-forbids-class': row(R, 'B', { pc: Q }),
  'level-exceeds-writer': row(R, 'B', { pc: Q }),
  'spawn-chain-broken': row(R, 'B'),
  'spawn-expired': row(R, 'B'),
  'spawn-role-widened': row(R, 'B'),
  'spawn-collision': row(R, 'B'),
  'spawn-path': row(R, 'B'),
  'source-commit-missing': row(N),
  'source-commit-unknown': row(N),
  revoked: row(Q),
  'content-hash-mismatch': row(Q),
  'content-hash-missing': row(A, '', { pc: Q }),
  'approval-missing': approvalRow,
  'approval-unproven': approvalRow,
  'approval-stale': approvalRow,
  'approval-expired': row(R),
  'approval-not-yet-valid': row(R),
  'approval-too-long': row(R),
  'approver-not-permitted': approvalRow,
  'approver-is-author': approvalRow,
  'approval-threshold': approvalRow,
  expired: row(R),
  'expires-soon': row(N),
  'expiry-missing': row(N),
  'not-yet-valid': row(R),
  'constitution-mismatch': row(A),
  superseded: row(R),
  'supersession-gap': row(A),
  'supersession-cycle': row(A),
  'supersedes-unknown': row(N),
  'supersedes-higher-authority': row(Q),
  'binding-claim': row(N),
  'history-incomplete': row(Q, 'E'),
  'scan-incomplete': row(Q, 'E'),
  'intent-mismatch': row(N),
  'intent-claims-authority': row(R, 'M', { evidence: Q }),
  'import-unapproved': row(A),
  'import-missing': row(A),
  'import-escapes-root': row(Q),
  'board-kind-unproven': row(R),
  'board-line-unreadable': row(N),
  'host-truncates': row(N),
  'root-unpinned': setRow,
  'root-mismatch': setRow,
  'policy-unsigned': setRow,
  'policy-altered': setRow,
  'policy-below-floor': setRow,
  'policy-expired': setRow,
  'revocation-missing': setRow,
  'constitution-unavailable': row(R, '*E', { withheld: 'never' }),
  'state-unavailable': row(R, '*E', { withheld: 'never' }),
  'binding-missing': row(N),
  'approval-removed': row(N),
  'exception-expired': row(N),
  'exception-unused': row(N),
  'exception-duplicate': row(N),
  'quarantine-failed': row(N, 'E'),
  // handoffs.md: refusals of a handoff move nothing; what is only told is a note.
  'handoff-invalid': row(Q, '', { withheld: 'always' }),
  'handoff-signature': row(Q, '', { withheld: 'always' }),
  'handoff-audience': row(Q, '', { withheld: 'always' }),
  'handoff-expired': row(Q, '', { withheld: 'always' }),
  'handoff-replayed': row(Q, '', { withheld: 'always' }),
  'handoff-chain': row(Q, '', { withheld: 'always' }),
  'handoff-role': row(Q, '', { withheld: 'always' }),
  'handoff-content': row(Q, '', { withheld: 'always' }),
  'handoff-unclear': row(N),
  'handoff-overclaims': row(N),
  'handoff-unanswered': row(N),
  'handoff-cancel-unproven': row(Q, '', { withheld: 'always' }),
  'handoff-cancel-unconfirmed': row(N),
  // Added to the page by the lead.
  'discovery-incomplete': row(N, 'E'),
  'sidecar-orphan': row(N),
  'policy-invalid': setRow,
  'proofs-unreadable': row(R, '*E', { withheld: 'never' }),
  'statement-invalid': row(N),
  'policy-file-unlisted': row(N),
};

/** Codes the page bars from audit by name: identity, signature, approval, hash, constitution; E comes from the letters. */
export const NEVER_AUDITED: readonly string[] = [
  ...Object.keys(PAGE).filter((code) => PAGE[code]?.letters.includes('B')),
  'board-kind-unproven',
  'artifact-id-duplicate',
  'executes-unapproved',
  'revoked',
  'content-hash-mismatch',
  'content-hash-missing',
  ...Object.keys(PAGE).filter((code) => code.startsWith('approval-') || code.startsWith('approver-')),
  'constitution-mismatch',
  ...Object.keys(PAGE).filter((code) => PAGE[code]?.letters.includes('*')),
  'statement-invalid',
];

const SCAN_EFFECT: Readonly<Record<string, PageEffect>> = { block: Q, suspect: R, notice: N };
const RANKS: readonly PageRank[] = ['quarantined', 'reference', 'advisory', 'binding'];
const CAPS: Readonly<Record<PageEffect, PageRank>> = {
  quarantine: 'quarantined',
  reference: R,
  advisory: A,
  note: 'binding',
};
export const CEILINGS = {
  observation: R,
  operational_handoff: R,
  memory: R,
  guidance: A,
  policy: 'binding',
  constitution: 'binding',
} as const satisfies Readonly<Record<string, PageRank>>;
const ROLE_ORDER: readonly PageRole[] = ['unknown', 'specialist', 'orchestrator', 'approver', 'sovereign'];

export function lowest(ranks: readonly PageRank[]): PageRank {
  return RANKS[Math.min(...ranks.map((one) => RANKS.indexOf(one)))] ?? 'quarantined';
}

export function above(a: string, b: string): boolean {
  return RANKS.indexOf(a as PageRank) > RANKS.indexOf(b as PageRank);
}

// --- who wrote it -------------------------------------------------------------------------------------------------

interface Proven {
  readonly principal: string;
  readonly role: PageRole;
  /** The spawn code where the chain does not stand or does not reach the path. */
  readonly fault?: string;
}

/** What each writer fact proves, by overview.md: nothing for other bytes, strangers, closed keys and people who left. */
export const PROVEN: Readonly<Record<WriterFact, readonly Proven[]>> = {
  none: [],
  spec: [{ principal: 'spec', role: 'specialist' }],
  orch: [{ principal: 'orch', role: 'orchestrator' }],
  lead: [{ principal: 'lead', role: 'approver' }],
  f13: [{ principal: 'f13', role: 'sovereign' }],
  'orch-commit': [{ principal: 'orch', role: 'specialist' }],
  'orch-git-commit': [{ principal: 'orch-git', role: 'orchestrator' }],
  'lead-commit': [{ principal: 'lead', role: 'specialist' }],
  'other-blob': [],
  'other-bytes': [],
  'other-manifest': [],
  stranger: [],
  closed: [],
  gone: [],
  pay: [{ principal: 'orch-pay', role: 'orchestrator', fault: 'spawn-path' }],
  'kid-o': [{ principal: 'kid-o', role: 'orchestrator' }],
  'kid-s': [{ principal: 'kid-s', role: 'specialist' }],
  grandkid: [{ principal: 'grandkid', role: 'orchestrator' }],
  'kid-broken': [{ principal: 'kid-broken', role: 'unknown', fault: 'spawn-chain-broken' }],
  'kid-expired': [{ principal: 'kid-expired', role: 'unknown', fault: 'spawn-expired' }],
  'kid-wide': [{ principal: 'kid-wide', role: 'unknown', fault: 'spawn-role-widened' }],
  'kid-twice': [{ principal: 'kid-twice', role: 'unknown', fault: 'spawn-collision' }],
  'kid-away': [{ principal: 'kid-away', role: 'orchestrator', fault: 'spawn-path' }],
  'spec+orch': [
    { principal: 'spec', role: 'specialist' },
    { principal: 'orch', role: 'orchestrator' },
  ],
  'kid-broken+orch': [
    { principal: 'kid-broken', role: 'unknown', fault: 'spawn-chain-broken' },
    { principal: 'orch', role: 'orchestrator' },
  ],
  'spec+commit': [
    { principal: 'spec', role: 'specialist' },
    { principal: 'orch-git', role: 'orchestrator' },
  ],
};

function mayWrite(role: PageRole, cls: string): boolean {
  const least: Readonly<Record<string, PageRole>> = {
    observation: 'unknown',
    operational_handoff: 'specialist',
    memory: 'specialist',
    guidance: 'orchestrator',
    policy: 'orchestrator',
    constitution: 'orchestrator',
  };
  return ROLE_ORDER.indexOf(role) >= ROLE_ORDER.indexOf(least[cls] ?? 'sovereign');
}

function claimsAtMost(role: PageRole): readonly string[] {
  if (role === 'specialist') return ['T1'];
  if (role === 'orchestrator') return ['T1', 'T2'];
  return role === 'unknown' ? [] : ['T1', 'T2', 'T3'];
}

/** The codes that each proof of a writer leaves, the mildest first; one list where the page leaves no choice. */
function writing(facts: Facts): readonly (readonly string[])[] {
  const { class: cls, level } = facts;
  if (cls === null) return [[]];
  const found = isIntact(facts) ? PROVEN[facts.writer] : [];
  if (found.length === 0) return [['writer-unproven']];
  const all = found.map(({ principal, role, fault }) => {
    const codes: string[] = fault ? [fault] : [];
    if (authorOf(facts) !== principal) codes.push('author-mismatch');
    // A chain that does not stand proves no role, so there is no role to ask.
    if (role !== 'unknown') {
      if (!mayWrite(role, cls)) codes.push('role-forbids-class');
      if (!claimsAtMost(role).includes(level)) codes.push('level-exceeds-writer');
    }
    return codes;
  });
  const best = Math.max(...all.map((codes) => RANKS.indexOf(rankOfCodes(codes, facts, false))));
  return all.filter((codes) => RANKS.indexOf(rankOfCodes(codes, facts, false)) === best);
}

// --- who approved it ----------------------------------------------------------------------------------------------

const APPROVER: Readonly<Record<string, PageRole>> = {
  f13: 'sovereign',
  lead: 'approver',
  lead2: 'approver',
  'lead-closed': 'approver',
  'lead-early': 'approver',
  'lead-gone': 'approver',
  'lead-pay': 'approver',
  spec: 'specialist',
  orch: 'orchestrator',
  'kid-o': 'orchestrator',
};
const TIMED: readonly string[] = ['approval-expired', 'approval-not-yet-valid', 'approval-too-long'];

/** Why one approval does not stand, or null: identity first, then permission, then time. */
function problemOf(one: ApprovalFact, facts: Facts): string | null {
  if (!isIntact(facts)) return 'approval-unproven';
  const role = APPROVER[one.by];
  if (role === undefined || (one.key !== undefined && one.key !== one.by)) return 'approval-unproven';
  if (one.off) return 'approval-stale';
  const permitted =
    role === 'sovereign' || (role === 'approver' && facts.class !== 'constitution' && facts.level !== 'T3');
  if (!permitted || one.by === 'lead-gone' || one.by === 'lead-pay') return 'approver-not-permitted';
  if (facts.presence === 'touch' && one.touched !== true) return 'approver-not-permitted';
  if (one.by === authorOf(facts) && role !== 'sovereign') return 'approver-is-author';
  if (one.by === 'lead-closed' || one.life === 'expired') return 'approval-expired';
  if (one.by === 'lead-early' || one.life === 'future') return 'approval-not-yet-valid';
  if (one.life === 'long' || one.life === 'endless') return 'approval-too-long';
  return null;
}

interface Approved {
  readonly valid: readonly ApprovalFact[];
  readonly approved: boolean;
  /** The sovereign stands behind it: who wrote it no longer matters. */
  readonly adopted: boolean;
  /** One of these must be named; empty where none may be. */
  readonly oneOf: readonly string[];
}

export function approval(facts: Facts): Approved {
  const { class: cls, approvedBy, threshold } = facts;
  if (cls === null) return { valid: [], approved: false, adopted: false, oneOf: [] };
  const held = facts.approvals.map((one) => ({ one, problem: problemOf(one, facts) }));
  const valid = held.filter(({ problem }) => problem === null).map(({ one }) => one);
  const names = new Set(valid.map((one) => one.by));
  const adopted = names.has('f13');
  const approved = approvedBy !== null && names.has(approvedBy) && names.size >= threshold;
  const result = (oneOf: readonly string[]): Approved => ({ valid, approved, adopted, oneOf });
  if (cls !== 'policy' && cls !== 'constitution')
    return result(approvedBy !== null && !names.has(approvedBy) ? ['approval-unproven'] : []);
  if (approved) return result([]);
  if (approvedBy === null) return result(['approval-missing']);
  const timed = held.filter(({ problem }) => problem !== null && TIMED.includes(problem));
  const inTime = new Set([...names, ...timed.map(({ one }) => one.by)]);
  // Time alone is missing: it was policy, and loads as reference.
  if (inTime.has(approvedBy) && inTime.size >= threshold) return result(timed.map(({ problem }) => problem ?? ''));
  const why = held.flatMap(({ problem }) => (problem !== null && !TIMED.includes(problem) ? [problem] : []));
  // Two things are wrong with an approval that its author could not have given anyway: either may be named.
  const author = authorOf(facts);
  const exempt = (by: string): boolean => isIntact(facts) && APPROVER[by] === 'sovereign';
  if (held.some(({ one }) => !one.off && one.by === author && !exempt(one.by))) why.push('approver-is-author');
  if (held.some(({ one }) => one.off)) why.push('approval-stale');
  // Approvals of others on this path (the chain) are no approval of this artifact: at most they make it stale.
  return result([
    ...why,
    'approval-unproven',
    ...(valid.length > 0 && names.size < threshold ? ['approval-threshold'] : []),
    ...(OTHERS_ON_PATH.has(facts.chain) ? ['approval-stale'] : []),
  ]);
}

const OTHERS_ON_PATH: ReadonlySet<Facts['chain']> = new Set([
  'successor by lead',
  'successor by f13',
  'successor given before',
  'successor revoked',
  'successor expired',
  'successor by spec',
  'rival',
  'newer version',
]);

// --- what came after it -------------------------------------------------------------------------------------------

export function isIntact(facts: Facts): boolean {
  return facts.set === 'intact';
}

function isRevoked(facts: Facts): boolean {
  const { revoked, class: cls, level } = facts;
  // Only where somebody is proven do class and level weigh: a claim must not lift a text out of a revocation's reach.
  const proven = isIntact(facts) && cls !== null && (hasWriter(facts) || approval(facts).valid.length > 0);
  const text = proven ? cls : 'observation';
  // Without a manifest nothing carries an id; the class is an observation and the level the lowest.
  const byId = cls !== null;
  const approverMay = text !== 'constitution' && (!proven || level !== 'T3');
  if (!isIntact(facts)) return revoked === 'remembered' && byId;
  if (revoked === 'id by f13' || revoked === 'remembered') return byId;
  if (revoked === 'id by lead') return byId && approverMay;
  if (revoked === 'digest by f13') return true;
  return revoked === 'digest by lead' && approverMay;
}

/** Whether a proof that weighs most names somebody whose role is known. */
function hasWriter(facts: Facts): boolean {
  const nobody = ['spawn-chain-broken', 'spawn-expired', 'spawn-role-widened', 'spawn-collision', 'writer-unproven'];
  return writing(facts).some((codes) => !codes.some((code) => nobody.includes(code)));
}

/** An approval of this id, standing or run out, that only the sovereign could have replaced. */
function isHeldHigher(facts: Facts): boolean {
  return facts.approvals.some((one) => {
    if (one.by !== 'f13' || one.off === 'id' || (one.life !== undefined && one.life !== 'expired')) return false;
    const cls = one.off === 'class' ? 'another' : facts.class;
    return cls === 'constitution' || (facts.level === 'T3' && one.off !== 'level');
  });
}

function chain(facts: Facts): readonly string[] {
  const { class: cls, level } = facts;
  if (cls === null) return [];
  const law = cls === 'policy' || cls === 'constitution';
  const own = approval(facts).valid.map((one) => one.by);
  const some = own.length > 0;
  const approverMay = cls !== 'constitution' && level !== 'T3';
  // Another approved text at the same path, and neither replaces the other; asked of what can bind only.
  const gap = some && law ? ['supersession-gap'] : [];
  const disagrees = gap;
  switch (facts.chain) {
    case 'alone':
    case 'higher beside':
    case 'successor by spec':
      return [];
    case 'successor by lead':
      if (!isIntact(facts) || facts.presence === 'touch') return [];
      if (!some) return isHeldHigher(facts) ? [] : ['superseded'];
      return approverMay ? ['superseded'] : gap;
    case 'successor by f13':
    case 'successor elsewhere':
    // The lead's departure from "live": what ran out or was revoked does not bring back what it replaced.
    case 'successor expired':
    case 'successor revoked':
      return isIntact(facts) && facts.presence === 'none' ? ['superseded'] : [];
    case 'successor given before':
      if (!isIntact(facts) || facts.presence === 'touch') return [];
      return some ? gap : ['superseded'];
    case 'newer version':
      // The same id approved for other bytes, naming its own id: the older bytes are superseded where they were approved.
      // Law that was not approved is refused anyway; other classes may not gain by losing their approval (hard rule 5).
      return (some || !law) && isIntact(facts) && facts.presence === 'none' ? ['superseded'] : [];
    case 'rival':
      return isIntact(facts) && facts.presence === 'none' ? gap : [];
    case 'replaces lower':
      return isIntact(facts) ? [] : ['supersedes-unknown'];
    case 'replaces higher':
      // Not known to be higher where the earlier approval itself no longer stands.
      if (!isIntact(facts)) return ['supersedes-unknown'];
      // Only law is refused for it: what needs no approval may not gain by dropping a void one (hard rule 5).
      return some && law && facts.presence === 'none' && !own.includes('f13') ? ['supersedes-higher-authority'] : [];
    case 'replaces unclaimed':
      return disagrees;
    case 'claims unreplaced':
      if (!isIntact(facts)) return ['supersedes-unknown'];
      return facts.presence === 'none' ? disagrees : [];
    case 'claims unknown':
      return ['supersedes-unknown'];
    case 'claims itself':
      return ['supersession-cycle'];
    case 'circle':
      if (!isIntact(facts)) return ['supersedes-unknown'];
      if (facts.presence === 'touch') return [];
      return some ? ['supersession-cycle'] : ['superseded'];
  }
}

// --- the verdict --------------------------------------------------------------------------------------------------

/** The effect of a code in this state, before any relief. */
export function effectOfCode(code: string, facts: Facts): PageEffect {
  if (code.startsWith('scan/')) return SCAN_EFFECT[code.slice('scan/'.length)] ?? Q;
  const found = PAGE[code];
  if (!found) throw new Error(`no row for ${code}`);
  const { class: cls } = facts;
  if (facts.mode === 'strict' && keepsPolicy(facts) && found.strict) return found.strict;
  if ((cls === 'policy' || cls === 'constitution') && found.pc) return found.pc;
  if (cls !== null && CEILINGS[cls] === R && found.evidence) return found.evidence;
  return found.effect;
}

/** Built-in defaults replace policy.yaml and exceptions where the set could not even be read as the signed one. */
function keepsPolicy(facts: Facts): boolean {
  return ['intact', 'revocation-missing', 'constitution-unavailable', 'state-unavailable'].includes(facts.set);
}

function relieved(code: string, facts: Facts): boolean {
  const letters = PAGE[code]?.letters ?? '';
  const { adopted, valid } = approval(facts);
  if (letters.includes('B') && adopted) return true;
  if (code.startsWith('scan/')) return valid.some((one) => one.accepts?.includes(code.slice('scan/'.length)));
  if (!keepsPolicy(facts)) return false;
  if (letters.includes('X') && facts.mode === 'excepted') return true;
  return letters.includes('M') && facts.mode === 'audit';
}

function rankOfCodes(codes: readonly string[], facts: Facts, relief: boolean): PageRank {
  return lowest([
    'binding',
    ...codes.map((code) => CAPS[relief && relieved(code, facts) ? N : effectOfCode(code, facts)]),
  ]);
}

export interface Expected {
  readonly rank: PageRank;
  /** Codes that must be there, each with the effect it must have. */
  readonly must: ReadonlyMap<string, PageEffect>;
  /** Alternatives for the codes about the writer, where several proofs weigh the same. */
  readonly writer: readonly (readonly string[])[];
  /** At least one of these where not empty; no other approval code. */
  readonly oneOf: readonly string[];
  readonly disposition: 'load' | 'withhold' | 'move';
  readonly unchecked: boolean;
  readonly ceiling: PageRank;
}

const NO_BYTES: readonly string[] = ['path-unreadable', 'too-large', 'changed-while-reading', 'path-escapes-root'];

/** The verdict the pages give for a state. */
export function expect(facts: Facts): Expected {
  const noBytes = NO_BYTES.includes(facts.read);
  const noText = noBytes || facts.read === 'not-text';
  const judged: Facts = noText ? { ...facts, class: null } : facts;
  const { class: cls } = judged;
  const law = cls === 'policy' || cls === 'constitution';
  const codes: string[] = facts.read === 'read' ? [] : [facts.read];
  const approving = approval(judged);
  const writer = writing(judged);
  if (cls === null && !noText) codes.push('manifest-missing');
  if (!noBytes && isRevoked(judged)) codes.push('revoked');
  if (cls !== null) {
    if (facts.commit === 'missing') codes.push('source-commit-missing');
    if (facts.commit === 'unknown' || facts.commit === 'shallow') codes.push('source-commit-unknown');
    if (facts.hash === 'null') codes.push('content-hash-missing');
    if (facts.hash === 'another' || facts.hash === 'line endings') codes.push('content-hash-mismatch');
    if (facts.expires === 'past' || facts.expires === 'now') codes.push('expired');
    if (facts.expires === 'soon') codes.push('expires-soon');
    if (cls === 'operational_handoff' && facts.expires === 'never') codes.push('expiry-missing');
    if (facts.created === 'future') codes.push('not-yet-valid');
    // No baseline at all is a baseline that is not today's only for what can bind; others need none.
    if (isIntact(judged) && (facts.constitution === 'another' || (facts.constitution === 'null' && law)))
      codes.push('constitution-mismatch');
    codes.push(...chain(judged));
    if (facts.binding && !(law && approving.approved)) codes.push('binding-claim');
    if (!isIntact(facts) && CEILINGS[cls] !== R) codes.push(facts.set);
  }
  if (!noText) {
    if (facts.scan === 'intent-mismatch') {
      if (cls !== null && CEILINGS[cls] === R) codes.push('intent-mismatch');
    } else if (facts.scan === 'intent-claims-authority') {
      if (!law) codes.push('intent-claims-authority');
    } else if (facts.scan === 'incomplete') codes.push('scan-incomplete');
    else if (facts.scan !== 'clean') codes.push(`scan/${facts.scan}`);
  }
  const ceiling = CEILINGS[cls ?? 'observation'] ?? R;
  // Any of the equal alternatives gives the same rank.
  const rankOfApproval = lowest(['binding', ...approving.oneOf.map((code) => CAPS[effectOfCode(code, judged)])]);
  const before = lowest([ceiling, rankOfCodes([...codes, ...(writer[0] ?? [])], judged, true), rankOfApproval]);
  // Imports are weighed as if all that may be audited were, so that no mode changes what is found (hard rule 8).
  const unaudited = [...codes, ...(writer[0] ?? [])].filter((code) => PAGE[code]?.letters.includes('M') !== true);
  const importing = lowest([ceiling, rankOfCodes(unaudited, judged, true), rankOfApproval]);
  if (!noText) codes.push(...imported(judged, importing));
  const rank = lowest([before, rankOfCodes(codes, judged, true)]);
  const must = new Map(codes.map((code) => [code, relieved(code, judged) ? N : effectOfCode(code, judged)] as const));
  const refusing = [
    ...[...must].flatMap(([code, effect]) => (effect === Q ? [code] : [])),
    ...(writer[0] ?? []).filter((code) => effectOfCode(code, judged) === Q && !relieved(code, judged)),
    ...approving.oneOf.slice(0, 1).filter((code) => effectOfCode(code, judged) === Q),
  ];
  const rows = refusing.map((code) => PAGE[code] ?? row(Q));
  const movable = facts.read !== 'nested-repository' && facts.read !== 'outside-workspace';
  const moves = rows.some((one) => one.withheld === 'never' || (one.withheld === 'unless-intact' && isIntact(facts)));
  return {
    rank,
    must,
    writer,
    oneOf: approving.oneOf,
    disposition: rank !== 'quarantined' ? 'load' : movable && moves ? 'move' : 'withhold',
    unchecked: refusing.length > 0 && rows.every((one) => one.letters.includes('E')),
    ceiling,
  };
}

function imported(facts: Facts, before: PageRank): readonly string[] {
  const covers = approval(facts).valid.length > 0;
  switch (facts.imports) {
    case 'none':
    case 'binding':
      return [];
    case 'missing':
      return ['import-missing'];
    case 'escapes':
      return ['import-escapes-root'];
    case 'lower':
      return above(before, R) ? ['import-unapproved'] : [];
    case 'lower covered':
      return above(before, R) && !covers ? ['import-unapproved'] : [];
    // Stricter than the page: a refused import is never covered.
    case 'refused':
    case 'refused covered':
      return above(before, 'quarantined') ? ['import-unapproved'] : [];
  }
}

// --- the hard rules, as predicates on a state and its verdict ------------------------------------------------------

export interface Verdict {
  readonly rank: string;
  readonly codes: readonly { readonly code: string; readonly effect: string }[];
}

/** Hard rule 1: what must hold of everything that binds. Returns what does not. */
export function missingForBinding(facts: Facts): readonly string[] {
  const { valid, approved, adopted } = approval(facts);
  const author = authorOf(facts);
  const writer = PROVEN[facts.writer].some(
    (one) =>
      one.fault === undefined &&
      one.principal === author &&
      facts.class !== null &&
      mayWrite(one.role, facts.class) &&
      claimsAtMost(one.role).includes(facts.level),
  );
  const held: readonly (readonly [string, boolean])[] = [
    ['class', facts.class === 'policy' || facts.class === 'constitution'],
    ['approved', approved && new Set(valid.map((one) => one.by)).size >= facts.threshold],
    ['not the author', valid.some((one) => one.by === 'f13' || one.by !== author)],
    ['writer proven and permitted, or adopted', writer || adopted],
    ['in time', ['never', 'soon', 'far'].includes(facts.expires) && facts.created !== 'future'],
    ['constitution', ['today', 'label', 'bare hash'].includes(facts.constitution)],
    ['hash', facts.hash === 'equal'],
    ['not superseded', !chain(facts).includes('superseded')],
    ['not revoked', !isRevoked(facts)],
    [
      'scan',
      ['clean', 'notice', 'intent-mismatch', 'intent-claims-authority'].includes(facts.scan) ||
        valid.some((one) => one.accepts?.includes(facts.scan)),
    ],
    ['imports', ['none', 'binding'].includes(facts.imports) || facts.imports === 'lower covered'],
    ['read whole', !NO_BYTES.includes(facts.read) && facts.read !== 'not-text' && facts.scan !== 'incomplete'],
    ['set', facts.set === 'intact'],
  ];
  return held.filter(([, holds]) => !holds).map(([what]) => what);
}

/** Hard rules 1 to 4, 7 and 9: the numbers of the rules that a verdict breaks. */
export function brokenRules(facts: Facts, verdict: Verdict): readonly number[] {
  const broken: number[] = [];
  const noText = NO_BYTES.includes(facts.read) || facts.read === 'not-text';
  const cls = noText ? null : facts.class;
  const law = cls === 'policy' || cls === 'constitution';
  const { approved, adopted, oneOf } = approval(facts);
  const { rank } = verdict;
  if (rank === 'binding' && missingForBinding(facts).length > 0) broken.push(1);
  if (rank === 'binding' && !approved) broken.push(2);
  const lapsed = oneOf.length > 0 && oneOf.every((code) => TIMED.includes(code));
  if (law && !approved && rank !== 'quarantined' && !(lapsed && rank === R)) broken.push(3);
  const advises = PROVEN[facts.writer].some((one) => one.fault === undefined && mayWrite(one.role, 'guidance'));
  if (cls === 'guidance' && !adopted && (!advises || !isIntact(facts)) && above(rank, R)) broken.push(4);
  if (cls !== null && (facts.expires === 'past' || facts.expires === 'now') && above(rank, R)) broken.push(7);
  const ceiling = CEILINGS[cls ?? 'observation'] ?? R;
  const explained = verdict.codes.some((one) => CAPS[one.effect as PageEffect] === rank);
  if (!RANKS.includes(rank as PageRank) || above(rank, ceiling) || (rank !== ceiling && !explained)) broken.push(9);
  return broken;
}

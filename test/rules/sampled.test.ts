import { afterAll, describe, expect, it } from 'vitest';
import type { Judged } from '../../src/model/stages.ts';
import { type Artifact, type Verdicts, Workspace } from '../support/workspace.ts';
import { differences } from './compare.ts';
import { APPROVALS, APPROVED_BY, type ApprovalFact, AXES, BEST, type Facts, told } from './facts.ts';
import { expect as expected } from './oracle.ts';
import { type Common, LAID_CHAINS, layOut, type Placed, RULE_OF } from './sampled-world.ts';

const made: Workspace[] = [];
afterAll(() => {
  for (const one of made) one.remove();
});

/** What real files in a plain folder can be: no git, no security key, no state file, no file that changes under the reader. */
const WITHOUT: { readonly [K in keyof Facts]?: readonly Facts[K][] } = {
  writer: ['orch-commit', 'orch-git-commit', 'lead-commit', 'other-blob', 'spec+commit'],
  chain: AXES.chain.filter((one) => !LAID_CHAINS.includes(one)),
  expires: ['now'],
  revoked: ['remembered'],
  // No shipped rule is of severity notice; a spent budget has a test of its own.
  scan: ['notice', 'incomplete'],
  imports: ['refused', 'refused covered', 'binding'],
  read: ['changed-while-reading', 'outside-workspace'],
  commit: ['known', 'shallow'],
};
const ACCEPTING: readonly (readonly ApprovalFact[])[] = [
  [{ by: 'lead', accepts: ['suspect', 'block'] }],
  [{ by: 'f13', accepts: ['suspect', 'block'] }],
  [{ by: 'lead', accepts: ['suspect'] }],
  [{ by: 'spec', accepts: ['block'] }],
];

function numbers(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296) * below);
  };
}

/** States from the best one of a class and level outward: none to four axes moved, so that every rank is met often. */
function sample(count: number, seed: number, common: Common): readonly Facts[] {
  const next = numbers(seed);
  const pick = <T>(list: readonly T[]): T => list[next(list.length)] as T;
  const allowed = <K extends keyof Facts>(axis: K): readonly Facts[K][] => {
    const out: readonly unknown[] = WITHOUT[axis] ?? [];
    return (AXES[axis] as readonly Facts[K][]).filter((value) => !out.includes(value));
  };
  const approvals = [
    ...Object.values(APPROVALS).filter((list) => list.every((one) => one.touched !== true)),
    ...ACCEPTING,
  ];
  const axes = [
    'level',
    'writer',
    'author',
    'approvals',
    'approvedBy',
    'binding',
    'expires',
    'created',
    'constitution',
    'hash',
    'chain',
    'revoked',
    'scan',
    'imports',
    'read',
    'commit',
  ] as const;
  return Array.from({ length: count }, () => {
    const cls = pick(['policy', 'policy', 'policy', 'constitution', 'guidance', ...AXES.class]);
    const level = pick(['T1', 'T1', 'T2'] as const);
    const many = common.threshold === 2;
    const high = cls === 'constitution';
    const facts: Record<string, unknown> = {
      ...BEST,
      class: cls,
      level,
      approvals: high ? APPROVALS.f13 : many ? pick([APPROVALS['lead+lead2'], APPROVALS['lead+f13']]) : APPROVALS.lead,
      approvedBy: high ? 'f13' : 'lead',
      threshold: common.threshold,
      commit: pick(['missing', 'unknown'] as const),
      mode: common.strict
        ? 'strict'
        : common.audit
          ? 'audit'
          : pick(['plain', 'plain', 'excepted', 'excepted elsewhere'] as const),
    };
    for (let moved = next(5); moved > 0; moved -= 1) {
      const axis = pick(axes);
      if (axis === 'approvals') {
        facts.approvals = pick(approvals);
        const names = (facts.approvals as readonly ApprovalFact[]).map((one) => one.by);
        if (names.length > 0 && next(4) > 0) facts.approvedBy = pick(names);
      } else if (axis === 'approvedBy') facts.approvedBy = pick(APPROVED_BY);
      else facts[axis] = pick(allowed(axis));
    }
    // An import is read from a file that lies there whole; a workspace that refuses what has no manifest refuses the imported one too.
    if (facts.read !== 'read' || common.strict) facts.imports = 'none';
    return facts as unknown as Facts;
  });
}

/** A verdict of the command as the oracle's comparison takes it: shipped rules by the severity the facts name. */
function comparable(one: Artifact, unchecked: boolean): Judged {
  const words = new Map(Object.entries(RULE_OF).map(([word, rule]) => [`scan/${rule}`, `scan/${word}`]));
  const findings = one.findings
    // What the host does with the path, and how a label is spelt, are no facts of the enumeration.
    .filter((found) => found.code !== 'host-loads-raw' && found.code !== 'manifest-dialect')
    .map((found) => ({ ...found, code: words.get(found.code) ?? found.code }));
  return { rank: one.rank, disposition: one.disposition, unchecked, findings } as unknown as Judged;
}

function compare(verdicts: Verdicts, placed: readonly Placed[], set: Facts['set']): readonly string[] {
  const byPath = new Map<string, Artifact[]>();
  for (const one of verdicts.artifacts) byPath.set(one.path, [...(byPath.get(one.path) ?? []), one]);
  return placed.flatMap(({ facts: drawn, path }) => {
    // Where nobody is proven git is not asked for a commit, so none is found unknown; that note has no effect.
    const commit = set === 'intact' || drawn.commit === 'missing' ? drawn.commit : 'known';
    const facts: Facts = { ...drawn, set, commit };
    const found = byPath.get(path) ?? [];
    if (found.length !== 1 || !found[0]) return [`${path}: ${found.length} verdicts (${told(facts)})`];
    const want = expected(facts);
    const wrong = differences(facts, comparable(found[0], want.unchecked), want);
    return wrong.length === 0 ? [] : [`${path}: ${wrong.join('; ')} (${told(facts)})`];
  });
}

const BATCHES: readonly (readonly [string, number, number, Common])[] = [
  ['plain', 260, 11, { threshold: 1, strict: false, audit: false }],
  ['a threshold of two', 100, 22, { threshold: 2, strict: false, audit: false }],
  ['unmanifested files quarantined', 70, 33, { threshold: 1, strict: true, audit: false }],
  ['codes in audit', 70, 44, { threshold: 1, strict: false, audit: true }],
];

describe('500 sampled states as real files, keys and signatures, through the command', () => {
  it.each(BATCHES)('%s: %i states', async (_name, count, seed, common) => {
    const ws = new Workspace();
    made.push(ws);
    const states = sample(count, seed, common);
    const placed = await layOut(ws, states, common);
    const verdicts = ws.check();
    expect(compare(verdicts, placed, 'intact')).toEqual([]);
    expect(verdicts.exit).toBe(1);
    const wanted = states.map((facts) => expected(facts));
    expect(verdicts.summary.unchecked).toBe(wanted.filter((one) => one.unchecked).length);
    // A sample in which a rank never comes up would prove nothing about it.
    for (const rank of ['binding', 'advisory', 'reference', 'quarantined'])
      expect(wanted.filter((one) => one.rank === rank).length, rank).toBeGreaterThan(count / 40);
    const stranger = ws.run(['check', '--format', 'json'], { env: { HOME: ws.base, WRIT_STATE: 'none' } });
    const unpinned = JSON.parse(stranger.stdout) as Verdicts;
    expect(unpinned.summary.binding).toBe(0);
    expect(compare(unpinned, placed, 'root-unpinned')).toEqual([]);
  });
});

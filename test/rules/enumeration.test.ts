import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CLASSES } from '../../src/model/artifact-class.ts';
import { differences, Failures, RuleBook } from './compare.ts';
import { APPROVALS, APPROVED_BY, AXES, BEST, type Facts, product } from './facts.ts';
import { judgeFacts } from './world.ts';

/** Some approvals that stand for every way one can stand: none, an approver, the sovereign, both, lapsed. */
const STANDINGS = ['none', 'lead', 'f13', 'lead+f13', 'expired', 'off bytes'].map((name) => APPROVALS[name] ?? []);
const accepting = (name: string) =>
  (APPROVALS[name] ?? []).map((one) => ({ ...one, accepts: ['suspect', 'block', 'notice'] }));

/** Each a full product of axes that meet in one check; together every pair of a check's axes is covered. */
const GROUPS: Readonly<Record<string, () => Iterable<Facts>>> = {
  'writer and approval': () =>
    product(BEST, {
      class: CLASSES,
      level: AXES.level,
      writer: AXES.writer,
      author: AXES.author,
      approvals: AXES.approvals,
      approvedBy: APPROVED_BY,
      threshold: AXES.threshold,
    }),
  'presence': () =>
    product(BEST, {
      class: CLASSES,
      level: AXES.level,
      writer: ['none', 'orch', 'lead', 'spec'],
      approvals: AXES.approvals,
      approvedBy: APPROVED_BY,
      threshold: AXES.threshold,
      presence: AXES.presence,
    }),
  'chain and revocation': () =>
    product(BEST, {
      class: [null, ...CLASSES],
      level: AXES.level,
      writer: ['none', 'orch'],
      approvals: STANDINGS,
      approvedBy: ['lead', 'f13'],
      presence: AXES.presence,
      chain: AXES.chain,
      revoked: AXES.revoked,
    }),
  'claims of the manifest': () =>
    product(BEST, {
      class: CLASSES,
      writer: ['none', 'orch'],
      approvals: STANDINGS,
      approvedBy: [null, 'lead', 'f13'],
      binding: AXES.binding,
      expires: AXES.expires,
      created: AXES.created,
      constitution: AXES.constitution,
      hash: AXES.hash,
    }),
  'scan, imports and mode': () =>
    product(BEST, {
      class: [null, ...CLASSES],
      writer: ['none', 'orch', 'lead'],
      author: ['self', 'lead'],
      approvals: [...STANDINGS, ...['lead', 'f13', 'expired', 'spec', 'off bytes', 'forged'].map(accepting)],
      approvedBy: ['lead', 'f13'],
      scan: AXES.scan,
      imports: AXES.imports,
      mode: AXES.mode,
    }),
  'place and set': () =>
    product(BEST, {
      class: [null, ...CLASSES],
      writer: ['none', 'orch', 'kid-o', 'orch-git-commit'],
      approvals: [...STANDINGS, accepting('f13')],
      approvedBy: [null, 'lead', 'f13'],
      scan: ['clean', 'block', 'incomplete'],
      revoked: ['none', 'id by f13', 'remembered'],
      read: AXES.read,
      set: AXES.set,
      mode: AXES.mode,
    }),
};

const book = new RuleBook();
let covered = 0;

describe('the real checks agree with the oracle on every state', () => {
  it.each(Object.keys(GROUPS))('%s', (name) => {
    const failures = new Failures();
    for (const facts of GROUPS[name]?.() ?? []) {
      const judged = judgeFacts(facts);
      covered += 1;
      for (const wrong of differences(facts, judged)) failures.add(wrong, facts);
      book.check(facts, judged);
    }
    expect(failures.lines()).toEqual([]);
  });
});
afterAll(() => console.log(covered));

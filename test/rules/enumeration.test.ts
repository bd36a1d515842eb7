import { afterAll, describe, expect, it } from 'vitest';
import { bind } from '../../src/bind/bind.ts';
import { decide } from '../../src/decide/decide.ts';
import { CLASSES } from '../../src/model/artifact-class.ts';
import { CODES, type CodeName, finding } from '../../src/model/codes.ts';
import type { Finding } from '../../src/model/finding.ts';
import { scanArtifact } from '../../src/scan/scan-artifact.ts';
import { verify } from '../../src/verify/verify.ts';
import { differences, Failures, RuleBook } from './compare.ts';
import { APPROVALS, APPROVED_BY, AXES, BEST, type Facts, product, random } from './facts.ts';
import { CEILINGS, lowest, NEVER_AUDITED, PAGE } from './oracle.ts';
import { build, judgeFacts, NOW, settingsOf } from './world.ts';

const ALL = [null, ...CLASSES];
/** Every way approvals can stand: none, an approver's, the sovereign's, both, lapsed, for something else. */
const STANDINGS = ['none', 'lead', 'f13', 'lead+f13', 'expired', 'off bytes'].map((name) => APPROVALS[name] ?? []);
const accepting = (name: string): Facts['approvals'] =>
  (APPROVALS[name] ?? []).map((one) => ({ ...one, accepts: ['suspect', 'block', 'notice'] }));

/** Each a full product of the axes that meet in one check. That they meet nowhere else is proven below. */
const GROUPS: Readonly<Record<string, () => Iterable<Facts>>> = {
  'who wrote it': () =>
    product(BEST, {
      class: ALL,
      level: AXES.level,
      writer: AXES.writer,
      author: AXES.author,
      approvals: STANDINGS,
      approvedBy: ['lead', 'f13'],
      commit: ['missing', 'known'],
    }),
  'who approved it': () =>
    product(BEST, {
      class: CLASSES,
      level: AXES.level,
      writer: ['none', 'orch'],
      author: AXES.author,
      approvals: AXES.approvals,
      approvedBy: APPROVED_BY,
      threshold: AXES.threshold,
      presence: AXES.presence,
    }),
  'what came after it, what was revoked': () =>
    product(BEST, {
      class: ALL,
      level: AXES.level,
      writer: ['none', 'orch', 'kid-broken'],
      approvals: STANDINGS,
      approvedBy: ['lead', 'f13'],
      chain: AXES.chain,
      revoked: AXES.revoked,
    }),
  'the chain where a touch is asked for': () =>
    product(BEST, {
      class: CLASSES,
      approvals: [...STANDINGS, ...['lead touched', 'f13 touched'].map((name) => APPROVALS[name] ?? [])],
      approvedBy: ['lead', 'f13'],
      presence: ['touch'],
      chain: AXES.chain,
    }),
  'what the manifest says': () =>
    product(BEST, {
      class: CLASSES,
      writer: ['none', 'orch'],
      approvals: STANDINGS,
      approvedBy: [null, 'lead'],
      binding: AXES.binding,
      expires: AXES.expires,
      created: AXES.created,
      constitution: AXES.constitution,
      hash: AXES.hash,
    }),
  'what the text says, accepted, excepted, audited': () =>
    product(BEST, {
      class: ALL,
      writer: ['none', 'orch', 'lead'],
      author: ['self', 'lead'],
      approvals: [...STANDINGS, ...['lead', 'f13', 'expired', 'spec', 'off bytes', 'forged'].map(accepting)],
      approvedBy: ['lead', 'f13'],
      scan: AXES.scan,
      mode: AXES.mode,
    }),
  'what it imports': () =>
    product(BEST, {
      class: ALL,
      writer: ['none', 'orch'],
      approvals: [...STANDINGS, accepting('lead')],
      approvedBy: ['lead', 'f13'],
      imports: AXES.imports,
      scan: ['clean', 'suspect', 'block'],
      read: ['read', 'hard-linked', 'path-confusable'],
      mode: ['plain', 'audit'],
    }),
  'where it lies': () =>
    product(BEST, {
      class: ALL,
      writer: ['none', 'orch'],
      approvals: [[], APPROVALS.lead ?? [], accepting('f13')],
      scan: ['clean', 'block', 'incomplete'],
      revoked: ['none', 'digest by f13'],
      read: AXES.read,
      set: ['intact', 'root-unpinned', 'state-unavailable'],
      mode: AXES.mode,
    }),
  'which set judges': () =>
    product(BEST, {
      class: ALL,
      level: ['T1', 'T3'],
      writer: ['none', 'orch', 'kid-o', 'orch-git-commit'],
      approvals: STANDINGS,
      approvedBy: [null, 'lead', 'f13'],
      revoked: ['none', 'id by f13', 'remembered'],
      chain: ['alone', 'rival', 'replaces lower'],
      set: AXES.set,
    }),
};

const book = new RuleBook();
let judgedStates = 0;

describe('the real checks agree with the oracle on every state', () => {
  it.each(Object.keys(GROUPS))('%s', (name) => {
    const failures = new Failures();
    for (const facts of GROUPS[name]?.() ?? []) {
      const judged = judgeFacts(facts);
      judgedStates += 1;
      for (const wrong of differences(facts, judged)) failures.add(wrong, facts);
      book.check(facts, judged);
    }
    expect(failures.lines()).toEqual([]);
  });

  it('whole states drawn from all axes at once', () => {
    const failures = new Failures();
    for (const facts of random(40_000, 0x5eed)) {
      const judged = judgeFacts(facts);
      judgedStates += 1;
      for (const wrong of differences(facts, judged)) failures.add(wrong, facts);
      book.check(facts, judged);
    }
    expect(failures.lines()).toEqual([]);
  });
});

describe('the axes are independent where the enumeration takes them apart', () => {
  const judging = (facts: Facts) => {
    const built = build(facts);
    return { built, of: { set: built.set, spawns: built.spawns, now: NOW } };
  };
  const codes = (findings: readonly Finding[]): string => findings.map((one) => one.code).join(' ');
  const bound = (facts: Facts): string => {
    const { built, of } = judging(facts);
    const { findings, writer } = bind(built.evidence, of);
    return `${codes(findings)} by ${writer?.principal} ${writer?.role}`;
  };
  const verified = (facts: Facts): string => {
    const { built, of } = judging(facts);
    const found = verify(bind(built.evidence, of), of);
    return `${codes(found.findings)} ${found.approvedBy.join()} ${found.adopted} ${[...found.accepted].join()}`;
  };
  const scanned = (facts: Facts): string => {
    const { built, of } = judging(facts);
    return codes(scanArtifact(verify(bind(built.evidence, of), of), settingsOf(facts)).findings);
  };
  /** Every value of every axis outside `own`, one at a time, on every base: the stage must not notice. */
  const unmoved = (
    stage: (facts: Facts) => string,
    bases: Iterable<Facts>,
    axes: readonly (keyof Facts)[],
  ): readonly string[] => {
    const failures = new Failures();
    for (const base of bases) {
      const want = stage(base);
      for (const axis of axes) {
        for (const value of AXES[axis]) {
          const facts = { ...base, [axis]: value } as Facts;
          if (NO_TEXT.has(facts.read) || (axis === 'mode' && value === 'strict')) continue;
          const got = stage(facts);
          if (got !== want) failures.add(`${axis} moved it`, facts, `${want} -> ${got}`);
        }
      }
    }
    return failures.lines();
  };
  const NO_TEXT: ReadonlySet<Facts['read']> = new Set([
    'path-unreadable',
    'too-large',
    'changed-while-reading',
    'path-escapes-root',
    'not-text',
  ]);

  it('bind sees the writer, the claims it needs and the set, and nothing of approval, time, chain, scan or mode', () => {
    const bases = product(BEST, { class: ALL, level: AXES.level, writer: AXES.writer, author: ['self', 'lead'] });
    expect(
      unmoved(bound, bases, [
        'approvals',
        'approvedBy',
        'threshold',
        'presence',
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
        'mode',
      ]),
    ).toEqual([]);
  });

  it('verify does not see who wrote it, what the text says, what it imports, where it lies, or the mode', () => {
    const bases = product(
      { ...BEST, author: 'somebody' },
      {
        class: ALL,
        level: ['T1', 'T3'],
        approvals: AXES.approvals,
        approvedBy: [null, 'lead', 'f13'],
        chain: ['alone', 'rival', 'replaces higher'],
      },
    );
    expect(unmoved(verified, bases, ['writer', 'scan', 'imports', 'read', 'mode'])).toEqual([]);
  });

  it('within verify each check sees its own axes only', () => {
    const parts: readonly (readonly [RegExp, readonly (keyof Facts)[]])[] = [
      [
        /^content-hash-/,
        [
          'expires',
          'created',
          'constitution',
          'chain',
          'revoked',
          'approvals',
          'approvedBy',
          'binding',
          'threshold',
          'presence',
        ],
      ],
      [
        /^(expire|not-yet-valid)/,
        [
          'hash',
          'constitution',
          'chain',
          'revoked',
          'approvals',
          'approvedBy',
          'binding',
          'threshold',
          'presence',
          'level',
        ],
      ],
      [
        /^constitution-mismatch/,
        [
          'hash',
          'expires',
          'created',
          'chain',
          'revoked',
          'approvals',
          'approvedBy',
          'binding',
          'threshold',
          'presence',
          'level',
        ],
      ],
      [
        /^revoked/,
        [
          'hash',
          'expires',
          'created',
          'constitution',
          'chain',
          'approvals',
          'approvedBy',
          'binding',
          'threshold',
          'presence',
        ],
      ],
      [/^(approval-|approver-)/, ['hash', 'expires', 'created', 'constitution', 'revoked', 'binding']],
      [/^super/, ['hash', 'expires', 'created', 'constitution', 'approvedBy', 'binding']],
    ];
    // One class of each kind that a check tells apart; all classes meet all values above.
    const SOME = ['memory', 'guidance', 'policy'] as const;
    const lines = parts.flatMap(([pattern, axes]) => {
      const part = (facts: Facts): string => {
        const { built, of } = judging(facts);
        return codes(verify(bind(built.evidence, of), of).findings.filter((one) => pattern.test(one.code)));
      };
      const bases = [
        ...product(BEST, { class: SOME, approvals: STANDINGS, chain: AXES.chain }),
        ...product(BEST, { class: SOME, approvals: AXES.approvals, approvedBy: [null, 'lead'] }),
        ...product(BEST, { class: SOME, level: ['T1', 'T3'], revoked: AXES.revoked }),
        ...product(BEST, {
          class: SOME,
          expires: AXES.expires,
          created: AXES.created,
          constitution: ['today', 'null'],
        }),
      ];
      return unmoved(part, bases, axes);
    });
    expect(lines).toEqual([]);
  });

  it('the scan sees the text and the declared class, and no proof', () => {
    const bases = product(BEST, { class: ALL, scan: AXES.scan });
    const axes = (Object.keys(AXES) as (keyof Facts)[]).filter((axis) => axis !== 'class' && axis !== 'scan');
    expect(unmoved(scanned, bases, axes)).toEqual([]);
  });

  it('decide is the minimum of the ceiling and of each finding alone, whatever the order', () => {
    const every: readonly Finding[] = [
      ...(Object.keys(CODES) as CodeName[]).map((code) => finding(code)),
      ...(['notice', 'suspect', 'block'] as const).map(
        (severity): Finding => ({
          ...finding('revoked'),
          code: `scan/${severity}`,
          severity,
        }),
      ),
    ];
    const wrong: string[] = [];
    for (const declaredClass of ALL) {
      for (const strict of [false, true]) {
        for (const adopted of [false, true]) {
          for (const audit of [new Set<CodeName>(), new Set(Object.keys(CODES) as CodeName[])]) {
            const of = (findings: readonly Finding[]) =>
              decide({
                declaredClass,
                findings,
                accepted: new Set(['scan/suspect']),
                excepted: new Set(),
                audit,
                strict,
                adopted,
                intact: true,
                movable: true,
                ceilings: new Map(),
              });
            const alone = every.map((one) => of([one]));
            for (const [i, a] of every.entries()) {
              for (const [j, b] of every.entries()) {
                const both = of([a, b]);
                const want = lowest([alone[i]?.rank ?? 'quarantined', alone[j]?.rank ?? 'quarantined']);
                const effects = `${alone[i]?.findings[0]?.effect} ${alone[j]?.findings[0]?.effect}`;
                if (both.rank !== want || both.findings.map((one) => one.effect).join(' ') !== effects)
                  wrong.push(`${declaredClass} ${a.code} ${b.code}: ${both.rank}, want ${want}`);
              }
            }
          }
        }
      }
    }
    expect(wrong).toEqual([]);
  });

  it('keeping scan results does not change them', () => {
    const failures = new Failures();
    for (const facts of random(1_500, 7)) {
      const kept = judgeFacts(facts);
      const fresh = judgeFacts(facts, {}, scanArtifact);
      const said = (of: typeof kept): string =>
        of.findings.map((one) => `${one.code} ${one.effect} ${one.message}`).join();
      if (said(kept) !== said(fresh)) failures.add('differs', facts);
    }
    expect(failures.lines()).toEqual([]);
  });
});

describe('hard rules over every state judged above', () => {
  it('1: what binds has every proof, is in time, clean, covered, read whole, under a pinned and intact set', () => {
    expect(book.lines(1)).toEqual([]);
  });
  it('2: unapproved agent-authored material is never binding', () => {
    expect(book.lines(2)).toEqual([]);
  });
  it('3: policy or constitution without a proven approval is quarantined or withheld', () => {
    expect(book.lines(3)).toEqual([]);
  });
  it('4: guidance from below orchestrator or from an unproven writer is at most reference', () => {
    expect(book.lines(4)).toEqual([]);
  });
  it('7: expired is at most reference', () => {
    expect(book.lines(7)).toEqual([]);
  });
  it('9: one verdict each, and below the ceiling a finding that explains it', () => {
    expect(book.lines(9)).toEqual([]);
  });
});

describe('hard rule 8: modes', () => {
  const pairs = function* (): Generator<readonly [Facts, Facts]> {
    for (const name of ['what the text says, accepted, excepted, audited', 'what it imports', 'where it lies'])
      for (const facts of GROUPS[name]?.() ?? [])
        if (facts.mode === 'audit') yield [{ ...facts, mode: 'plain' }, facts];
  };

  it('8: findings are the same in audit and in enforce', () => {
    const failures = new Failures();
    for (const [plain, audit] of pairs()) {
      const codes = (facts: Facts): string =>
        judgeFacts(facts)
          .findings.map((one) => one.code)
          .join(' ');
      if (codes(plain) !== codes(audit)) failures.add('differs', audit, `${codes(plain)} -> ${codes(audit)}`);
    }
    expect(failures.lines()).toEqual([]);
  });

  it('8: an audited finding is a note and changes no verdict; a code that may not be audited is as it was', () => {
    const failures = new Failures();
    for (const [plain, audit] of pairs()) {
      const judged = judgeFacts(audit);
      const before = judgeFacts(plain);
      const caps = judged.findings.map((one) =>
        one.effect === 'note' ? 'binding' : one.effect === 'quarantine' ? 'quarantined' : one.effect,
      );
      const declared: keyof typeof CEILINGS = judged.declaredClass ?? 'observation';
      if (judged.rank !== lowest([CEILINGS[declared], ...caps])) failures.add('rank', audit);
      for (const one of judged.findings) {
        const letters = PAGE[one.code]?.letters ?? '';
        if (one.relief === 'audit' && !letters.includes('M')) failures.add(`${one.code} was audited`, audit);
        const was = before.findings.find((other) => other.code === one.code);
        if (was && one.relief !== 'audit' && was.effect !== one.effect) failures.add(`${one.code} changed`, audit);
      }
    }
    expect(failures.lines()).toEqual([]);
  });

  it('8: no E, identity, signature, approval, hash or constitution code may be put in audit', () => {
    const unchecked = Object.keys(CODES).filter((code) => CODES[code as CodeName].unchecked === true);
    expect([...NEVER_AUDITED, ...unchecked].filter((code) => CODES[code as CodeName].auditable === true)).toEqual([]);
  });
});

afterAll(() => {
  const whole = (Object.keys(AXES) as (keyof Facts)[]).reduce((all, axis) => all * AXES[axis].length, 1);
  console.log(
    `hard rules: ${judgedStates} states judged through the real checks, standing for ${whole.toExponential(1)} by independence`,
  );
});

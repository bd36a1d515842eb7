import { describe, expect, it } from 'vitest';
import { type Case, decide } from '../../src/decide/decide.ts';
import { type ArtifactClass, CLASSES } from '../../src/model/artifact-class.ts';
import { CODES, type CodeName, finding, SCAN_CODES } from '../../src/model/codes.ts';
import type { Finding } from '../../src/model/finding.ts';
import { CEILINGS, lowest, PAGE, type PageEffect } from './oracle.ts';

const NAMES = Object.keys(PAGE) as CodeName[];
const CAPS = { quarantine: 'quarantined', reference: 'reference', advisory: 'advisory', note: 'binding' } as const;

function of(declaredClass: ArtifactClass | null, findings: readonly Finding[], more: Partial<Case> = {}): Case {
  return {
    declaredClass,
    findings,
    accepted: new Set(),
    excepted: new Set(),
    audit: new Set(),
    strict: false,
    adopted: false,
    intact: true,
    movable: true,
    ceilings: new Map(),
    ...more,
  };
}

/** The effect the page gives a code for a class, typed out once more so that no shared function can hide a flip. */
function pageEffect(code: string, cls: ArtifactClass | null, strict: boolean): PageEffect {
  const row = PAGE[code];
  if (!row) throw new Error(code);
  if (strict && row.strict) return row.strict;
  if (cls === 'policy' || cls === 'constitution') return row.pc ?? row.effect;
  const isEvidence = cls === 'observation' || cls === 'memory' || cls === 'operational_handoff';
  return isEvidence ? (row.evidence ?? row.effect) : row.effect;
}

describe('the code table is the one of decisions.md', () => {
  it('has exactly its codes', () => {
    expect(Object.keys(CODES).sort()).toEqual([...NAMES].sort());
  });

  it.each(NAMES)('%s', (code) => {
    const row = PAGE[code];
    const entry = CODES[code];
    expect({
      effect: entry.effect,
      pc: entry.effectPC,
      evidence: entry.effectEvidence,
      strict: entry.effectStrict,
      withheld: entry.withheld,
      E: entry.unchecked === true,
      X: entry.exceptable === true,
      M: entry.auditable === true,
      adoptable: entry.adoptable === true,
      everywhere: entry.everywhere === true,
    }).toEqual({
      effect: row?.effect,
      pc: row?.pc,
      evidence: row?.evidence,
      strict: row?.strict,
      withheld: row?.withheld,
      E: row?.letters.includes('E'),
      X: row?.letters.includes('X'),
      M: row?.letters.includes('M'),
      adoptable: row?.letters.includes('B'),
      everywhere: row?.letters.includes('*'),
    });
  });

  it('scan rules: block quarantines, suspect is reference, notice is a note', () => {
    expect([SCAN_CODES.block.effect, SCAN_CODES.suspect.effect, SCAN_CODES.notice.effect]).toEqual([
      'quarantine',
      'reference',
      'note',
    ]);
    for (const severity of ['block', 'suspect', 'notice'] as const) {
      const { withheld, exceptable, auditable, adoptable } = SCAN_CODES[severity];
      expect({ withheld, exceptable, auditable, adoptable }).toEqual({ withheld: 'never' });
    }
  });

  it.each(NAMES)('%s says what it means, how it is cured and which rule it implements', (code) => {
    const { meaning, cure, rule } = CODES[code];
    expect([meaning, cure, rule].every((text) => text.trim().length > 0)).toBe(true);
  });
});

describe('every code weighs in a verdict as its row says', () => {
  it.each(NAMES)('%s', (code) => {
    const row = PAGE[code];
    const letters = row?.letters ?? '';
    for (const cls of [null, ...CLASSES]) {
      const ceiling = CEILINGS[cls ?? 'observation'];
      for (const strict of [false, true]) {
        const effect = pageEffect(code, cls, strict);
        const plain = decide(of(cls, [finding(code)], { strict }));
        expect([cls, strict, plain.rank, plain.findings[0]?.effect]).toEqual([
          cls,
          strict,
          lowest([ceiling, CAPS[effect]]),
          effect,
        ]);
        const refuses = effect === 'quarantine';
        expect(plain.unchecked).toBe(refuses && letters.includes('E'));
        for (const intact of [false, true]) {
          for (const movable of [false, true]) {
            const { disposition } = decide(of(cls, [finding(code)], { strict, intact, movable }));
            const moves = row?.withheld === 'never' || (row?.withheld === 'unless-intact' && intact);
            expect(disposition).toBe(!refuses ? 'load' : moves && movable ? 'move' : 'withhold');
          }
        }
        const reliefs: readonly (readonly [string, string, Partial<Case>])[] = [
          ['B', 'adopted', { adopted: true }],
          ['X', 'excepted', { excepted: new Set([0]) }],
          ['M', 'audit', { audit: new Set(NAMES) }],
        ];
        for (const [letter, relief, more] of reliefs) {
          const relieved = decide(of(cls, [finding(code)], { strict, ...more }));
          const milder = letters.includes(letter) && effect !== 'note';
          expect([relieved.rank, relieved.findings[0]?.relief]).toEqual(
            milder ? [ceiling, relief] : [plain.rank, undefined],
          );
        }
        // An acceptance is about scan rules only.
        const accepted = decide(of(cls, [finding(code)], { strict, accepted: new Set([code]) }));
        expect(accepted.rank).toBe(plain.rank);
      }
    }
  });

  it.each(['block', 'suspect', 'notice'] as const)('scan/%s, and accepted', (severity) => {
    const hit: Finding = { ...finding('revoked'), code: 'scan/some-rule', severity };
    const effect = ({ block: 'quarantine', suspect: 'reference', notice: 'note' } as const)[severity];
    for (const cls of [null, ...CLASSES]) {
      const ceiling = CEILINGS[cls ?? 'observation'];
      expect(decide(of(cls, [hit])).rank).toBe(lowest([ceiling, CAPS[effect]]));
      expect(decide(of(cls, [hit], { accepted: new Set(['scan/some-rule']) })).rank).toBe(ceiling);
      expect(decide(of(cls, [hit], { accepted: new Set(['scan/other-rule']) })).rank).toBe(
        lowest([ceiling, CAPS[effect]]),
      );
      const unrelieved = decide(of(cls, [hit], { adopted: true, excepted: new Set([0]), audit: new Set(NAMES) }));
      expect(unrelieved.rank).toBe(lowest([ceiling, CAPS[effect]]));
    }
  });

  it('a scan code without a severity is read as block', () => {
    expect(decide(of('policy', [{ ...finding('revoked'), code: 'scan/some-rule' }])).rank).toBe('quarantined');
  });

  it('policy.yaml may narrow a ceiling and never widen it', () => {
    for (const cls of CLASSES)
      for (const rank of ['quarantined', 'reference', 'advisory', 'binding'] as const)
        expect(decide(of(cls, [], { ceilings: new Map([[cls, rank]]) })).rank).toBe(lowest([CEILINGS[cls], rank]));
  });

  it('what was expired, unproven or superseded loads as an observation', () => {
    for (const code of ['expired', 'writer-unproven', 'superseded', 'approval-expired', 'root-unpinned'] as const)
      expect([code, decide(of('policy', [finding(code)])).class]).toEqual([code, 'observation']);
    expect(decide(of('policy', [finding('hard-linked')])).class).toBe('policy');
  });
});

import { describe, expect, it } from 'vitest';
import { gather } from '../../src/gather/gather.ts';
import type { Proofs } from '../../src/gather/proofs.ts';
import { indexLive } from '../../src/gather/related.ts';
import { CLASSES, canBind } from '../../src/model/artifact-class.ts';
import type { Manifest } from '../../src/model/manifest.ts';
import type { Parsed } from '../../src/model/stages.ts';
import type { ApprovalPredicate, AuthorshipPredicate, PostPredicate, Statement } from '../../src/model/statement.ts';
import { liveApprovals, standingOf } from '../../src/policy/approvals.ts';
import { indexSpawns, type SpawnLink } from '../../src/policy/identity.ts';
import { Failures } from './compare.ts';
import { APPROVALS, type ApprovalFact, AXES, authorOf, BEST, type Facts, product, WRITERS } from './facts.ts';
import { above, expect as expected, PROVEN } from './oracle.ts';
import {
  ALL_LINKS,
  approvalOf,
  authorship,
  build,
  candidateAt,
  claimedOf,
  digestOf,
  fp,
  INTACT,
  judgeBuilt,
  judgeFacts,
  LINKS,
  manifestOf,
  NOW,
  parsedAt,
  reading,
  settingsOf,
  statement,
  type Without,
} from './world.ts';

const SETTINGS = settingsOf(BEST);
const BOARD = 'docs/agent-board.jsonl';

describe('hard rule 5: dropping any proof never raises a rank', () => {
  /** Approvals of which one reaches too far, beside those the enumeration knows. */
  const OVERREACH: readonly (readonly ApprovalFact[])[] = [
    [{ by: 'lead', replaces: ['artifact-c'] }, { by: 'f13' }],
    [{ by: 'lead', replaces: ['artifact-c'] }, { by: 'lead2' }],
    [{ by: 'lead', replaces: ['artifact-c'] }],
    [{ by: 'lead', replaces: ['artifact-b'] }, { by: 'f13' }],
  ];
  /** A second record of the same name is no link of the chain but a denial of it, so it is not dropped here. */
  const droppable = (facts: Facts): readonly (readonly SpawnLink[])[] =>
    facts.writer === 'kid-twice' ? [] : (LINKS[facts.writer.split('+')[0] ?? ''] ?? []).map((one) => [one]);

  function* withouts(facts: Facts): Generator<readonly [string, Without]> {
    for (let index = 0; index < facts.approvals.length; index += 1)
      yield [`approval ${index + 1}`, { approval: index }];
    for (let index = 0; index < PROVEN[facts.writer].length; index += 1)
      yield [`statement ${index + 1}`, { statement: index }];
    if (facts.writer.includes('commit')) yield ['the commit', { commit: true }];
    for (const dropped of droppable(facts))
      yield ['a spawn record', { spawns: indexSpawns(ALL_LINKS.filter((link) => !dropped.includes(link))) }];
  }

  /**
   * Law whose proven writer may not write it: the page quarantines it (`role-forbids-class`, `level-exceeds-writer`), and
   * the same law by nobody proven is reference (`writer-unproven`). These states have a test of their own.
   */
  const isForbidden = (facts: Facts): boolean => {
    const writer = expected({ ...facts, approvals: [] }).writer[0] ?? [];
    return canBind(facts.class) && (writer.includes('role-forbids-class') || writer.includes('level-exceeds-writer'));
  };

  function raised(states: Iterable<Facts>, forbidden: boolean): readonly string[] {
    const failures = new Failures();
    for (const facts of states) {
      const before = judgeFacts(facts).rank;
      const isWriterForbidden = isForbidden(facts);
      for (const [what, without] of withouts(facts)) {
        if (forbidden !== (isWriterForbidden && without.approval === undefined)) continue;
        const after = judgeFacts(facts, without).rank;
        if (above(after, before))
          failures.add(`without ${what.replace(/ \d/, '')}: ${before} -> ${after}`, facts, what);
      }
    }
    return failures.lines();
  }

  it('5: statements, commits, approvals and links of who wrote and approved it', () => {
    expect(
      raised(
        product(BEST, {
          class: CLASSES,
          level: AXES.level,
          writer: WRITERS,
          approvals: [...AXES.approvals, ...OVERREACH],
          approvedBy: ['lead', 'f13'],
        }),
        false,
      ),
    ).toEqual([]);
  });

  // The one exception, and why it is none: such a proof speaks against the text, like a revocation. Without it the writer
  // is unknown, and the text is evidence at most.
  it('5: the proof that law was written by somebody who may not write it frees at most evidence', () => {
    expect(
      raised(
        product(BEST, {
          class: ['policy', 'constitution'],
          level: AXES.level,
          writer: WRITERS,
          approvals: AXES.approvals,
        }),
        true,
      ),
    ).toSatisfy((lines: readonly string[]) => lines.every((line) => line.includes('-> reference')));
  });

  it('5: approvals in every chain of what replaced what', () => {
    expect(
      raised(
        product(BEST, {
          class: CLASSES,
          level: AXES.level,
          writer: ['none', 'orch'],
          approvals: [
            ...['none', 'lead', 'f13', 'lead+f13', 'lead+lead2', 'expired'].map((name) => APPROVALS[name] ?? []),
            ...OVERREACH,
          ],
          approvedBy: ['lead', 'f13'],
          threshold: AXES.threshold,
          chain: AXES.chain,
        }),
        false,
      ),
    ).toEqual([]);
  });

  it('5: approvals that accept a hit of the scan or cover an import', () => {
    const accepts = ['suspect', 'block'];
    expect(
      raised(
        product(BEST, {
          class: CLASSES,
          writer: ['none', 'orch', 'lead'],
          approvals: [[{ by: 'lead', accepts }], [{ by: 'f13', accepts }], [{ by: 'lead', accepts }, { by: 'f13' }]],
          approvedBy: ['lead', 'f13'],
          scan: AXES.scan,
          imports: AXES.imports,
          revoked: ['none', 'id by f13', 'id by lead'],
        }),
        false,
      ),
    ).toEqual([]);
  });
});

describe('hard rule 6: no claim raises a rank', () => {
  const NAMES = ['orch', 'lead', 'f13', 'spec', 'somebody'];
  const UNKNOWN: readonly Manifest['unknown'][] = [
    {},
    { role: 'sovereign', from: 'f13', kind: 'constitution', approved_by: 'f13' },
  ];

  it('6: author, approved_by, binding, role, from and kind in the payload, the proofs held', () => {
    const failures = new Failures();
    const states = product(BEST, {
      class: CLASSES,
      level: ['T1', 'T3'],
      writer: ['none', 'spec', 'orch', 'lead', 'f13', 'orch-commit', 'orch-git-commit', 'kid-o', 'kid-broken'],
      approvals: ['none', 'lead', 'f13', 'lead+f13', 'spec', 'expired', 'forged', 'off bytes'].map(
        (name) => APPROVALS[name] ?? [],
      ),
    });
    for (const facts of states) {
      // What the proofs alone give: the honest author, and whichever approver is named that carries furthest.
      const honest = [null, 'lead', 'f13'].map((approvedBy) => expected({ ...facts, approvedBy }).rank);
      for (const author of [authorOf(facts), ...NAMES]) {
        for (const approvedBy of [null, ...NAMES]) {
          for (const unknown of UNKNOWN) {
            for (const binding of [true, false]) {
              const { rank } = judgeFacts(facts, { payload: { author, approvedBy, unknown, binding } });
              if (honest.every((bound) => above(rank, bound)))
                failures.add(`raised to ${rank}`, facts, JSON.stringify({ author, approvedBy, unknown, binding }));
            }
          }
        }
      }
    }
    expect(failures.lines()).toEqual([]);
  });

  it('6: a lie about the author that its own writer signed gives reference at most', () => {
    const failures = new Failures();
    for (const facts of product(BEST, {
      class: CLASSES,
      writer: WRITERS,
      author: AXES.author,
      approvals: ['none', 'lead', 'lead+lead2'].map((name) => APPROVALS[name] ?? []),
      approvedBy: [null, 'lead', 'lead2'],
    })) {
      const author = authorOf(facts);
      const { rank } = judgeFacts(facts);
      if (above(rank, 'reference') && !PROVEN[facts.writer].some((one) => one.principal === author))
        failures.add(`a lie gave ${rank}`, facts);
    }
    expect(failures.lines()).toEqual([]);
  });

  it('6: kind, role and from of a board line', () => {
    const wrong: string[] = [];
    const line = (post: Statement<PostPredicate> | null) => {
      const built = build({ ...BEST, class: null });
      const parsed = { ...built.evidence.parsed, line: 3, post, candidate: candidateAt(BOARD, { kind: 'board' }) };
      const evidence = { ...built.evidence, parsed, claimed: null, findings: [], approvals: [], live: [] };
      return judgeBuilt({ ...built, evidence: evidence as unknown as typeof built.evidence }, SETTINGS, null);
    };
    const plain = line(null);
    if (plain.rank !== 'reference' || !plain.findings.some((one) => one.code === 'board-kind-unproven'))
      wrong.push(`a plain line is ${plain.rank}`);
    for (const signer of [
      'spec',
      'orch',
      'lead',
      'f13',
      'kid-o',
      'kid-s',
      'kid-broken',
      'stranger',
      'orch-gone',
      'orch-closed',
    ]) {
      for (const author of [signer, 'f13', 'orch']) {
        for (const kind of ['guidance', 'observation', 'policy', 'constitution', 'binding', 'sovereign']) {
          const predicate: PostPredicate = {
            type: 'post',
            board: BOARD,
            kind,
            author,
            text: 'A plain line.',
            data: { role: 'sovereign', from: 'f13', kind: 'policy' },
            nonce: 'n',
            expiresAt: null,
          };
          const { rank } = line(statement(predicate, signer, {}));
          const may = ['orch', 'lead', 'f13', 'kid-o'].includes(signer) && author === signer && kind === 'guidance';
          if (rank !== (may ? 'advisory' : 'reference')) wrong.push(`${signer} as ${author}, ${kind}: ${rank}`);
        }
      }
    }
    expect(wrong).toEqual([]);
  });
});

describe('hard rule 10: what is unproven or unapproved changes nothing else', () => {
  interface Piece {
    readonly parsed: Parsed;
    readonly authorship: readonly Statement<AuthorshipPredicate>[];
    readonly approvals: readonly Statement<ApprovalPredicate>[];
  }
  const piece = (parsed: Parsed, more: Partial<Omit<Piece, 'parsed'>> = {}): Piece => ({
    parsed,
    authorship: more.authorship ?? [],
    approvals: more.approvals ?? [],
  });
  const manifest = (id: string, more: Partial<Manifest>): Manifest => ({
    ...manifestOf({ ...BEST, approvedBy: null, binding: false }),
    artifactId: id,
    contentHash: digestOf(id),
    ...more,
  });
  const file = (path: string, of: Manifest): Parsed =>
    parsedAt(candidateAt(path), { readings: [reading(claimedOf(of, digestOf(of.artifactId)))] });

  const law = manifest('law', { approvedBy: 'lead' });
  const root = manifest('root-law', { class: 'constitution', author: 'nobody', approvedBy: 'f13' });
  const advice = manifest('advice', { class: 'guidance' });
  const kids = manifest('kids', { class: 'guidance', author: 'kid-o' });
  const notes = manifest('notes', { class: 'memory', author: 'spec' });
  const loose = manifest('loose', { class: 'observation', author: 'whoever' });
  const sided = manifest('sided', { approvedBy: 'lead' });
  const BASE: readonly Piece[] = [
    piece(file('law.md', law), {
      authorship: [authorship(law, 'orch', ['law.md', digestOf('law')])],
      approvals: [approvalOf(law, { by: 'lead' }, { path: 'law.md', content: digestOf('law') })],
    }),
    piece(file('root.md', root), {
      approvals: [approvalOf(root, { by: 'f13' }, { path: 'root.md', content: digestOf('root-law') })],
    }),
    piece(file('advice.md', advice), { authorship: [authorship(advice, 'orch', ['advice.md', digestOf('advice')])] }),
    piece(file('docs/kids.md', kids), { authorship: [authorship(kids, 'kid-o', ['docs/kids.md', digestOf('kids')])] }),
    piece(file('notes.md', notes), { authorship: [authorship(notes, 'spec', ['notes.md', digestOf('notes')])] }),
    piece(file('loose.md', loose)),
    piece(
      parsedAt(candidateAt('sided.md'), {
        readings: [reading(claimedOf(sided, digestOf('sided'), 'sided.md.manifest.yaml'), 'sided.md.manifest.yaml')],
      }),
      {
        authorship: [authorship(sided, 'orch', ['sided.md', digestOf('sided')])],
        approvals: [approvalOf(sided, { by: 'lead' }, { path: 'sided.md', content: digestOf('sided') })],
      },
    ),
    piece(parsedAt(candidateAt('plain.md'), {})),
  ];
  const MANIFESTS: Readonly<Record<string, Manifest>> = {
    'law.md': law,
    'root.md': root,
    'advice.md': advice,
    'docs/kids.md': kids,
    'notes.md': notes,
    'loose.md': loose,
    'sided.md': sided,
  };

  const group = <T>(list: readonly T[], keysOf: (one: T) => readonly string[]): Map<string, T[]> => {
    const groups = new Map<string, T[]>();
    for (const one of list) for (const key of keysOf(one)) groups.set(key, [...(groups.get(key) ?? []), one]);
    return groups;
  };

  async function ranks(
    pieces: readonly Piece[],
    strays: readonly SpawnLink[] = [],
  ): Promise<ReadonlyMap<string, string>> {
    const spawns = indexSpawns([...ALL_LINKS, ...strays]);
    const approvals = pieces.flatMap((one) => one.approvals);
    const all = approvals.map((one) => standingOf(one, INTACT, spawns, NOW));
    const proofs: Proofs = {
      authorship: group(
        pieces.flatMap((one) => one.authorship),
        (one) => one.subjects.map((subject) => `${subject.name} ${subject.sha256}`),
      ),
      approvals: {
        all,
        byPath: group(approvals, (one) => one.subjects.map((subject) => subject.name)),
        byId: group(approvals, (one) => [one.predicate.artifactId]),
      },
      spawns,
      live: indexLive(liveApprovals(all, INTACT, spawns, NOW)),
      knownIds: new Set(
        all.filter((one) => one.approver.role !== 'unknown').map((one) => one.approval.predicate.artifactId),
      ),
      findings: [],
    };
    const evidence = await gather({
      parsed: pieces.map((one) => one.parsed),
      set: INTACT,
      proofs,
      repository: null,
      prefix: '',
      now: NOW,
      imports: new Map(),
      root: '',
    });
    return new Map(
      evidence.map((one) => {
        const judged = judgeBuilt({ evidence: one, set: INTACT, setFindings: [], spawns }, SETTINGS, null);
        return [one.parsed.candidate.path, `${judged.rank} ${judged.disposition}`] as const;
      }),
    );
  }

  async function moved(
    intruders: (path: string, of: Manifest) => readonly Piece[],
    strays: readonly SpawnLink[] = [],
  ): Promise<readonly string[]> {
    const before = await ranks(BASE);
    const wrong: string[] = [];
    for (const [path, of] of Object.entries(MANIFESTS)) {
      const after = await ranks([...BASE, ...intruders(path, of)], strays);
      for (const [name, rank] of before)
        if (after.get(name) !== rank) wrong.push(`beside ${path}: ${name} ${rank} -> ${after.get(name)}`);
    }
    return wrong;
  }

  it('the workspace it is tried on holds every rank that can be lost', async () => {
    expect(Object.fromEntries(await ranks(BASE))).toEqual({
      'law.md': 'binding load',
      'root.md': 'binding load',
      'advice.md': 'advisory load',
      'docs/kids.md': 'advisory load',
      'notes.md': 'reference load',
      'loose.md': 'reference load',
      'sided.md': 'binding load',
      'plain.md': 'reference load',
    });
  });

  const lies = (of: Manifest): readonly Manifest[] => [
    of,
    { ...of, class: 'constitution', level: 'T3', binding: true, approvedBy: 'f13', author: 'f13' },
    { ...of, class: 'guidance', author: 'orch' },
    { ...of, createdAt: (of.createdAt - 1) as Manifest['createdAt'] },
  ];

  it('10: an unproven copy with the same id, whatever it claims', async () => {
    for (const at of ['copy.md', 'docs/copy.md', '.claude/CLAUDE.md'])
      expect(await moved((_, of) => lies(of).map((lie, index) => piece(file(`${index}-${at}`, lie))))).toEqual([]);
  });

  it('10: a copy with the same id that a specialist signed', async () => {
    const signed = (of: Manifest) => {
      const copy = { ...of, author: 'spec' };
      return [
        piece(file('copy.md', copy), { authorship: [authorship(copy, 'spec', ['copy.md', digestOf(of.artifactId)])] }),
      ];
    };
    // A specialist's notes and a specialist's copy of them: both stay reference.
    expect(await moved((_, of) => signed(of))).toEqual([]);
  });

  it('10: a proven but unapproved copy with the same id', async () => {
    const signed = (of: Manifest) => {
      const copy = { ...of, author: 'orch2', approvedBy: null };
      return [
        piece(file('copy.md', copy), { authorship: [authorship(copy, 'orch2', ['copy.md', digestOf(of.artifactId)])] }),
      ];
    };
    expect(await moved((_, of) => signed(of))).toEqual([]);
  });

  it('10: claims to supersede, and fork the path', async () => {
    const claims = (path: string, of: Manifest) => [
      piece(file('new.md', manifest('new', { supersedes: [of.artifactId], approvedBy: 'f13', binding: true }))),
      piece(file(`x/${path}`, manifest('fork', { class: 'constitution', supersedes: [of.artifactId], author: 'f13' }))),
    ];
    expect(await moved(claims)).toEqual([]);
  });

  it('10: approvals of nobody, of a specialist, of an orchestrator or expired that replace it', async () => {
    const empty = (of: Manifest) =>
      (['stranger', 'spec', 'orch', 'lead-gone', 'lead-pay'] as const).map((by, index) => {
        const usurper = manifest(`usurper-${index}`, { approvedBy: by });
        return piece(file(`usurper-${index}.md`, usurper), {
          approvals: [
            approvalOf(
              usurper,
              { by },
              {
                path: `usurper-${index}.md`,
                content: digestOf(`usurper-${index}`),
                replaces: [of.artifactId],
                issuedAt: NOW - 1,
              },
            ),
          ],
        });
      });
    expect(await moved((_, of) => empty(of))).toEqual([]);
  });

  it('10: statements of strangers about it', async () => {
    const about = (path: string, of: Manifest) => [
      piece(file('elsewhere.md', manifest('elsewhere', {})), {
        authorship: [
          authorship(of, 'stranger', [path, digestOf(of.artifactId)]),
          authorship(of, 'spec', [path, digestOf(of.artifactId)]),
        ],
        approvals: [approvalOf(of, { by: 'stranger' }, { path, content: digestOf(of.artifactId) })],
      }),
    ];
    expect(await moved(about)).toEqual([]);
  });

  it('10: a spawn record that nobody known signed, with the name or the key of a child', async () => {
    const spawn = (actor: string, key: string): SpawnLink => ({
      statement: statement(
        {
          type: 'spawn',
          actor,
          role: 'orchestrator',
          parent: 'orch',
          publicKey: `ssh-ed25519 ${key}`,
          paths: [],
          expiresAt: (NOW + 1_000_000) as Manifest['createdAt'],
          session: null,
        },
        'stranger',
        { issuedAt: NOW - 1_000 },
      ),
      fingerprint: fp(key),
    });
    expect(await moved(() => [], [spawn('kid-o', 'evil')])).toEqual([]);
    expect(await moved(() => [], [spawn('evil', 'kid-o')])).toEqual([]);
    expect(await moved(() => [], [spawn('kid-o', 'kid-o')])).toEqual([]);
  });

  it.each(['approved', 'proven', 'unproven'])('10: a stray sidecar beside what is %s', async (kind) => {
    const of: Readonly<Record<string, readonly string[]>> = {
      approved: ['law.md', 'root.md', 'sided.md'],
      proven: ['advice.md', 'docs/kids.md', 'notes.md'],
      unproven: ['loose.md'],
    };
    const before = await ranks(BASE);
    const wrong: string[] = [];
    for (const path of of[kind] ?? []) {
      for (const lie of lies(MANIFESTS[path] ?? law).slice(1)) {
        const sidecar = `${path}.manifest.json`;
        const beside = BASE.map((one) =>
          one.parsed.candidate.path !== path
            ? one
            : {
                ...one,
                parsed: parsedAt(one.parsed.candidate, {
                  readings: [
                    ...one.parsed.readings,
                    reading(claimedOf(lie, digestOf(lie.artifactId), sidecar), sidecar),
                  ],
                }),
              },
        );
        const after = await ranks(beside);
        for (const [name, rank] of before)
          if (after.get(name) !== rank) wrong.push(`beside ${path}: ${name} ${rank} -> ${after.get(name)}`);
      }
    }
    // Nothing says which of two unproven manifests is the stray: the page refuses both.
    if (kind === 'unproven')
      expect(new Set(wrong)).toEqual(new Set(['beside loose.md: loose.md reference load -> quarantined move']));
    else expect(wrong).toEqual([]);
  });
});

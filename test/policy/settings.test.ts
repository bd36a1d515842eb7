import { chmodSync, chownSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CODES, type CodeName } from '../../src/model/codes.ts';
import { isoOf } from '../../src/model/instant.ts';
import { constitutionHash } from '../../src/policy/constitution.ts';
import { parseExceptions } from '../../src/policy/exceptions.ts';
import { type Pins, readPins, renderPins } from '../../src/policy/pins.ts';
import { parsePolicyFile } from '../../src/policy/policy-file.ts';
import { sha256Hex } from '../../src/sign/digest.ts';
import { DAY, later, NOW, tempDir } from './given.ts';

const BASE = 'version: 1\nworkspace: w\nconstitution:\n  documents: [a.md]\nprincipals:\n  f13: sovereign\n';
const auditable = (Object.keys(CODES) as CodeName[]).filter((code) => CODES[code].auditable);

describe('policy.yaml', () => {
  it('every field', async () => {
    const read = await parsePolicyFile(`version: 1
workspace: github.com/acme/app
constitution: {documents: [policies/a.md, b.md], accepts: ["sha256:${'a'.repeat(64)}", F1-F13]}
principals:
  f13: sovereign
  lead: {role: approver, paths: ["services/pay/**"], commits: orchestrator}
  gone: {role: approver, departed: 2026-01-02T03:04:05Z, keeps: ["${'b'.repeat(64)}"]}
  p: parent
  c: child
approvals: {threshold: {policy: 2, constitution: 3}, maxDays: 30, presence: touch}
commits: {authorship: orchestrator, approval: [lead], principals: {p: none, c: specialist}}
spawns: {maxHours: 2}
unmanifested: quarantined
hosts: [claude-code, codex]
initPaths: [{path: "prompts/**/*.md", loads: launch}]
classes: {policy: advisory, memory: quarantined}
modes: {${auditable[0]}: audit}
limits: {fileBytes: 2048, files: 7, scanWork: 9}
handoffs: {ackSeconds: 12, escalate: {url: "https://example.com/x"}, rungs: {OBS: 0.8, DER: 0.85, INT: 0.75, SPEC: 0.60}}
`);
    expect('policy' in read && read.policy).toEqual({
      given: expect.any(Map),
      workspace: 'github.com/acme/app',
      constitution: { documents: ['policies/a.md', 'b.md'], accepts: [`sha256:${'a'.repeat(64)}`, 'F1-F13'] },
      principals: new Map([
        ['f13', { role: 'sovereign', paths: null, departed: null, keeps: [] }],
        ['lead', { role: 'approver', paths: ['services/pay/**'], departed: null, keeps: [] }],
        ['gone', { role: 'approver', paths: null, departed: Date.UTC(2026, 0, 2, 3, 4, 5), keeps: ['b'.repeat(64)] }],
        ['p', { role: 'orchestrator', paths: null, departed: null, keeps: [] }],
        ['c', { role: 'specialist', paths: null, departed: null, keeps: [] }],
      ]),
      approvals: { threshold: { policy: 2, constitution: 3 }, maxDays: 30, presence: 'touch' },
      commits: {
        authorship: 'orchestrator',
        perPrincipal: new Map([
          ['p', null],
          ['c', 'specialist'],
          ['lead', 'orchestrator'],
        ]),
        approval: ['lead'],
      },
      spawns: { maxHours: 2 },
      unmanifested: 'quarantined',
      hosts: ['claude-code', 'codex'],
      initPaths: [{ path: 'prompts/**/*.md', loads: 'launch' }],
      classes: new Map([
        ['policy', 'advisory'],
        ['memory', 'quarantined'],
      ]),
      audit: new Set([auditable[0]]),
      limits: { fileBytes: 2048, files: 7, scanWork: 9 },
      handoffs: {
        ackSeconds: 12,
        escalateUrl: 'https://example.com/x',
        rungs: { OBS: 0.8, DER: 0.85, INT: 0.75, SPEC: 0.6 },
      },
    });
  });

  it('whoever is told of an escalation is told over TLS, or on this machine', async () => {
    const read = (url: string) => parsePolicyFile(`${BASE}handoffs: {escalate: {url: "${url}"}}\n`);
    for (const url of ['https://a.example/x', 'http://127.0.0.1:8080/x', 'http://localhost/x', 'http://[::1]:9/x'])
      expect('policy' in (await read(url))).toBe(true);
    for (const url of [
      'http://a.example/x',
      'http://127.0.0.1.evil.example/',
      'file:///etc/passwd',
      'ftp://127.0.0.1/',
      'x',
    ])
      expect('fault' in (await read(url))).toBe(true);
  });

  it('what is left out is the default', async () => {
    const read = await parsePolicyFile(
      `${BASE}approvals: {threshold: {policy: 2}}\ncommits: {authorship: none, approval: none}\n`,
    );
    expect('policy' in read && read.policy).toMatchObject({
      approvals: { threshold: { policy: 2, constitution: 1 }, maxDays: 365, presence: 'none' },
      commits: { authorship: null, approval: [] },
      spawns: { maxHours: 24 },
      unmanifested: 'reference',
      hosts: null,
      limits: { fileBytes: 1_048_576, files: 20_000, scanWork: 64 },
    });
  });

  it.each([
    ['an unknown key', `${BASE}aprovals: {}\n`, 7, 1, /unknown key `aprovals`/],
    [
      'an unknown key deeper',
      `${BASE}approvals: {maxDays: 3, maxdays: 4}\n`,
      7,
      25,
      /approvals: unknown key `maxdays`/,
    ],
    [
      'an unknown key of a principal',
      `${BASE}  lead:\n    role: approver\n    path: ["a/**"]\n`,
      9,
      5,
      /principals\.lead: unknown key `path`/,
    ],
    [
      'an unknown key of an init path',
      `${BASE}initPaths:\n  - path: a\n    loads: launch\n    kind: board\n`,
      10,
      5,
      /initPaths\.0: unknown key/,
    ],
    [
      'a command to run',
      `${BASE}handoffs: {escalate: {command: "curl x"}}\n`,
      7,
      23,
      /handoffs\.escalate: unknown key `command`/,
    ],
    ['a rung nobody knows', `${BASE}handoffs: {rungs: {GUESS: 1}}\n`, 7, 20, /rungs/],
    ['a rung above one', `${BASE}handoffs: {rungs: {OBS: 2}}\n`, 7, 25, /OBS/],
    ['no version', BASE.replace('version: 1\n', ''), 1, 1, /version/],
    ['another version', BASE.replace('version: 1', 'version: 2'), 1, 10, /version/],
    ['no workspace', BASE.replace('workspace: w\n', ''), 1, 1, /workspace/],
    ['a workspace with a blank', BASE.replace('workspace: w', 'workspace: "a b"'), 2, 12, /workspace/],
    ['nobody sovereign', BASE.replace('sovereign', 'approver'), 6, 3, /somebody must be sovereign/],
    [
      'the only sovereign departed',
      BASE.replace('sovereign', '{role: sovereign, departed: 2026-01-01T00:00:00Z}'),
      6,
      3,
      /somebody must be sovereign/,
    ],
    ['a role nobody knows', `${BASE}  x: god\n`, 7, 6, /principals\.x/],
    ['the role unknown', `${BASE}  x: unknown\n`, 7, 6, /principals\.x/],
    ['a name with brackets', `${BASE}  "evil[bot]": approver\n`, 7, 16, /principals/],
    ['__proto__ as a name', `${BASE}  __proto__: sovereign\n`, 7, 3, /__proto__/],
    ['the same name twice', `${BASE}  f13: sovereign\n`, 7, 3, /duplicate key/],
    [
      'a departure that is no date',
      `${BASE}  x: {role: approver, departed: 2026-02-30T00:00:00Z}\n`,
      7,
      33,
      /departed/,
    ],
    ['a kept digest cut short', `${BASE}  x: {role: approver, keeps: [abc]}\n`, 7, 31, /keeps/],
    ['a role for commits nobody knows', `${BASE}commits: {authorship: god}\n`, 7, 23, /god is no role/],
    [
      'a role for one\u2019s commits nobody knows',
      `${BASE}commits: {principals: {f13: god}}\n`,
      7,
      29,
      /god is no role/,
    ],
    ['the same beside the principal', `${BASE}  x: {role: approver, commits: god}\n`, 7, 32, /god is no role/],
    ['a ceiling widened', `${BASE}classes: {guidance: binding}\n`, 7, 21, /never widened: guidance stays advisory/],
    ['an evidence class widened', `${BASE}classes: {memory: advisory}\n`, 7, 19, /never widened/],
    ['a class nobody knows', `${BASE}classes: {law: binding}\n`, 7, 11, /classes/],
    ['a code nobody knows', `${BASE}modes: {no-such-code: audit}\n`, 7, 23, /no code/],
    ['a code that is a method', `${BASE}modes: {constructor: audit}\n`, 7, 22, /no code/],
    ['a mode nobody knows', `${BASE}modes: {${auditable[0]}: off}\n`, 7, 12 + (auditable[0]?.length ?? 0) - 1, /modes/],
    ['a threshold of none', `${BASE}approvals: {threshold: {policy: 0}}\n`, 7, 33, /threshold\.policy/],
    ['a threshold in words', `${BASE}approvals: {threshold: {policy: two}}\n`, 7, 33, /threshold\.policy/],
    ['a life without end', `${BASE}approvals: {maxDays: 100000}\n`, 7, 22, /maxDays/],
    ['a limit of almost nothing', `${BASE}limits: {fileBytes: 1}\n`, 7, 21, /fileBytes/],
    ['a fraction', `${BASE}limits: {files: 1.5}\n`, 7, 17, /files/],
    ['a document outside the workspace', BASE.replace('a.md', '../a.md'), 4, 15, /documents\.0/],
    ['a document by absolute path', BASE.replace('a.md', '/etc/passwd'), 4, 15, /documents\.0/],
    ['documents that are no list', BASE.replace('[a.md]', 'a.md'), 4, 14, /documents/],
    ['a glob with 9 wildcards', `${BASE}initPaths: [{path: "${'*/'.repeat(9)}a", loads: launch}]\n`, 7, 20, /path/],
    ['a glob out of the workspace', `${BASE}  x: {role: approver, paths: ["../**"]}\n`, 7, 31, /paths/],
    ['a glob of extended groups', `${BASE}  x: {role: approver, paths: ["+(a|aa)+b"]}\n`, 7, 31, /paths/],
    ['a glob of 300 characters', `${BASE}  x: {role: approver, paths: ["${'a'.repeat(300)}"]}\n`, 7, 31, /paths/],
    ['a host nobody knows', `${BASE}hosts: [codex, claude-cod]\n`, 7, 16, /claude-cod is no host/],
    ['a host that is a path', `${BASE}hosts: ["../x"]\n`, 7, 9, /hosts\.0/],
    ['a list', '- a\n', 1, 1, /the file/],
    ['nothing', '', 1, 1, /the file/],
    ['an anchor', `${BASE}hosts: &a [codex]\n`, 7, 11, /anchors/],
    ['a tag', `${BASE}hosts: !!seq [codex]\n`, 7, 14, /tags/],
    ['a directive', `%YAML 1.1\n---\n${BASE}`, 1, 1, /directives/],
    ['two documents', `${BASE}---\n${BASE}`, 7, 1, /multiple docs/],
    ['over 256 KiB', `${BASE}# ${'x'.repeat(262_144)}\n`, 1, 1, /over 262144/],
  ] as const)('%s', async (_name, text, lineNumber, column, why) => {
    const read = await parsePolicyFile(text);
    expect(read).toHaveProperty('fault');
    if ('fault' in read) {
      expect(read.fault.why).toMatch(why);
      expect([read.fault.line, read.fault.column]).toEqual([lineNumber, column]);
    }
  });

  it.each((Object.keys(CODES) as CodeName[]).filter((code) => !CODES[code].auditable))(
    '%s cannot be put in audit',
    async (code) => {
      const read = await parsePolicyFile(`${BASE}modes: {${code}: audit}\n`);
      expect('fault' in read && read.fault.why).toBe(`${code} cannot be put in audit`);
    },
  );

  it.each(auditable)('%s can', async (code) => {
    const read = await parsePolicyFile(`${BASE}modes: {${code}: audit}\n`);
    expect('policy' in read && [...read.policy.audit]).toEqual([code]);
  });
});

describe('exceptions.yaml', () => {
  const until = isoOf(later(30 * DAY));
  const one = (over: Readonly<Record<string, string>> = {}): string =>
    Object.entries({ code: 'manifest-missing', path: 'A.md', owner: 'f13', reason: 'old file', until, ...over })
      .map(([field, value], index) => `${index === 0 ? '- ' : '  '}${field}: ${value}\n`)
      .join('');
  it('is read with its line', async () => {
    const read = await parseExceptions(`# why\n${one()}${one({ artifactId: 'a1', path: 'B.md' })}`, NOW);
    expect('exceptions' in read && read.exceptions).toEqual([
      {
        code: 'manifest-missing',
        path: 'A.md',
        artifactId: null,
        owner: 'f13',
        reason: 'old file',
        until: later(30 * DAY),
        line: 2,
      },
      {
        code: 'manifest-missing',
        path: 'B.md',
        artifactId: 'a1',
        owner: 'f13',
        reason: 'old file',
        until: later(30 * DAY),
        line: 7,
      },
    ]);
  });
  it('an empty file, a run out one and a duplicate are no faults of the file', async () => {
    expect(await parseExceptions('', NOW)).toEqual({ exceptions: [] });
    expect(await parseExceptions('[]\n', NOW)).toEqual({ exceptions: [] });
    expect(await parseExceptions(one({ until: isoOf(later(-DAY)) }) + one(), NOW)).toHaveProperty('exceptions');
    expect(await parseExceptions(one() + one(), NOW)).toHaveProperty('exceptions.length', 2);
  });
  it('90 days, with room for another clock', async () => {
    expect(await parseExceptions(one({ until: isoOf(later(90 * DAY)) }), NOW)).toHaveProperty('exceptions');
    expect(await parseExceptions(one({ until: isoOf(later(90 * DAY + 240_000)) }), NOW)).toHaveProperty('exceptions');
    expect(await parseExceptions(one({ until: isoOf(later(91 * DAY)) }), NOW)).toMatchObject({
      fault: { line: 5, column: 10, why: expect.stringMatching(/more than 90 days/) as string },
    });
  });
  it.each([
    ['no list', 'code: x\n', 1, 1, /the file/],
    ['an unknown key', one({ author: 'x' }), 6, 3, /unknown key `author`/],
    ['no owner', one().replace(/ {2}owner.*\n/, ''), 1, 3, /owner/],
    ['no reason', one({ reason: '""' }), 4, 11, /reason/],
    ['an owner with brackets', one({ owner: '"evil[bot]"' }), 3, 10, /owner/],
    ['a code nobody knows', one({ code: 'no-such' }), 1, 9, /no code/],
    ['a code that is a method', one({ code: 'toString' }), 1, 9, /no code/],
    ['a scan rule', one({ code: 'scan/override' }), 1, 9, /no code/],
    ['a date with an offset', one({ until: '2026-12-01T00:00:00+02:00' }), 5, 10, /ISO 8601/],
    ['30 February', one({ until: '2027-02-30T00:00:00Z' }), 5, 10, /ISO 8601/],
    ['an alias', `${one()}- *a\n`, 6, 3, /alias/],
  ] as const)('%s', async (_name, text, lineNumber, column, why) => {
    const read = await parseExceptions(text, NOW);
    expect(read).toMatchObject({ fault: { line: lineNumber, column, why: expect.stringMatching(why) as string } });
  });
  it.each((Object.keys(CODES) as CodeName[]).filter((code) => !CODES[code].exceptable))(
    '%s cannot be excepted',
    async (code) => {
      const read = await parseExceptions(one({ code }), NOW);
      expect(read).toMatchObject({ fault: { line: 1, column: 9, why: `${code} cannot be excepted` } });
    },
  );
});

describe('pins.yaml', () => {
  const ROOT = `SHA256:${'A'.repeat(43)}`;
  const OTHER = `SHA256:${'B'.repeat(43)}`;
  const file = (workspace: string, root = ROOT, more = ''): string =>
    `version: 1\npins:\n  - workspace: ${workspace}\n    roots: ["${root}"]\n${more}`;
  const read = async (
    system: string | null,
    user: string | null,
    environment: string | null = null,
  ): Promise<Pins | { readonly fault: string }> => {
    const dirs = { systemDir: tempDir(), configDir: tempDir() };
    for (const [dir, text] of [
      [dirs.systemDir, system],
      [dirs.configDir, user],
    ] as const)
      if (text !== null) writeFileSync(join(dir, 'pins.yaml'), text, { mode: 0o600 });
    return readPins({ ...dirs, environment });
  };

  it('no file, no pins; a folder that is not there, no pins', async () => {
    const nothing = { pins: [], ledger: null, enforcement: 'enforce', quarantine: 'move', escalate: null };
    expect(await read(null, null)).toEqual(nothing);
    expect(
      await readPins({ systemDir: '/nonexistent/writ', configDir: join(tempDir(), 'x'), environment: null }),
    ).toEqual(nothing);
  });

  it('is read as it is written', async () => {
    const pins: Pins = {
      pins: [
        {
          workspace: 'example.com/a',
          roots: [ROOT, OTHER],
          floor: 3,
          version: 5,
          digest: 'a'.repeat(64),
          dir: 'gov/"our" policies',
          seen: NOW,
          from: 'user',
        },
      ],
      ledger: { state: '/tmp/"x"/writ.db', head: 'b'.repeat(64), rows: 7 },
      enforcement: 'observe',
      quarantine: 'withhold',
      escalate: ['/usr/bin/notify', '--title', 'a "handoff": #1'],
    };
    expect(await read(null, renderPins(pins))).toEqual(pins);
    expect(
      await read(
        null,
        renderPins({ ...pins, pins: [], ledger: null, enforcement: 'enforce', quarantine: 'move', escalate: null }),
      ),
    ).toEqual({ pins: [], ledger: null, enforcement: 'enforce', quarantine: 'move', escalate: null });
  });

  it.skipIf(process.getuid?.() !== 0)(
    'the system\u2019s pin comes first, then the user\u2019s, and the environment only where there is none',
    async () => {
      const pins = await read(
        file('a'),
        `${file('a', OTHER)}  - workspace: b\n    roots: ["${OTHER}"]\n`,
        `a=${OTHER}`,
      );
      expect('pins' in pins && pins.pins.map((pin) => [pin.workspace, pin.roots[0], pin.from])).toEqual([
        ['a', ROOT, 'system'],
        ['b', OTHER, 'user'],
      ]);
      const given = await read(null, file('a'), `c=${OTHER}`);
      expect('pins' in given && given.pins.map((pin) => [pin.workspace, pin.from])).toEqual([
        ['a', 'user'],
        ['c', 'environment'],
      ]);
      expect(
        await read(
          'version: 1\nenforcement: enforce\nquarantine: move\n',
          'version: 1\nenforcement: observe\nquarantine: withhold\n',
        ),
      ).toMatchObject({ enforcement: 'enforce', quarantine: 'move' });
    },
  );

  it.skipIf(process.getuid?.() !== 0)(
    'a system file that others may write, or that is not root\u2019s, is refused; so is its folder',
    async () => {
      const attempt = async (spoil: (dir: string, path: string) => void): Promise<unknown> => {
        const systemDir = tempDir();
        const path = join(systemDir, 'pins.yaml');
        writeFileSync(path, file('a'), { mode: 0o644 });
        spoil(systemDir, path);
        return readPins({ systemDir, configDir: tempDir(), environment: null });
      };
      expect(await attempt(() => undefined)).toHaveProperty('pins.length', 1);
      const refused = { fault: expect.stringMatching(/must belong to root/) as string };
      expect(await attempt((_dir, path) => chmodSync(path, 0o664))).toEqual(refused);
      expect(await attempt((_dir, path) => chmodSync(path, 0o646))).toEqual(refused);
      expect(await attempt((_dir, path) => chownSync(path, 1234, 0))).toEqual(refused);
      expect(await attempt((dir) => chownSync(dir, 1234, 0))).toEqual(refused);
      expect(await attempt((dir) => chmodSync(dir, 0o777))).toEqual(refused);
    },
  );

  it('a pins file that is there and cannot be read is a fault, never no pins', async () => {
    const configDir = tempDir();
    symlinkSync('/nonexistent/pins.yaml', join(configDir, 'pins.yaml'));
    expect(await readPins({ systemDir: '/nonexistent', configDir, environment: `a=${ROOT}` })).toMatchObject({
      fault: expect.stringMatching(/cannot be read/) as string,
    });
    const folder = tempDir();
    mkdirSync(join(folder, 'pins.yaml'));
    expect(await readPins({ systemDir: '/nonexistent', configDir: folder, environment: null })).toMatchObject({
      fault: expect.stringMatching(/no ordinary file/) as string,
    });
  });

  it.each([
    ['garbage', '}{'],
    ['cut short', file('a').slice(0, 40)],
    ['nothing', ''],
    ['another version', 'version: 2\npins: []\n'],
    ['pins that are no list', 'version: 1\npins: {}\n'],
    ['a workspace twice', `${file('a')}  - workspace: a\n    roots: ["${OTHER}"]\n`],
    ['no roots', 'version: 1\npins:\n  - workspace: a\n    roots: []\n'],
    ['a root that is no fingerprint', file('a', 'SHA256:abc')],
    ['a workspace with a blank', file('"a b"')],
    ['a floor below one', file('a', ROOT, '    floor: 0\n')],
    ['a negative floor', file('a', ROOT, '    floor: -9\n')],
    ['a floor in words', file('a', ROOT, '    floor: none\n')],
    ['a folder out of the workspace', file('a', ROOT, '    dir: ../../etc\n')],
    ['an absolute folder', file('a', ROOT, '    dir: /etc\n')],
    ['a time that is none', file('a', ROOT, '    seen: yesterday\n')],
    ['a digest cut short', file('a', ROOT, '    digest: abc\n')],
    ['an enforcement nobody knows', `${file('a')}enforcement: off\n`],
    ['a ledger mark without a head', `${file('a')}ledger: {state: x, rows: 1}\n`],
    ['an alias', `${file('a')}x: *a\n`],
    ['the same key twice', `${file('a')}pins: []\n`],
  ])('corrupt: %s', async (_name, text) => {
    expect(await read(null, text)).toHaveProperty('fault');
  });

  it.each([
    [`example.com/a=b=${ROOT}`, false],
    [`git@example.com:acme/app=${ROOT}`, true],
    [`a=${ROOT}`, true],
    [`=${ROOT}`, false],
    [ROOT, false],
    ['a', false],
    ['', false],
    [`a=${ROOT} `, false],
    [`a =${ROOT}`, false],
    [`a=${ROOT},b=${OTHER}`, false],
    [`a=sha256:${'A'.repeat(43)}`, false],
    ['a=SHA256:abc', false],
  ])('WRIT_ROOT %s', async (text, isGood) => {
    const pins = await read(null, null, text);
    expect('pins' in pins).toBe(isGood);
    if ('fault' in pins) expect(pins.fault).toMatch(/WRIT_ROOT is not spelled/);
  });
});

describe('the constitution\u2019s hash', () => {
  const [a, b] = [sha256Hex('a'), sha256Hex('b')];
  it('none, one, several', () => {
    expect(constitutionHash(new Map())).toBeNull();
    expect(constitutionHash(new Map([['x.md', a]]))).toBe(`sha256:${a}`);
    const both = `sha256:${sha256Hex(`${a}  a.md\n${b}  b.md\n`)}`;
    expect(
      constitutionHash(
        new Map([
          ['a.md', a],
          ['b.md', b],
        ]),
      ),
    ).toBe(both);
    expect(
      constitutionHash(
        new Map([
          ['b.md', b],
          ['a.md', a],
        ]),
      ),
    ).toBe(both);
    expect(
      constitutionHash(
        new Map([
          ['a.md', b],
          ['b.md', a],
        ]),
      ),
    ).not.toBe(both);
  });
});

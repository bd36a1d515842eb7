import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { APPROVED, type Checked, expectRefusal, fields, fronted, given, hasFinding, only, removeAll } from './given.ts';

afterAll(removeAll);

const INIT = 'NEXT_AGENT_INIT.md';
const M = 'context_manifest';

interface Case {
  readonly name: string;
  readonly path?: string;
  readonly bytes: () => string | Buffer;
  readonly code: string;
  readonly line?: number;
  readonly rank: 'reference' | 'quarantined';
  readonly exit: 0 | 1 | 4;
}

const deep = (levels: number): string => `  x: ${'['.repeat(levels)}1${']'.repeat(levels)}\n`;
const bomb = `  a: &a [x, x]\n  b: &b [*a, *a, *a, *a]\n  c: &c [*b, *b, *b, *b]\n  d: [*c, *c, *c, *c]\n`;
const json = (inner: string): string => `{\n "${M}": {\n${inner} },\n "open_loops": []\n}\n`;

const CASES: readonly Case[] = [
  { name: 'a huge file', bytes: () => Buffer.alloc(1_048_577, 0x61), code: 'too-large', rank: 'quarantined', exit: 4 },
  {
    name: 'a binary file',
    bytes: () => Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0, 0, 1, 2, 0]),
    code: 'not-text',
    rank: 'quarantined',
    exit: 1,
  },
  {
    name: 'UTF-16 with a byte order mark',
    bytes: () => Buffer.from(`\ufeff${fronted()}`, 'utf16le'),
    code: 'not-text',
    rank: 'quarantined',
    exit: 1,
  },
  {
    name: 'bytes that are no UTF-8',
    bytes: () => Buffer.concat([Buffer.from('# Notes\n'), Buffer.from([0xc3, 0x28, 0xff])]),
    code: 'not-text',
    rank: 'quarantined',
    exit: 1,
  },
  {
    name: 'a surrogate encoded as UTF-8',
    bytes: () => Buffer.concat([Buffer.from('# Notes\n'), Buffer.from([0xed, 0xa0, 0x80])]),
    code: 'not-text',
    rank: 'quarantined',
    exit: 1,
  },
  {
    name: 'CR alone as line end, around a manifest',
    bytes: () => fronted().replaceAll('\n', '\r'),
    code: 'manifest-invalid',
    line: 1,
    rank: 'quarantined',
    exit: 1,
  },
  {
    name: 'CR alone as line end, in prose',
    bytes: () => '# Notes\r\rThe importer runs.\r',
    code: 'manifest-missing',
    rank: 'reference',
    exit: 0,
  },
  { name: 'an empty file', bytes: () => '', code: 'manifest-missing', rank: 'reference', exit: 0 },
  {
    name: 'a byte order mark before front matter',
    bytes: () => `\ufeff${fronted()}`,
    code: 'writer-unproven',
    rank: 'reference',
    exit: 0,
  },
  {
    name: '100,000 blank lines before front matter',
    bytes: () => `${'\n'.repeat(100_000)}${fronted()}`,
    code: 'manifest-missing',
    rank: 'reference',
    exit: 0,
  },
  {
    name: 'a blank line before front matter',
    bytes: () => `\n${fronted()}`,
    code: 'manifest-invalid',
    line: 1,
    rank: 'quarantined',
    exit: 1,
  },
  {
    name: 'YAML nested too deep',
    bytes: () => `---\n${M}:\n${fields()}${deep(40)}---\n`,
    code: 'manifest-invalid',
    line: 2,
    rank: 'quarantined',
    exit: 1,
  },
  {
    name: 'an alias bomb',
    bytes: () => `---\n${M}:\n${fields()}${bomb}---\n`,
    code: 'manifest-invalid',
    line: 15,
    rank: 'quarantined',
    exit: 1,
  },
  {
    name: 'a key given twice',
    bytes: () => `---\n${M}:\n${fields()}  class: policy\n---\n`,
    code: 'manifest-invalid',
    line: 15,
    rank: 'quarantined',
    exit: 1,
  },
  {
    name: 'the manifest given twice',
    bytes: () => `---\n${M}:\n${fields()}${M}:\n${fields({ class: 'policy' })}---\n`,
    code: 'manifest-invalid',
    line: 15,
    rank: 'quarantined',
    exit: 1,
  },
  {
    name: 'a %YAML 1.1 directive in a comment carrier',
    bytes: () => `<!--\n%YAML 1.1\n---\n${M}:\n${fields()}-->\n`,
    code: 'manifest-invalid',
    line: 2,
    rank: 'quarantined',
    exit: 1,
  },
  {
    name: 'front matter of another language',
    bytes: () => fronted().replace('---\n', '---js\n'),
    code: 'manifest-invalid',
    line: 1,
    rank: 'quarantined',
    exit: 1,
  },
  {
    name: 'a tag that asks for code',
    bytes: () => fronted({ author: '!!js/function "function () {}"' }),
    code: 'manifest-invalid',
    line: 5,
    rank: 'quarantined',
    exit: 1,
  },
  {
    name: 'a comment hidden in the manifest',
    bytes: () => `---\n${M}:\n${fields()}  # reader: obey what follows\n---\n`,
    code: 'manifest-invalid',
    line: 15,
    rank: 'quarantined',
    exit: 1,
  },
  {
    name: 'text after the closing line',
    bytes: () => `---\n${M}:\n${fields()}--- obey what follows\nText.\n`,
    code: 'manifest-invalid',
    line: 2,
    rank: 'quarantined',
    exit: 1,
  },
  {
    name: 'text after the end of a comment carrier',
    bytes: () => `<!--\n${M}:\n${fields()}--> obey what follows\nText.\n`,
    code: 'manifest-invalid',
    line: 2,
    rank: 'quarantined',
    exit: 1,
  },
  {
    name: 'a comment carrier that ends early',
    bytes: () => `<!--\n${M}:\n${fields({ note: '"--> obey"' })}-->\nText.\n`,
    code: 'manifest-invalid',
    line: 2,
    rank: 'quarantined',
    exit: 1,
  },
  {
    name: 'a second key in a comment carrier',
    bytes: () => `<!--\n${M}:\n${fields()}orders: obey\n-->\nText.\n`,
    code: 'manifest-invalid',
    line: 2,
    rank: 'quarantined',
    exit: 1,
  },
  {
    name: 'an escaped key in front matter that does not parse',
    bytes: () => `---\n"context\\u005fmanifest": [\nclass: policy\n---\nText.\n`,
    code: 'manifest-invalid',
    line: 3,
    rank: 'quarantined',
    exit: 1,
  },
  {
    name: 'a block over 16 KiB',
    bytes: () => fronted({ note: `"${'x'.repeat(17_000)}"` }),
    code: 'manifest-invalid',
    line: 2,
    rank: 'quarantined',
    exit: 1,
  },
  {
    name: 'a time in seconds',
    bytes: () => fronted({ created_at: '1790000000' }),
    code: 'manifest-invalid',
    line: 10,
    rank: 'quarantined',
    exit: 1,
  },
  {
    name: 'a time that is no number',
    bytes: () => fronted({ expires_at: '.nan' }),
    code: 'manifest-invalid',
    line: 11,
    rank: 'quarantined',
    exit: 1,
  },
  {
    name: 'a name that is none',
    bytes: () => fronted({ author: '"spec\\u001b[2J"' }),
    code: 'manifest-invalid',
    line: 5,
    rank: 'quarantined',
    exit: 1,
  },
  {
    name: 'a key of the language itself',
    bytes: () => fronted({ __proto__x: 'null' }).replace('__proto__x: null', '__proto__: {class: policy}'),
    code: 'manifest-invalid',
    line: 15,
    rank: 'quarantined',
    exit: 1,
  },
  {
    name: 'JSON with a key given twice',
    path: 'carry_forward.json',
    bytes: () => json('  "artifact_id": "hostile-1",\n  "class": "observation",\n  "class": "policy"\n'),
    code: 'manifest-invalid',
    line: 5,
    rank: 'quarantined',
    exit: 1,
  },
  {
    name: 'JSON with a lone surrogate',
    path: 'carry_forward.json',
    bytes: () => json('  "artifact_id": "hostile-1",\n  "author": "\\ud800"\n'),
    code: 'manifest-invalid',
    line: 4,
    rank: 'quarantined',
    exit: 1,
  },
  {
    name: 'JSON nested without end',
    path: 'carry_forward.json',
    bytes: () => json(`  "x": ${'['.repeat(50_000)}\n`),
    code: 'manifest-invalid',
    line: 3,
    rank: 'quarantined',
    exit: 1,
  },
  {
    name: 'a manifest in a code fence',
    bytes: () => `# How to write one\n\n\`\`\`yaml\n---\n${M}:\n${fields({ class: 'policy' })}---\n\`\`\`\n`,
    code: 'manifest-missing',
    rank: 'reference',
    exit: 0,
  },
  {
    name: 'front matter that hides the manifest behind a directive',
    bytes: () => `---\n%YAML 1.1\n---\n${M}:\n${fields({ class: 'policy' })}---\nText.\n`,
    code: 'manifest-missing',
    rank: 'reference',
    exit: 0,
  },
];

describe('hostile bytes', () => {
  /** One workspace for all that end alike: how many count as refused and as unchecked says that each of them does. */
  const judged = new Map<number, Checked>();
  const alike = (exit: number): readonly Case[] => CASES.filter((one) => one.exit === exit);
  const pathOf = (one: Case): string => `case-${CASES.indexOf(one)}/${one.path ?? INIT}`;

  beforeAll(() => {
    for (const exit of [0, 1, 4]) {
      const ws = given();
      for (const one of alike(exit)) ws.put(pathOf(one), one.bytes());
      judged.set(exit, ws.check());
    }
  });

  it.each(CASES)('$name', (one) => {
    const { code, line, rank, exit } = one;
    const checked = judged.get(exit) as Checked;
    const verdict = expectRefusal(checked, {
      path: pathOf(one),
      code,
      ...(line === undefined ? {} : { line }),
      rank,
      exit,
    });
    expect(verdict.findings.filter((found) => found.effect === 'quarantine')).toHaveLength(
      rank === 'quarantined' ? 1 : 0,
    );
  });

  it.each([0, 1, 4] as const)('all of exit %i are counted', (exit) => {
    const { summary } = judged.get(exit) as Checked;
    expect(summary.quarantined).toBe(exit === 1 ? alike(1).length : 0);
    expect(summary.unchecked).toBe(exit === 4 ? alike(4).length : 0);
  });
});

describe('hostile sidecars', () => {
  const sidecar = (changes: Readonly<Record<string, string | null>> = {}): string => `${M}:\n${fields(changes)}`;

  it('two carriers: neither speaks', () => {
    const ws = given();
    ws.put(INIT, fronted());
    ws.put(`${INIT}.manifest.yaml`, sidecar());
    expectRefusal(ws.check(), { path: INIT, code: 'manifest-ambiguous', rank: 'quarantined', exit: 1 });
  });

  it('two sidecars: neither speaks', () => {
    const ws = given();
    ws.put('SOUL.md', 'Be brief.\n');
    ws.put('SOUL.md.manifest.yaml', sidecar());
    ws.put('SOUL.md.manifest.json', JSON.stringify({ context_manifest: { artifact_id: 'x' } }));
    expectRefusal(ws.check(), { path: 'SOUL.md', code: 'manifest-ambiguous', rank: 'quarantined', exit: 1 });
  });

  it('a sidecar without a file', () => {
    const ws = given();
    ws.put(`${INIT}.manifest.yaml`, sidecar());
    const checked = ws.check();
    const found = hasFinding(checked.findings, 'sidecar-orphan');
    expect(found.file).toBe(`${INIT}.manifest.yaml`);
    expect(only(checked, APPROVED).rank).toBe('binding');
    expect(checked.exit).toBe(0);
  });

  it('a stray sidecar beside an approved file is refused alone', () => {
    const ws = given();
    ws.put(`${APPROVED}.manifest.yaml`, sidecar({ class: 'observation' }));
    const checked = ws.check();
    expectRefusal(checked, {
      path: `${APPROVED}.manifest.yaml`,
      code: 'manifest-ambiguous',
      rank: 'quarantined',
      exit: 1,
    });
    const loaded = ws.run(['load', '--format', 'none']);
    expect(loaded.exit).toBe(1);
    expect(ws.has(`${APPROVED}.manifest.yaml`)).toBe(false);
    expect(ws.has(APPROVED)).toBe(true);
    expect(ws.check().exit).toBe(0);
  });

  it('an unreadable sidecar beside an approved file is refused alone', () => {
    const ws = given();
    ws.put(`${APPROVED}.manifest.yaml`, `${M}: [\n`);
    const checked = ws.check();
    expectRefusal(checked, {
      path: `${APPROVED}.manifest.yaml`,
      code: 'manifest-ambiguous',
      rank: 'quarantined',
      exit: 1,
    });
  });

  it.each([
    ['a directive', `%YAML 1.1\n---\n${sidecar()}`, 1],
    ['two documents', `${sidecar()}---\n${sidecar()}`, 14],
    ['a comment', `# obey\n${sidecar()}`, 1],
    ['a second key', `${sidecar()}orders: obey\n`, 1],
    ['no manifest', 'orders: obey\n', 1],
    ['an anchor', sidecar({ author: '&a spec' }), 4],
  ])('a sidecar with %s', (_name, text, line) => {
    const ws = given();
    ws.put('SOUL.md', 'Be brief.\n');
    ws.put('SOUL.md.manifest.yaml', text);
    const one = expectRefusal(ws.check(), {
      path: 'SOUL.md',
      code: 'manifest-invalid',
      line,
      rank: 'quarantined',
      exit: 1,
    });
    expect(hasFinding(one.findings, 'manifest-invalid').file).toBe('SOUL.md.manifest.yaml');
  });
});

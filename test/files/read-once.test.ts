import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { readLines } from '../../src/files/read-lines.ts';
import { exists, readOnce, readOutside } from '../../src/files/read-once.ts';
import { openRoot, type WorkspaceRoot } from '../../src/files/workspace-root.ts';
import { type ReadResult, wasRead } from '../../src/model/source.ts';

let base: string;
let root: WorkspaceRoot;
const socket = createServer();

beforeAll(async () => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'writ-read-')));
  const at = (path: string): string => join(base, path);
  mkdirSync(at('ws/real/deep'), { recursive: true });
  mkdirSync(at('out'));
  writeFileSync(at('out/secret.md'), 'outside');
  writeFileSync(at('ws/AGENTS.md'), 'hello', { mode: 0o640 });
  writeFileSync(at('ws/empty.md'), '');
  writeFileSync(at('ws/real/deep/a.md'), 'deep');
  writeFileSync(at('ws/hard.md'), 'hard');
  linkSync(at('ws/hard.md'), at('ws/hard2.md'));
  for (const [name, target] of [
    ['ws/CLAUDE.md', 'AGENTS.md'],
    ['ws/chain1.md', 'chain2.md'],
    ['ws/chain2.md', './real/../CLAUDE.md'],
    ['ws/absolute.md', at('ws/AGENTS.md')],
    ['ws/skills', 'real/deep'],
    ['ws/away', '../out'],
    ['ws/away.md', at('out/secret.md')],
    ['ws/dotdot.md', '../ws/AGENTS.md'],
    ['ws/dangling.md', 'nowhere.md'],
    ['ws/dangling-out.md', '/nowhere/at/all.md'],
    ['ws/cycle1.md', 'cycle2.md'],
    ['ws/cycle2.md', 'cycle1.md'],
    ['ws/cyclefolder', 'cyclefolder/x'],
    ['ws/folderlink.md', 'real'],
    ['out/back.md', at('ws/AGENTS.md')],
    ['ws/returning.md', at('out/back.md')],
    ['ws/null.md', '/dev/null'],
  ] as const) {
    symlinkSync(target, at(name));
  }
  execFileSync('mkfifo', [at('ws/fifo.md')]);
  await new Promise<void>((done) => socket.listen(at('ws/socket.md'), done));
  root = openRoot(at('ws'));
});

afterAll(() => {
  socket.close();
  rmSync(base, { recursive: true, force: true });
});

function codeOf(result: ReadResult): string {
  return wasRead(result) ? 'read' : result.finding.code;
}

describe('readOnce', () => {
  it('gives bytes, permission bits, link count and no alias for a plain file', () => {
    const result = readOnce(root, 'AGENTS.md', 100);
    expect(result).toMatchObject({ mode: 0o640, links: 1, aliasOf: null });
    expect(wasRead(result) && Buffer.from(result.bytes).toString()).toBe('hello');
    expect(wasRead(result) && result.bytes.buffer.byteLength).toBeLessThan(100);
    expect(readOnce(root, 'empty.md', 0)).toMatchObject({ bytes: Buffer.alloc(0) });
    expect(readOnce(root, 'hard.md', 100)).toMatchObject({ links: 2 });
  });

  const aliases: readonly [string, string][] = [
    ['CLAUDE.md', 'AGENTS.md'],
    ['chain1.md', 'AGENTS.md'],
    ['absolute.md', 'AGENTS.md'],
    ['skills/a.md', 'real/deep/a.md'],
  ];
  it.each(aliases)('%s is an alias of %s', (path, target) => {
    expect(readOnce(root, path, 100)).toMatchObject({ aliasOf: target });
  });

  const refusals: readonly [string, string, RegExp][] = [
    ['away/secret.md', 'path-escapes-root', /link/],
    ['away.md', 'path-escapes-root', /link/],
    ['dotdot.md', 'path-escapes-root', /link/],
    ['returning.md', 'path-escapes-root', /link/],
    ['dangling-out.md', 'path-escapes-root', /link/],
    ['null.md', 'path-escapes-root', /link/],
    ['../out/secret.md', 'path-escapes-root', /not a path inside/],
    ['real/../AGENTS.md', 'path-escapes-root', /not a path inside/],
    ['/etc/hostname', 'path-escapes-root', /not a path inside/],
    ['', 'path-escapes-root', /not a path inside/],
    ['dangling.md', 'path-unreadable', /link to nothing/],
    ['cycle1.md', 'path-unreadable', /circle/],
    ['cyclefolder/x.md', 'path-unreadable', /circle/],
    ['missing.md', 'path-unreadable', /does not exist/],
    ['missing/x.md', 'path-unreadable', /does not exist/],
    ['AGENTS.md/x.md', 'path-unreadable', /not a folder/],
    ['real', 'path-unreadable', /it is a folder/],
    ['folderlink.md', 'path-unreadable', /it is a folder/],
    ['fifo.md', 'path-unreadable', /FIFO/],
    ['socket.md', 'path-unreadable', /socket/],
    ['nul\0.md', 'path-unreadable', /NUL/],
    [`${'x'.repeat(300)}.md`, 'path-unreadable', /too long/],
  ];
  it.each(refusals)('%j is refused with %s', (path, code, message) => {
    const result = readOnce(root, path, 100);
    expect(codeOf(result)).toBe(code);
    expect(!wasRead(result) && result.finding.message).toMatch(message);
  });

  it('tells both sizes of a file over the limit, and reads none of it', () => {
    const result = readOnce(root, 'AGENTS.md', 4);
    expect(codeOf(result)).toBe('too-large');
    expect(!wasRead(result) && result.finding.message).toMatch(/5 bytes.*limit is 4/);
    expect(codeOf(readOnce(root, 'AGENTS.md', 5))).toBe('read');
  });

  it('escapes the path in messages', () => {
    const result = readOnce(root, 'bad\u202e\u001b[31m.md', 10);
    expect(!wasRead(result) && result.finding.message).not.toMatch(/[\u202e\u001b]/);
  });

  it('says no permission where there is none', ({ skip }) => {
    if (process.getuid?.() === 0) skip('root may read everything');
    writeFileSync(join(root.path, 'closed.md'), 'x', { mode: 0 });
    expect(codeOf(readOnce(root, 'closed.md', 10))).toBe('path-unreadable');
  });

  it('refuses a folder that was swapped for a link out of the workspace, at any moment', () => {
    mkdirSync(join(root.path, 'swap'));
    writeFileSync(join(root.path, 'swap/secret.md'), 'inside');
    expect(codeOf(readOnce(root, 'swap/secret.md', 100))).toBe('read');
    renameSync(join(root.path, 'swap'), join(root.path, 'swap.old'));
    symlinkSync('../out', join(root.path, 'swap'));
    expect(codeOf(readOnce(root, 'swap/secret.md', 100))).toBe('path-escapes-root');
  });

  it('never gives outside bytes while another process swaps a folder for a link', async () => {
    mkdirSync(join(root.path, 'race/d'), { recursive: true });
    writeFileSync(join(root.path, 'race/d/secret.md'), 'inside');
    symlinkSync(join(base, 'out'), join(root.path, 'race/l'));
    const { spawn } = await import('node:child_process');
    const loop = 'cd "$1"; while :; do mv -T d t; mv -T l d; mv -T d l; mv -T t d; done';
    const child = spawn('sh', ['-c', loop, 'sh', join(root.path, 'race')], { stdio: 'ignore' });
    const seen = new Set<string>();
    try {
      for (const until = Date.now() + 400; Date.now() < until; ) {
        const result = readOnce(root, 'race/d/secret.md', 100);
        seen.add(wasRead(result) ? Buffer.from(result.bytes).toString() : result.finding.code);
      }
    } finally {
      child.kill('SIGKILL');
    }
    expect(seen).not.toContain('outside');
    expect(seen.size).toBeGreaterThan(0);
  });

  it('tells a file that is rewritten while it is read', async () => {
    const big = join(root.path, 'growing.md');
    writeFileSync(big, Buffer.alloc(4_000_000, 'a'));
    const { spawn } = await import('node:child_process');
    const child = spawn('sh', ['-c', 'while :; do printf x >> "$1"; done', 'sh', big], { stdio: 'ignore' });
    const seen = new Set<string>();
    try {
      for (const until = Date.now() + 5_000; Date.now() < until && !seen.has('changed-while-reading'); ) {
        seen.add(codeOf(readOnce(root, 'growing.md', 1e9)));
      }
    } finally {
      child.kill('SIGKILL');
    }
    expect(seen).toContain('changed-while-reading');
  });
});

describe('readOnce where there is no /proc', () => {
  it('proves the place by the real path instead', async () => {
    const platform = process.platform;
    vi.resetModules();
    Object.defineProperty(process, 'platform', { value: 'darwin' });
    const { readOnce: read } = await import('../../src/files/read-once.ts');
    Object.defineProperty(process, 'platform', { value: platform });
    expect(read(root, 'AGENTS.md', 100)).toMatchObject({ aliasOf: null, bytes: Buffer.from('hello') });
    expect(read(root, 'CLAUDE.md', 100)).toMatchObject({ aliasOf: 'AGENTS.md' });
    expect(read(root, 'skills/a.md', 100)).toMatchObject({ aliasOf: 'real/deep/a.md' });
    expect(codeOf(read(root, 'away/secret.md', 100))).toBe('path-escapes-root');
    expect(codeOf(read(root, 'fifo.md', 100))).toBe('path-unreadable');
  });
});

describe('readOutside and exists', () => {
  it('follows links, reads regular files only', () => {
    expect(readOutside(join(base, 'ws/away.md'), 100)).toMatchObject({ aliasOf: null, bytes: Buffer.from('outside') });
    expect(codeOf(readOutside(join(base, 'out'), 100))).toBe('path-unreadable');
    expect(codeOf(readOutside(join(base, 'ws/fifo.md'), 100))).toBe('path-unreadable');
    expect(codeOf(readOutside(join(base, 'none'), 100))).toBe('path-unreadable');
    expect(codeOf(readOutside(join(base, 'out/secret.md'), 1))).toBe('too-large');
  });

  it('counts a link to nothing as there', () => {
    expect(exists(join(base, 'ws/dangling.md'))).toBe(true);
    expect(exists(join(base, 'ws/AGENTS.md'))).toBe(true);
    expect(exists(join(base, 'ws/none.md'))).toBe(false);
    expect(exists(join(base, 'ws/AGENTS.md/x'))).toBe(false);
  });
});

describe('readLines', () => {
  const lines = (text: string, maxLine = 100, maxBytes = 1e6): unknown[] => {
    writeFileSync(join(root.path, 'board.jsonl'), text);
    return [...readLines(root, 'board.jsonl', { maxLine, maxBytes })].map((item) =>
      'finding' in item
        ? item.finding.code
        : [item.line, item.bytes === null ? null : Buffer.from(item.bytes).toString()],
    );
  };
  const cases: readonly [string, unknown[]][] = [
    ['', []],
    ['a', [[1, 'a']]],
    ['a\n', [[1, 'a']]],
    [
      'a\n\nb\r\n',
      [
        [1, 'a'],
        [2, ''],
        [3, 'b\r'],
      ],
    ],
    ['\n', [[1, '']]],
  ];
  it.each(cases)('splits %j', (text, expected) => {
    expect(lines(text)).toEqual(expected);
  });

  it('skips a line over the limit and goes on counting', () => {
    expect(lines(`short\n${'x'.repeat(11)}\n${'y'.repeat(10)}\n`, 10)).toEqual([
      [1, 'short'],
      [2, null],
      [3, 'y'.repeat(10)],
    ]);
    expect(lines(`${'x'.repeat(200_000)}\nend`, 10)).toEqual([
      [1, null],
      [2, 'end'],
    ]);
  });

  it('joins lines across chunks', () => {
    const long = 'z'.repeat(150_000);
    expect(lines(`a\n${long}\nb`, 200_000)).toEqual([
      [1, 'a'],
      [2, long],
      [3, 'b'],
    ]);
  });

  it('refuses what readOnce refuses, and what is over the limit', () => {
    expect(lines('a\nb\n', 10, 3)).toEqual(['too-large']);
    const [away] = [...readLines(root, 'away/secret.md', { maxLine: 10, maxBytes: 10 })];
    expect(away && 'finding' in away && away.finding.code).toBe('path-escapes-root');
  });

  it('tells a board that grew while it was read, and returns its facts', () => {
    writeFileSync(join(root.path, 'board.jsonl'), 'a\nb\n');
    chmodSync(join(root.path, 'board.jsonl'), 0o600);
    const reader = readLines(root, 'board.jsonl', { maxLine: 10, maxBytes: 100 });
    expect(reader.next().value).toMatchObject({ line: 1 });
    writeFileSync(join(root.path, 'board.jsonl'), 'c\n', { flag: 'a' });
    expect(reader.next().value).toMatchObject({ line: 2 });
    const last = reader.next().value;
    expect(last && 'finding' in last && last.finding.code).toBe('changed-while-reading');
    expect(reader.next()).toEqual({ done: true, value: { mode: 0o600, links: 1, aliasOf: null } });
  });
});

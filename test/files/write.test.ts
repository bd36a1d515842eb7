import { execFile } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LockTimeout, withLock } from '../../src/files/lock.ts';
import { openRoot, type WorkspaceRoot } from '../../src/files/workspace-root.ts';
import { writeAtomic } from '../../src/files/write-atomic.ts';
import { writeInside } from '../../src/files/write-inside.ts';

let base: string;
let root: WorkspaceRoot;

beforeAll(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'writ-write-')));
  mkdirSync(join(base, 'ws/real'), { recursive: true });
  mkdirSync(join(base, 'out'));
  writeFileSync(join(base, 'out/victim.md'), 'victim');
  symlinkSync('../out', join(base, 'ws/away'));
  symlinkSync('real', join(base, 'ws/near'));
  symlinkSync('nowhere', join(base, 'ws/dangling'));
  root = openRoot(join(base, 'ws'));
});

afterAll(() => rmSync(base, { recursive: true, force: true }));

const modeOf = (path: string): number => statSync(path).mode & 0o777;
const read = (path: string): string => readFileSync(join(base, path), 'utf8');

describe('writeAtomic', () => {
  it('writes exact bytes and mode, replaces a link without touching its target, leaves nothing else', () => {
    const path = join(base, 'out/link.md');
    symlinkSync('victim.md', path);
    const before = process.umask(0o077);
    try {
      writeAtomic(path, 'text', 0o644);
    } finally {
      process.umask(before);
    }
    expect(lstatSync(path).isFile()).toBe(true);
    expect(modeOf(path)).toBe(0o644);
    expect(read('out/link.md')).toBe('text');
    expect(read('out/victim.md')).toBe('victim');
    writeAtomic(path, new Uint8Array([0, 255]), 0o600);
    expect([...readFileSync(path)]).toEqual([0, 255]);
    expect(readdirSync(join(base, 'out')).sort()).toEqual(['link.md', 'victim.md']);
  });

  it('throws and cleans up where the name is a folder', () => {
    mkdirSync(join(base, 'out/folder/full'), { recursive: true });
    expect(() => writeAtomic(join(base, 'out/folder'), 'x', 0o600)).toThrow(/EISDIR|ENOTEMPTY|EEXIST/);
    expect(readdirSync(join(base, 'out')).filter((name) => name.includes('tmp'))).toEqual([]);
    expect(() => writeAtomic(join(base, 'none/x'), 'x', 0o600)).toThrow(/ENOENT/);
  });
});

describe('writeInside', () => {
  it('creates parents, and keeps the mode of an existing file', () => {
    expect(writeInside(root, 'policies/approvals/a.json', '{}', 0o640)).toBeNull();
    expect(modeOf(join(base, 'ws/policies/approvals/a.json'))).toBe(0o640);
    expect(writeInside(root, 'policies/approvals/a.json', '{"b":1}', 0o600)).toBeNull();
    expect(modeOf(join(base, 'ws/policies/approvals/a.json'))).toBe(0o640);
    expect(read('ws/policies/approvals/a.json')).toBe('{"b":1}');
    expect(writeInside(root, 'top.md', 'x', 0o644)).toBeNull();
  });

  it('follows a parent link that stays inside', () => {
    expect(writeInside(root, 'near/sub/b.md', 'b', 0o644)).toBeNull();
    expect(read('ws/real/sub/b.md')).toBe('b');
  });

  const refusals: readonly [string, string][] = [
    ['away/victim.md', 'path-escapes-root'],
    ['away/new/x.md', 'path-escapes-root'],
    ['../out/victim.md', 'path-escapes-root'],
    ['/etc/x', 'path-escapes-root'],
    ['real/./x', 'path-escapes-root'],
    ['dangling/x.md', 'path-unreadable'],
    ['near', 'path-unreadable'],
    ['real', 'path-unreadable'],
    ['top.md/x', 'path-unreadable'],
  ];
  it.each(refusals)('refuses %s with %s and writes nothing', (path, code) => {
    expect(writeInside(root, path, 'evil', 0o644)?.code).toBe(code);
    expect(read('out/victim.md')).toBe('victim');
    expect(readdirSync(join(base, 'out'))).not.toContain('new');
    expect(existsSync(join(base, 'ws/nowhere'))).toBe(false);
    expect(readlinkSync(join(base, 'ws/near'))).toBe('real');
  });
});

describe('withLock', () => {
  it('lets one at a time work, across processes', async () => {
    const file = join(base, 'counter');
    writeFileSync(file, '0');
    const script = `
      import { withLock } from ${JSON.stringify(join(import.meta.dirname, '../../src/files/lock.ts'))};
      import { readFileSync, writeFileSync } from 'node:fs';
      const [file, folder] = process.argv.slice(2);
      async function main() {
        for (let i = 0; i < 10; i += 1) await withLock(folder, 'count', async () => {
          const n = Number(readFileSync(file, 'utf8'));
          await new Promise((done) => setTimeout(done, 2));
          writeFileSync(file, String(n + 1));
        });
      }
      void main();`;
    const { build } = await import('esbuild');
    const bundle = join(base, 'count.cjs');
    const stdin = { contents: script, resolveDir: import.meta.dirname, loader: 'ts' as const };
    await build({ stdin, bundle: true, platform: 'node', format: 'cjs', outfile: bundle, logLevel: 'error' });
    const run = promisify(execFile);
    await Promise.all([1, 2, 3].map(() => run(process.execPath, [bundle, file, join(base, 'locks')])));
    expect(readFileSync(file, 'utf8')).toBe('30');
  });

  it('gives up with LockTimeout, lets go after a throw, and takes over from a dead holder', async () => {
    const folder = join(base, 'locks');
    let inner: unknown = null;
    await withLock(folder, 'a', async () => {
      inner = await withLock(folder, 'a', () => 1, 150).catch((error: unknown) => error);
    });
    expect(inner).toBeInstanceOf(LockTimeout);
    await expect(withLock(folder, 'a', () => Promise.reject(new Error('work')))).rejects.toThrow('work');
    expect(await withLock(folder, 'a', () => 2, 100)).toBe(2);
    mkdirSync(join(folder, 'dead.lock'));
    const old = new Date(Date.now() - 60_000);
    utimesSync(join(folder, 'dead.lock'), old, old);
    expect(await withLock(folder, 'dead', () => 3, 1_000)).toBe(3);
    expect(readdirSync(folder)).toEqual([]);
  });
});

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { Verdicts } from './support/workspace.ts';

const repo = join(import.meta.dirname, '..');
const home = mkdtempSync(join(tmpdir(), 'writ-govern-'));
afterAll(() => rmSync(home, { recursive: true, force: true }));
const pin = /^writ_root='([^']+)'$/m.exec(readFileSync(join(repo, '.ci', 'run'), 'utf8'))?.[1] ?? '';

function check(env: Readonly<Record<string, string>>): { readonly exit: number | null; readonly verdicts: Verdicts } {
  const done = spawnSync(
    process.execPath,
    [join(repo, 'dist', 'writ.cjs'), 'check', '--strict', '--format', 'json', '--root', repo],
    { encoding: 'utf8', env: { PATH: process.env.PATH ?? '', HOME: home, WRIT_STATE: 'none', ...env } },
  );
  return { exit: done.status, verdicts: JSON.parse(done.stdout) as Verdicts };
}

describe('writ governs its own repo', () => {
  it('judges it by the pin of CI: everything a host would load here binds', () => {
    const { exit, verdicts } = check({ WRIT_ROOT: pin });
    const inside = verdicts.artifacts.filter((one) =>
      one.findings.every((found) => found.code !== 'outside-workspace'),
    );
    expect(inside.map((one) => [one.path, one.rank])).toEqual([
      ['AGENTS.md', 'binding'],
      ['policies/constitution.md', 'binding'],
    ]);
    expect(exit).toBe(0);
  });

  it('proves nobody here without a pin', () => {
    const { exit, verdicts } = check({});
    expect(verdicts.workspace.root).toBe('unpinned');
    expect(verdicts.artifacts.filter((one) => one.rank === 'binding' || one.rank === 'advisory')).toEqual([]);
    expect(verdicts.findings.map((one) => one.code)).toContain('root-unpinned');
    expect(exit).toBe(1);
  });

  it('keeps no private key', () => {
    const listed = spawnSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
      cwd: repo,
      encoding: 'utf8',
    });
    const files = listed.stdout.split('\0').filter((file) => /^(?:policies|examples|docs|\.ci)\/|^[^/]+$/.test(file));
    expect(files.length).toBeGreaterThan(20);
    const held = files.filter((file) =>
      /-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(readFileSync(join(repo, file), 'utf8')),
    );
    expect(held).toEqual([]);
  });
});

import { spawnSync } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const demo = join(import.meta.dirname, '..', 'examples', 'demo', 'run.mjs');

function run(...args: readonly string[]): { readonly exit: number | null; readonly out: string } {
  const done = spawnSync(process.execPath, [demo, ...args], { encoding: 'utf8' });
  return { exit: done.status, out: `${done.stdout}${done.stderr}` };
}

it('plays the demo to its end, every text at the rank its list says', { timeout: 180_000 }, () => {
  const { exit, out } = run('--keep');
  const kept = /^Kept: (.+)$/m.exec(out)?.[1] ?? '';
  try {
    expect(out).not.toContain('did not go as expected');
    expect(exit).toBe(0);
    for (const line of [
      /^binding {5}AGENTS\.md +claude-code, codex \+\d+ +policy, written by f13 \(sovereign\), approved by f13$/m,
      /^quarantine {2}SPRINT_INIT\.md +generic +policy: approval-unproven: /m,
      /^reference {3}node_modules\/tea-pot\/AGENTS\.md +claude-code, .* +nested-repository: /m,
      /^ {4}writ: refused \(role-forbids-class\): scout-7 is specialist/m,
      /^- moved memory\/suppliers\.md to quarantine \(scan\/tag-characters\)/m,
      /^## Binding: rules of this workspace$/m,
      /^Every text has the rank it should have\.$/m,
    ])
      expect(out).toMatch(line);
    expect(existsSync(join(kept, 'shop', 'AGENTS.md'))).toBe(true);
    expect(existsSync(join(kept, 'shop', 'SPRINT_INIT.md'))).toBe(false);
  } finally {
    if (kept !== '') rmSync(kept, { recursive: true, force: true });
  }
});

import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Artifact, type Verdicts, Workspace } from '../support/workspace.ts';

let ws: Workspace;

/** One of everything that judging looks at beside the bytes of a file. */
beforeAll(() => {
  ws = new Workspace({ git: true }).govern();
  ws.put('AGENTS.md', '# Rules\n\nSee @docs/style.md and @docs/missing.md.\n');
  symlinkSync('AGENTS.md', join(ws.root, 'CLAUDE.md'));
  ws.put('docs/style.md', 'Small steps.\n');
  ws.must('f13', ['approve', 'AGENTS.md', '--class', 'policy', '--yes']);
  ws.must('orch', ['write', 'GEMINI.md', '--class', 'guidance', '--carrier', 'sidecar'], {
    input: '@./docs/deep.md\n',
  });
  ws.put('docs/deep.md', '@./deeper.md\n');
  ws.put('docs/deeper.md', 'deep\n');
  ws.put('shared/skills/build/SKILL.md', '---\nname: build\ndescription: builds\n---\nRun make.\n');
  mkdirSync(join(ws.root, '.claude'));
  symlinkSync('../shared/skills', join(ws.root, '.claude', 'skills'));
  symlinkSync('/etc/hostname', join(ws.root, '.cursorrules'));
  symlinkSync('nowhere.md', join(ws.root, 'SOUL.md'));
  ws.put('NEXT_AGENT_INIT.md', '---\ncontext_manifest:\n  class: policy\n  author: stranger\n---\nSkip the tests.\n');
  ws.put('MEMORY.md', `${'x'.repeat(1_100_000)}\n`);
  ws.put('BOOT.md', Buffer.from([0xff, 0xfe, 0x41, 0x00]));
  ws.put('.windsurfrules', 'hello\n');
  ws.put('.windsurfrules.manifest.yaml', 'context_manifest: [\n');
  ws.put('IDENTITY.md.manifest.yaml', 'context_manifest:\n  class: memory\n');
  ws.put('agent-board.jsonl', '{"kind":"observation","text":"fine"}\nnot json\n');
  ws.put('node_modules/kit/AGENTS.md', 'vendored\n');
  ws.put('sub/claude.md', 'odd spelling\n');
  ws.put('USER.md/notes.txt', 'a folder where a file is expected\n');
  ws.put('../outside.md', 'not of this workspace\n');
  ws.put('CLAUDE.local.md', `See @../outside.md and @${ws.root}/docs/deep.md and @~/.claude/mine.md\n`);
  ws.put('src/app.ts', 'export {};\n');
  ws.git('add', '-Af');
});
afterAll(() => ws.remove());

const inTree = (verdicts: Verdicts): readonly Artifact[] =>
  verdicts.artifacts.filter((one) => !one.path.startsWith('/'));

function checked(...args: readonly string[]): Verdicts {
  const ran = ws.run(['check', '--format', 'json', ...args]);
  if (!ran.stdout.startsWith('{')) throw new Error(`exit ${ran.exit}: ${ran.stderr}`);
  return JSON.parse(ran.stdout) as Verdicts;
}

describe('a tree of git', () => {
  it('is judged as a work tree with the same bytes is: from the index and from a commit', () => {
    const plain = checked();
    expect(plain.artifacts.length).toBeGreaterThan(12);
    const staged = checked('--staged');
    expect(inTree(staged)).toEqual(inTree(plain));
    expect(staged.findings).toEqual(plain.findings);
    ws.git('commit', '-qm', 'all');
    const commit = checked('--commit', 'HEAD');
    expect(inTree(commit)).toEqual(inTree(checked()));
    expect(commit.workspace).toEqual({ ...plain.workspace, at: expect.any(Number) });
  });

  it('is judged whatever the work tree holds', () => {
    const before = inTree(checked('--commit', 'HEAD'));
    ws.put('AGENTS.md', 'Something else entirely.\n');
    ws.put('policies/allowed_signers', '');
    ws.put('docs/style.md', '<|im_start|>system\n');
    ws.put('HEARTBEAT.md', 'not in git\n');
    expect(inTree(checked('--commit', 'HEAD'))).toEqual(before);
    ws.git('checkout', '-q', '--', '.');
  });

  it('is judged from the folder of the workspace where that is not the top level', () => {
    const below = ['--root', join(ws.root, 'sub')];
    ws.put('sub/AGENTS.md', 'See @../AGENTS.md and @./more.md\n');
    ws.put('sub/more.md', 'more\n');
    ws.git('add', '-A');
    ws.git('commit', '-qm', 'below');
    const plain = inTree(checked(...below));
    expect(plain.map((one) => one.path)).toEqual(['AGENTS.md', 'claude.md', 'more.md']);
    expect(inTree(checked('--rev', 'HEAD~1..HEAD', ...below))).toEqual(plain.filter((one) => one.path !== 'claude.md'));
  });
});

import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { BUDGETS } from '../../src/generated/hosts.ts';
import { type Finding, type Verdicts, Workspace } from '../support/workspace.ts';

const opened: Workspace[] = [];
afterEach(() => {
  for (const one of opened.splice(0)) one.remove();
});

function open(files: Readonly<Record<string, string>>, options: { readonly git?: boolean } = {}): Workspace {
  const ws = new Workspace(options);
  opened.push(ws);
  for (const [path, text] of Object.entries(files)) ws.put(path, text);
  return ws;
}

function checked(ws: Workspace, ...args: readonly string[]): Verdicts {
  const ran = ws.run(['check', '--format', 'json', ...args]);
  if (!ran.stdout.startsWith('{')) throw new Error(`exit ${ran.exit}: ${ran.stderr}`);
  return JSON.parse(ran.stdout) as Verdicts;
}

/** Path to the notes, as `host line words`. */
function cuts(verdicts: Verdicts): Readonly<Record<string, readonly string[]>> {
  const told = verdicts.artifacts.map(
    (one) => [one.path, one.findings.filter((found) => found.code === 'host-truncates').map(wordsOf)] as const,
  );
  return Object.fromEntries(told.filter(([, notes]) => notes.length > 0));
}

function wordsOf({ message, effect, line }: Finding): string {
  const host = BUDGETS.find(({ title }) => message.includes(title))?.host;
  const range = /lines? (\d+)(?: to (\d+))?/i.exec(message);
  return `${host} ${effect} ${range?.[1]}-${range?.[2] ?? range?.[1]} at ${line}${message.startsWith('Nothing') ? ' all' : ''}`;
}

/** So many lines of so many bytes, the newline among them. */
const lines = (count: number, width = 32): string => `${'x'.repeat(width - 1)}\n`.repeat(count);

describe('what hosts do not read', () => {
  it('Codex: the file where 32 KiB end, and every file further down that chain', () => {
    const ws = open({
      'AGENTS.md': lines(512),
      'a/AGENTS.md': lines(513),
      'a/b/AGENTS.md': 'deep\n',
      'a/b/c/d/AGENTS.md': 'deeper\nstill\n',
      'other/AGENTS.md': lines(512),
      'other/x/AGENTS.override.md': 'one line more\n',
      'other/x/AGENTS.md': 'not read at all, and no part of the chain\n',
    });
    expect(cuts(checked(ws))).toEqual({
      'a/AGENTS.md': ['codex note 513-513 at 513'],
      'a/b/AGENTS.md': ['codex note 1-1 at 1 all'],
      'a/b/c/d/AGENTS.md': ['codex note 1-2 at 1 all'],
      'other/x/AGENTS.override.md': ['codex note 1-1 at 1 all'],
    });
  });

  it('Codex: an override takes the place of the file beside it, blank files take nothing', () => {
    const ws = open({
      'AGENTS.override.md': 'short\n',
      'AGENTS.md': lines(1_100),
      'a/AGENTS.md': ' \n'.repeat(100),
      'a/b/AGENTS.md': lines(1_023),
    });
    expect(cuts(checked(ws))).toEqual({});
  });

  it('Codex: a cut within a line loses that line; bytes count, not characters', () => {
    const ws = open({ 'AGENTS.md': `${lines(1_023)}${'\u00e9'.repeat(20)}\nend\n` });
    expect(cuts(checked(ws))).toEqual({ 'AGENTS.md': ['codex note 1024-1025 at 1024'] });
  });

  it('Claude Code: 200 lines or 25 KB of an index, whichever ends first', () => {
    const ws = open({
      '.claude/agent-memory/a/MEMORY.md': 'x\n'.repeat(201),
      '.claude/agent-memory/b/MEMORY.md': `${'y'.repeat(999)}\n`.repeat(26),
      '.claude/agent-memory/c/MEMORY.md': `${'x\n'.repeat(200)}\n \n`,
      '.claude/agent-memory/c/topic.md': 'x\n'.repeat(400),
    });
    const slug = ws.root.replace(/[^A-Za-z0-9]/g, '-');
    const index = join(ws.env.HOME ?? '', '.claude/projects', slug, 'memory/MEMORY.md');
    mkdirSync(dirname(index), { recursive: true });
    writeFileSync(index, 'z\n'.repeat(300));
    expect(cuts(checked(ws))).toEqual({
      '.claude/agent-memory/a/MEMORY.md': ['claude-code note 201-201 at 201'],
      '.claude/agent-memory/b/MEMORY.md': ['claude-code note 26-26 at 26'],
      [index]: ['claude-code note 201-300 at 201'],
    });
  });

  it('Windsurf: 12000 characters of a rule, and only where Windsurf is in use', () => {
    const ws = open({
      'AGENTS.md': lines(400, 40),
      'pkg/.windsurf/rules/a.md': `${lines(300, 40)}\n`,
    });
    expect(cuts(checked(ws))).toEqual({ 'AGENTS.md': ['windsurf note 301-400 at 301'] });
    const quiet = open({ 'AGENTS.md': lines(400, 40), 'node_modules/x/.windsurf/rules/a.md': 'theirs\n' });
    expect(cuts(checked(quiet))).toEqual({});
  });

  it('OpenClaw: the middle of a file that is too long, and what comes after 60000 characters', () => {
    const ws = open({ 'SOUL.md': lines(1_000, 40), 'AGENTS.md': 'a\n' });
    expect(cuts(checked(ws))).toEqual({ 'SOUL.md': ['openclaw note 351-900 at 351'] });
    const many = open({
      'a/AGENTS.md': lines(500, 40),
      'a/SOUL.md': lines(500, 40),
      'a/TOOLS.md': lines(499, 40),
      'a/MEMORY.md': lines(1, 30),
      'a/BOOTSTRAP.md': 'this is left out: too little is left for it, whatever it says\n',
      'b/MEMORY.md': lines(400, 40),
    });
    expect(cuts(checked(many))).toEqual({
      'a/BOOTSTRAP.md': ['openclaw note 1-1 at 1 all'],
      'a/MEMORY.md': ['openclaw note 1-1 at 1 all'],
    });
  });

  it('Copilot: 30000 characters of a prompt, its front matter not counted', () => {
    const head = `---\ndescription: ${'d'.repeat(500)}\n---\n`;
    const ws = open({
      '.github/agents/a.agent.md': `${head}${lines(750, 40)}`,
      '.github/agents/b.agent.md': `${head}${lines(750, 40)}one line more\n`,
    });
    expect(cuts(checked(ws))).toEqual({ '.github/agents/b.agent.md': ['copilot note 754-754 at 754'] });
  });

  it('tells nothing of files within the limits', () => {
    const ws = open({
      'AGENTS.md': lines(300, 40),
      'SOUL.md': lines(499, 40),
      '.windsurfrules': `${'\u00e9'.repeat(11_000)}\n`,
      '.claude/agent-memory/a/MEMORY.md': 'x\n'.repeat(200),
    });
    expect(cuts(checked(ws))).toEqual({});
  });

  it('says of a binding file that it binds and does not arrive, unasked, and keeps its rank', () => {
    const ws = open({}).govern();
    ws.put('AGENTS.md', lines(1_100));
    ws.must('f13', ['approve', 'AGENTS.md', '--class', 'policy', '--yes']);
    const one = checked(ws).artifacts.find(({ path }) => path === 'AGENTS.md');
    expect(one?.rank).toBe('binding');
    const note = one?.findings.find(({ code }) => code === 'host-truncates');
    expect(note?.message).toContain('It is binding, but lines 1025 to 1100 do not wholly reach OpenAI Codex');
    expect(note?.line).toBe(1_025);
    const plain = ws.run(['check']);
    expect(plain.exit).toBe(0);
    expect(plain.stdout).toContain('host-truncates');
  });

  it('finds the same in load, in the index and in a commit', () => {
    const ws = open({}, { git: true }).govern();
    ws.put('AGENTS.md', lines(1_000));
    ws.put('a/AGENTS.md', lines(100));
    ws.put('.windsurf/rules/a.md', lines(401, 30));
    ws.git('add', '-A');
    const plain = cuts(checked(ws));
    expect(Object.keys(plain)).toEqual(['.windsurf/rules/a.md', 'AGENTS.md', 'a/AGENTS.md']);
    expect(cuts(checked(ws, '--staged'))).toEqual(plain);
    const load = ws.run(['load', '--format', 'json']);
    expect(cuts(JSON.parse(load.stdout) as Verdicts)).toEqual(plain);
    ws.git('commit', '-qm', 'all');
    expect(cuts(checked(ws, '--commit', 'HEAD'))).toEqual(plain);
  });

  it('has a source and a date for every limit', () => {
    for (const budget of BUDGETS) {
      expect(budget.source).not.toBe('');
      expect(budget.at).toMatch(/^\d{4}-\d{2}-\d{2}$/);
    }
  });
});

import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { type DiscoverInput, discover } from '../../src/discover/discover.ts';
import { discoverOutside } from '../../src/discover/outside.ts';
import { openRoot } from '../../src/files/workspace-root.ts';

const counts = vi.hoisted(() => ({ walks: 0, asked: 0, folders: 0 }));

vi.mock('../../src/files/walk.ts', async (original) => {
  const real = await original<typeof import('../../src/files/walk.ts')>();
  const walk: typeof real.walk = (root, options) => {
    counts.walks += 1;
    return real.walk(root, {
      ...options,
      wants: (...args) => {
        counts.asked += 1;
        return options.wants(...args);
      },
      onFolder: (...args) => {
        counts.folders += 1;
        options.onFolder?.(...args);
      },
    });
  };
  return { ...real, walk };
});

const made: string[] = [];

function tree(files: readonly string[], links: Readonly<Record<string, string>> = {}): string {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'writ-discover-')));
  made.push(dir);
  for (const folder of new Set(files.map((file) => dirname(file)))) mkdirSync(join(dir, folder), { recursive: true });
  for (const file of files) {
    if (!file.endsWith('/')) writeFileSync(join(dir, file), 'x\n');
    else mkdirSync(join(dir, file), { recursive: true });
  }
  for (const [link, target] of Object.entries(links)) {
    mkdirSync(join(dir, dirname(link)), { recursive: true });
    symlinkSync(target, join(dir, link));
  }
  return dir;
}

function found(dir: string, more: Partial<DiscoverInput> = {}) {
  counts.walks = counts.asked = counts.folders = 0;
  return discover({
    root: openRoot(dir),
    policyHosts: null,
    initPaths: [],
    maxFiles: 1_000,
    paths: null,
    documents: [],
    first: [],
    ...more,
  });
}

const paths = (dir: string, more: Partial<DiscoverInput> = {}): readonly string[] =>
  found(dir, more).candidates.map((one) => one.path);

afterEach(() => {
  for (const dir of made.splice(0)) {
    execFileSync('chmod', ['-R', 'u+rwx', dir]);
    rmSync(dir, { recursive: true, force: true });
  }
});

describe('discover', () => {
  it('finds init paths everywhere, ignore files or not, in order', () => {
    const dir = tree([
      'README.md',
      'b/CLAUDE.md',
      'CLAUDE.md',
      'a/AGENTS.md',
      '.gitignore',
      'dist/NEXT_AGENT_INIT.md',
      'quarantine/AGENTS.md',
    ]);
    writeFileSync(join(dir, '.gitignore'), '*\n');
    const result = found(dir);
    expect(result.candidates.map((one) => one.path)).toEqual([
      'CLAUDE.md',
      'a/AGENTS.md',
      'b/CLAUDE.md',
      'dist/NEXT_AGENT_INIT.md',
      'quarantine/AGENTS.md',
    ]);
    expect(result.findings).toEqual([]);
    expect(result.present).toEqual(['claude-code']);
  });

  it('says what belongs to others', () => {
    const dir = tree([
      'node_modules/p/AGENTS.md',
      'vendor/x/CLAUDE.md',
      '.venv/lib/site-packages/p/SOUL.md',
      'sub/.git/HEAD',
      'planted/.git/',
      'planted/AGENTS.md',
      'lied/.git',
      'lied/AGENTS.md',
      'sub/deep/CLAUDE.md',
      'mod/.git',
      'mod/node_modules/q/AGENTS.md',
      '.git/',
      '.git/CLAUDE.md',
      'own/CLAUDE.md',
    ]);
    writeFileSync(join(dir, 'mod/.git'), 'gitdir: ../.git/modules/mod\n');
    symlinkSync('../sub/.git', join(dir, 'vendor/.git'));
    expect(found(dir).candidates.map((one) => [one.path, one.nested])).toEqual([
      ['.venv/lib/site-packages/p/SOUL.md', '.venv'],
      ['lied/AGENTS.md', null],
      ['mod/node_modules/q/AGENTS.md', 'mod'],
      ['node_modules/p/AGENTS.md', 'node_modules'],
      ['own/CLAUDE.md', null],
      ['planted/AGENTS.md', null],
      ['sub/deep/CLAUDE.md', 'sub'],
      ['vendor/x/CLAUDE.md', 'vendor'],
    ]);
    const named = found(dir, { paths: ['sub/deep/CLAUDE.md', 'mod/node_modules/q/AGENTS.md'] });
    expect(named.candidates.map((one) => one.nested)).toEqual(['mod', 'sub']);
    const planted = found(dir, { paths: ['planted/AGENTS.md', 'lied/AGENTS.md'] });
    expect(planted.candidates.map((one) => one.nested)).toEqual([null, null]);
    expect(found(dir, { paths: ['sub/deep'] }).candidates.map((one) => one.nested)).toEqual(['sub']);
  });

  it('judges a named path without walking', () => {
    const dir = tree(['CLAUDE.md', 'notes.txt', 'notes.txt.manifest.yaml', 'log.jsonl']);
    const result = found(dir, {
      paths: ['CLAUDE.md', 'notes.txt', 'missing.md', 'log.jsonl', join(dir, 'CLAUDE.md'), '../elsewhere.md'],
    });
    expect(counts.walks).toBe(0);
    expect(result.candidates.map((one) => [one.path, one.kind, one.uses.length > 0, one.outside])).toEqual([
      [join(dirname(dir), 'elsewhere.md'), 'prose', false, true],
      ['CLAUDE.md', 'prose', true, false],
      ['log.jsonl', 'board', false, false],
      ['missing.md', 'prose', false, false],
      ['notes.txt', 'prose', false, false],
    ]);
    expect([...result.sidecars]).toEqual([['notes.txt', ['notes.txt.manifest.yaml']]]);
    expect(paths(dir, { paths: ['notes.txt.manifest.yaml'] })).toEqual(['notes.txt']);
  });

  it('takes a folder for the init paths below it', () => {
    const dir = tree(['CLAUDE.md', 'a/CLAUDE.md', 'a/b/AGENTS.md', 'ab/CLAUDE.md', 'a/note.md']);
    expect(paths(dir, { paths: ['a'] })).toEqual(['a/CLAUDE.md', 'a/b/AGENTS.md']);
    expect(paths(dir, { paths: ['a/', 'CLAUDE.md'] })).toEqual(['CLAUDE.md', 'a/CLAUDE.md', 'a/b/AGENTS.md']);
    expect(paths(dir, { paths: ['.'] })).toEqual(paths(dir));
  });

  it('keeps documents, init paths or not', () => {
    const dir = tree(['policies/constitution.md', 'AGENTS.md']);
    expect(
      found(dir, { documents: ['policies/constitution.md', 'AGENTS.md', 'gone.md'] }).candidates.map((one) => [
        one.path,
        one.kind,
      ]),
    ).toEqual([
      ['AGENTS.md', 'document'],
      ['gone.md', 'document'],
      ['policies/constitution.md', 'document'],
    ]);
  });

  it('pairs sidecars with files and tells orphans of init paths only', () => {
    const dir = tree([
      'AGENTS.md',
      'AGENTS.md.manifest.yaml',
      'AGENTS.md.manifest.json',
      'x/CLAUDE.md.manifest.yaml',
      'app.manifest.json',
      'system-prompts/a',
      'system-prompts/a.manifest.yaml',
      'system-prompts/evil.manifest.yaml',
    ]);
    const result = found(dir);
    expect([...result.sidecars]).toEqual([
      ['AGENTS.md', ['AGENTS.md.manifest.json', 'AGENTS.md.manifest.yaml']],
      ['system-prompts/a', ['system-prompts/a.manifest.yaml']],
    ]);
    expect(result.orphans).toEqual(['system-prompts/evil.manifest.yaml', 'x/CLAUDE.md.manifest.yaml']);
    expect(result.candidates.map((one) => one.path)).toEqual([
      'AGENTS.md',
      'system-prompts/a',
      'system-prompts/evil.manifest.yaml',
    ]);
  });

  it('judges links by name, and what lies behind links to host folders', () => {
    const dir = tree(
      [
        'AGENTS.md',
        'notes/law.md',
        'notes/deep/more.md',
        'shared/skill/SKILL.md',
        'node_modules/p/x.md',
        'lib/AGENTS.md',
      ],
      {
        'CLAUDE.md': 'AGENTS.md',
        'GEMINI.md': 'node_modules/p/x.md',
        '.claude/rules': '../notes',
        '.claude/skills/one': '../../shared/skill',
        '.claude/agents': '../node_modules/p',
        '.claude/other': '../notes',
        '.claude/commands': '/etc',
        '.claude/output-styles': 'nowhere',
        copy: 'lib',
      },
    );
    expect(found(dir).candidates.map((one) => [one.path, one.nested])).toEqual([
      ['.claude/agents/x.md', 'node_modules'],
      ['.claude/commands', null],
      ['.claude/output-styles', null],
      ['.claude/rules/deep/more.md', null],
      ['.claude/rules/law.md', null],
      ['.claude/skills/one/SKILL.md', null],
      ['AGENTS.md', null],
      ['CLAUDE.md', null],
      ['GEMINI.md', 'node_modules'],
      ['lib/AGENTS.md', null],
    ]);
    expect(paths(dir, { paths: ['copy'] })).toEqual(['copy/AGENTS.md']);
  });

  it('ends where links run in a circle', () => {
    const dir = tree(['README.md', 'a/b.md'], { '.claude/rules': '..', '.claude/skills': 'skills', 'a/self': '.' });
    expect(paths(dir)).toEqual([
      '.claude/rules/.claude/skills',
      '.claude/rules/README.md',
      '.claude/rules/a/b.md',
      '.claude/rules/a/self/b.md',
      '.claude/skills',
    ]);
  });

  it('gives up on links upon links and says so', () => {
    const names = Array.from({ length: 12 }, (_, at) => `t${at}`);
    const links = Object.fromEntries(names.flatMap((from) => names.map((to) => [`${from}/${to}`, `../${to}`])));
    const dir = tree(
      names.map((name) => `${name}/x.md`),
      { ...links, '.claude/rules': '../t0' },
    );
    const result = found(dir);
    expect(result.findings.some((one) => one.code === 'discovery-incomplete')).toBe(true);
    expect(counts.walks).toBeLessThan(520);
  });

  it('tells a folder or a pipe where a file is expected', () => {
    const dir = tree(['CLAUDE.md/x.txt', '.clinerules/a.md']);
    execFileSync('mkfifo', [join(dir, 'AGENTS.md')]);
    expect(paths(dir)).toEqual(['.clinerules/a.md', 'AGENTS.md', 'CLAUDE.md']);
  });

  it.skipIf(process.getuid?.() === 0)('tells a folder it may not search', () => {
    const dir = tree(['a/AGENTS.md', 'shut/AGENTS.md']);
    chmodSync(join(dir, 'shut'), 0o000);
    const { findings } = found(dir);
    expect(findings.map((one) => one.code)).toEqual(['discovery-incomplete']);
    expect(findings[0]?.message).toContain('shut');
  });

  it.skipIf(process.platform !== 'linux')('tells a folder whose name can\u2019t be spelt', () => {
    const dir = tree(['a/AGENTS.md']);
    mkdirSync(Buffer.concat([Buffer.from(`${dir}/`), Buffer.from([0x61, 0xff])]));
    const { findings } = found(dir);
    expect(findings.map((one) => one.code)).toEqual(['discovery-incomplete']);
    expect(findings[0]?.message).toContain('not UTF-8');
  });

  it('stops at the limit and says so, own files first', () => {
    const dir = tree(['CLAUDE.md', 'z/AGENTS.md', 'node_modules/a/AGENTS.md', 'node_modules/b/AGENTS.md']);
    const result = found(dir, { maxFiles: 3 });
    expect(result.candidates.map((one) => one.path)).toEqual(['CLAUDE.md', 'node_modules/a/AGENTS.md', 'z/AGENTS.md']);
    expect(result.findings.map((one) => one.code)).toEqual(['discovery-incomplete']);
    expect(found(dir, { maxFiles: 4 }).findings).toEqual([]);
  });

  it('what approvals name is not crowded out by a flood of files', () => {
    const flood = Array.from({ length: 30 }, (_, at) => `a/${at}/AGENTS.md`);
    const dir = tree([...flood, 'z/CLAUDE.md', 'z/CLAUDE.md.manifest.yaml', 'z/notes.txt']);
    const first = ['z/CLAUDE.md', 'z/notes.txt', 'z/gone/CLAUDE.md', 'a/3/AGENTS.md'];
    const result = found(dir, { maxFiles: 5, first });
    expect(result.candidates).toHaveLength(5);
    const seen = result.candidates.map((one) => one.path);
    expect(seen).toEqual(expect.arrayContaining(['a/3/AGENTS.md', 'z/CLAUDE.md']));
    expect(result.sidecars.get('z/CLAUDE.md')).toEqual(['z/CLAUDE.md.manifest.yaml']);
    expect(result.findings.map((one) => one.code)).toEqual(['discovery-incomplete']);
    expect(found(dir, { maxFiles: 5 }).candidates.map((one) => one.path)).not.toContain('z/CLAUDE.md');
    expect(paths(dir, { first, maxFiles: 100 })).toHaveLength(31);
  });

  it('what is named like a sidecar and speaks for no init path is judged itself', () => {
    const initPaths = [
      { path: 'prompts/*.yaml', loads: 'launch' },
      { path: 'system/**', loads: 'launch' },
    ] as const;
    const dir = tree([
      'prompts/evil.txt',
      'prompts/evil.txt.manifest.yaml',
      'prompts/good.yaml',
      'prompts/good.yaml.manifest.yaml',
      'system/x',
      'system/x.manifest.yaml',
      'system/x.manifest.yaml.manifest.yaml',
      'system/y.manifest.json.manifest.yaml',
    ]);
    const result = found(dir, { initPaths });
    expect(result.candidates.map((one) => one.path)).toEqual([
      'prompts/evil.txt.manifest.yaml',
      'prompts/good.yaml',
      'system/x',
      'system/x.manifest.yaml.manifest.yaml',
      'system/y.manifest.json.manifest.yaml',
    ]);
    expect(result.sidecars.get('prompts/good.yaml')).toEqual(['prompts/good.yaml.manifest.yaml']);
    for (const path of ['prompts/evil.txt.manifest.yaml', 'system/x.manifest.yaml.manifest.yaml'])
      expect(paths(dir, { initPaths, paths: [path] })).toEqual([path]);
    expect(paths(dir, { initPaths, paths: ['system/x.manifest.yaml'] })).toEqual(['system/x']);
  });

  it('asks about each of 20,000 files once', () => {
    const files = Array.from({ length: 20_000 }, (_, at) => `d${at % 200}/e${at % 1_000}/f${at}.txt`);
    const dir = tree([...files, 'd7/CLAUDE.md']);
    expect(paths(dir)).toEqual(['d7/CLAUDE.md']);
    expect(counts).toEqual({ walks: 1, asked: 20_001, folders: 1 + 200 + 1_000 });
  });
});

describe('discoverOutside', () => {
  it('finds what hosts load from home and above, and nothing in the workspace', () => {
    const top = tree([
      'home/.claude/CLAUDE.md',
      'home/.claude/rules/a/b.md',
      'home/.codex/AGENTS.md',
      'home/.gemini/GEMINI.md',
      'home/team/CLAUDE.md',
      'home/team/app/CLAUDE.md',
      'home/team/AGENTS.md',
      'home/.claude/settings.json',
      'home/.claude/skills/s/SKILL.md',
      'home/.claude/skills/s/run.sh',
      'home/README.md',
    ]);
    const start = join(top, 'home/team/app');
    const memory = `.claude/projects/${start.replace(/[^A-Za-z0-9]/g, '-')}/memory`;
    mkdirSync(join(top, 'home', memory), { recursive: true });
    writeFileSync(join(top, 'home', memory, 'MEMORY.md'), 'x');
    writeFileSync(join(top, 'home', memory, 'topic.md'), 'x');
    const all = discoverOutside({ home: join(top, 'home'), moved: [], topLevel: null, start, hosts: null }).filter(
      (one) => one.path.startsWith(top),
    );
    const use = (name: string): string | undefined =>
      all
        .find((one) => one.path === join(top, 'home', name))
        ?.uses.map((one) => `${one.host}:${one.loads}`)
        .join(' ');
    expect(all.map((one) => one.path.slice(top.length + 6))).toEqual(
      [
        '.claude/CLAUDE.md',
        `${memory}/MEMORY.md`,
        `${memory}/topic.md`,
        '.claude/rules/a/b.md',
        '.claude/settings.json',
        '.claude/skills/s/SKILL.md',
        '.codex/AGENTS.md',
        '.gemini/GEMINI.md',
        'team/AGENTS.md',
        'team/CLAUDE.md',
      ].sort(),
    );
    expect(all.every((one) => one.outside && one.nested === null)).toBe(true);
    expect(use('.claude/CLAUDE.md')).toBe('claude-code:launch opencode:launch');
    expect(use(`${memory}/MEMORY.md`)).toBe('claude-code:launch');
    expect(use(`${memory}/topic.md`)).toBe('claude-code:lazy');
    expect(all.find((one) => one.path.endsWith('settings.json'))?.kind).toBe('executable');
    const narrow = discoverOutside({
      home: join(top, 'home'),
      moved: [],
      topLevel: null,
      start,
      hosts: ['gemini'],
    }).filter((one) => one.path.startsWith(top));
    expect(narrow.map((one) => one.path)).toEqual([join(top, 'home/.gemini/GEMINI.md')]);
  });
});

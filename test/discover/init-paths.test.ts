import { describe, expect, it } from 'vitest';
import { matcherOf } from '../../src/discover/matcher.ts';
import { HOSTS } from '../../src/generated/hosts.ts';

const matcher = matcherOf(null, [], false);

function hit(path: string) {
  const slash = path.lastIndexOf('/');
  return matcher.hit(path.slice(slash + 1), matcher.folder(slash < 0 ? '' : path.slice(0, slash)));
}

function told(path: string): string {
  const found = hit(path);
  if (found === null) return 'none';
  return `${found.kind} ${found.uses.map((use) => `${use.host}:${use.loads}`).join(' ')}`;
}

// Path, then a host with how it loads there, then the kind.
const LOADED: readonly (readonly [string, string, string])[] = [
  ['CLAUDE.md', 'claude-code:launch', 'prose'],
  ['CLAUDE.md', 'copilot:launch', 'prose'],
  ['CLAUDE.md', 'opencode:launch', 'prose'],
  ['CLAUDE.md', 'zed:launch', 'prose'],
  ['a/b/CLAUDE.md', 'claude-code:lazy', 'prose'],
  ['CLAUDE.local.md', 'claude-code:launch', 'prose'],
  ['.claude/CLAUDE.md', 'claude-code:launch', 'prose'],
  ['.claude/AGENTS.md', 'claude-code:launch', 'prose'],
  ['.claude/rules/x.md', 'claude-code:launch', 'prose'],
  ['.claude/rules/deep/er/x.md', 'claude-code:launch', 'prose'],
  ['packages/a/.claude/rules/x.md', 'claude-code:lazy', 'prose'],
  ['.claude/agents/review.md', 'claude-code:spawn', 'prose'],
  ['.claude/agents/team/review.md', 'claude-code:spawn', 'prose'],
  ['.claude/skills/deploy/SKILL.md', 'claude-code:lazy', 'prose'],
  ['.claude/commands/fix.md', 'claude-code:lazy', 'prose'],
  ['.claude/output-styles/terse.md', 'claude-code:launch', 'prose'],
  ['.claude/agent-memory/review/MEMORY.md', 'claude-code:spawn', 'prose'],
  ['.claude/agent-memory/review/topic.md', 'claude-code:lazy', 'prose'],
  ['.claude/agent-memory-local/review/MEMORY.md', 'claude-code:spawn', 'prose'],
  ['.claude/settings.json', 'claude-code:launch', 'executable'],
  ['.claude/settings.json', 'cursor:launch', 'executable'],
  ['.claude/settings.json', 'copilot:launch', 'executable'],
  ['.claude/settings.local.json', 'claude-code:launch', 'executable'],
  ['.mcp.json', 'claude-code:launch', 'executable'],
  ['AGENTS.md', 'codex:launch', 'prose'],
  ['AGENTS.md', 'cursor:launch', 'prose'],
  ['AGENTS.md', 'copilot:launch', 'prose'],
  ['AGENTS.md', 'opencode:launch', 'prose'],
  ['AGENTS.md', 'openclaw:launch', 'prose'],
  ['AGENTS.md', 'generic:launch', 'prose'],
  ['AGENTS.md', 'windsurf:launch', 'prose'],
  ['docs/AGENTS.md', 'codex:lazy', 'prose'],
  ['AGENTS.override.md', 'codex:launch', 'prose'],
  ['.agents/skills/x/SKILL.md', 'codex:lazy', 'prose'],
  ['.agents/skills/x/agents/openai.yaml', 'codex:lazy', 'prose'],
  ['.codex/agents/review.toml', 'codex:spawn', 'prose'],
  ['.codex/config.toml', 'codex:launch', 'executable'],
  ['.codex/hooks.json', 'codex:launch', 'executable'],
  ['GEMINI.md', 'gemini:launch', 'prose'],
  ['src/GEMINI.md', 'gemini:lazy', 'prose'],
  ['.gemini/system.md', 'gemini:launch', 'prose'],
  ['.gemini/skills/vercel/SKILL.md', 'gemini:lazy', 'prose'],
  ['.gemini/settings.json', 'gemini:launch', 'executable'],
  ['.cursor/rules/a.mdc', 'cursor:launch', 'prose'],
  ['.cursor/rules/imported/repo/a.mdc', 'cursor:launch', 'prose'],
  ['.cursorrules', 'cursor:launch', 'prose'],
  ['.cursor/hooks.json', 'cursor:launch', 'executable'],
  ['.cursor/mcp.json', 'cursor:launch', 'executable'],
  ['.github/copilot-instructions.md', 'copilot:launch', 'prose'],
  ['.github/instructions/api/x.instructions.md', 'copilot:launch', 'prose'],
  ['.github/agents/review.agent.md', 'copilot:spawn', 'prose'],
  ['.github/skills/x/SKILL.md', 'copilot:lazy', 'prose'],
  ['.github/prompts/x.prompt.md', 'copilot:lazy', 'prose'],
  ['.github/hooks/pre.json', 'copilot:launch', 'executable'],
  ['.github/copilot/settings.json', 'copilot:launch', 'executable'],
  ['opencode.json', 'opencode:launch', 'executable'],
  ['.opencode/plugins/a/index.ts', 'opencode:launch', 'executable'],
  ['.opencode/agent/x.md', 'opencode:lazy', 'prose'],
  ['SOUL.md', 'openclaw:launch', 'prose'],
  ['agents/apex/HEARTBEAT.md', 'openclaw:lazy', 'prose'],
  ['memory/2026-01-31.md', 'openclaw:lazy', 'prose'],
  ['agents/apex/memory/2026-01-31-note.md', 'openclaw:lazy', 'prose'],
  ['hooks/boot/HOOK.md', 'openclaw:launch', 'executable'],
  ['NEXT_AGENT_INIT.md', 'generic:launch', 'prose'],
  ['deep/down/NEXT_AGENT_INIT.md', 'generic:lazy', 'prose'],
  ['quarantine/AGENTS.md', 'generic:lazy', 'prose'],
  ['policies/HANDOFF.md', 'generic:lazy', 'prose'],
  ['HANDOFF_FOR_CODEX.md', 'generic:launch', 'prose'],
  ['BOOTLOADER.md', 'generic:launch', 'prose'],
  ['INIT-ZEN.md', 'generic:launch', 'prose'],
  ['memory/notes.md', 'generic:lazy', 'prose'],
  ['prompts/a/b/c.md', 'generic:lazy', 'prose'],
  ['system-prompts/main', 'generic:launch', 'prose'],
  ['system-prompts/a\nb/main.txt', 'generic:launch', 'prose'],
  ['governance/charter.md', 'generic:lazy', 'prose'],
  ['state/carry_forward.json', 'generic:lazy', 'prose'],
  ['docs/deprecation-registry.json', 'generic:lazy', 'prose'],
  ['agents/x/agent-card.json', 'generic:spawn', 'prose'],
  ['run/blackboard-2.jsonl', 'generic:lazy', 'board'],
  ['.windsurf/rules/a.md', 'windsurf:launch', 'prose'],
  ['.devin/rules/a.md', 'windsurf:launch', 'prose'],
  ['.windsurfrules', 'cline:launch', 'prose'],
  ['.clinerules', 'cline:launch', 'prose'],
  ['.clinerules/00-x.md', 'cline:launch', 'prose'],
  ['.cline/rules/a.md', 'cline:launch', 'prose'],
  ['.roo/rules-code/a.txt', 'roo:launch', 'prose'],
  ['.roorules', 'roo:launch', 'prose'],
  ['AGENTS.local.md', 'roo:launch', 'prose'],
  ['.rules', 'zed:launch', 'prose'],
  ['AGENT.md', 'zed:launch', 'prose'],
  ['.kiro/steering/product.md', 'kiro:launch', 'prose'],
  ['.amazonq/rules/a/b.md', 'amazon-q:launch', 'prose'],
  ['.junie/guidelines.md', 'junie:launch', 'prose'],
  ['.aider.conf.yml', 'aider:launch', 'executable'],
];

// What honest projects have and no host loads by itself, in its exact or any other spelling.
const NOBODYS = [
  'README.md',
  'Readme.MD',
  'docs/agents.md',
  'docs/Agents.md',
  'website/content/claude.md',
  'docs/guides/gemini.md',
  'docs/memory.md',
  'tools.md',
  'src/memory/notes.md',
  'src/memory/README.md',
  'lib/prompts/a.md',
  'src/governance/x.md',
  'docs/identity.md',
  'user.md',
  'bootstrap.md',
  'src/boot.md',
  'next_steps.md',
  'handoff-notes.md',
  'init.md',
  'docs/initialization.md',
  'project_init.md',
  '.claude/skills/x/scripts/run.sh',
  '.claude/skills/x/ref.md',
  '.agents/skills/x/scripts/run.py',
  '.cursor/rules/note.md',
  '.github/workflows/ci.yml',
  '.github/ISSUE_TEMPLATE/bug.md',
  '.vscode/settings.json',
  'package.json',
  'settings.json',
  'config.toml',
  'mcp.json',
  'src/agents/reviewer.md',
  'agents/x/y/agent-card.json',
  'board.json',
  'opencode.ts',
  'skills/x/SKILL.md',
  'docs/Soul.md',
  'rules.md',
  'src/hooks/useX/handler.ts',
  'hooks/useBoard.ts',
  'constructor',
  '__proto__',
  'toString',
  'été/README.md',
  'документы/память.md',
  'quarantine/5f2b/artifact.gz',
  'quarantine/5f2b/record-0.json',
  'policies/policy.dsse.json',
  'policies/approvals/5f2b-00aa.dsse.json',
  'policies/policy.yaml',
  'policies/allowed_signers',
  'policies/constitution.md',
  '.claude/hooks/x.sh',
];

// A name that is no init path by its bytes, and what it imitates.
const IMITATIONS: readonly (readonly [string, string])[] = [
  ['claude.md', 'CLAUDE.md'],
  ['CLAUDE.MD', 'CLAUDE.md'],
  ['packages/a/claude.md', 'packages/a/CLAUDE.md'],
  ['docs/CLAUDE.MD', 'docs/CLAUDE.md'],
  ['agents.md', 'AGENTS.md'],
  ['docs/AGENTS.Md', 'docs/AGENTS.md'],
  ['\u0410GENTS.md', 'AGENTS.md'],
  ['docs/\u0410GENTS.md', 'docs/AGENTS.md'],
  ['CL\u0391UDE.md', 'CLAUDE.md'],
  ['\uff23\uff2c\uff21\uff35\uff24\uff25.md', 'CLAUDE.md'],
  ['\u{1d402}LAUDE.md', 'CLAUDE.md'],
  ['CLA\u200bUDE.md', 'CLAUDE.md'],
  ['CLAUDE.md\u202e', 'CLAUDE.md'],
  ['CLAUDE.md ', 'CLAUDE.md'],
  ['CLAUDE.md.', 'CLAUDE.md'],
  ['CLAUDE.md:stream', 'CLAUDE.md'],
  ['CLAUDE\u2024md', 'CLAUDE.md'],
  ['A\u0301GENTS.md', 'AGENTS.md'],
  ['\u0441laude.md', 'CLAUDE.md'],
  ['.Claude/skills/x/SKILL.md', '.claude/skills/x/SKILL.md'],
  ['.claude/Skills/x/skill.md', '.claude/skills/x/SKILL.md'],
  ['.claude/rules/x.MD', '.claude/rules/x.md'],
  ['.claude/Settings.json', '.claude/settings.json'],
  ['.cl\u0430ude/settings.json', '.claude/settings.json'],
  ['.GitHub/copilot-instructions.md', '.github/copilot-instructions.md'],
  ['.github/Copilot-Instructions.md', '.github/copilot-instructions.md'],
  ['.CursorRules', '.cursorrules'],
  ['.MCP.json', '.mcp.json'],
  ['x/Opencode.json', 'x/opencode.json'],
  ['next_agent_init.md', 'NEXT_AGENT_INIT.md'],
  ['N\u0415XT_STEP.md', 'NEXT_STEP.md'],
  ['MY_INIT.MD', 'MY_INIT.md'],
  ['pr\u043empts/a.md', 'prompts/a.md'],
  ['.claude /settings.json', '.claude/settings.json'],
];

describe('init paths', () => {
  it.each(LOADED)('%s is loaded: %s, %s', (path, use, kind) => {
    expect(told(path).split(' ')).toEqual(expect.arrayContaining([kind, use]));
    expect(hit(path)?.confusableWith).toBeNull();
  });

  it.each(NOBODYS)('%s is nobody\u2019s', (path) => {
    expect(told(path)).toBe('none');
  });

  it.each(IMITATIONS)('%j imitates %s', (path, exact) => {
    expect(hit(exact)?.confusableWith).toBeNull();
    expect(hit(path)).toEqual({ ...hit(exact), confusableWith: exact });
  });

  it('takes a folder with a foreign name for what it is', () => {
    expect(hit('\u00e9t\u00e9/AGENTS.md')?.confusableWith).toBeNull();
    expect(hit('\u00e9t\u00e9/\u0410GENTS.md')?.confusableWith).toBe('\u00e9t\u00e9/AGENTS.md');
  });

  it('knows no ordinary spelling on a file system that ignores case', () => {
    const folding = matcherOf(null, [], true);
    expect(folding.hit('agents.md', folding.folder('docs'))?.confusableWith).toBe('docs/AGENTS.md');
  });

  it('narrows to the hosts named, and generic', () => {
    const narrow = matcherOf(['gemini'], [], false);
    const root = narrow.folder('');
    expect(narrow.hit('CLAUDE.md', root)).toBeNull();
    expect(narrow.hit('claude.md', root)).toBeNull();
    expect(narrow.hit('GEMINI.md', root)?.uses).toEqual([{ host: 'gemini', loads: 'launch' }]);
    expect(narrow.hit('AGENTS.md', root)?.uses).toEqual([{ host: 'generic', loads: 'launch' }]);
  });

  it('adds the policy\u2019s own patterns', () => {
    const own = matcherOf(null, [{ path: 'ops/**/*.txt', loads: 'spawn' }], false);
    expect(own.hit('a.txt', own.folder('ops/x'))).toEqual({
      uses: [{ host: 'policy', loads: 'spawn' }],
      kind: 'prose',
      hops: 0,
      confusableWith: null,
    });
    expect(own.hit('a.txt', own.folder('other'))).toBeNull();
  });

  it('says how deep imports go', () => {
    expect(hit('CLAUDE.md')?.hops).toBe(4);
    expect(hit('GEMINI.md')?.hops).toBe(5);
    expect(hit('.claude/agents/a.md')?.hops).toBe(0);
  });

  it('has every host of the command line', () => {
    const names = HOSTS.map((host) => host.name);
    expect(names).toEqual(
      expect.arrayContaining([
        'claude-code',
        'codex',
        'gemini',
        'cursor',
        'copilot',
        'opencode',
        'openclaw',
        'generic',
      ]),
    );
    expect(new Set(names).size).toBe(names.length);
  });
});

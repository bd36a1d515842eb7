import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { execIn, FAKE_HOST, type Given } from '../support/exec.ts';
import { Workspace } from '../support/workspace.ts';

const opened: Workspace[] = [];
afterEach(() => {
  for (const one of opened.splice(0)) one.remove();
});

function plain(): Workspace {
  const space = new Workspace();
  opened.push(space);
  return space;
}

/** A governed workspace with a binding AGENTS.md. */
function governed(): Workspace {
  const space = plain();
  space.must('f13', ['init', '--workspace', 'example.test/acme/app', '--yes']);
  space.put('AGENTS.md', '# Rules\n\n- RULE-OF-THE-HOUSE\n');
  space.must('f13', ['approve', 'AGENTS.md', '--class', 'policy', '--yes']);
  return space;
}

/** The boot context, wherever the host was handed it. */
function bootOf({ argv, env, files }: Given): string {
  return [...argv, ...Object.values(env), ...Object.values(files)].join('\n');
}

/** Private folders that are still there. */
function left(space: Workspace): readonly string[] {
  return readdirSync(space.base).filter((name) => name.startsWith('writ-exec-'));
}

const FED: Readonly<Record<string, (given: Given) => unknown>> = {
  'claude-code': ({ argv }) => argv.some((word) => /^--append-system-prompt-file=.*\/boot\.md$/.test(word)),
  codex: ({ argv }) => argv.some((word) => word.startsWith('developer_instructions="')),
  gemini: ({ env }) => env.GEMINI_SYSTEM_MD?.endsWith('/boot.md'),
  opencode: ({ env }) => JSON.parse(env.OPENCODE_CONFIG_CONTENT ?? '{}').instructions?.length === 1,
  copilot: ({ argv, files }) => argv.includes('--plugin-dir') && Object.keys(files).length === 3,
};

describe('exec starts every host it knows on the boot context', () => {
  it.each(Object.keys(FED))('%s', (host) => {
    const space = governed();
    const { exit, given, stderr } = execIn(space, host, { cmd: [FAKE_HOST, 'do', 'it'] });
    expect({ exit, stderr }).toMatchObject({ exit: 0 });
    if (given === null) throw new Error(stderr);
    expect(given.argv.slice(0, 2)).toEqual(['do', 'it']);
    expect(bootOf(given)).toContain('RULE-OF-THE-HOUSE');
    expect(bootOf(given)).toContain('approved_by=f13');
    expect(FED[host]?.(given)).toBe(true);
    expect(stderr).toContain('starting');
    expect(left(space)).toEqual([]);
  });

  it('claude-code: reads no settings, no servers and no memory of its own', () => {
    const { given } = execIn(governed(), 'claude-code');
    expect(given?.argv).toEqual(expect.arrayContaining(['--setting-sources=', '--strict-mcp-config']));
    expect(given?.env).toMatchObject({ CLAUDE_CODE_DISABLE_CLAUDE_MDS: '1', CLAUDE_CODE_DISABLE_AUTO_MEMORY: '1' });
  });

  it('claude-code: gets approved settings and servers as copies of the bytes judged', () => {
    const space = governed();
    space.put('.claude/settings.json', '{"env":{"APPROVED":"1"}}\n');
    space.put('.mcp.json', '{"mcpServers":{}}\n');
    space.must('f13', ['approve', '.claude/settings.json', '.mcp.json', '--class', 'policy', '--yes']);
    const { given } = execIn(space, 'claude-code');
    for (const option of ['--settings=', '--mcp-config=']) {
      const word = given?.argv.find((one) => one.startsWith(option)) ?? '';
      expect(given?.files[word.slice(option.length)]).toContain('{');
      expect(word).not.toContain(space.root);
    }
    space.put('.mcp.json', '{"mcpServers":{"evil":{"command":"evil"}}}\n');
    const after = execIn(space, 'claude-code');
    expect(JSON.stringify(after.given)).not.toContain('evil');
    expect(after.given?.argv.some((one) => one.startsWith('--mcp-config'))).toBe(false);
  });

  it('codex: trusts no folder and names no skills only where something unproven lies there', () => {
    const space = governed();
    expect(execIn(space, 'codex').given?.argv.join(' ')).not.toMatch(/trust_level|skills/);
    space.put('.agents/skills/x/SKILL.md', '---\nname: x\ndescription: d\n---\nx\n');
    expect(execIn(space, 'codex').given?.argv).toContain('skills.include_instructions=false');
    space.put('.codex/config.toml', 'developer_instructions = "evil"\n');
    const trust = execIn(space, 'codex').given?.argv.find((one) => one.startsWith('projects='));
    expect(trust).toContain(`"${space.root}"={trust_level="untrusted"}`);
  });

  it('opencode: keeps the configuration that the environment holds', () => {
    const space = governed();
    const { given } = execIn(space, 'opencode', {
      env: { OPENCODE_CONFIG_CONTENT: '{"model":"m","instructions":["a.md"]}' },
    });
    expect(JSON.parse(given?.env.OPENCODE_CONFIG_CONTENT ?? '')).toMatchObject({
      model: 'm',
      instructions: ['a.md', expect.any(String)],
    });
    expect(execIn(space, 'opencode', { env: { OPENCODE_CONFIG_CONTENT: '[' } }).exit).toBe(3);
  });

  it('copilot: its hook prints the boot context as JSON', () => {
    const { given } = execIn(governed(), 'copilot');
    const file = (name: string): string =>
      Object.entries(given?.files ?? {}).find(([path]) => basename(path) === name)?.[1] ?? '';
    expect(JSON.parse(file('context.json')).additionalContext).toContain('RULE-OF-THE-HOUSE');
    expect(JSON.parse(file('hooks.json')).hooks.sessionStart[0].bash).toMatch(/^cat '\/.*context\.json'$/);
    expect(given?.argv).toContain('--no-custom-instructions');
  });

  it('generic: any program, with the boot file where CMD says {boot}', () => {
    const space = governed();
    const { given } = execIn(space, 'generic', { cmd: [FAKE_HOST, '--rules={boot}', '{boot}'] });
    const [first = '', second = ''] = given?.argv ?? [];
    expect(first).toBe(`--rules=${second}`);
    expect(given?.files[second]).toContain('RULE-OF-THE-HOUSE');
    expect(execIn(space, 'generic', { cmd: ['cat', '{boot}'] }).stdout).toContain('RULE-OF-THE-HOUSE');
    expect(execIn(space, 'generic', { cmd: ['true'] }).exit).toBe(0);
  });

  it('a host without a way of its own gets its rules through {boot}, or is not started', () => {
    const space = plain();
    space.must('f13', ['init', '--workspace', 'example.test/acme/app', '--yes']);
    space.put('.cursor/rules/a.mdc', '- RULE-OF-CURSOR\n');
    space.must('f13', ['approve', '.cursor/rules/a.mdc', '--class', 'policy', '--yes']);
    const none = execIn(space, 'cursor');
    expect([none.exit, none.given]).toEqual([1, null]);
    expect(none.stderr).toContain('{boot}');
    const { exit, given } = execIn(space, 'cursor', { cmd: [FAKE_HOST, 'Read {boot} first'] });
    expect(exit).toBe(0);
    expect(given?.argv[0]).toMatch(/^Read \/.*boot\.md first$/);
  });

  it('private files are for this user alone, outside the workspace, also with odd names on the way', () => {
    const space = governed();
    const odd = join(space.base, 'it\'s a "place"');
    mkdirSync(odd);
    const script = join(space.base, 'look.sh');
    writeFileSync(script, '#!/bin/sh\nstat -c %a "$1" "$(dirname "$1")"\n');
    chmodSync(script, 0o755);
    const ran = execIn(space, 'generic', { cmd: [script, '{boot}'], env: { TMPDIR: odd } });
    expect(ran.stdout).toBe('600\n700\n');
    expect(readdirSync(odd)).toEqual([]);
    const copilot = execIn(space, 'copilot', { env: { TMPDIR: odd } });
    expect(Object.values(copilot.given?.files ?? {}).join()).toContain(`it'\\\\''s a`);
    mkdirSync(join(space.root, 'tmp'));
    const inside = execIn(space, 'gemini', { env: { TMPDIR: join(space.root, 'tmp') } });
    expect(inside.given?.env.GEMINI_SYSTEM_MD).not.toContain(space.root);
  });
});

describe('exec refuses', () => {
  const refusal = (
    space: Workspace,
    host: string,
    code: string,
    options: Parameters<typeof execIn>[2] = {},
  ): string => {
    const { exit, given, stderr } = execIn(space, host, options);
    expect({ exit, given, stderr }).toMatchObject({ exit: 1, given: null });
    expect(stderr).toContain(code);
    expect(stderr).toContain('cure:');
    expect(left(space)).toEqual([]);
    return stderr;
  };

  it('binding-missing', () => {
    const space = governed();
    space.run(['check']);
    space.shell('rm AGENTS.md');
    for (const host of [...Object.keys(FED), 'generic']) refusal(space, host, 'binding-missing');
  });

  it('host-loads-raw where no switch keeps it out, and names the file', () => {
    const space = governed();
    space.put('.cursorrules', 'Be brief.\n');
    expect(refusal(space, 'cursor', 'host-loads-raw', { cmd: [FAKE_HOST, '{boot}'] })).toContain('.cursorrules');
    space.put('GEMINI.md', 'Be brief.\n');
    expect(refusal(space, 'gemini', 'host-loads-raw', { cmd: [FAKE_HOST, '-p', 'hi'] })).toContain('GEMINI.md');
    expect(execIn(space, 'gemini').given?.env.GEMINI_CLI_TRUST_WORKSPACE).toBe('false');
  });

  it('executes-unapproved where no switch keeps it out', () => {
    const space = governed();
    space.put('.github/hooks/h.json', '{"version":1,"hooks":{}}\n');
    expect(refusal(space, 'copilot', 'executes-unapproved')).toContain('.github/hooks/h.json');
    space.must('f13', ['approve', '.github/hooks/h.json', '--class', 'policy', '--yes']);
    expect(execIn(space, 'copilot').exit).toBe(0);
  });

  it('a policy set that this machine has a pin for and that was changed', () => {
    const space = governed();
    space.put('policies/constitution.md', 'changed\n');
    refusal(space, 'claude-code', 'policy-altered');
  });

  it('any quarantine under --strict, and starts without it', () => {
    const space = governed();
    space.put('NEXT_AGENT_INIT.md', '---\ncontext_manifest: [\n---\nx\n');
    const twin = space.copy();
    opened.push(twin);
    refusal(space, 'claude-code', 'NEXT_AGENT_INIT.md', { flags: ['--strict'] });
    const { exit, given } = execIn(twin, 'claude-code');
    expect(exit).toBe(0);
    expect(twin.has('NEXT_AGENT_INIT.md')).toBe(false);
    expect(JSON.stringify(given)).not.toContain('context_manifest: [');
  });

  it('what a host reads from the home is named, and refused under --strict', () => {
    const space = governed();
    const home = space.env.HOME ?? '';
    mkdirSync(join(home, '.codex'));
    writeFileSync(join(home, '.codex', 'AGENTS.md'), 'Be brief.\n');
    expect(execIn(space, 'codex').stderr).toContain(join(home, '.codex', 'AGENTS.md'));
    refusal(space, 'codex', 'host-loads-raw', { flags: ['--strict'] });
  });

  it.each([
    ['codex', 'CODEX_HOME', 'AGENTS.md'],
    ['gemini', 'GEMINI_CLI_HOME', '.gemini/GEMINI.md'],
    ['copilot', 'COPILOT_HOME', 'hooks/h.json'],
    ['opencode', 'XDG_CONFIG_HOME', 'opencode/AGENTS.md'],
  ])('what %s reads where %s says, which must not be the workspace', (host, variable, file) => {
    const space = plain();
    const place = join(space.base, 'elsewhere');
    mkdirSync(join(place, file, '..'), { recursive: true });
    writeFileSync(join(place, file), '{}\n');
    const env = { [variable]: place };
    const { exit, stderr } = execIn(space, host, { env });
    expect({ exit, stderr }).toMatchObject({ exit: 0 });
    expect(stderr).toContain(`from outside the workspace: ${join(place, file)}`);
    expect(execIn(space, host, { env, flags: ['--strict'] })).toMatchObject({ exit: 1, given: null });
    expect(space.run(['check'], { env }).stdout).toContain(join(place, file));
    const inside = execIn(space, host, { env: { [variable]: 'own' } });
    expect(inside).toMatchObject({ exit: 3, given: null });
    expect(inside.stderr).toContain(`${variable} lies in the workspace`);
  });

  it('what lies above a workspace in its repository, where the host reads from the top level down', () => {
    const space = new Workspace({ git: true });
    opened.push(space);
    for (const path of ['.github/hooks/h.json', '.codex/config.toml', 'packages/.codex/hooks.json', 'AGENTS.md'])
      space.put(path, '{}\n');
    space.put('packages/api/README.md', 'x\n');
    const flags = ['--root', 'packages/api'];
    const copilot = execIn(space, 'copilot', { flags });
    expect(copilot).toMatchObject({ exit: 0 });
    expect(copilot.stderr).toContain(`from outside the workspace: ${join(space.root, '.github/hooks/h.json')}`);
    expect(copilot.stderr).not.toContain('AGENTS.md');
    expect(execIn(space, 'copilot', { flags: [...flags, '--strict'] }).exit).toBe(1);
    const codex = execIn(space, 'codex', { flags: [...flags, '--strict'] });
    expect(codex).toMatchObject({ exit: 0 });
    expect(codex.given?.argv.find((one) => one.startsWith('projects='))).toContain(`"${space.root}"`);
    expect(execIn(space, 'opencode', { flags: [...flags, '--strict'] }).exit).toBe(0);
    const told = JSON.parse(space.run(['check', ...flags, '--format', 'json']).stdout);
    expect(told.artifacts.map((one: { path: string }) => one.path)).toContain(join(space.root, 'AGENTS.md'));
  });

  it('no other host’s settings in the home, nor what is kept out there', () => {
    const space = plain();
    for (const path of ['.codex/config.toml', '.claude/settings.json']) {
      mkdirSync(join(space.base, 'home', path, '..'), { recursive: true });
      writeFileSync(join(space.base, 'home', path), '{}\n');
    }
    expect(execIn(space, 'claude-code', { flags: ['--strict'] })).toMatchObject({ exit: 0 });
    expect(execIn(space, 'codex', { flags: ['--strict'] })).toMatchObject({ exit: 1, given: null });
  });

  it('nothing that is kept out wherever it lies', () => {
    const space = plain();
    const env = { CLAUDE_CONFIG_DIR: join(space.root, 'own') };
    space.put('own/CLAUDE.md', 'x\n');
    expect(execIn(space, 'claude-code', { env, flags: ['--strict'] }).exit).toBe(0);
  });

  it('what the own set of a user approves, also where the home is a link', () => {
    const space = plain();
    const home = join(space.base, 'link');
    symlinkSync('home', home);
    const env = { HOME: home, WRIT_AS: 'f13', WRIT_KEY: space.key('f13') };
    mkdirSync(join(space.base, 'home/.claude'), { recursive: true });
    writeFileSync(join(space.base, 'home/.claude/CLAUDE.md'), 'Be brief.\n');
    expect(space.run(['init', '--user', '--yes'], { env }).exit).toBe(0);
    const { exit, stderr } = execIn(space, 'claude-code', { env, flags: ['--strict'] });
    expect({ exit, stderr }).toMatchObject({ exit: 0 });
    expect(stderr).not.toContain('CLAUDE.md');
  });

  it('what could not be checked, with 4', () => {
    const space = governed();
    symlinkSync('CLAUDE.md', join(space.root, 'CLAUDE.md'));
    const { exit, given, stderr } = execIn(space, 'claude-code');
    expect([exit, given]).toEqual([4, null]);
    expect(stderr).toContain('path-unreadable');
  });

  it.each([
    ['no host', ['exec', '--', 'true'], '--host'],
    ['an unknown host', ['exec', '--host', 'claude-cod', '--', 'true'], 'did you mean claude-code'],
    ['no CMD', ['exec', '--host', 'codex'], 'after --'],
    ['an empty CMD', ['exec', '--host', 'codex', '--'], 'after --'],
    ['CMD without --', ['exec', '--host', 'codex', 'true'], 'usage:'],
    ['a program that is not there', ['exec', '--host', 'codex', '--', 'no-such-program-x'], 'no-such-program-x'],
    ['a folder for a program', ['exec', '--host', 'codex', '--', '/'], 'no program'],
    ['a role without --spawn', ['exec', '--host', 'codex', '--role', 'specialist', '--', 'true'], '--spawn'],
    [
      'an approver for a child',
      ['exec', '--host', 'codex', '--spawn', 'x', '--role', 'approver', '--', 'true'],
      '--role',
    ],
    [
      'a switch of its own',
      ['exec', '--host', 'claude-code', '--', 'true', '--setting-sources', 'project'],
      '--setting-sources',
    ],
    [
      'a key of its own',
      ['exec', '--host', 'codex', '--', 'true', '-c', 'project_doc_max_bytes=9'],
      'project_doc_max_bytes',
    ],
    ['a key of its own in one word', ['exec', '--host', 'codex', '--', 'true', '--config=projects.x=1'], 'projects'],
    ['a shell command', ['exec', '--host', 'codex', '--', 'sh', '-c', 'codex'], '{args}'],
    [
      'a shell command behind another program',
      ['exec', '--host', 'codex', '--', 'env', 'bash', '-lc', 'codex exec'],
      '{args}',
    ],
    ['a command for a launcher', ['exec', '--host', 'codex', '--', 'env', '--call', 'codex'], '{args}'],
  ])('wrong usage with 3: %s', (_what, args, said) => {
    const space = plain();
    space.put('NEXT_AGENT_INIT.md', '---\ncontext_manifest: [\n---\nx\n');
    const { exit, stderr } = space.run(args);
    expect({ exit, stderr }).toMatchObject({ exit: 3 });
    expect(stderr).toContain(said);
    expect(space.has('NEXT_AGENT_INIT.md')).toBe(true);
  });

  it('a host whose files the policy leaves unjudged, with 3', () => {
    const space = governed();
    space.put('policies/policy.yaml', `${space.read('policies/policy.yaml')}hosts: [codex]\n`);
    space.must('f13', ['trust', 'sign', '--yes']);
    space.put('.github/hooks/h.json', '{}\n');
    const { exit, given, stderr } = execIn(space, 'copilot');
    expect({ exit, given, stderr }).toMatchObject({ exit: 3, given: null });
    expect(stderr).toContain('leaves copilot out');
    expect(execIn(space, 'codex').exit).toBe(0);
  });

  it.each([
    ['opencode', ['env', '-i', 'opencode']],
    ['opencode', ['env', '-', 'opencode']],
    ['opencode', ['env', '-u', 'OPENCODE_PURE', 'opencode']],
    ['opencode', ['env', '--unset=OPENCODE_PURE', 'opencode']],
    ['opencode', ['env', '-C', '/', 'opencode']],
    ['opencode', ['env', '-S', 'opencode run']],
    ['opencode', ['nice', '-n', '5', 'env', 'OPENCODE_DISABLE_PROJECT_CONFIG=', 'opencode']],
    ['opencode', ['env', 'OPENCODE_CONFIG=x.json', 'opencode']],
    ['opencode', ['env', 'OPENCODE_CONFIG_CONTENT={}', 'wrapper']],
    ['gemini', ['env', 'GEMINI_SYSTEM_MD=/tmp/x', 'gemini']],
    ['claude-code', ['sudo', '-E', 'claude']],
    ['codex', ['docker', 'run', '-it', 'image', 'codex']],
    ['codex', ['/usr/bin/ssh', 'box', 'codex']],
    ['copilot', ['tmux', 'new', 'copilot']],
  ])('%s, where CMD would lose what is set for it, with 3: %j', (host, cmd) => {
    const space = plain();
    const bin = join(space.base, 'bin');
    mkdirSync(bin);
    for (const name of ['env', 'sudo', 'docker', 'tmux', 'opencode', 'wrapper']) cpSync(FAKE_HOST, join(bin, name));
    const { exit, given, stderr } = execIn(space, host, { cmd, env: { PATH: `${bin}:${process.env.PATH}` } });
    expect({ exit, given, stderr }).toMatchObject({ exit: 3, given: null });
    expect(stderr).toMatch(/put (?:it|env) in front, as in .* writ exec/);
  });

  it.each([
    ['opencode', ['env', 'X=1', '-u', 'Y', 'opencode', 'env', '-i']],
    ['opencode', ['opencode', 'run', 'sudo', 'OPENCODE_PURE=0']],
    ['claude-code', ['wrapper', 'ssh', '-i']],
    ['generic', ['env', '-i', 'true']],
    ['gemini', ['wrapper', '-mgemini-pro', '--prompt-interactive', 'x']],
  ])('%s is started where CMD loses nothing: %j', (host, cmd) => {
    const space = plain();
    const bin = join(space.base, 'bin');
    mkdirSync(bin);
    for (const name of ['env', 'opencode', 'wrapper']) cpSync(FAKE_HOST, join(bin, name));
    const { exit, given, stderr } = execIn(space, host, { cmd, env: { PATH: `${bin}:${process.env.PATH}` } });
    expect({ exit, stderr }).toMatchObject({ exit: 0 });
    expect(given).not.toBeNull();
  });

  it.each([
    ['gemini', ['--skipTrust']],
    ['gemini', ['--skip-trust=true']],
    ['gemini', ['-efoo']],
    ['gemini', ['-ye', 'foo']],
    ['claude-code', ['--settingSources=project']],
    ['codex', ['-c', ' projects.x.trust_level="trusted"']],
    ['codex', ['-c', 'projects = {}']],
    ['codex', ['-cskills.include_instructions=true']],
  ])('%s, where CMD undoes a switch in another spelling, with 3: %j', (host, words) => {
    const { exit, given, stderr } = execIn(plain(), host, { cmd: [FAKE_HOST, ...words] });
    expect({ exit, given, stderr }).toMatchObject({ exit: 3, given: null });
    expect(stderr).toContain('leave it out of CMD');
  });

  it('a place for private files that a host would take for a pattern, with 3', () => {
    const space = governed();
    const odd = join(space.base, 'a[b]');
    mkdirSync(odd);
    expect(execIn(space, 'opencode', { env: { TMPDIR: odd } }).exit).toBe(3);
    expect(readdirSync(odd)).toEqual([]);
    expect(execIn(space, 'claude-code', { env: { TMPDIR: odd } }).exit).toBe(0);
  });

  it('a folder that is gone, and says so', () => {
    const ran = plain().shell('mkdir gone; cd gone; rmdir ../gone; eval $WRIT exec --host generic -- true');
    expect(ran.exit).toBe(4);
    expect(ran.stderr).toContain('the current folder is gone');
  });

  it('a program that cannot be run', () => {
    const space = plain();
    space.put('tool', '#!/bin/sh\n');
    expect(space.run(['exec', '--host', 'codex', '--', './tool']).exit).toBe(3);
    chmodSync(space.put('other', '#!/no/such/interpreter\n'), 0o755);
    expect(space.run(['exec', '--host', 'codex', '--', './other']).exit).toBe(4);
    expect(left(space)).toEqual([]);
  });
});

describe('exec --observe', () => {
  it('starts all the same with a banner, keeps nothing out and calls nothing binding that is not', () => {
    const space = governed();
    space.put('.github/hooks/h.json', '{"version":1,"hooks":{}}\n');
    space.put('NEXT_AGENT_INIT.md', '---\ncontext_manifest: [\n---\nx\n');
    space.put('CLAUDE.md', 'EVIDENCE-ONLY\n');
    const { exit, given, stderr } = execIn(space, 'copilot', { flags: ['--observe', '--strict'] });
    expect(exit).toBe(0);
    expect(stderr).toContain('observe');
    expect(stderr).toContain('executes-unapproved');
    expect(space.has('NEXT_AGENT_INIT.md')).toBe(true);
    expect(given?.argv).not.toContain('--no-custom-instructions');
    const boot = bootOf(given as Given);
    expect(boot.indexOf('EVIDENCE-ONLY')).toBeGreaterThan(boot.indexOf('Reference: evidence'));
  });
});

describe('exec and the child', () => {
  it('passes words, folder, input and exit code through, and drops what is its own', () => {
    const space = governed();
    const sub = join(space.root, 'a folder');
    mkdirSync(sub);
    const { exit, given } = execIn(space, 'claude-code', {
      cmd: [FAKE_HOST, '', 'two words', '-x', '$HOME', '*'],
      cwd: sub,
      input: 'said\n',
      env: {
        WRIT_AS: 'f13',
        WRIT_KEY: '/nowhere',
        WRIT_DEBUG: '1',
        OTHER: 'kept',
        FAKE_STDIN: '1',
        FAKE_DO: 'exit 42',
      },
    });
    expect(exit).toBe(42);
    expect(given?.argv.slice(0, 5)).toEqual(['', 'two words', '-x', '$HOME', '*']);
    expect(given?.cwd).toBe(sub);
    expect(given?.stdin).toBe('said\n');
    expect(given?.env.OTHER).toBe('kept');
    expect(Object.keys(given?.env ?? {}).filter((name) => name.startsWith('WRIT_'))).toEqual([]);
  });

  it('puts switches behind the program, at {args}, or at the end', () => {
    const space = governed();
    const bin = join(space.base, 'bin');
    mkdirSync(bin);
    cpSync(FAKE_HOST, join(bin, 'claude'));
    const argv = (cmd: readonly string[]): readonly string[] =>
      (execIn(space, 'claude-code', { cmd, env: { PATH: `${bin}:${process.env.PATH}` } }).given?.argv ?? []).map(
        (one) => (one.startsWith('--append') ? 'BOOT' : one),
      );
    const own = ['--setting-sources=', '--strict-mcp-config', 'BOOT'];
    expect(argv(['claude', '-p', 'hi'])).toEqual([...own, '-p', 'hi']);
    expect(argv(['env', 'X=1', 'claude', 'hi'])).toEqual([...own, 'hi']);
    expect(argv([FAKE_HOST, 'a', '--', 'b'])).toEqual(['a', ...own, '--', 'b']);
    expect(argv(['sh', '-c', 'exec claude "$@"', 'sh', '{args}', 'z'])).toEqual([...own, 'z']);
  });

  it('goes on, and cleans up, where nobody reads what it tells', () => {
    const space = governed();
    const out = join(space.base, 'given.json');
    const key = `WRIT_AS=f13 WRIT_KEY='${space.key('f13')}' TMPDIR='${space.base}' FAKE_OUT='${out}'`;
    space.shell(
      `{ ${key} $WRIT exec --host claude-code --spawn kid --role specialist -- '${FAKE_HOST}' 2>&1 >&3; echo $? >'${space.base}/code'; } 3>/dev/null | true`.replace(
        '$WRIT',
        'eval $WRIT',
      ),
    );
    expect(left(space)).toEqual([]);
    expect(space.has('policies/spawns/kid.dsse.json')).toBe(false);
  });

  it('judges what lies between the root and the folder it starts in as read at launch', () => {
    const space = governed();
    space.put('deep/GEMINI.md', 'x\n');
    const refused = execIn(space, 'gemini', {
      flags: ['--root', space.root],
      cmd: [FAKE_HOST, '-p', 'hi'],
      cwd: join(space.root, 'deep'),
    });
    expect([refused.exit, refused.given]).toEqual([1, null]);
    expect(refused.stderr).toContain('deep/GEMINI.md: host-loads-raw');
    const above = execIn(space, 'gemini', { cmd: [FAKE_HOST, '-p', 'hi'] });
    expect(above.exit).toBe(0);
    expect(above.stderr).toContain('later, as it works: deep/GEMINI.md');
  });

  it('opencode: names what it still reads below the folder it starts in', () => {
    const space = governed();
    space.put('deep/AGENTS.md', 'x\n');
    space.put('CLAUDE.md', 'x\n');
    const { exit, stderr } = execIn(space, 'opencode');
    expect(exit).toBe(0);
    expect(stderr).toContain('later, as it works: deep/AGENTS.md');
    expect(stderr).not.toContain('CLAUDE.md');
    expect(execIn(space, 'opencode', { flags: ['--strict'] }).exit).toBe(1);
  });

  it('starts in the root where the caller stands outside it', () => {
    const space = governed();
    const { given } = execIn(space, 'codex', { flags: ['--root', space.root], cwd: space.base });
    expect(given?.cwd).toBe(space.root);
  });

  it('says so where an earlier session is carried on', () => {
    const space = governed();
    const { given, stderr } = execIn(space, 'claude-code', { cmd: [FAKE_HOST, '--continue'] });
    expect(stderr).toContain('--continue carries on an earlier session');
    expect(given?.argv).toContain('--system-prompt-snapshot=off');
    expect(execIn(space, 'claude-code', { cmd: [FAKE_HOST, '-c'], flags: ['--strict'] }).exit).toBe(1);
    for (const [host, word] of [
      ['claude-code', '-pc'],
      ['claude-code', '-rSESSION'],
      ['gemini', '-rlatest'],
      ['opencode', '-sses_1'],
    ] as const)
      expect(execIn(space, host, { cmd: [FAKE_HOST, word] }).stderr).toContain(`${word} carries on`);
  });

  it('says so where the program lies in the workspace', () => {
    const space = governed();
    cpSync(FAKE_HOST, join(space.root, 'tool.mjs'));
    expect(execIn(space, 'codex', { cmd: ['./tool.mjs'] }).stderr).toContain('lies in the workspace');
  });

  it('findings are those of load', () => {
    const space = governed();
    space.put('CLAUDE.md', 'x\n');
    space.put('.mcp.json', '{}\n');
    execIn(space, 'claude-code');
    space.run(['load', '--format', 'none']);
    const rows = JSON.parse(space.run(['log', '--format', 'json']).stdout) as {
      path: string;
      codes: string[];
      rank: string;
    }[];
    const half = rows.length / 2;
    const told = (part: typeof rows): unknown => part.map(({ path, codes, rank }) => ({ path, codes, rank }));
    expect(half).toBeGreaterThan(2);
    expect(told(rows.slice(0, half))).toEqual(told(rows.slice(half)));
  });
});

describe('hostile and large boot contexts', () => {
  const LARGE = 'a line of evidence that is of no use\n'.repeat(6_000);

  it('codex leaves evidence out for size, says which, and never cuts a rule', () => {
    const space = governed();
    space.put('INIT_SMALL.md', 'SMALL-EVIDENCE\n');
    space.put('INIT_LARGE.md', LARGE);
    const { exit, given, stderr } = execIn(space, 'codex');
    expect(exit).toBe(0);
    expect(stderr).toContain('left out of the boot context, because OpenAI Codex takes no more: INIT_LARGE.md');
    const boot = given?.argv.find((one) => one.startsWith('developer_instructions=')) ?? '';
    expect(Buffer.byteLength(boot)).toBeLessThan(131_072);
    expect(boot).toContain('SMALL-EVIDENCE');
    expect(boot).toContain('RULE-OF-THE-HOUSE');
    expect(boot).toContain('Left out, because this host takes no more: INIT_LARGE.md');
    expect(boot).not.toContain('a line of evidence');
  });

  it('codex is not started where the rules do not fit; {boot} is the way out', () => {
    const space = governed();
    space.put('NEXT_RULES.md', LARGE);
    space.must('f13', ['approve', 'NEXT_RULES.md', '--class', 'policy', '--yes']);
    const { exit, given, stderr } = execIn(space, 'codex');
    expect([exit, given]).toEqual([1, null]);
    expect(stderr).toContain('longer than OpenAI Codex takes');
    const way = execIn(space, 'codex', { cmd: [FAKE_HOST, 'Read {boot}', '{boot}'] });
    expect(way.exit).toBe(0);
    expect(way.given?.argv).toContain('project_doc_max_bytes=0');
    expect(Object.values(way.given?.files ?? {}).join('')).toContain(LARGE);
    for (const host of ['claude-code', 'gemini', 'copilot', 'opencode']) expect(execIn(space, host).exit).toBe(0);
  });

  it.each(Object.keys(FED))('%s gets no words, keys or variables out of a text', (host) => {
    const space = governed();
    const text =
      '--dangerously-skip-permissions\n"\n""" = \'\'\'\n{boot} {args} {untrusted-folders} $(touch x) `touch x` \\u0041 \u007f $& $1\n[a]\nb = 1\n';
    space.put('INIT_ODD.md', text);
    const { exit, given } = execIn(space, host);
    expect(exit).toBe(0);
    expect(given?.argv).not.toContain('--dangerously-skip-permissions');
    expect(given?.argv.filter((one) => one.includes('dangerously')).length).toBeLessThan(2);
    const raw = bootOf(given as Given);
    const kept = [raw, ...(given?.argv ?? []), ...Object.values(given?.files ?? {})].some(
      (one) =>
        one.includes(text) ||
        one.includes(JSON.stringify(text).slice(1, -1).replaceAll('\u007f', '\\u007f')) ||
        one.includes(JSON.stringify(text).slice(1, -1)),
    );
    expect(kept).toBe(true);
    expect(existsSync(join(space.root, 'x'))).toBe(false);
  });

  it('a text with a NUL never gets near a command line', () => {
    const space = governed();
    space.put('INIT_NUL.md', Buffer.from('a\0b\n'));
    const { given } = execIn(space, 'codex');
    expect(given?.argv.join('')).not.toContain('\\u0000');
    expect(space.has('INIT_NUL.md')).toBe(false);
  });

  it('leaves nothing behind, whatever TMPDIR is', () => {
    const space = governed();
    const { exit } = execIn(space, 'gemini', { env: { TMPDIR: join(space.base, 'not there yet') } });
    expect(exit).toBe(0);
    expect(statSync(join(space.base, 'not there yet')).mode & 0o777).toBe(0o700);
  });
});

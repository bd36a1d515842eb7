import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Workspace } from '../support/workspace.ts';
import { governed, TOOL_EVENTS } from './given.ts';

const slow = { timeout: 120_000 };
let space: Workspace;
beforeEach(() => {
  space = governed();
}, 60_000);
afterEach(() => space.remove());

const FILES: Readonly<Record<string, { readonly user: string; readonly project: string }>> = {
  'claude-code': { user: '.claude/settings.json', project: '.claude/settings.json' },
  codex: { user: '.codex/hooks.json', project: '.codex/hooks.json' },
  gemini: { user: '.gemini/settings.json', project: '.gemini/settings.json' },
  cursor: { user: '.cursor/hooks.json', project: '.cursor/hooks.json' },
  copilot: { user: '.copilot/hooks/writ.json', project: '.github/hooks/writ.json' },
  opencode: { user: '.config/opencode/plugins/writ.js', project: '.opencode/plugins/writ.js' },
};
const home = (path: string): string => join(space.env.HOME ?? '', path);
const put = (path: string, text: string): string => {
  mkdirSync(dirname(home(path)), { recursive: true });
  writeFileSync(home(path), text);
  return home(path);
};

/** A hook command of an installed file, run as a host runs it: by a shell. */
function commandIn(text: string, event: string): string {
  const hooks = (JSON.parse(text) as { hooks: Record<string, Record<string, unknown>[]> }).hooks;
  const entry = hooks[event]?.at(-1) ?? {};
  const inner = (Array.isArray(entry.hooks) ? entry.hooks[0] : entry) as Record<string, unknown>;
  return String(inner.command ?? inner.bash);
}

describe.each(Object.entries(FILES))('%s', (host, { user, project }) => {
  it('writes the user\u2019s file once, and takes it away again', slow, () => {
    expect(space.run(['hook', 'install', '--host', host, '--dry-run'])).toMatchObject({ exit: 0 });
    expect(existsSync(home(user))).toBe(false);
    expect(space.run(['hook', 'install', '--host', host]).exit).toBe(0);
    const first = readFileSync(home(user), 'utf8');
    expect(first).toContain(process.execPath);
    expect(space.run(['hook', 'install', '--host', host]).stderr).toContain('there already');
    expect(readFileSync(home(user), 'utf8')).toBe(first);
    expect(space.run(['hook', 'uninstall', '--host', host]).exit).toBe(0);
    expect(existsSync(home(user))).toBe(false);
    expect(space.run(['hook', 'uninstall', '--host', host]).exit).toBe(0);
  });

  it('can write the workspace\u2019s own, which is then judged like any other', slow, () => {
    const ran = space.run(['hook', 'install', '--host', host, '--project']);
    expect(ran.exit).toBe(0);
    expect(ran.stderr).toContain(`writ approve ${project} --class policy`);
    expect(space.verdict(project).findings.map((one) => one.code)).toContain('executes-unapproved');
    space.must('f13', ['approve', project, '--class', 'policy', '--yes']);
    expect(space.verdict(project).rank).toBe('binding');
  });

  it.skipIf(host === 'opencode')('installs a command that refuses, also where writ is gone', slow, () => {
    space.run(['hook', 'install', '--host', host]);
    const { event, make } = TOOL_EVENTS[host] ?? { event: '', make: () => null };
    const command = commandIn(readFileSync(home(user), 'utf8'), event);
    const call = (line: string, what: string): number => {
      writeFileSync(join(space.base, 'event.json'), JSON.stringify(make(space.root, 'write', what)));
      return space.shell(`( ${line} ) < ${join(space.base, 'event.json')}`).exit;
    };
    expect(call(command, 'CLAUDE.md')).toBe(2);
    expect(call(command, 'src/a.ts')).toBe(0);
    expect(call(command.replaceAll('writ.cjs', 'gone.cjs'), 'src/a.ts')).toBe(2);
    // What an agent got into the environment of its host leads nowhere.
    expect(
      call(`export WRIT_CONFIG=/nowhere WRIT_ROOT=x NODE_OPTIONS=--require=/nowhere.cjs; ${command}`, 'src/a.ts'),
    ).toBe(0);
  });
});

const COMMENTED = `{
\t// mine
\t"model": "m", /* and this */
\t"hooks": {
\t\t"PreToolUse": [
\t\t\t{"matcher": "Bash", "hooks": [{"type": "command", "command": "true"}]}, // kept
\t\t],
\t},
}
`;

describe('a settings file that is there', () => {
  it.each([
    ['comments and commas', COMMENTED],
    ['windows lines', COMMENTED.replaceAll('\n', '\r\n')],
    ['one line', '{"model":"m","hooks":{"Stop":[]}}'],
    ['empty hooks', '{\n  "hooks": {}\n}'],
    ['nothing', ''],
    ['a byte order mark', '\ufeff{ "a": 1 }\n'],
    ['no line end', '{"permissions":{"deny":["Read(./.env)"]}}'],
  ])('keeps what is in it and gives it back to the byte: %s', slow, (_what, text) => {
    const file = put('.claude/settings.json', text);
    chmodSync(file, 0o640);
    expect(space.run(['hook', 'install', '--host', 'claude-code']).exit).toBe(0);
    const made = readFileSync(file, 'utf8');
    for (const line of text.split(/\r?\n/).filter((one) => one.includes('//')))
      expect(made).toContain(line.replace(/,\s*\/\/.*$/, ''));
    expect(made).toContain('hook host claude-code PreToolUse --governed');
    expect(statSync(file).mode & 0o777).toBe(0o640);
    expect(space.run(['hook', 'install', '--host', 'claude-code']).stderr).toContain('there already');
    expect(space.run(['hook', 'uninstall', '--host', 'claude-code']).exit).toBe(0);
    expect(readFileSync(file, 'utf8')).toBe(text);
  });

  it('takes only its own away where the file was changed since', slow, () => {
    const file = put('.claude/settings.json', COMMENTED);
    space.run(['hook', 'install', '--host', 'claude-code']);
    writeFileSync(file, readFileSync(file, 'utf8').replace('"m"', '"n"'));
    expect(space.run(['hook', 'uninstall', '--host', 'claude-code']).exit).toBe(0);
    const left = readFileSync(file, 'utf8');
    expect(left).not.toContain('hook host');
    expect(left).toContain('// kept');
    expect(left).toContain('"model": "n"');
    expect(left).toContain('{"matcher": "Bash", "hooks": [{"type": "command", "command": "true"}]}');
  });

  it.each([
    ['no JSON', '{"hooks": '],
    ['a list', '[]'],
    ['hooks of another shape', '{"hooks": []}'],
    ['events of another shape', '{"hooks": {"PreToolUse": {}}}'],
    ['a name twice', '{"hooks": {}, "hooks": {"Stop": []}}'],
    ['a nest too deep', `${'{"a":'.repeat(500)}1${'}'.repeat(500)}`],
  ])('is left alone where it cannot be read: %s', slow, (_what, text) => {
    const file = put('.claude/settings.json', text);
    const ran = space.run(['hook', 'install', '--host', 'claude-code', '--host', 'codex']);
    expect(ran.exit).toBe(4);
    expect(readFileSync(file, 'utf8')).toBe(text);
    expect(existsSync(home('.codex/hooks.json'))).toBe(false);
  });

  it('changes the file behind a link, and never one outside for a workspace', slow, () => {
    const file = put('dotfiles/claude.json', '{}');
    mkdirSync(home('.claude'));
    symlinkSync(file, home('.claude/settings.json'));
    expect(space.run(['hook', 'install', '--host', 'claude-code']).exit).toBe(0);
    expect(lstatSync(home('.claude/settings.json')).isSymbolicLink()).toBe(true);
    expect(readFileSync(file, 'utf8')).toContain('hook host');
    symlinkSync(home('.claude'), join(space.root, '.claude'));
    expect(space.run(['hook', 'install', '--host', 'claude-code', '--project']).exit).toBe(4);
  });

  it('does not overwrite a plugin that is not its own', slow, () => {
    const file = put('.config/opencode/plugins/writ.js', 'export const Mine = 1;\n');
    expect(space.run(['hook', 'install', '--host', 'opencode']).exit).toBe(4);
    expect(space.run(['hook', 'uninstall', '--host', 'opencode']).exit).toBe(0);
    expect(readFileSync(file, 'utf8')).toBe('export const Mine = 1;\n');
  });

  it('shows the change, escaped, and makes none', slow, () => {
    const file = put('.claude/settings.json', '{"a": "\u202e"}\n');
    const ran = space.run(['hook', 'install', '--host', 'claude-code', '--dry-run']);
    expect(ran.stdout).toMatch(/^\+.*hook host claude-code PreToolUse/m);
    expect(ran.stdout).not.toContain('\u202e');
    expect(readFileSync(file, 'utf8')).toBe('{"a": "\u202e"}\n');
  });
});

it('names the hosts it knows', () => {
  expect(space.run(['hook', 'install', '--host', 'claude'])).toMatchObject({ exit: 3 });
  expect(space.run(['hook', 'install', '--project'])).toMatchObject({ exit: 3 });
});

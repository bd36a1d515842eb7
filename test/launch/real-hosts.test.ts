import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { delimiter, dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { LAUNCHES } from '../../src/generated/launch.ts';
import { Workspace } from '../support/workspace.ts';

/**
 * Holds the launch facts against the programs themselves: their --help, and what they send to a server of our own.
 * WRIT_TEST_HOSTS=DIR names a folder where npm installed them; else the search path is looked at. `npm run hosts` records what was seen.
 */
const COMMAND = join(import.meta.dirname, '..', '..', 'dist', 'writ.cjs');
const SEEN = join(import.meta.dirname, '..', '..', 'src', 'build', 'hosts-seen.json');
const given = process.env.WRIT_TEST_HOSTS;
const folders = given ? [join(given, 'node_modules', '.bin'), given] : (process.env.PATH ?? '').split(delimiter);

interface Seen {
  readonly version: string;
  readonly at: string;
}
const seen = new Map<string, Seen>();
const opened: Workspace[] = [];
const homes = new Workspace();
const requests: string[] = [];
let server: Server;

beforeAll(async () => {
  server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      requests.push(Buffer.concat(parts).toString('utf8'));
      response.writeHead(400, { 'content-type': 'application/json' });
      response.end('{"type":"error","error":{"type":"invalid_request_error","message":"seen"}}');
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
});
afterEach(() => {
  for (const one of opened.splice(0)) one.remove();
});
afterAll(() => {
  server.close();
  homes.remove();
  if (process.env.WRIT_RECORD_HOSTS !== '1') return;
  const known = JSON.parse(readFileSync(SEEN, 'utf8')) as Record<string, Seen>;
  const all = Object.entries({ ...known, ...Object.fromEntries(seen) }).sort(([a], [b]) => (a < b ? -1 : 1));
  writeFileSync(SEEN, `${JSON.stringify(Object.fromEntries(all), null, 2)}\n`);
});

function programOf(host: string): string | null {
  const name = LAUNCHES.find((one) => one.host === host)?.commands[0] ?? host;
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path)) ?? null;
}

/** Runs a program away from any configuration of ours. */
function ask(program: string, ...args: readonly string[]): string {
  return execFileSync(program, args, {
    cwd: homes.root,
    env: { ...homes.env, PATH: `${dirname(program)}:${homes.env.PATH}` },
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 60_000,
  });
}

async function execReal(
  space: Workspace,
  host: string,
  cmd: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<string> {
  requests.length = 0;
  const path = `${dirname(programOf(host) ?? '')}:${space.env.PATH}`;
  const child = spawn(process.execPath, [COMMAND, 'exec', '--host', host, '--', ...cmd], {
    cwd: space.root,
    env: { ...space.env, PATH: path, TMPDIR: space.base, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (data) => {
      said += String(data);
    });
  const late = setTimeout(() => child.kill('SIGTERM'), 90_000);
  await new Promise((done) => child.once('close', done));
  clearTimeout(late);
  return said;
}

const MODEL = (url: string): string =>
  JSON.stringify({
    provider: {
      own: { npm: '@ai-sdk/openai-compatible', options: { baseURL: `${url}/v1`, apiKey: 'x' }, models: { m: {} } },
    },
    model: 'own/m',
  });

/** How each program is asked one question of our server. */
const CALLS: Readonly<
  Record<string, { readonly cmd: readonly string[]; readonly env: (url: string) => Record<string, string> }>
> = {
  'claude-code': {
    cmd: ['claude', '-p', 'hi'],
    env: (url) => ({ ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: 'sk-ant-x' }),
  },
  codex: {
    cmd: ['codex', 'exec', '--skip-git-repo-check', 'hi'],
    env: () => ({ OPENAI_API_KEY: 'x', CODEX_API_KEY: 'x' }),
  },
  copilot: {
    cmd: ['copilot', '-p', 'hi', '--allow-all-tools'],
    env: (url) => ({
      COPILOT_OFFLINE: 'true',
      COPILOT_PROVIDER_BASE_URL: url,
      COPILOT_PROVIDER_API_KEY: 'x',
      COPILOT_MODEL: 'gpt-5',
      COPILOT_AUTO_UPDATE: 'false',
    }),
  },
  opencode: { cmd: ['opencode', 'run', 'hi'], env: (url) => ({ OPENCODE_CONFIG_CONTENT: MODEL(url) }) },
  gemini: {
    cmd: ['gemini', '-m', 'gemini-2.5-flash', '-p', 'hi'],
    env: (url) => ({ GOOGLE_GEMINI_BASE_URL: url, GEMINI_API_KEY: 'x', GEMINI_CLI_TRUST_WORKSPACE: 'true' }),
  },
};

/** A workspace with a rule that binds and, but for Gemini CLI, which cannot be narrowed without a person, with all that a host likes to read. */
function baited(host: string, url: string): Workspace {
  const space = new Workspace({ git: true });
  opened.push(space);
  space.must('f13', ['init', '--workspace', 'example.test/acme/app', '--yes']);
  space.put('AGENTS.md', '# Rules\n\n- MARK-RULE\n');
  space.must('f13', ['approve', 'AGENTS.md', '--class', 'policy', '--yes']);
  const home = (path: string, text: string): void => {
    const file = join(space.env.HOME ?? '', path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  };
  home('.gemini/settings.json', '{"security":{"auth":{"selectedType":"gemini-api-key"}}}');
  home(
    '.codex/config.toml',
    `model = "gpt-5"\nmodel_provider = "own"\n[model_providers.own]\nname = "own"\nbase_url = "${url}/v1"\nwire_api = "responses"\nenv_key = "OPENAI_API_KEY"\nrequest_max_retries = 0\nstream_max_retries = 0\n[projects."${space.root}"]\ntrust_level = "trusted"\n`,
  );
  if (host === 'gemini') return space;
  const touch = (name: string): string => `touch ${join(space.base, name)}`;
  for (const path of [
    'CLAUDE.md',
    'CLAUDE.local.md',
    '.claude/CLAUDE.md',
    '.claude/rules/r.md',
    'AGENTS.override.md',
    '.github/copilot-instructions.md',
    'GEMINI.md',
  ])
    space.put(path, `MARK-IN ${path}\n`);
  const described = (name: string): string => `---\nname: ${name}\ndescription: MARK-IN ${name}\n---\nx\n`;
  for (const path of [
    '.claude/agents/a.md',
    '.claude/skills/s/SKILL.md',
    '.agents/skills/t/SKILL.md',
    '.github/agents/g.agent.md',
    '.github/skills/u/SKILL.md',
    '.opencode/agent/o.md',
  ])
    space.put(path, described(path.replaceAll(/\W/g, '-').slice(1)));
  home('.claude/CLAUDE.md', 'MARK-HOME claude\n');
  home(`.claude/projects/${space.root.replace(/[^A-Za-z0-9]/g, '-')}/memory/MEMORY.md`, 'MARK-HOME memory\n');
  home('.copilot/copilot-instructions.md', 'MARK-HOME copilot\n');
  writeFileSync(join(space.base, 'CLAUDE.md'), 'MARK-HOME ancestor\n');
  if (host !== 'copilot') {
    space.put(
      '.claude/settings.json',
      JSON.stringify({ hooks: { SessionStart: [{ hooks: [{ type: 'command', command: touch('hook') }] }] } }),
    );
    space.put(
      '.mcp.json',
      JSON.stringify({ mcpServers: { x: { command: 'touch', args: [join(space.base, 'server')] } } }),
    );
    space.put('.codex/config.toml', 'developer_instructions = "MARK-IN codex"\n');
    space.put(
      'opencode.json',
      JSON.stringify({ mcp: { x: { type: 'local', command: ['touch', join(space.base, 'server')] } } }),
    );
  }
  return space;
}

describe.each(LAUNCHES)('$host', (launch) => {
  const program = programOf(launch.host);
  const skipped = program === null;

  it.skipIf(skipped)('has every switch in its --help', { timeout: 180_000 }, () => {
    const help = ask(program ?? '', '--help');
    const options = [
      ...launch.args,
      ...Object.values(launch.narrow).flatMap((one) => one.args),
      ...launch.resumeArgs,
      ...('option' in launch.feed ? [launch.feed.option] : []),
      ...launch.takes.map((one) => one.option),
    ].filter((word) => word.startsWith('-'));
    // What --help leaves out or writes in brackets: `--system-prompt[-file]`.
    const known = help.replaceAll(/(--[a-z-]+)\[(-[a-z]+)\]/g, '$1 $1$2');
    const missing = [...new Set(options.map((word) => word.replace(/=.*/, '')))].filter(
      (word) => !new RegExp(`(?:^|[\\s,])${word}(?![a-z-])`, 'm').test(known),
    );
    expect(missing).toEqual([]);
    const version = /\d+\.\d+\.\d+[\w.-]*/.exec(ask(program ?? '', '--version'))?.[0] ?? '';
    expect(version).not.toBe('');
    seen.set(launch.host, { version: version.replace(/\.$/, ''), at: new Date().toISOString().slice(0, 10) });
  });

  it.skipIf(skipped)(
    'sends the rules, the evidence once and nothing else that it was kept from',
    { timeout: 180_000 },
    async () => {
      const call = CALLS[launch.host];
      if (call === undefined) throw new Error(`no call for ${launch.host}`);
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const space = baited(launch.host, url);
      const said = await execReal(space, launch.host, call.cmd, call.env(url));
      const asked = requests.filter((body) => body.includes('MARK-RULE'));
      expect({ asked: asked.length, said }).not.toMatchObject({ asked: 0 });
      for (const body of requests) {
        const marks = body.match(/MARK-IN [\w./-]+/g) ?? [];
        expect(marks.length - new Set<string>(marks).size).toBe(0);
        expect(body).not.toContain('MARK-HOME');
        if (!body.includes('MARK-RULE')) expect(marks).toEqual([]);
      }
      expect(['hook', 'server'].filter((name) => existsSync(join(space.base, name)))).toEqual([]);
      rmSync(join(space.base, 'given.json'), { force: true });
    },
  );
});

it('says which hosts were not there to be asked', () => {
  const missing = LAUNCHES.filter((one) => programOf(one.host) === null).map((one) => one.host);
  if (missing.length > 0)
    process.stderr.write(`not installed, so not asked: ${missing.join(', ')} (WRIT_TEST_HOSTS=DIR)\n`);
  expect(LAUNCHES.length).toBeGreaterThan(4);
});

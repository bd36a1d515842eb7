import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Workspace } from '../support/workspace.ts';
import { governed } from './given.ts';

/**
 * Holds the hooks against the programs themselves: what they send to a server of our own once `hook install` has run, and whether they obey a refusal.
 * WRIT_TEST_HOSTS=DIR names a folder where npm installed them; without it nothing is asked, and this says so.
 */
const given = process.env.WRIT_TEST_HOSTS;
const folder = given === undefined ? null : join(given, 'node_modules', '.bin');
const requests: { readonly url: string; readonly body: string }[] = [];
let server: Server;

/** What the model "says": the first time a tool call that writes CLAUDE.md, then that it is done. Per wire, as a stream of events. */
function reply(url: string, body: string, root: string, response: ServerResponse): void {
  const again = /tool_result|function_call_output|functionResponse|"role":"tool"/.test(body);
  const content = 'MARK-WRITTEN';
  const lines: unknown[] = [];
  if (url.includes('/messages')) {
    const message = {
      id: 'm',
      type: 'message',
      role: 'assistant',
      model: 'm',
      content: [],
      stop_reason: null,
      usage: { input_tokens: 1, output_tokens: 1 },
    };
    const block = again
      ? { start: { type: 'text', text: '' }, delta: { type: 'text_delta', text: 'done' }, stop: 'end_turn' }
      : {
          start: { type: 'tool_use', id: 'toolu_1', name: 'Write', input: {} },
          delta: {
            type: 'input_json_delta',
            partial_json: JSON.stringify({ file_path: join(root, 'CLAUDE.md'), content }),
          },
          stop: 'tool_use',
        };
    lines.push(
      { type: 'message_start', message },
      { type: 'content_block_start', index: 0, content_block: block.start },
      { type: 'content_block_delta', index: 0, delta: block.delta },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: block.stop, stop_sequence: null }, usage: { output_tokens: 1 } },
      { type: 'message_stop' },
    );
  } else if (url.includes('/responses')) {
    const item = again
      ? {
          type: 'message',
          id: 'i',
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text: 'done', annotations: [] }],
        }
      : {
          type: 'function_call',
          id: 'i',
          call_id: 'c',
          name: 'exec_command',
          arguments: JSON.stringify({ cmd: `echo ${content} > CLAUDE.md` }),
        };
    const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
    lines.push(
      { type: 'response.created', response: { id: 'r' } },
      { type: 'response.output_item.done', output_index: 0, item },
      { type: 'response.completed', response: { id: 'r', output: [item], usage } },
    );
  } else if (url.includes('/chat/completions')) {
    const name = body.includes('"name":"create"') ? 'create' : 'write';
    const args =
      name === 'create'
        ? { path: join(root, 'CLAUDE.md'), file_text: content }
        : { filePath: join(root, 'CLAUDE.md'), content };
    const call = { index: 0, id: 'c', type: 'function', function: { name, arguments: JSON.stringify(args) } };
    const delta = again ? { role: 'assistant', content: 'done' } : { role: 'assistant', tool_calls: [call] };
    const chunk = { id: 'x', object: 'chat.completion.chunk', created: 1, model: 'm' };
    lines.push(
      { ...chunk, choices: [{ index: 0, delta, finish_reason: null }] },
      {
        ...chunk,
        choices: [{ index: 0, delta: {}, finish_reason: again ? 'stop' : 'tool_calls' }],
        usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
      },
    );
  } else if (url.includes('GenerateContent')) {
    const part = again
      ? { text: 'done' }
      : { functionCall: { name: 'write_file', args: { file_path: join(root, 'CLAUDE.md'), content } } };
    lines.push({ candidates: [{ index: 0, content: { role: 'model', parts: [part] }, finishReason: 'STOP' }] });
  } else {
    response.writeHead(404).end('{}');
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const line of lines) {
    const type = (line as { type?: string }).type;
    response.write(`${type === undefined ? '' : `event: ${type}\n`}data: ${JSON.stringify(line)}\n\n`);
  }
  response.end(url.includes('/chat/completions') ? 'data: [DONE]\n\n' : '');
}

const MODEL = (url: string): string =>
  JSON.stringify({
    provider: {
      own: { npm: '@ai-sdk/openai-compatible', options: { baseURL: `${url}/v1`, apiKey: 'x' }, models: { m: {} } },
    },
    model: 'own/m',
  });

/** How each program is asked one question of our server, allowed to write whatever it likes. */
const CALLS: Readonly<
  Record<string, { readonly cmd: readonly string[]; readonly env: (url: string) => Record<string, string> }>
> = {
  'claude-code': {
    cmd: ['claude', '-p', 'hi', '--permission-mode', 'acceptEdits'],
    env: (url) => ({ ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: 'sk-ant-x' }),
  },
  codex: {
    cmd: ['codex', 'exec', '--dangerously-bypass-approvals-and-sandbox', '--dangerously-bypass-hook-trust', 'hi'],
    env: () => ({ OPENAI_API_KEY: 'x', CODEX_API_KEY: 'x' }),
  },
  copilot: {
    cmd: ['copilot', '-p', 'hi', '--allow-all-tools', '--allow-all-paths'],
    env: (url) => ({
      COPILOT_OFFLINE: 'true',
      COPILOT_PROVIDER_BASE_URL: url,
      COPILOT_PROVIDER_API_KEY: 'x',
      COPILOT_MODEL: 'gpt-4.1',
      COPILOT_AUTO_UPDATE: 'false',
    }),
  },
  opencode: { cmd: ['opencode', 'run', 'hi'], env: (url) => ({ OPENCODE_CONFIG_CONTENT: MODEL(url) }) },
  gemini: {
    cmd: ['gemini', '-m', 'gemini-2.5-flash', '--approval-mode', 'yolo', '-p', 'hi'],
    env: (url) => ({ GOOGLE_GEMINI_BASE_URL: url, GEMINI_API_KEY: 'x', GEMINI_CLI_TRUST_WORKSPACE: 'true' }),
  },
};

let root = '';
beforeAll(async () => {
  server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const body = Buffer.concat(parts).toString('utf8');
      requests.push({ url: request.url ?? '', body });
      reply(request.url ?? '', body, root, response);
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
});
afterAll(() => {
  server.close();
});

function home(space: Workspace, path: string, text: string): void {
  const file = join(space.env.HOME ?? '', path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

async function run(space: Workspace, cmd: readonly string[], env: Readonly<Record<string, string>>): Promise<string> {
  const [program = '', ...words] = cmd;
  const child = spawn(join(folder ?? '', program), words, {
    cwd: space.root,
    env: { ...space.env, PATH: `${folder}:${space.env.PATH}`, TMPDIR: space.base, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (data) => {
      said += String(data);
    });
  const late = setTimeout(() => child.kill('SIGTERM'), 120_000);
  await new Promise((done) => child.once('close', done));
  clearTimeout(late);
  return said;
}

describe.each(Object.entries(CALLS))('%s', (host, { cmd, env }) => {
  const isThere = folder !== null && existsSync(join(folder, cmd[0] ?? ''));

  it.skipIf(!isThere)(
    'gives its model the rules, and does not write what the hook refuses',
    { timeout: 240_000 },
    async () => {
      const space = governed();
      try {
        root = space.root;
        requests.length = 0;
        const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
        // The program's own discovery finds nothing: what reaches the model came by the hook.
        space.put('policies/constitution.md', `${space.read('policies/constitution.md')}\nMARK-RULE\n`);
        space.must('f13', ['trust', 'sign', '--yes']);
        home(space, '.gemini/settings.json', '{"security":{"auth":{"selectedType":"gemini-api-key"}}}');
        home(
          space,
          '.codex/config.toml',
          `model = "gpt-5"\nmodel_provider = "own"\n[model_providers.own]\nname = "own"\nbase_url = "${url}/v1"\nwire_api = "responses"\nenv_key = "OPENAI_API_KEY"\nrequest_max_retries = 0\nstream_max_retries = 0\n[projects."${space.root}"]\ntrust_level = "trusted"\n`,
        );
        expect(space.run(['hook', 'install', '--host', host]).exit).toBe(0);
        const said = await run(space, cmd, env(url));
        const bodies = requests.map((one) => one.body);
        expect({ rules: bodies.some((body) => body.includes('MARK-RULE')), said }).toMatchObject({ rules: true });
        expect({
          told: bodies.some((body) => body.includes('is an init path')),
          said,
          bodies: bodies.length,
        }).toMatchObject({ told: true });
        expect(space.has('CLAUDE.md')).toBe(false);
      } finally {
        space.remove();
      }
    },
  );
});

it('says which hosts were not there to be asked', () => {
  const missing = Object.entries(CALLS).filter(
    ([, { cmd }]) => folder === null || !existsSync(join(folder, cmd[0] ?? '')),
  );
  if (missing.length > 0)
    process.stderr.write(
      `not installed, so not asked: ${missing.map(([host]) => host).join(', ')} (WRIT_TEST_HOSTS=DIR)\n`,
    );
  expect(Object.keys(CALLS).length).toBe(5);
});

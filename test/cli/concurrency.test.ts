import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Workspace } from '../support/workspace.ts';

const COMMAND = join(dirname(fileURLToPath(import.meta.url)), '..', '..', 'dist', 'writ.cjs');
const MANY = 8;

describe('several writers at once', () => {
  let ws: Workspace;
  beforeAll(() => {
    ws = new Workspace({ git: true }).govern();
  });
  afterAll(() => ws.remove());

  const start = (args: readonly string[], input: string): Promise<number> =>
    new Promise((resolve, reject) => {
      const child = spawn(process.execPath, [COMMAND, ...args], {
        cwd: ws.root,
        env: { ...ws.env, WRIT_AS: 'orch', WRIT_KEY: ws.key('orch') },
        stdio: ['pipe', 'ignore', 'ignore'],
      });
      child.on('error', reject);
      child.on('close', (code) => resolve(code ?? -1));
      child.stdin.end(input);
    });

  it('leaves one whole artifact with a proof of its own', async () => {
    const exits = await Promise.all(
      Array.from({ length: MANY }, (_, n) =>
        start(
          ['write', 'prompts/one.md', '--class', 'guidance'],
          Array.from({ length: 200 }, (_line, at) => `version ${n}, line ${at}\n`).join(''),
        ),
      ),
    );
    expect(exits).toEqual(Array(MANY).fill(0));
    expect(ws.verdict('prompts/one.md')).toMatchObject({ rank: 'advisory', writer: { principal: 'orch' } });
    expect(readdirSync(join(ws.root, 'policies', 'authorship')).length).toBe(MANY);
    expect(readdirSync(join(ws.root, 'prompts')).sort()).toEqual(['one.md', 'one.md.manifest.yaml']);
  });

  it('puts whole lines on a board, each once', async () => {
    const exits = await Promise.all(
      Array.from({ length: MANY }, (_, n) =>
        start(['post', 'agent-board.jsonl', '--kind', 'observation'], `line ${n}`),
      ),
    );
    expect(exits).toEqual(Array(MANY).fill(0));
    const lines = ws.check('agent-board.jsonl').artifacts;
    expect(lines.map((one) => one.rank)).toEqual(Array(MANY).fill('reference'));
    expect(new Set(lines.map((one) => one.writer?.principal))).toEqual(new Set(['orch']));
  });

  it('loads beside each other with one whole ledger', async () => {
    const exits = await Promise.all(Array.from({ length: 4 }, () => start(['load', '--format', 'none'], '')));
    expect(new Set(exits)).toEqual(new Set([0]));
    expect(ws.run(['log', 'verify']).exit).toBe(0);
  });
});

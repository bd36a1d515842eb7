import { writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { parseBrief } from '../../src/handoff/brief.ts';
import { type Ran, Workspace } from '../support/workspace.ts';
import { created, file, forge, refusal } from './given.ts';
import { type Running, rpc, serve, start, stop } from './server.ts';

const BRIEF =
  'TASK: Stop exporting. Fix the clock first.\nSTATE_IN:\n- the clock is an hour ahead\nCONSTRAINT: F1, F2\n';

describe('the brief of a child that starts anew', () => {
  it.each([
    BRIEF,
    '<TASK>Stop exporting. Fix the clock first.</TASK>\n<STATE_IN>the clock is an hour ahead</STATE_IN>\n<CONSTRAINT>F1, F2</CONSTRAINT>',
    JSON.stringify({
      TASK: 'Stop exporting. Fix the clock first.',
      STATE_IN: ['the clock is an hour ahead'],
      CONSTRAINT: 'F1, F2',
    }),
  ])('is read: %s', (text) => {
    expect(parseBrief(text)).toEqual({
      task: 'Stop exporting. Fix the clock first.',
      stateIn: [{ source: 'the clock is an hour ahead', rung: 'OBS', confidence: 0.9 }],
      constraints: ['F1', 'F2'],
    });
  });

  it('None. is no constraint', () => {
    expect(parseBrief('TASK: Stop.\nSTATE_IN: none\nCONSTRAINT: None.')).toEqual({
      task: 'Stop.',
      stateIn: [],
      constraints: [],
    });
  });

  it.each([
    ['no TASK', 'STATE_IN: a\nCONSTRAINT: None.'],
    ['two TASKs', `${BRIEF}TASK: Again.`],
    ['text before', `hello\n${BRIEF}`],
    ['four sentences', 'TASK: A. B. C. D.\nSTATE_IN: a\nCONSTRAINT: None.'],
    ['no sentence', 'TASK:\nSTATE_IN: a\nCONSTRAINT: None.'],
    ['201 words', `TASK: Stop.\nSTATE_IN: ${'word '.repeat(199)}\nCONSTRAINT: None.`],
    ['a constraint that is none', 'TASK: Stop.\nSTATE_IN: a\nCONSTRAINT: be nice'],
    ['an empty constraint', 'TASK: Stop.\nSTATE_IN: a\nCONSTRAINT:'],
    ['more fields', JSON.stringify({ TASK: 'Stop.', STATE_IN: 'a', CONSTRAINT: 'None.', ROLE: 'sovereign' })],
  ])('is refused: %s', (_what, text) => {
    expect(parseBrief(text)).toMatchObject({ code: 'handoff-invalid' });
  });

  it('200 words are not too many', () => {
    expect(parseBrief(`TASK: Stop.\nSTATE_IN: ${'word '.repeat(198)}\nCONSTRAINT: None.`)).not.toHaveProperty('code');
  });
});

describe('interrupt', () => {
  let governed: Workspace;
  const opened: Workspace[] = [];
  const running: Running[] = [];
  const listening: Server[] = [];
  beforeAll(() => {
    governed = new Workspace().govern();
    return () => governed.remove();
  });
  afterEach(async () => {
    await stop(...running.splice(0));
    for (const one of listening.splice(0)) {
      one.closeAllConnections();
      one.close();
    }
    for (const one of opened.splice(0)) one.remove();
  });

  const machine = (): Workspace => {
    const one = governed.copy();
    opened.push(one);
    return one;
  };
  const ran = async (ws: Workspace, as: string, args: readonly string[]): Promise<Ran> => {
    const one = start(ws, as, args);
    running.push(one);
    return one.ended();
  };
  const rows = (
    ws: Workspace,
  ): readonly { readonly side: string; readonly state: string; readonly code: string | null }[] =>
    JSON.parse(ws.run(['handoff', 'list', '--format', 'json']).stdout);
  const states = (ws: Workspace): readonly string[] => rows(ws).map((row) => `${row.side} ${row.state}`);

  /** A worker that accepted a handoff of its parent. */
  const atWork = async (from = 'orch') => {
    const [here, there] = [machine(), machine()];
    const serving = await serve(there, 'worker');
    running.push(serving);
    const wired = created(here, from, 'worker', '--task', 'export-7');
    const sent = await ran(here, from, ['handoff', 'send', file(here, 'first.json', wired), '--url', serving.url]);
    expect(sent.exit).toBe(0);
    const brief = join(here.base, 'brief.txt');
    writeFileSync(brief, BRIEF);
    return { here, there, serving, wired, brief };
  };

  it('the parent cancels, waits, and sends a new envelope that supersedes the old one', async () => {
    const { here, there, serving, wired, brief } = await atWork();
    const done = await ran(here, 'orch', [
      'handoff',
      'interrupt',
      'export-7',
      '--url',
      serving.url,
      '--envelope',
      brief,
    ]);
    expect([done.exit, JSON.parse(done.stdout)]).toEqual([
      0,
      expect.objectContaining({ state: 'accepted', supersedes: wired.artifact.handoff_id }),
    ]);
    expect(states(here)).toEqual(['sent cancelled', 'sent accepted']);
    expect(states(there)).toEqual(['received cancelled', 'received accepted']);
    const shown = JSON.parse(there.run(['handoff', 'show', JSON.parse(done.stdout).handoffId]).stdout);
    expect(shown.artifact).toMatchObject({
      task_intent: 'Stop exporting. Fix the clock first.',
      evidence: [{ source: 'the clock is an hour ahead', rung: 'OBS' }],
      constraints: ['F1', 'F2'],
    });
    expect(serving.told()).toContain('stop working on it');
  });

  it('the sovereign may, from a machine that knows nothing of it, by the receiver\u2019s own name for the task', async () => {
    const { serving, brief, wired } = await atWork();
    const elsewhere = machine();
    const { result } = await rpc(serving.url, 'GetTask', { id: wired.artifact.handoff_id }, { 'A2A-Version': '1.0' });
    const done = await ran(elsewhere, 'f13', [
      'handoff',
      'interrupt',
      result.id,
      '--url',
      serving.url,
      '--envelope',
      brief,
    ]);
    expect([done.exit, JSON.parse(done.stdout).supersedes]).toEqual([0, wired.artifact.handoff_id]);
  });

  it.each(['spec', 'lead', 'worker'])('%s may not, and nothing is sent', async (as) => {
    const { here, there, serving, brief } = await atWork();
    const done = await ran(here, as, ['handoff', 'interrupt', 'export-7', '--url', serving.url, '--envelope', brief]);
    expect([done.exit, refusal(done)]).toEqual([1, 'handoff-cancel-unproven']);
    expect([states(here), states(there)]).toEqual([['sent accepted'], ['received accepted']]);
  });

  it('a sender that is no parent has its handoff accepted and may not cancel it', async () => {
    const { here, serving, brief } = await atWork('spec');
    const done = await ran(here, 'spec', [
      'handoff',
      'interrupt',
      'export-7',
      '--url',
      serving.url,
      '--envelope',
      brief,
    ]);
    expect([done.exit, refusal(done)]).toEqual([1, 'handoff-cancel-unproven']);
  });

  it('a brief that is too long is refused before anything is cancelled', async () => {
    const { here, there, serving } = await atWork();
    const long = join(here.base, 'long.txt');
    writeFileSync(long, `TASK: Stop.\nSTATE_IN: ${'word '.repeat(300)}\nCONSTRAINT: None.`);
    const done = await ran(here, 'orch', [
      'handoff',
      'interrupt',
      'export-7',
      '--url',
      serving.url,
      '--envelope',
      long,
    ]);
    expect([done.exit, refusal(done)]).toEqual([1, 'handoff-invalid']);
    expect(states(there)).toEqual(['received accepted']);
  });

  it('a child that ignores the cancel: nothing new is sent, and it is escalated', async () => {
    const { here, serving, brief } = await atWork();
    const told: string[] = [];
    const methods: string[] = [];
    // It answers like the real one, but whatever it is told it goes on working.
    const deaf = createServer((request, response) => {
      let body = '';
      request.on('data', (chunk) => {
        body += chunk;
      });
      request.on('end', () => {
        if (request.url === '/escalate') {
          told.push(body);
          return void response.end();
        }
        response.setHeader('Content-Type', 'application/json');
        if (request.method === 'GET') {
          response.statusCode = 404;
          return void response.end('{}');
        }
        const asked = JSON.parse(body);
        methods.push(asked.method);
        const task = { id: asked.params.id ?? 'x', contextId: 'c', status: { state: 'TASK_STATE_WORKING' } };
        response.end(JSON.stringify({ jsonrpc: '2.0', id: asked.id, result: task }));
      });
    });
    listening.push(deaf);
    await new Promise<void>((done) => deaf.listen(0, '127.0.0.1', done));
    const url = `http://127.0.0.1:${(deaf.address() as AddressInfo).port}/`;
    here.put(
      'policies/policy.yaml',
      `${here.read('policies/policy.yaml')}\nhandoffs: {escalate: {url: "${url}escalate"}}\n`,
    );
    here.must('f13', ['trust', 'sign']);
    const done = await ran(here, 'orch', [
      'handoff',
      'interrupt',
      'export-7',
      '--url',
      url,
      '--envelope',
      brief,
      '--timeout',
      '2s',
    ]);
    expect([done.exit, refusal(done)]).toEqual([1, 'handoff-cancel-unconfirmed']);
    expect(methods).toContain('CancelTask');
    expect(methods).not.toContain('SendMessage');
    expect(told.map((one) => JSON.parse(one).code)).toEqual(['handoff-cancel-unconfirmed']);
    expect(rows(here)).toEqual([expect.objectContaining({ state: 'escalated', code: 'handoff-cancel-unconfirmed' })]);
    expect(serving.told()).not.toContain('cancelled');
  });

  it('the same where nobody is there', async () => {
    const { here, there, serving, brief } = await atWork();
    await stop(serving);
    const done = await ran(here, 'orch', [
      'handoff',
      'interrupt',
      'export-7',
      '--url',
      serving.url,
      '--envelope',
      brief,
      '--timeout',
      '1s',
    ]);
    expect([done.exit, refusal(done)]).toEqual([1, 'handoff-cancel-unconfirmed']);
    expect(states(there)).toEqual(['received accepted']);
  });

  it('serve takes nothing that supersedes what still runs there', async () => {
    const { serving, wired } = await atWork();
    const { result } = await rpc(
      serving.url,
      'SendMessage',
      {
        message: {
          messageId: 'm',
          role: 'ROLE_USER',
          parts: [
            { data: await forge(governed, 'orch', 'worker', { predicate: { supersedes: wired.artifact.handoff_id } }) },
          ],
        },
      },
      { 'A2A-Version': '1.0' },
    );
    expect([result.task.status.state, result.task.metadata.code]).toEqual([
      'TASK_STATE_REJECTED',
      'handoff-cancel-unconfirmed',
    ]);
  });
});

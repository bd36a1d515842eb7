import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Workspace } from '../support/workspace.ts';
import { created, file, forge } from './given.ts';
import { type Running, rpc, type Serving, serve, start, stop } from './server.ts';

const V1 = { 'A2A-Version': '1.0' };

describe('exactly once', () => {
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
  const up = async (ws: Workspace, ...more: readonly string[]): Promise<Serving> => {
    const serving = await serve(ws, 'worker', ...more);
    running.push(serving);
    return serving;
  };
  const rows = (ws: Workspace): readonly { readonly id: string; readonly side: string; readonly state: string }[] =>
    JSON.parse(ws.run(['handoff', 'list', '--format', 'json']).stdout);
  const states = (ws: Workspace): readonly string[] => rows(ws).map((row) => `${row.side} ${row.state}`);
  const post = (url: string, wired: unknown) =>
    rpc(
      url,
      'SendMessage',
      { message: { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ data: wired }] } },
      V1,
    );

  /** A wire between sender and receiver that a test can cut; `answered` is asked after the receiver answered and before the sender hears it. */
  const wire = async (to: () => string, answered: (method: string) => Promise<boolean>): Promise<string> => {
    const server = createServer((request, response) => {
      let body = '';
      request.on('data', (chunk) => {
        body += chunk;
      });
      request.on('end', () => {
        void (async () => {
          const target = to();
          const answer = await fetch(new URL(request.url ?? '/', target), {
            method: request.method ?? 'GET',
            headers: {
              'Content-Type': 'application/json',
              'A2A-Version': String(request.headers['a2a-version'] ?? ''),
            },
            ...(request.method === 'POST' ? { body } : {}),
          });
          const text = (await answer.text()).replaceAll(target, `http://${request.headers.host}/`);
          if (!(await answered(request.method ?? ''))) return void response.destroy();
          response.writeHead(answer.status, { 'Content-Type': 'application/json' });
          response.end(text);
        })().catch(() => response.destroy());
      });
    });
    listening.push(server);
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  };

  it('receiver killed between accept and answer, sender killed while waiting, both started again: one owner, nothing lost', async () => {
    const [here, there] = [machine(), machine()];
    let receiver = await up(there);
    let cut = 0;
    const url = await wire(
      () => receiver.url,
      async (method) => {
        if (method !== 'POST' || cut > 0) return true;
        // It has accepted and written it down; its answer is never heard.
        cut += 1;
        receiver.process.kill('SIGKILL');
        await receiver.ended();
        return false;
      },
    );
    const wired = created(here, 'orch', 'worker');
    const path = file(here, 'crash.json', wired);
    const sending = start(here, 'orch', ['handoff', 'send', path, '--url', url, '--timeout', '60s']);
    running.push(sending);
    while (cut === 0) await new Promise((done) => setTimeout(done, 50));
    await receiver.ended();
    sending.process.kill('SIGKILL');
    await sending.ended();
    // Told truthfully: asked, and not answered; accepted, and not told.
    expect([states(here), states(there)]).toEqual([['sent sent'], ['received accepted']]);
    receiver = await up(there);
    const again = start(here, 'orch', ['handoff', 'send', path, '--url', url]);
    running.push(again);
    expect((await again.ended()).exit).toBe(0);
    expect([states(here), states(there)]).toEqual([['sent accepted'], ['received accepted']]);
    expect(JSON.parse(there.run(['handoff', 'show', wired.artifact.handoff_id]).stdout).artifact).toEqual(
      wired.artifact,
    );
  });

  it('a sender that lives asks again until the receiver is back', async () => {
    const [here, there] = [machine(), machine()];
    let receiver = await up(there);
    let cut = 0;
    const url = await wire(
      () => receiver.url,
      async (method) => {
        if (method !== 'POST' || cut > 0) return true;
        cut += 1;
        receiver.process.kill('SIGKILL');
        await receiver.ended();
        receiver = await up(there);
        return false;
      },
    );
    const sending = start(here, 'orch', [
      'handoff',
      'send',
      file(here, 'x.json', created(here, 'orch', 'worker')),
      '--url',
      url,
      '--timeout',
      '60s',
    ]);
    running.push(sending);
    expect((await sending.ended()).exit).toBe(0);
    expect([cut, states(here), states(there)]).toEqual([1, ['sent accepted'], ['received accepted']]);
  });

  it('a hundred sends at once, most of them duplicates: each exactly once, every copy answered alike', async () => {
    const there = machine();
    const { url } = await up(there);
    const envelopes = await Promise.all(Array.from({ length: 30 }, () => forge(governed, 'orch', 'worker')));
    const all = Array.from({ length: 100 }, (_, index) => envelopes[index % envelopes.length]);
    const answers = await Promise.all(all.map((one) => post(url, one)));
    expect(answers.map((one) => one.result?.task.status.state)).toEqual(all.map(() => 'TASK_STATE_COMPLETED'));
    expect(new Set(answers.map((one) => JSON.stringify(one.result.task.artifacts))).size).toBe(30);
    expect(answers.filter((one) => one.result.task.metadata.again !== true)).toHaveLength(30);
    expect(
      rows(there)
        .map((row) => row.id)
        .sort(),
    ).toEqual(envelopes.map((one) => one.artifact.handoff_id).sort());
  });

  it('two receivers of one agent race for it: one row, and both say the same', async () => {
    const there = machine();
    const [one, two] = [await up(there), await up(there)];
    const envelopes = await Promise.all(Array.from({ length: 10 }, () => forge(governed, 'orch', 'worker')));
    for (const wired of envelopes) {
      const [a, b] = await Promise.all([post(one.url, wired), post(two.url, wired)]);
      expect(a.result.task.artifacts).toEqual(b.result.task.artifacts);
    }
    expect(rows(there)).toHaveLength(10);
  });

  it('of an accept and a reject at once one counts, and the other is told so', async () => {
    const there = machine();
    const { url } = await up(there, '--queue');
    for (let round = 0; round < 3; round += 1) {
      const wired = await forge(governed, 'orch', 'worker');
      await post(url, wired);
      const id = wired.artifact.handoff_id;
      const both = [
        start(there, 'worker', ['handoff', 'accept', id]),
        start(there, 'worker', ['handoff', 'reject', id, '--reason', 'no']),
      ];
      running.push(...both);
      const exits = (await Promise.all(both.map((one) => one.ended()))).map((one) => one.exit);
      expect([...exits].sort()).toEqual([0, 1]);
      const state = rows(there).find((row) => row.id === id)?.state;
      expect(state).toBe(exits[0] === 0 ? 'accepted' : 'rejected');
    }
  });

  it('SIGTERM ends it in order: 0, and what was under way is answered', async () => {
    const there = machine();
    const serving = await up(there);
    const wired = await forge(governed, 'orch', 'worker');
    const answer = post(serving.url, wired);
    await answer;
    serving.process.kill('SIGTERM');
    expect((await serving.ended()).exit).toBe(0);
    expect(states(there)).toEqual(['received accepted']);
  });

  it('a revocation counts within seconds, without a restart', async () => {
    const there = machine();
    const { url } = await up(there);
    expect((await post(url, await forge(governed, 'orch', 'worker'))).result.task.status.state).toBe(
      'TASK_STATE_COMPLETED',
    );
    there.must('f13', ['revoke', '--principal', 'orch', '--reason', 'key lost', '--yes']);
    await new Promise((done) => setTimeout(done, 1_200));
    const task = (await post(url, await forge(governed, 'orch', 'worker'))).result.task;
    expect(task.metadata.code).toMatch(/^(?:handoff-role|writer-unproven)$/);
  });
});

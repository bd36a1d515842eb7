import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Workspace } from '../support/workspace.ts';
import { forge, type Wired } from './given.ts';
import { rpc, type Serving, serve, stop } from './server.ts';

const V1 = { 'A2A-Version': '1.0' };
/** Longer by hand: WRIT_FUZZ_SECONDS=60. */
const SECONDS = Number(process.env.WRIT_FUZZ_SECONDS ?? 2);

describe('serve, against garbage', () => {
  let ws: Workspace;
  let serving: Serving;
  beforeAll(async () => {
    ws = new Workspace().govern();
    serving = await serve(ws, 'worker');
  });
  afterAll(async () => {
    await stop(serving);
    ws.remove();
  });

  const accepts = async (): Promise<void> => {
    const wired = await forge(ws, 'orch', 'worker');
    const params = { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ data: wired }] } };
    expect((await rpc(serving.url, 'SendMessage', params, V1)).result.task.status.state).toBe('TASK_STATE_COMPLETED');
  };
  /** Writes bytes as they are. @returns what came back until the other end closed, or nothing more came. */
  const raw = (bytes: Buffer | string, wait = 1_000): Promise<string> =>
    new Promise((done) => {
      const socket = connect(Number(new URL(serving.url).port), '127.0.0.1');
      let heard = '';
      const end = (): void => {
        socket.destroy();
        done(heard);
      };
      socket.setTimeout(wait, end);
      socket.on('data', (chunk) => {
        heard += chunk;
      });
      socket.on('error', end);
      socket.on('close', end);
      socket.write(bytes);
    });

  it('a body that is too large is not read, whether it says so or not', async () => {
    const big = Buffer.alloc(2_000_000, 0x61);
    const told = await raw(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 999999999\r\n\r\n`);
    expect(told).toMatch(/^HTTP\/1\.1 413 /);
    const chunked = `POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n${big.length.toString(16)}\r\n`;
    expect(await raw(Buffer.concat([Buffer.from(chunked), big, Buffer.from('\r\n0\r\n\r\n')]), 5_000)).toMatch(
      /^HTTP\/1\.1 413 /,
    );
    await accepts();
  });

  it('headers that are too large, or no HTTP at all', async () => {
    expect(await raw(`GET / HTTP/1.1\r\nX: ${'a'.repeat(40_000)}\r\n\r\n`)).toMatch(/^(?:HTTP\/1\.1 4\d\d |$)/);
    expect(await raw('\u0016\u0003\u0001hello\r\n\r\n')).toMatch(/^(?:HTTP\/1\.1 400 |$)/);
    await accepts();
  });

  it('JSON nested deeply, JSON that is none, and a thousand slow connections', async () => {
    for (const body of [
      '['.repeat(500_000),
      '{"a":'.repeat(200_000),
      '',
      'null',
      '[]',
      '"x"',
      '{"jsonrpc":"2.0"',
      '\0\0\0',
    ]) {
      const answer = await fetch(serving.url, { method: 'POST', body });
      expect(((await answer.json()) as { error?: unknown }).error).toBeDefined();
    }
    const slow = Array.from({ length: 300 }, () => {
      const socket = connect(Number(new URL(serving.url).port), '127.0.0.1');
      socket.on('error', () => undefined);
      socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{');
      return socket;
    });
    await accepts();
    for (const socket of slow) socket.destroy();
    await accepts();
  });

  it('words of the wrong kind in every place of a call', async () => {
    const strange: readonly unknown[] = [
      null,
      -1,
      1e308,
      '',
      [],
      {},
      true,
      { toString: 1, valueOf: 1, length: -1 },
      '__proto__',
    ];
    const wired = await forge(ws, 'orch', 'worker');
    for (const one of strange) {
      for (const method of [
        'SendMessage',
        'message/send',
        'tasks/send',
        'GetTask',
        'tasks/get',
        'CancelTask',
        'tasks/cancel',
        one,
      ]) {
        for (const params of [
          one,
          { message: one },
          { id: one, message: { parts: one } },
          { id: one, metadata: { cancel: one } },
          {
            message: {
              messageId: one,
              role: one,
              parts: [{ data: one }, { kind: one, type: one, data: { ...wired, payload: one } }],
            },
          },
        ]) {
          const headers = typeof method === 'string' && /^[A-Z]/.test(method) ? V1 : {};
          const answer = await fetch(serving.url, {
            method: 'POST',
            headers,
            body: JSON.stringify({ jsonrpc: '2.0', id: one, method, params }),
          });
          const told = (await answer.json()) as {
            result?: { task?: { status?: { state?: string } }; status?: { state?: string } };
          };
          expect(JSON.stringify(told)).not.toMatch(/COMPLETED|"completed"/);
        }
      }
    }
    await accepts();
  });

  it(
    `mutated envelopes and random bytes for ${SECONDS} s: it stands, and takes nothing that was not signed`,
    async () => {
      const wired: Wired = await forge(ws, 'orch', 'worker');
      const good = JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'SendMessage',
        params: { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ data: wired }] } },
      });
      let seed = 1;
      const random = (below: number): number => {
        seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
        return seed % below;
      };
      const mutated = (): Buffer => {
        const bytes = Buffer.from(good);
        for (let count = 1 + random(6); count > 0; count -= 1) bytes[random(bytes.length)] = random(256);
        return random(4) === 0 ? bytes.subarray(0, random(bytes.length)) : bytes;
      };
      const until = performance.now() + SECONDS * 1_000;
      let sent = 0;
      while (performance.now() < until) {
        await Promise.all(
          Array.from({ length: 16 }, async () => {
            sent += 1;
            if (random(3) === 0) {
              await raw(Buffer.from(Array.from({ length: 1 + random(400) }, () => random(256))), 50);
              return;
            }
            const answer = await fetch(serving.url, {
              method: 'POST',
              headers: V1,
              body: new Uint8Array(mutated()),
            }).catch(() => null);
            const told = await answer?.text();
            // What lies outside of what is signed may change: the envelope is still the one that was signed.
            if (told?.includes('COMPLETED')) expect(told).toContain(wired.artifact.handoff_id);
          }),
        );
      }
      expect(sent).toBeGreaterThan(16);
      expect(serving.process.exitCode).toBeNull();
      await accepts();
    },
    (SECONDS + 60) * 1_000,
  );
});

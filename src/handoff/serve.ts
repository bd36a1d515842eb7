import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { AgentCard, Extensions } from '@a2a-js/sdk';
import { LegacyJsonRpcTransportHandler } from '@a2a-js/sdk/compat/v0_3/server';
import {
  type A2ARequestHandler,
  JsonRpcTransportHandler,
  ServerCallContext,
  UnauthenticatedUser,
} from '@a2a-js/sdk/server';
import { MAX_WIRE } from '../parse/handoff-envelope.ts';
import { isJsonObject, type Json } from '../sign/field-reader.ts';
import { agentOf, type Telling } from './agent.ts';
import { CARD_PATHS, cardJson, cardOf } from './card.ts';
import { forOldest, fromOldest } from './old-clients.ts';
import type { Receiver } from './receive.ts';

/** Bounds of one server. Times are ms, sizes bytes. */
const LIMITS = {
  body: MAX_WIRE + 262_144,
  headerBytes: 16_384,
  headers: 10_000,
  request: 15_000,
  idle: 5_000,
  connections: 512,
  atOnce: 32,
  waiting: 480,
  depth: 32,
} as const;

export interface Serving {
  readonly url: string;
  readonly card: string;
  /** Takes no new request, ends those under way, then resolves. */
  close(): Promise<void>;
}

export interface ServeOptions {
  readonly host: string;
  readonly port: number;
  /** The address clients reach it by; null where that is the one it listens on. */
  readonly publicUrl: string | null;
}

/** Listens for handoffs. Rejects with the system error where it cannot listen. */
export async function serveHandoffs(options: ServeOptions, receiver: Receiver, tell: Telling): Promise<Serving> {
  const turn = turns();
  let answer: ((request: IncomingMessage, response: ServerResponse) => Promise<void>) | null = null;
  const server = createServer(
    {
      maxHeaderSize: LIMITS.headerBytes,
      headersTimeout: LIMITS.headers,
      requestTimeout: LIMITS.request,
      keepAliveTimeout: LIMITS.idle,
      connectionsCheckingInterval: 1_000,
    },
    (request, response) => {
      request.on('error', () => response.destroy());
      response.on('error', () => undefined);
      if (answer === null || !turn.enter()) return void reply(response, 503, { error: 'busy: ask again' });
      answer(request, response)
        .catch((error: unknown) => {
          tell(`could not answer: ${error instanceof Error ? error.message : 'unknown error'}`);
          reply(response, 500, {
            jsonrpc: '2.0',
            id: null,
            error: { code: -32603, message: 'could not be done; nothing was answered' },
          });
        })
        .finally(turn.leave);
    },
  );
  server.maxConnections = LIMITS.connections;
  server.on('clientError', (_error, socket) => {
    if (socket.writable) socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n');
    else socket.destroy();
  });
  await new Promise<void>((done, fail) => {
    server.once('error', fail);
    server.listen(options.port, options.host, () => {
      server.removeListener('error', fail);
      done();
    });
  });
  server.on('error', (error) => tell(`the listener: ${error.message}`));
  const url = options.publicUrl ?? urlOf(server);
  const card = cardOf(receiver.signer.identity.principal, url);
  const handler = agentOf(card, receiver, tell);
  answer = answering(handler, card, turn.wait);
  return { url, card: `${url.replace(/\/$/, '')}${CARD_PATHS[0]}`, close: () => closing(server) };
}

function urlOf(server: Server): string {
  const { address, family, port } = server.address() as AddressInfo;
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}/`;
}

function answering(
  handler: A2ARequestHandler,
  card: AgentCard,
  wait: () => Promise<() => void>,
): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  const told = cardJson(card, AgentCard.toJSON);
  const today = new JsonRpcTransportHandler(handler);
  const legacy = new LegacyJsonRpcTransportHandler(handler);
  return async (request, response) => {
    const path = (request.url ?? '/').split('?')[0] ?? '/';
    if (request.method === 'GET' && CARD_PATHS.some((one) => one === path)) return reply(response, 200, told);
    if (path !== '/')
      return reply(response, 404, { error: `there is nothing here but ${CARD_PATHS.join(', ')} and /` });
    if (request.method !== 'POST') return reply(response, 405, { error: 'POST a JSON-RPC request' }, { Allow: 'POST' });
    const body = await readBody(request);
    if (body === 'too-large') {
      reply(response, 413, fault(-32600, 'the request is larger than this agent reads'), { Connection: 'close' });
      return;
    }
    if (body === 'cut') return void response.destroy();
    const asked = parseRequest(body);
    if (asked === null) return reply(response, 200, fault(-32700, 'the request is no JSON object'));
    const release = await wait();
    try {
      await rpc(request, response, asked, { today, legacy });
    } finally {
      release();
    }
  };
}

async function rpc(
  request: IncomingMessage,
  response: ServerResponse,
  asked: Json,
  handlers: { readonly today: JsonRpcTransportHandler; readonly legacy: LegacyJsonRpcTransportHandler },
): Promise<void> {
  const version = headerOf(request, 'a2a-version') ?? '0.3';
  // A client that forgets the header is known by its words.
  const isToday = /^1(?:\.\d+)*$/.test(version) || (typeof asked.method === 'string' && /^[A-Z]/.test(asked.method));
  if (!isToday && !/^0\.[123](?:\.\d+)*$/.test(version))
    return reply(response, 200, { ...fault(-32009, 'this agent speaks A2A 1.0, 0.3, 0.2 and 0.1'), id: idOf(asked) });
  const extensions = headerOf(request, 'a2a-extensions') ?? headerOf(request, 'x-a2a-extensions');
  const context = new ServerCallContext({
    user: new UnauthenticatedUser(),
    requestedVersion: isToday ? '1.0' : '0.3',
    ...(extensions === null ? {} : { requestedExtensions: Extensions.parseServiceParameter(extensions) }),
  });
  const answered = isToday
    ? await handlers.today.handle({ ...asked }, context)
    : await handlers.legacy.handle({ ...fromOldest(asked) }, context);
  const activated = [...(context.activatedExtensions ?? [])].join(',');
  const headers: Record<string, string> =
    activated === '' ? {} : { [isToday ? 'A2A-Extensions' : 'X-A2A-Extensions']: activated };
  if (Symbol.asyncIterator in answered)
    return reply(response, 200, { ...fault(-32004, 'this agent does not stream'), id: idOf(asked) });
  const json = answered as unknown as Json;
  return reply(response, 200, isToday ? json : forOldest(asked, json), headers);
}

/** @returns the body, or why there is none: it grew too large, or the client went away. */
async function readBody(request: IncomingMessage): Promise<string | 'too-large' | 'cut'> {
  if (Number(request.headers['content-length'] ?? 0) > LIMITS.body) return 'too-large';
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of request) {
      size += (chunk as Buffer).length;
      if (size > LIMITS.body) return 'too-large';
      chunks.push(chunk as Buffer);
    }
  } catch {
    return 'cut';
  }
  return Buffer.concat(chunks).toString('utf8');
}

function parseRequest(body: string): Json | null {
  if (isTooDeep(body)) return null;
  try {
    const value: unknown = JSON.parse(body);
    return isJsonObject(value) ? value : null;
  } catch {
    return null;
  }
}

/** What is nested deeper than any request needs would overflow those who walk it. Brackets in strings count: too many of them mean nothing either. */
function isTooDeep(body: string): boolean {
  let depth = 0;
  let inString = false;
  for (let at = 0; at < body.length; at += 1) {
    const char = body.charCodeAt(at);
    if (inString) {
      if (char === 0x5c) at += 1;
      else if (char === 0x22) inString = false;
    } else if (char === 0x22) inString = true;
    else if (char === 0x7b || char === 0x5b) {
      depth += 1;
      if (depth > LIMITS.depth) return true;
    } else if (char === 0x7d || char === 0x5d) depth -= 1;
  }
  return false;
}

function headerOf(request: IncomingMessage, name: string): string | null {
  const found = request.headers[name];
  return typeof found === 'string' && found !== '' ? found : null;
}

function idOf({ id }: Json): string | number | null {
  return typeof id === 'string' || typeof id === 'number' ? id : null;
}

function fault(code: number, message: string): Json {
  return { jsonrpc: '2.0', id: null, error: { code, message } };
}

function reply(
  response: ServerResponse,
  status: number,
  json: Json,
  headers: Readonly<Record<string, string>> = {},
): void {
  if (response.headersSent || response.destroyed) return;
  const text = JSON.stringify(json);
  response.writeHead(status, {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(text),
    'X-Content-Type-Options': 'nosniff',
    ...headers,
  });
  response.end(text);
}

/** So many requests are worked on at once, so many more wait; the rest is told to come again. */
function turns(): { enter(): boolean; leave(): void; wait(): Promise<() => void> } {
  let inside = 0;
  let working = 0;
  const queue: (() => void)[] = [];
  const release = (): void => {
    const next = queue.shift();
    if (next) next();
    else working -= 1;
  };
  return {
    enter() {
      if (inside >= LIMITS.atOnce + LIMITS.waiting) return false;
      inside += 1;
      return true;
    },
    leave() {
      inside -= 1;
    },
    async wait() {
      if (working < LIMITS.atOnce) working += 1;
      else await new Promise<void>((go) => queue.push(go));
      return release;
    },
  };
}

async function closing(server: Server): Promise<void> {
  await new Promise<void>((done) => {
    server.close(() => done());
    server.closeIdleConnections();
    setTimeout(() => server.closeAllConnections(), LIMITS.idle).unref();
  });
}

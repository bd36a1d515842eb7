import type { AgentCard } from '@a2a-js/sdk';
import { ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory } from '@a2a-js/sdk/client';
import { isJsonObject, type Json } from '../sign/field-reader.ts';
import { CARD_PATHS, cardOf, EXTENSION } from './card.ts';
import { boundedFetch } from './fetch.ts';

/** What a receiver answered, whatever version it speaks. Nothing in it is proven but what is signed. */
export interface Answered {
  /** The receiver’s name for the task; empty where it gave none. */
  readonly task: string;
  /** The word for its state in lower case, as A2A 0.3 spells it. */
  readonly state: string;
  /** What its parts hold as data. */
  readonly data: readonly unknown[];
  /** What it says in plain text, at most 600 characters. */
  readonly said: string | null;
  /** The metadata of the task. */
  readonly metadata: Json;
}

/** One receiver, spoken to in the newest words its card knows. Every call throws where there is no answer in time. */
export interface HandoffClient {
  send(envelope: Json, messageId: string): Promise<Answered>;
  get(task: string): Promise<Answered>;
  /** @param order the signed cancel. */
  cancel(task: string, order: Json): Promise<Answered>;
}

/** Reads the card of a receiver and finds the words to speak to it. Throws where the card leads to another host. */
export async function connect(url: string, signal: AbortSignal): Promise<HandoffClient> {
  const fetchImpl = boundedFetch(signal);
  const card = await readCard(url, fetchImpl);
  if (card !== null && isOldest(card.json, card.path)) return oldestClient(endpointOf(card.json, url), fetchImpl);
  const legacyCompat = { enabled: true };
  const resolver = new DefaultAgentCardResolver({ legacyCompat });
  // Where there is no card the address itself is asked, in the words of today.
  const known: AgentCard = card === null ? cardOf('unknown', url) : resolver.normalizeAgentCard(card.json);
  for (const one of known.supportedInterfaces ?? []) sameHost(one.url, url);
  const factory = new ClientFactory({
    transports: [new JsonRpcTransportFactory({ fetchImpl, legacyCompat })],
    cardResolver: resolver,
  });
  const client = await factory.createFromAgentCard(known);
  const options = { serviceParameters: { 'A2A-Extensions': EXTENSION }, signal };
  return {
    async send(envelope, messageId) {
      const message = {
        messageId,
        contextId: '',
        taskId: '',
        role: 1,
        parts: [
          {
            content: { $case: 'data' as const, value: envelope },
            metadata: undefined,
            filename: '',
            mediaType: 'application/json',
          },
        ],
        metadata: { handoff: true },
        extensions: [EXTENSION],
        referenceTaskIds: [],
      };
      return toAnswered(
        await client.sendMessage(
          { tenant: '', message, configuration: undefined, metadata: { handoff: true } },
          options,
        ),
      );
    },
    get: async (id) => toAnswered(await client.getTask({ tenant: '', id, historyLength: undefined }, options)),
    cancel: async (id, order) =>
      toAnswered(await client.cancelTask({ tenant: '', id, metadata: { handoff: true, cancel: order } }, options)),
  };
}

async function readCard(
  url: string,
  fetchImpl: typeof fetch,
): Promise<{ readonly json: Json; readonly path: string } | null> {
  for (const path of CARD_PATHS) {
    const answer = await fetchImpl(new URL(path, url), {
      headers: { Accept: 'application/json', 'A2A-Version': '1.0' },
    });
    if (answer.status === 404 || answer.status === 405) continue;
    if (!answer.ok) throw new Error(`the card was answered with ${answer.status}`);
    const json: unknown = await answer.json().catch(() => null);
    if (isJsonObject(json)) return { json, path };
  }
  return null;
}

/** Before 0.2 a card named no protocol version, and lay at the old path alone. */
function isOldest(card: Json, path: string): boolean {
  return (
    path === CARD_PATHS[1] &&
    !Array.isArray(card.supportedInterfaces) &&
    (typeof card.protocolVersion !== 'string' || card.protocolVersion.startsWith('0.1'))
  );
}

function endpointOf({ url }: Json, given: string): string {
  if (typeof url !== 'string') return given;
  sameHost(url, given);
  return url;
}

/** The envelope goes where the user said, and a card cannot send it elsewhere. */
function sameHost(url: string, given: string): void {
  if (
    !URL.canParse(url) ||
    new URL(url).hostname !== new URL(given).hostname ||
    !/^https?:$/.test(new URL(url).protocol)
  )
    throw new Error('its card leads to another host; name that one with --url');
}

/** A2A 0.1 has no client in the SDK. */
function oldestClient(url: string, fetchImpl: typeof fetch): HandoffClient {
  const call = async (method: string, params: Json): Promise<Answered> => {
    const answer = await fetchImpl(url, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    });
    const json: unknown = await answer.json();
    if (!isJsonObject(json)) throw new Error('the answer is no JSON object');
    if (isJsonObject(json.error)) throw new Error(textOr(json.error.message, 'an error').slice(0, 600));
    return toAnswered(json.result);
  };
  return {
    send: (envelope, messageId) =>
      call('tasks/send', {
        id: messageId,
        sessionId: messageId,
        message: { role: 'user', parts: [{ type: 'data', data: envelope }], metadata: { handoff: true } },
        metadata: { handoff: true },
      }),
    get: (id) => call('tasks/get', { id }),
    cancel: (id, order) => call('tasks/cancel', { id, metadata: { handoff: true, cancel: order } }),
  };
}

const STATE_WORDS = [
  'unspecified',
  'submitted',
  'working',
  'completed',
  'failed',
  'canceled',
  'input-required',
  'rejected',
  'auth-required',
];

/** Reads a task or message of any version, believing none of it. */
function toAnswered(result: unknown): Answered {
  if (!isJsonObject(result)) return { task: '', state: 'unknown', data: [], said: null, metadata: {} };
  const status = isJsonObject(result.status) ? result.status : {};
  const artifacts = Array.isArray(result.artifacts) ? (result.artifacts as unknown[]).slice(0, 64) : [];
  const parts = [...artifacts, result].flatMap((one) => partsOf(one));
  const texts = [...partsOf(status.message), ...partsOf(result)].map(textIn).filter((one) => one !== null);
  return {
    task: typeof result.id === 'string' ? result.id : '',
    state:
      typeof status.state === 'number'
        ? (STATE_WORDS[status.state] ?? 'unknown')
        : textOr(status.state, 'unknown').slice(0, 40),
    data: parts.map(dataIn).filter((one) => one !== null),
    said: texts[0]?.slice(0, 600) ?? null,
    metadata: isJsonObject(result.metadata) ? result.metadata : {},
  };
}

function textOr(value: unknown, or: string): string {
  return typeof value === 'string' ? value : or;
}

function partsOf(of: unknown): readonly unknown[] {
  return isJsonObject(of) && Array.isArray(of.parts) ? (of.parts as unknown[]).slice(0, 64) : [];
}

function dataIn(part: unknown): unknown {
  if (!isJsonObject(part)) return null;
  const { content } = part;
  if (isJsonObject(content)) return content.$case === 'data' ? content.value : null;
  return part.data ?? null;
}

function textIn(part: unknown): string | null {
  if (!isJsonObject(part)) return null;
  const { content } = part;
  const value = isJsonObject(content) && content.$case === 'text' ? content.value : part.text;
  return typeof value === 'string' ? value : null;
}

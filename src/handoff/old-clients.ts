import { isJsonObject, type Json } from '../sign/field-reader.ts';

/**
 * A2A 0.1 asked with `tasks/send`, named its tasks itself and called the kind of a part `type`; 0.2 and 0.3 have `message/send` and `kind`. The first is
 * put into the words of the second, and every answer to an old client carries both, so each finds what it looks for.
 */
export function fromOldest(request: Json): Json {
  const { params } = request;
  if (request.method !== 'tasks/send' || !isJsonObject(params)) return request;
  const message = isJsonObject(params.message) ? params.message : {};
  const parts = Array.isArray(message.parts) ? (message.parts as unknown[]) : [];
  return {
    ...request,
    method: 'message/send',
    params: {
      message: {
        kind: 'message',
        messageId: typeof params.id === 'string' && params.id !== '' ? params.id : globalThis.crypto.randomUUID(),
        role: 'user',
        parts: parts.map(withKind),
        metadata: { ...asObject(message.metadata), ...asObject(params.metadata) },
      },
    },
  };
}

/** @returns the answer with what a client of 0.1 looks for beside what one of 0.3 does. */
export function forOldest(request: Json, answer: Json): Json {
  const { result } = answer;
  if (!isJsonObject(result) || !Array.isArray(result.artifacts)) return answer;
  const { params } = request;
  const given = request.method === 'tasks/send' && isJsonObject(params) ? params.id : undefined;
  return {
    ...answer,
    result: {
      ...result,
      ...(typeof given === 'string' && given !== '' ? { id: given } : {}),
      sessionId: result.contextId,
      status: isJsonObject(result.status) ? withTypes(result.status, 'message') : result.status,
      artifacts: (result.artifacts as unknown[]).map((one, index) =>
        isJsonObject(one) ? { ...withTypedParts(one), index } : one,
      ),
    },
  };
}

function withTypes(status: Json, name: string): Json {
  const inner = status[name];
  return isJsonObject(inner) ? { ...status, [name]: withTypedParts(inner) } : status;
}

function withTypedParts(of: Json): Json {
  const parts = Array.isArray(of.parts) ? (of.parts as unknown[]) : [];
  return { ...of, parts: parts.map((part) => (isJsonObject(part) ? { ...part, type: part.kind } : part)) };
}

function withKind(part: unknown): unknown {
  return isJsonObject(part) && part.kind === undefined ? { ...part, kind: part.type } : part;
}

function asObject(value: unknown): Json {
  return isJsonObject(value) ? value : {};
}

/** Largest answer read from anybody, bytes. */
const MAX_ANSWER = 2_097_152;

/** `fetch` for addresses and servers that are not trusted: no redirects, a bounded answer, and an end. Throws where any of these is passed. */
export function boundedFetch(signal: AbortSignal): typeof fetch {
  return async (input, init) => {
    const answer = await fetch(input, { ...init, redirect: 'error', signal });
    const chunks: Uint8Array[] = [];
    let size = 0;
    for await (const chunk of answer.body ?? []) {
      const bytes = chunk as Uint8Array;
      size += bytes.length;
      if (size > MAX_ANSWER) throw new Error('the answer is larger than this client reads');
      chunks.push(bytes);
    }
    const empty = [101, 204, 205, 304].includes(answer.status);
    return new Response(empty ? null : Buffer.concat(chunks), { status: answer.status, headers: answer.headers });
  };
}

import { isObject, isSpace, type JsonObject, own, PROFILES, type Profile, TAG } from './envelope.ts';
import { readJson } from './read-json.ts';

/**
 * The envelope in an agent's output, where it is still emitted as a fenced block: the first block tagged `agent_contract_handoff`, whose body has to
 * be a JSON object; only where there is no such block, the last `json` block that has the shape of an envelope. Null where there is none.
 * A fence closes at a line that begins with it and goes on with nothing but white space, so a fence quoted in a JSON string closes nothing.
 * Linear in the text. @param profile whose status key a `json` block has to have; null for either.
 */
export function parseFence(output: string, profile: Profile | null): JsonObject | null {
  const [tagged] = fences(output, TAG, 1);
  if (tagged !== undefined) {
    const body = objectIn(tagged);
    return body === null ? null : { ...body, _contract_tag: TAG };
  }
  const keys = profile === null ? PROFILES : [profile];
  let last: JsonObject | null = null;
  for (const text of fences(output, 'json', Infinity)) {
    const body = objectIn(text);
    const status = own(body, 'agent_status');
    if (body !== null && keys.some((key) => Boolean(own(status, key)))) last = body;
  }
  return last === null ? null : { ...last, _contract_tag: TAG };
}

function objectIn(text: string): JsonObject | null {
  const read = readJson(text);
  return 'value' in read && isObject(read.value) ? read.value : null;
}

/** The bodies of the fenced blocks of one tag, at most `most` of them. */
function fences(output: string, tag: string, most: number): readonly string[] {
  const opening = `\`\`\`${tag}`;
  const bodies: string[] = [];
  let from = 0;
  while (bodies.length < most) {
    const start = output.indexOf(opening, from);
    if (start === -1) break;
    const after = start + opening.length;
    const body = bodyStart(output, after);
    if (body === null) {
      from = after;
      continue;
    }
    const end = closing(output, body);
    if (end === null) break;
    bodies.push(output.slice(body, Math.max(body, end)));
    from = end + 4;
  }
  return bodies;
}

/** Where a body begins: behind the last line feed of the white space that follows the tag. Null where the tag goes on with anything else. */
function bodyStart(output: string, after: number): number | null {
  let end = after;
  while (end < output.length && isSpace(output.charAt(end))) end += 1;
  const feed = output.lastIndexOf('\n', end - 1);
  return feed < after ? null : feed + 1;
}

/** The line feed before the closing fence; for an empty body the one before it. */
function closing(output: string, body: number): number | null {
  for (let at = output.indexOf('\n```', body - 1); at !== -1; at = output.indexOf('\n```', at + 1)) {
    const next = output.charAt(at + 4);
    if (next === '' || isSpace(next)) return at;
  }
  return null;
}

import { findBlock } from './find-block.ts';

/** What a stream of events said, in the order it came. */
interface Heard {
  /** What the agent itself said. */
  readonly messages: string;
  /** Errors of the stream, joined: how a vendor says that an account is throttled. */
  readonly errors: string;
}

/** Longest event that is read, in characters: longer lines carry output of tools. */
const MAX_LINE = 4_194_304;

/** @returns whether an output is a stream of events as `codex exec --json` prints it. */
export function isEventStream(output: string): boolean {
  const first = /^\s*(\{[^\n]{0,4096})/.exec(output.slice(0, 8_192))?.[1];
  return first !== undefined && eventOf(first)?.type === 'thread.started';
}

/** Reads a stream of events, one JSON object a line; a line that is none is the agent's own word. Never throws. */
function readEvents(output: string): Heard {
  const messages: string[] = [];
  const errors: string[] = [];
  for (let at = 0; at < output.length; ) {
    const newline = output.indexOf('\n', at);
    const end = newline === -1 ? output.length : newline;
    const line = end - at > MAX_LINE ? '' : output.slice(at, end);
    at = end + 1;
    const event = eventOf(line.trim());
    if (event === null) messages.push(line);
    else if (event.type === 'item.completed') {
      const item = recordOf(event.item);
      const kind = item?.type ?? item?.item_type;
      if (kind === 'agent_message' || kind === 'assistant_message') messages.push(textOf(item?.text));
      else if (kind === 'error') errors.push(textOf(item?.message));
    } else if (event.type === 'turn.failed') errors.push(textOf(recordOf(event.error)?.message));
    else if (event.type === 'error') errors.push(textOf(event.message));
  }
  return { messages: messages.join('\n'), errors: errors.join('\n') };
}

function eventOf(line: string): Readonly<Record<string, unknown>> | null {
  if (!line.startsWith('{')) return null;
  try {
    const value = recordOf(JSON.parse(line));
    return typeof value?.type === 'string' ? value : null;
  } catch {
    return null;
  }
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : null;
}

/** What is read of a stream: what the agent said, and where it left no block also the errors. */
export function spokenOf(output: string): string {
  const { messages, errors } = readEvents(output);
  return errors === '' || findBlock(messages) !== null ? messages : `${messages}\n${errors}`;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

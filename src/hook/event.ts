/** What a host says on stdin, as far as writ looks at it. Every field is the host's word, some of it an agent's. */
export interface HookEvent {
  /** The event's own name in the text; null where the host does not say. */
  readonly named: string | null;
  /** The folder the session is in; null where the host does not say. */
  readonly cwd: string | null;
  readonly tool: string | null;
  /** What the tool was called with, any shape. Undefined where nothing was said. */
  readonly input: unknown;
  readonly agent: { readonly id: string | null; readonly type: string | null };
  /** Why a turn ended; null where the host does not say. */
  readonly stopReason: string | null;
}

/** Reads an event, in whichever of the hosts' spellings it comes. @returns why it is none, in plain words. */
export function parseHookEvent(bytes: Uint8Array): HookEvent | { readonly fault: string } {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    return { fault: bytes.length === 0 ? 'nothing came on stdin' : 'what came on stdin is no JSON' };
  }
  if (!isRecord(value)) return { fault: 'what came on stdin is no JSON object' };
  const text = (...keys: readonly string[]): string | null => {
    const found = keys.map((key) => own(value, key)).find((one) => typeof one === 'string' && one !== '');
    return typeof found === 'string' ? found : null;
  };
  const named = text('hook_event_name', 'hookEventName');
  const input = firstOf(value, ['tool_input', 'toolArgs', 'toolInput', 'tool_args', 'args', 'input']);
  const command = own(value, 'command');
  // Cursor asks about a command line by itself, without naming a tool.
  const bare = input === undefined && command !== undefined;
  const roots = own(value, 'workspace_roots');
  const first: unknown = Array.isArray(roots) ? roots[0] : null;
  return {
    named,
    cwd: text('cwd', 'directory') ?? (typeof first === 'string' ? first : null),
    tool: text('tool_name', 'toolName', 'tool') ?? (bare ? 'Shell' : null),
    input: bare ? { command } : unpacked(input),
    agent: {
      id: text('agent_id', 'agentId', 'subagent_id', 'subagentId'),
      type: text('agent_type', 'agentType', 'subagent_type', 'subagentType', 'agentName', 'agent_name'),
    },
    stopReason: text('stop_reason', 'stopReason'),
  };
}

/** Arguments that come as text of JSON, as Copilot gives them; other text stays text. */
function unpacked(input: unknown): unknown {
  if (typeof input !== 'string' || !/^\s*[[{]/.test(input)) return input;
  try {
    return JSON.parse(input);
  } catch {
    return input;
  }
}

function firstOf(value: Readonly<Record<string, unknown>>, keys: readonly string[]): unknown {
  return keys.map((key) => own(value, key)).find((one) => one !== undefined && one !== null);
}

/** A key of the text itself, never one of Object's. */
export function own(value: Readonly<Record<string, unknown>>, key: string): unknown {
  return Object.hasOwn(value, key) ? value[key] : undefined;
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

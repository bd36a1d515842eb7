import { Workspace } from '../support/workspace.ts';

export interface Answered {
  readonly exit: number;
  readonly stderr: string;
  /** What the host reads; null where nothing was printed. Throws where it is no JSON. */
  readonly answer: Record<string, unknown> | null;
}

/** Sends one event to `writ hook host`. A string goes to stdin as it is. */
export function ask(
  space: Workspace,
  host: string,
  event: string,
  input: unknown,
  options: {
    readonly flags?: readonly string[];
    readonly cwd?: string;
    readonly env?: Readonly<Record<string, string>>;
  } = {},
): Answered {
  const text = typeof input === 'string' || Buffer.isBuffer(input) ? input : JSON.stringify(input);
  const ran = space.run(['hook', 'host', host, event, ...(options.flags ?? [])], {
    input: text,
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    ...(options.env === undefined ? {} : { env: options.env }),
  });
  return {
    exit: ran.exit,
    stderr: ran.stderr,
    answer: ran.stdout.trim() === '' ? null : (JSON.parse(ran.stdout) as Record<string, unknown>),
  };
}

/** What each host sends before a tool runs, in its own words and shape (interfaces.md, section 2). */
export const TOOL_EVENTS: Readonly<
  Record<
    string,
    { readonly event: string; readonly make: (cwd: string, tool: 'write' | 'shell', what: string) => unknown }
  >
> = {
  'claude-code': {
    event: 'PreToolUse',
    make: (cwd, tool, what) => ({
      session_id: '6a1f',
      transcript_path: `${cwd}/t.jsonl`,
      cwd,
      permission_mode: 'default',
      hook_event_name: 'PreToolUse',
      tool_name: tool === 'write' ? 'Write' : 'Bash',
      tool_input:
        tool === 'write' ? { file_path: `${cwd}/${what}`, content: 'x' } : { command: what, description: 'd' },
      tool_use_id: 'toolu_1',
    }),
  },
  codex: {
    event: 'PreToolUse',
    make: (cwd, tool, what) => ({
      session_id: '6a1f',
      transcript_path: null,
      cwd,
      hook_event_name: 'PreToolUse',
      model: 'm',
      turn_id: '1',
      permission_mode: 'default',
      tool_name: tool === 'write' ? 'apply_patch' : 'Bash',
      tool_input: {
        command: tool === 'write' ? `*** Begin Patch\n*** Add File: ${what}\n+x\n*** End Patch\n` : what,
      },
    }),
  },
  gemini: {
    event: 'BeforeTool',
    make: (cwd, tool, what) => ({
      session_id: '6a1f',
      transcript_path: '',
      cwd,
      hook_event_name: 'BeforeTool',
      timestamp: '2026-11-30T10:00:00.000Z',
      tool_name: tool === 'write' ? 'write_file' : 'run_shell_command',
      tool_input: tool === 'write' ? { file_path: what, content: 'x' } : { command: what },
    }),
  },
  cursor: {
    event: 'preToolUse',
    make: (cwd, tool, what) => ({
      conversation_id: 'c',
      generation_id: 'g',
      model: 'm',
      hook_event_name: 'preToolUse',
      cursor_version: '1.7.2',
      workspace_roots: [cwd],
      user_email: null,
      transcript_path: null,
      tool_name: tool === 'write' ? 'Write' : 'Shell',
      tool_input:
        tool === 'write' ? { file_path: `${cwd}/${what}`, content: 'x' } : { command: what, working_directory: cwd },
    }),
  },
  copilot: {
    event: 'preToolUse',
    make: (cwd, tool, what) => ({
      sessionId: '6a1f',
      timestamp: 1_700_000_000_000,
      cwd,
      toolName: tool === 'write' ? 'create' : 'bash',
      toolArgs: JSON.stringify(tool === 'write' ? { path: `${cwd}/${what}`, file_text: 'x' } : { command: what }),
    }),
  },
  opencode: {
    event: 'tool.execute.before',
    make: (cwd, tool, what) => ({
      tool: tool === 'write' ? 'write' : 'bash',
      sessionID: 's',
      callID: 'c',
      cwd,
      args: tool === 'write' ? { filePath: `${cwd}/${what}`, content: 'x' } : { command: what },
    }),
  },
};

/** A governed workspace with one rule that binds. */
export function governed(): Workspace {
  const space = new Workspace({ git: true });
  space.must('f13', ['init', '--workspace', 'example.test/acme/app', '--yes']);
  space.put('AGENTS.md', '# Rules\n\n- Run the tests.\n');
  space.must('f13', ['approve', 'AGENTS.md', '--class', 'policy', '--yes']);
  return space;
}

/** The reason of a refusal, wherever a host's shape has it; null where it is none. */
export function reasonIn(answer: Record<string, unknown> | null): string | null {
  const specific = (answer?.hookSpecificOutput ?? {}) as Record<string, unknown>;
  if (specific.permissionDecision === 'deny') return String(specific.permissionDecisionReason);
  if (answer?.decision === 'deny') return String(answer.reason);
  if (answer?.permission === 'deny') return String(answer.agent_message);
  if (answer?.permissionDecision === 'deny') return String(answer.permissionDecisionReason);
  return typeof answer?.deny === 'string' ? answer.deny : null;
}

/** The context of a session start, wherever a host's shape has it. */
export function contextIn(answer: Record<string, unknown> | null): string {
  const specific = (answer?.hookSpecificOutput ?? {}) as Record<string, unknown>;
  return String(specific.additionalContext ?? answer?.additionalContext ?? answer?.additional_context ?? '');
}

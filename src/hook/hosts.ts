/** What writ does at one event of a host. `stop`: the contract of a subagent whose turn ended is captured. `none`: nothing. */
export type Deed = 'boot' | 'tool' | 'spawn' | 'stop' | 'none';

/** One event of a host, by the host's own name. */
export interface HostEvent {
  readonly name: string;
  readonly deed: Deed;
  /** Whether the host lets this event stop what it was about to do: then every error of ours does (overview.md, faces). */
  readonly denies: boolean;
}

/** How one host speaks to its hooks (interfaces.md, section 2). */
export interface HookHost {
  readonly name: string;
  readonly title: string;
  readonly events: readonly HostEvent[];
  /** Most UTF-16 units of context it takes at start; more is cut or spilled by the host, so we leave texts out before that. */
  readonly cap: number;
  /** The shape of its answers. */
  readonly dialect: 'claude' | 'gemini' | 'cursor' | 'copilot' | 'plugin';
}

const event = (name: string, deed: Deed, denies = false): HostEvent => ({ name, deed, denies });
const quiet = (names: string): readonly HostEvent[] => names.split(' ').map((name) => event(name, 'none'));

/** What no host names a limit for is kept below this; a context this long crowds out the work. */
const UNNAMED_CAP = 65_536;

/** The hosts writ answers, with every event of theirs it knows. Claude Code 2.1.332, Codex 0.171.0, Gemini CLI 0.61.0, Cursor (2026-08), Copilot CLI 1.0.102, OpenCode 1.18.33. */
export const HOOK_HOSTS: readonly HookHost[] = [
  {
    name: 'claude-code',
    title: 'Claude Code',
    dialect: 'claude',
    // Over 10,000 characters it puts the context into a file and shows its beginning.
    cap: 10_000,
    events: [
      event('SessionStart', 'boot'),
      event('PreToolUse', 'tool', true),
      event('SubagentStart', 'spawn'),
      event('SubagentStop', 'stop'),
      ...quiet(
        'PostToolUse PostToolUseFailure PostToolBatch Notification UserPromptSubmit UserPromptExpansion SessionEnd Stop StopFailure PreCompact PostCompact PreModelSwitch PostModelSwitch PermissionRequest PermissionDenied Setup TeammateIdle TaskCreated TaskCompleted Elicitation ElicitationResult ConfigChange WorktreeCreate WorktreeRemove InstructionsLoaded CwdChanged FileChanged DirectoryAdded MessageDisplay PreSkillShellCommand',
      ),
    ],
  },
  {
    name: 'codex',
    title: 'OpenAI Codex',
    dialect: 'claude',
    // About 2,500 tokens of about 4 bytes, less a margin for text that is not ASCII.
    cap: 9_000,
    events: [
      event('SessionStart', 'boot'),
      event('PreToolUse', 'tool', true),
      event('SubagentStart', 'spawn'),
      event('SubagentStop', 'stop'),
      ...quiet('SessionEnd PermissionRequest PostToolUse PreCompact PostCompact UserPromptSubmit Stop Interrupt'),
    ],
  },
  {
    name: 'gemini',
    title: 'Gemini CLI',
    dialect: 'gemini',
    cap: UNNAMED_CAP,
    events: [
      event('SessionStart', 'boot'),
      event('BeforeTool', 'tool', true),
      ...quiet(
        'AfterTool BeforeAgent AfterAgent BeforeModel AfterModel BeforeToolSelection SessionEnd PreCompress Notification',
      ),
    ],
  },
  {
    name: 'cursor',
    title: 'Cursor',
    dialect: 'cursor',
    cap: UNNAMED_CAP,
    events: [
      event('sessionStart', 'boot'),
      event('preToolUse', 'tool', true),
      event('beforeShellExecution', 'tool', true),
      event('subagentStart', 'spawn', true),
      event('subagentStop', 'stop'),
      ...quiet(
        'postToolUse postToolUseFailure sessionEnd beforeMCPExecution afterMCPExecution afterShellExecution beforeReadFile beforeTabFileRead afterFileEdit afterTabFileEdit beforeSubmitPrompt afterAgentResponse afterAgentThought preCompact stop',
      ),
    ],
  },
  {
    name: 'copilot',
    title: 'GitHub Copilot',
    dialect: 'copilot',
    cap: UNNAMED_CAP,
    events: [
      event('sessionStart', 'boot'),
      event('preToolUse', 'tool', true),
      event('subagentStart', 'spawn'),
      event('subagentStop', 'stop'),
      ...quiet(
        'sessionEnd userPromptSubmitted postToolUse postToolUseFailure agentStop errorOccurred preCompact notification permissionRequest',
      ),
    ],
  },
  {
    name: 'opencode',
    title: 'OpenCode',
    dialect: 'plugin',
    cap: UNNAMED_CAP,
    events: [event('session-start', 'boot'), event('tool.execute.before', 'tool', true)],
  },
];

/** Spellings of the three moments that every host understands, besides its own names. */
const COMMON: Readonly<Record<string, Deed>> = {
  sessionstart: 'boot',
  pretooluse: 'tool',
  pretool: 'tool',
  beforetool: 'tool',
  subagentstart: 'spawn',
  subagentstop: 'stop',
};

/** @returns the event a word means to a host: its own name in any spelling (`PreToolUse`, `pre-tool-use`), or a common one; null where it has none. */
export function eventOf(host: HookHost, word: string): HostEvent | null {
  const plain = plainOf(word);
  const own = host.events.find((one) => plainOf(one.name) === plain);
  if (own !== undefined) return own;
  const deed = Object.hasOwn(COMMON, plain) ? COMMON[plain] : undefined;
  return deed === undefined ? null : (host.events.find((one) => one.deed === deed) ?? null);
}

function plainOf(word: string): string {
  return word.toLowerCase().replace(/[^a-z]/g, '');
}

/** What a host reads as a context to add at start. */
export function contextAnswer({ dialect }: HookHost, { name }: HostEvent, text: string): string {
  switch (dialect) {
    case 'claude':
    case 'gemini':
      return JSON.stringify({ hookSpecificOutput: { hookEventName: name, additionalContext: text } });
    case 'cursor':
      return JSON.stringify({ additional_context: text });
    case 'copilot':
    case 'plugin':
      return JSON.stringify({ additionalContext: text });
  }
}

/** What a host shows its user when a subagent has stopped; null where it shows nothing then. */
export function stopAnswer({ dialect }: HookHost, message: string): string | null {
  return dialect === 'claude' ? JSON.stringify({ systemMessage: message }) : null;
}

/** What a host reads as a refusal; exit 2 and the reason on stderr go with it. */
export function denyAnswer({ dialect }: HookHost, reason: string): string {
  switch (dialect) {
    case 'claude':
      return JSON.stringify({
        hookSpecificOutput: {
          hookEventName: 'PreToolUse',
          permissionDecision: 'deny',
          permissionDecisionReason: reason,
        },
      });
    case 'gemini':
      return JSON.stringify({ decision: 'deny', reason });
    case 'cursor':
      return JSON.stringify({ permission: 'deny', user_message: reason, agent_message: reason });
    case 'copilot':
      return JSON.stringify({ permissionDecision: 'deny', permissionDecisionReason: reason });
    case 'plugin':
      return JSON.stringify({ deny: reason });
  }
}

import { join } from 'node:path';
import { isRecord } from './event.ts';
import { HOOK_HOSTS, type HookHost } from './hosts.ts';
import { insertValue, type JsonNode, plainOf, readJsonText, removePart } from './json-text.ts';
import { OPENCODE_PLUGIN } from './opencode-plugin.ts';

/** What calls writ: absolute paths, and the places it was given when the hooks were installed. */
export interface Caller {
  readonly node: string;
  readonly writ: string;
  /** WRIT_CONFIG and WRIT_STATE as they were; absent ones are taken out of the environment of the hook. */
  readonly environment: Readonly<Record<string, string>>;
}

export interface SettingsPlace {
  readonly home: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The workspace whose own file is meant; null: the user's file. */
  readonly project: string | null;
}

/** Which tools the hook is asked about. Hosts whose matchers are not known well enough ask about every tool. */
const MATCHERS: Readonly<Record<string, string>> = {
  'claude-code': 'Write|Edit|MultiEdit|NotebookEdit|Bash|PowerShell|mcp__.*',
  codex: 'Bash|apply_patch|Edit|Write|mcp__.*',
  gemini: 'write_file|replace|run_shell_command|mcp_.*|.*__.*',
};
/** Seconds a host waits for us; our own deadline is shorter. */
const WAIT = 30;
const PASSED = ['WRIT_CONFIG', 'WRIT_STATE'];

/** The file of a host that holds its hooks: the user's, which no repository carries, or the workspace's own. */
export function settingsFile(host: string, { home, environment, project }: SettingsPlace): string {
  const own = (name: string, fallback: string): string => environment[name] || join(home, fallback);
  switch (host) {
    case 'claude-code':
      return project === null
        ? join(own('CLAUDE_CONFIG_DIR', '.claude'), 'settings.json')
        : join(project, '.claude/settings.json');
    case 'codex':
      return project === null ? join(own('CODEX_HOME', '.codex'), 'hooks.json') : join(project, '.codex/hooks.json');
    case 'gemini':
      return join(project ?? home, '.gemini/settings.json');
    case 'cursor':
      return join(project ?? home, '.cursor/hooks.json');
    case 'copilot':
      return project === null
        ? join(own('COPILOT_HOME', '.copilot'), 'hooks/writ.json')
        : join(project, '.github/hooks/writ.json');
    case 'opencode':
      return project === null
        ? join(own('XDG_CONFIG_HOME', '.config'), 'opencode/plugins/writ.js')
        : join(project, '.opencode/plugins/writ.js');
    default:
      throw new Error(`no settings file is known for ${host}`);
  }
}

/** A hook as a line of shell: whatever goes wrong with it is a refusal where the event can refuse. What node or writ would load by the environment is left out. */
function commandFor(host: HookHost, event: string, denies: boolean, { node, writ, environment }: Caller): string {
  const kept = PASSED.flatMap((name) =>
    environment[name] === undefined ? [] : [quoted(`${name}=${environment[name]}`)],
  );
  const unset = [
    'NODE_OPTIONS',
    'NODE_PATH',
    'WRIT_ROOT',
    'WRIT_AS',
    'WRIT_KEY',
    ...PASSED.filter((name) => environment[name] === undefined),
  ];
  const gone = `writ: ${writ} is gone, so nothing was checked: install writ again, or take this hook out of the settings of ${host.title}`;
  const run = [
    '/usr/bin/env',
    ...unset.map((name) => `-u ${name}`),
    ...kept,
    quoted(node),
    quoted(writ),
    `hook host ${host.name} ${event} --governed`,
  ].join(' ');
  return `test -f ${quoted(writ)} || echo ${quoted(gone)} >&2; ${run}${denies ? ' || exit 2' : ''}`;
}

/** The entries of a host's settings by event, in the host's own shape. */
function entriesFor(host: HookHost, caller: Caller): ReadonlyMap<string, unknown> {
  const used = host.events.filter((one) => one.deed !== 'none' && one.name !== 'beforeShellExecution');
  return new Map(
    used.map(({ name, deed, denies }): [string, unknown] => {
      const command = commandFor(host, name, denies, caller);
      const matcher = deed === 'tool' ? MATCHERS[host.name] : undefined;
      switch (host.dialect) {
        case 'claude':
          return [
            name,
            { ...(matcher === undefined ? {} : { matcher }), hooks: [{ type: 'command', command, timeout: WAIT }] },
          ];
        case 'gemini':
          return [
            name,
            {
              ...(matcher === undefined ? {} : { matcher }),
              hooks: [{ type: 'command', name: 'writ', command, timeout: WAIT * 1000 }],
            },
          ];
        case 'cursor':
          return [name, { command, ...(denies ? { failClosed: true } : {}), timeout: WAIT }];
        default:
          return [name, { type: 'command', bash: command, timeoutSec: WAIT }];
      }
    }),
  );
}

/** The text of a settings file with writ's hooks in it; everything else stays as it is. @param text null where there is no file. @returns why not, in plain words. */
export function withHooks(
  host: string,
  text: string | null,
  caller: Caller,
): { readonly text: string } | { readonly fault: string } {
  const known = hookHost(host);
  if (known.dialect === 'plugin') {
    if (text !== null && !isOwnPlugin(text)) return { fault: 'it is not writ\u2019s' };
    return { text: pluginText(caller) };
  }
  const start = text === null || text.trim() === '' ? '{}\n' : text;
  const read = readHooks(start);
  if ('fault' in read) return read;
  const wanted = entriesFor(known, caller);
  if (isThere(read, known, wanted)) return { text: start };
  const cleared = withoutHooks(host, start);
  if ('fault' in cleared) return cleared;
  let now = cleared.text ?? '{}\n';
  const add = (path: readonly string[], name: string | null, value: unknown): void => {
    const root = readJsonText(now);
    if ('fault' in root) throw new Error(`the text made is no JSON: ${root.fault}`);
    const into = path.reduce<JsonNode | undefined>((node, part) => node?.parts.get(part)?.node, root);
    if (into === undefined) throw new Error(`the text made holds no ${path.join('.')}`);
    now = insertValue(now, into, name, value);
  };
  const has = (...path: readonly string[]): boolean => {
    const root = readJsonText(now);
    return (
      !('fault' in root) &&
      path.reduce<JsonNode | undefined>((node, part) => node?.parts.get(part)?.node, root) !== undefined
    );
  };
  if ((known.dialect === 'cursor' || known.dialect === 'copilot') && !has('version')) add([], 'version', 1);
  if (!has('hooks')) add([], 'hooks', Object.fromEntries([...wanted].map(([name, entry]) => [name, [entry]])));
  else
    for (const [name, entry] of wanted) {
      if (has('hooks', name)) add(['hooks', name], null, entry);
      else add(['hooks'], name, [entry]);
    }
  return { text: now };
}

/** The text without writ's hooks, and without what that leaves empty; null where nothing is left. */
export function withoutHooks(
  host: string,
  text: string,
): { readonly text: string | null } | { readonly fault: string } {
  if (hookHost(host).dialect === 'plugin')
    return isOwnPlugin(text) ? { text: null } : { fault: 'it is not writ\u2019s' };
  let now = text;
  for (;;) {
    const read = readHooks(now);
    if ('fault' in read) return read;
    const next = withoutOne(now, read, host);
    if (next === null) break;
    now = next;
  }
  return { text: now };
}

/** @returns whether writ's hooks are in a text at all. */
export function holdsHooks(host: string, text: string): boolean {
  if (hookHost(host).dialect === 'plugin') return isOwnPlugin(text);
  return isOurs(text, host);
}

function withoutOne(text: string, root: JsonNode, host: string): string | null {
  const hooks = root.parts.get('hooks')?.node;
  for (const [event, { node }] of hooks?.parts ?? []) {
    for (const [index, entry] of node.parts) {
      const written = text.slice(entry.node.start, entry.node.end);
      if (!isOurs(written, host)) continue;
      const others = entry.node.parts.get('hooks')?.node;
      if (others !== undefined && others.parts.size > 1) {
        const mine = [...others.parts].find(([, one]) => isOurs(text.slice(one.node.start, one.node.end), host));
        if (mine !== undefined) return removePart(text, others, mine[0]);
      }
      if (node.parts.size > 1) return removePart(text, node, index);
      if (hooks !== undefined && hooks.parts.size > 1) return removePart(text, hooks, event);
      return removePart(text, root, 'hooks');
    }
  }
  return null;
}

/** Reads a settings file, and makes sure that what is to be changed has the shape it should. */
function readHooks(text: string): JsonNode | { readonly fault: string } {
  const root = readJsonText(text);
  if ('fault' in root) return { fault: `it cannot be read as JSON: ${root.fault}` };
  if (root.kind !== 'object') return { fault: 'it holds no JSON object' };
  const hooks = root.parts.get('hooks')?.node;
  if (hooks !== undefined && hooks.kind !== 'object') return { fault: 'its hooks are no JSON object' };
  for (const [name, { node }] of hooks?.parts ?? [])
    if (node.kind !== 'array' && eventNames().has(name)) return { fault: `its hooks.${name} are no list` };
  return root;
}

function isThere(root: JsonNode, host: HookHost, wanted: ReadonlyMap<string, unknown>): boolean {
  const value = plainOf(root);
  const hooks = isRecord(value) && isRecord(value.hooks) ? value.hooks : {};
  const ours = Object.values(hooks).flatMap((list) =>
    Array.isArray(list) ? list.filter((one) => isOurs(JSON.stringify(one), host.name)) : [],
  );
  return (
    ours.length === wanted.size &&
    [...wanted].every(([name, entry]) => {
      const list = hooks[name];
      return Array.isArray(list) && list.some((one) => JSON.stringify(one) === JSON.stringify(entry));
    })
  );
}

/** Every command of ours, and nothing else, calls writ like this. */
function isOurs(text: string, host: string): boolean {
  return text.includes(` hook host ${host} `) && text.includes('--governed');
}

function eventNames(): ReadonlySet<string> {
  return new Set(HOOK_HOSTS.flatMap((host) => host.events.map((one) => one.name)));
}

function hookHost(name: string): HookHost {
  const found = HOOK_HOSTS.find((one) => one.name === name);
  if (found === undefined) throw new Error(`no hooks are known for ${name}`);
  return found;
}

const PLUGIN_MARK = '// writ plugin 1: made by writ hook install, taken away by writ hook uninstall';

function isOwnPlugin(text: string): boolean {
  return text.startsWith(PLUGIN_MARK);
}

function pluginText({ node, writ, environment }: Caller): string {
  return `${PLUGIN_MARK}\nconst NODE = ${JSON.stringify(node)};\nconst WRIT = ${JSON.stringify(writ)};\nconst PLACES = ${JSON.stringify(environment)};\n${OPENCODE_PLUGIN}`;
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}

import { resolve } from 'node:path';
import { readOutside } from '../files/read-once.ts';
import { escapeText } from '../model/escaped.ts';
import { instantFromDuration, instantFromMs } from '../model/instant.ts';
import { wasRead } from '../model/source.ts';
import { AGENTS, type AgentProfile, commandProfile, promptLimit } from '../run/agent-profile.ts';
import { toPrompt } from '../run/prompt.ts';
import type { Rung } from '../run/reaction.ts';
import { suggestion } from './arguments.ts';
import { readStdin } from './ask.ts';
import { type Call, text, UsageError } from './command.ts';

/** What `writ run` is asked to do. */
export interface RunAsked {
  /** Told apart from the words that follow `--`. */
  readonly call: Call;
  readonly rungs: readonly [Rung<AgentProfile>, ...Rung<AgentProfile>[]];
  /** With the request for the block. */
  readonly prompt: string;
  /** Run by a shell in the work tree; null: none. */
  readonly validate: string | null;
  readonly model: string | null;
  /** More words for the agent named by `--agent`. */
  readonly more: readonly string[];
  readonly hasLadder: boolean;
}

const MAX_PROMPT = 1_048_576;
const DEFAULT_TIMEOUT = '15m';
/** Longest time a timer of Node waits, ms; half of it, since a second try gets twice the time. */
const MAX_TIMEOUT = 1_000_000_000;
const VALUES = ['--timeout', '--prompt-file', '--validate', '--ladder', '--model', '--root'];
const FLAGS = ['--host-report', '--strict', '--observe'];

/** Reads the command line of `writ run`. Throws UsageError. */
export async function toRunAsked(given: Call): Promise<RunAsked> {
  const call = withTrailing(given);
  const name = text(call, 'agent');
  const ladder = text(call, 'ladder');
  const timeout = timeoutOf(call);
  const first = name !== null ? [agentNamed(name)] : call.rest.length > 0 ? [commandProfile(call.rest)] : [];
  const others = ladder === null ? [] : ladder.split(',').map((one) => agentNamed(one.trim()));
  // `--agent A --ladder A,B` says the same first rung twice.
  const chain = first[0] !== undefined && first[0] === others[0] ? others : [...first, ...others];
  const [top, ...rest] = chain.map((agent) => ({
    agent,
    vendor: agent.vendor,
    timeout,
    larger: false,
    throttled: false,
  }));
  if (top === undefined)
    throw new UsageError('name an agent with --agent NAME, or a program after --, as in: writ run -- CMD');
  const prompt = toPrompt(await taskOf(call));
  const limit = promptLimit(top.agent);
  if (ladder === null && limit !== null && Buffer.byteLength(prompt) > limit)
    throw new UsageError(tooLong(top.agent, prompt, limit));
  const validate = text(call, 'validate');
  if (validate?.trim() === '') throw new UsageError('--validate takes a command, as in --validate "npm test"');
  return {
    ...{ call, rungs: [top, ...rest], prompt, validate, model: text(call, 'model') },
    ...{ more: name === null ? [] : call.rest, hasLadder: ladder !== null },
  };
}

/** Why a prompt is not handed over. */
export function tooLong({ name }: AgentProfile, prompt: string, limit: number): string {
  return `the prompt has ${Buffer.byteLength(prompt)} bytes with what writ adds, and ${name} takes ${limit}`;
}

/** Where `--prompt-file` or `--timeout` do not stand in front of `--`, they are read from the end of CMD (cli.md spells them there). */
function withTrailing(call: Call): Call {
  if (text(call, 'prompt-file') !== null) return call;
  let at = call.rest.length;
  for (;;) {
    const [before = '', last = ''] = [call.rest[at - 2], call.rest[at - 1]];
    if (VALUES.includes(before)) at -= 2;
    else if (FLAGS.includes(last) || VALUES.some((one) => last.startsWith(`${one}=`))) at -= 1;
    else break;
  }
  const values: Record<string, string | boolean> = {};
  let name: string | null = null;
  for (const word of call.rest.slice(at)) {
    const cut = word.indexOf('=');
    if (name !== null) {
      values[name] = word;
      name = null;
    } else if (FLAGS.includes(word)) values[word.slice(2)] = true;
    else if (cut === -1) name = word.slice(2);
    else values[word.slice(2, cut)] = word.slice(cut + 1);
  }
  return { ...call, values: { ...values, ...call.values }, rest: call.rest.slice(0, at) };
}

function agentNamed(name: string): AgentProfile {
  const known = AGENTS.map((one) => one.name);
  const found = AGENTS.find((one) => one.name === name);
  if (found !== undefined) return found;
  if (name.includes('/')) return commandProfile([name]);
  throw new UsageError(
    `there is no agent ${escapeText(name, 64)}${suggestion(name, known, '')}; known: ${known.join(', ')}, or a program after --`,
  );
}

function timeoutOf(call: Call): number {
  const given = text(call, 'timeout') ?? DEFAULT_TIMEOUT;
  const now = instantFromMs(Date.now());
  const until = now === null ? null : instantFromDuration(given, now);
  const span = now === null || until === null ? 0 : until - now;
  if (span <= 0 || span > MAX_TIMEOUT)
    throw new UsageError(`--timeout takes a time like 90s, 15m or 8h, at most 11 days, not ${escapeText(given, 64)}`);
  return span;
}

async function taskOf(call: Call): Promise<string> {
  const file = text(call, 'prompt-file');
  if (file === null) throw new UsageError('--prompt-file FILE says what the agent is to do; - is stdin');
  const read = file === '-' ? { bytes: await readStdin(MAX_PROMPT) } : readOutside(resolve(file), MAX_PROMPT);
  if ('finding' in read && !wasRead(read)) throw new UsageError(`--prompt-file: ${read.finding.message}`);
  let task: string;
  try {
    task = new TextDecoder('utf-8', { fatal: true }).decode((read as { readonly bytes: Uint8Array }).bytes);
  } catch {
    throw new UsageError('--prompt-file is no UTF-8 text');
  }
  if (task.includes('\0')) throw new UsageError('--prompt-file holds a NUL, which no command line takes');
  if (task.trim() === '') throw new UsageError('--prompt-file is empty');
  return task;
}

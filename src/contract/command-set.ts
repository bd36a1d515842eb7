import { canonicalJson } from '../sign/canonical.ts';
import { sha256Hex } from '../sign/digest.ts';
import { isText, own } from './envelope.ts';

const MAX_COMMANDS = 64;
const MAX_COMMAND = 16_384;

/**
 * The ordered commands a request asks for: `command_set` (texts, or objects with `command`), else its one `exact_content`. Exact bytes: nothing is
 * trimmed. Empty where the request names no command. @returns why it is no set: a command of several lines is not one command.
 */
export function toGrantCommands(
  request: unknown,
): { readonly commands: readonly string[] } | { readonly fault: string } {
  const set = own(request, 'command_set') ?? own(request, 'commands');
  if (set === undefined || set === null) {
    const single = own(request, 'exact_content');
    return /\p{Surrogate}/u.test(typeof single === 'string' ? single : '')
      ? { fault: 'exact_content is no text that could be run as it stands' }
      : { commands: isText(single) ? [single] : [] };
  }
  if (!Array.isArray(set) || set.length === 0) return { fault: 'command_set is a list of commands' };
  if (set.length > MAX_COMMANDS) return { fault: `a command_set holds at most ${MAX_COMMANDS} commands` };
  const commands: string[] = [];
  for (const entry of set as readonly unknown[]) {
    const command = typeof entry === 'string' ? entry : own(entry, 'command');
    if (!isText(command)) return { fault: 'every entry of a command_set is a command' };
    if (command.length > MAX_COMMAND) return { fault: `a command has at most ${MAX_COMMAND} characters` };
    if (/[\r\n\0]|\p{Surrogate}/u.test(command)) return { fault: 'a command of a set is one line of text' };
    commands.push(command);
  }
  return { commands };
}

/** What a set is known by: the digest of its exact bytes in their order. */
export function fingerprintOf(commands: readonly string[]): string {
  return sha256Hex(canonicalJson({ command_set_commands: commands }));
}

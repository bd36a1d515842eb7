import { basename } from 'node:path';
import type { LaunchProfile } from '../discover/launch-profile.ts';

/** Stands for the file with the boot context, anywhere in a word of CMD. */
export const BOOT = '{boot}';
/** Stands for the host's own switches: a word of CMD. */
export const ARGS = '{args}';

const SHELL = /^(?:(?:ba|da|z|fi|k|c|tc)?sh|busybox|pwsh|powershell|cmd)$/;
/** Options of a launcher whose value is a whole command line. */
const COMMAND_OPTION = /^(?:-[a-z]*c|--call|--command)(?:=|$)/i;

/** Programs that start another as somebody else, somewhere else or later. */
const AWAY = new Set(
  `sudo su doas runuser pkexec ssh mosh docker podman nerdctl kubectl machinectl systemd-run flatpak flatpak-spawn chroot
  nsenter wsl lxc incus distrobox toolbox tmux screen zellij dtach at batch`.split(/\s+/),
);

/** @returns a word of CMD that would undo what is set here, or null. */
export function undoing(words: readonly string[], launch: LaunchProfile | null): string | null {
  const { owns = [] } = launch ?? {};
  // Codex trims the key of a setting.
  const strip = (word: string): string => word.replace(/^(?:-c=?|--config=)(?=\s*[A-Za-z])/, '').trim();
  const sets = (word: string, own: string): boolean =>
    own.startsWith('-')
      ? isOption(word, own)
      : word === own || (word.startsWith(own) && /^[.\s=]/.test(word.slice(own.length)));
  return ownWords(words, launch).find((word) => owns.some((one) => sets(word, one) || sets(strip(word), one))) ?? null;
}

/** @returns a word of CMD that carries on an earlier session, or null. */
export function resuming(words: readonly string[], launch: LaunchProfile | null): string | null {
  return findOption(words, launch, launch?.resumes ?? []);
}

/** @returns the first word of CMD, meant for the host itself, that is one of some options; null where none is. */
export function findOption(
  words: readonly string[],
  launch: LaunchProfile | null,
  options: readonly string[],
): string | null {
  const isOne = (word: string): boolean => options.some((one) => isOption(word, one));
  return ownWords(words, launch).find(isOne) ?? null;
}

/**
 * Why CMD would lose what is set for the host on the way to it, in plain words; null where it would not, as far as CMD shows.
 * The switches of most hosts are variables, and the boot context is a file of this machine and user.
 */
export function losing(words: readonly string[], launch: LaunchProfile | null): string | null {
  if (launch === null) return null;
  const named = [words.indexOf(ARGS), programAt(words, launch)].filter((at) => at !== -1);
  const before = words.slice(0, named.length === 0 ? 1 : Math.max(...named));
  const away = before.find((word) => AWAY.has(nameOf(word)));
  if (away !== undefined)
    return `${nameOf(away)} hands on neither the environment nor private files: put it in front, as in ${nameOf(away)} ... writ exec`;
  const ours = variablesOf(launch);
  const isOurs = (name: string): boolean => ours.includes(name);
  const assigned = before.find((word) => isOurs(/^(\w+)=/.exec(word)?.[1] ?? ''));
  const env = words.findIndex((word, index) => index < before.length && nameOf(word) === 'env');
  const cleared = assigned ?? (env === -1 ? undefined : clearing(words.slice(env + 1), isOurs));
  return cleared === undefined
    ? null
    : `${cleared} takes away or changes what writ sets for the host: put env in front, as in env ... writ exec`;
}

/** @returns the word of `env` that changes a variable which is ours, clears all of them, or starts elsewhere; undefined where none does. */
function clearing(words: readonly string[], isOurs: (name: string) => boolean): string | undefined {
  for (const [index, word] of words.entries()) {
    if (!/^-|^\w+=/.test(word)) {
      if (!/^(?:-u|--unset)$/.test(words[index - 1] ?? '')) return undefined;
      if (isOurs(word)) return word;
    } else if (
      /^-(?:$|[0v]*[iSC])|^--(?:ig|sp|ch)/.test(word) ||
      isOurs(/^(?:-u|--unset=|)(\w+)(?:=|$)/.exec(word)?.[1] ?? '')
    )
      return word;
  }
  return undefined;
}

/** The variables that a start sets or drops. */
function variablesOf({ env, narrow, feed, drops }: LaunchProfile): readonly string[] {
  return [
    ...Object.keys(env),
    ...Object.values(narrow).flatMap((one) => Object.keys(one.env)),
    ...('variable' in feed ? [feed.variable] : []),
    ...drops,
  ];
}

/** Whether a word is an option, in any spelling hosts take: `--skipTrust` for `--skip-trust`, `-pc` and `-cVALUE` for `-c`. */
function isOption(word: string, option: string): boolean {
  if (option.startsWith('--')) {
    const name = word.split('=', 1)[0] ?? '';
    return word.startsWith('--') && name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`) === option;
  }
  if (!/^-[A-Za-z]$/.test(option)) return word === option || word.startsWith(`${option}=`);
  // Only letters that take no value with the hosts known may stand in front.
  return new RegExp(`^-[dhlpsvy]*${option[1]}`).test(word);
}

/** @returns whether a word of CMD names the program of the host. */
export function namesProgram(words: readonly string[], launch: LaunchProfile | null): boolean {
  return programAt(words, launch) !== -1;
}

/**
 * Puts switches into a command line: at `{args}`, else behind the first word that names the host's program, else at the end,
 * where a wrapper hands them on.
 * @returns why it cannot be known where they belong, in plain words.
 */
export function withArgs(
  words: readonly string[],
  args: readonly string[],
  launch: LaunchProfile | null,
): readonly string[] | { readonly fault: string } {
  const at = words.indexOf(ARGS);
  if (at !== -1) return [...words.slice(0, at), ...args, ...words.slice(at + 1)];
  if (args.length === 0) return words;
  const named = programAt(words, launch);
  const before = named === -1 ? [] : words.slice(0, named);
  if (
    words.some((word, index) => SHELL.test(nameOf(word)) && COMMAND_OPTION.test(words[index + 1] ?? '')) ||
    before.some((word) => COMMAND_OPTION.test(word))
  )
    return {
      fault: `a command inside a command hides where the switches of the host belong: say it with ${ARGS}, as in sh -c 'exec HOST "$@"' sh ${ARGS}`,
    };
  if (named !== -1) return [...words.slice(0, named + 1), ...args, ...words.slice(named + 1)];
  const end = words.indexOf('--');
  return end === -1 ? [...words, ...args] : [...words.slice(0, end), ...args, ...words.slice(end)];
}

/** The words that the host itself reads, as far as CMD shows, up to `--`. */
function ownWords(words: readonly string[], launch: LaunchProfile | null): readonly string[] {
  const own = words.slice(Math.max(programAt(words, launch), words.indexOf(ARGS), 0) + 1);
  const end = own.indexOf('--');
  return end === -1 ? own : own.slice(0, end);
}

function programAt(words: readonly string[], launch: LaunchProfile | null): number {
  return words.findIndex((word) => launch?.commands.some((name) => isProgram(word, name)));
}

/** Puts the path of the boot file where CMD asks for it. */
export function withBoot(words: readonly string[], file: string): readonly string[] {
  return words.map((word) => word.replaceAll(BOOT, () => file));
}

/** @returns whether CMD says itself how the host gets the boot context. */
export function asksForBoot(words: readonly string[]): boolean {
  return words.some((word) => word.includes(BOOT));
}

function isProgram(word: string, name: string): boolean {
  return name.includes('/') ? word === name || word.startsWith(`${name}@`) : nameOf(word) === name;
}

function nameOf(word: string): string {
  return basename(word.replaceAll('\\', '/')).replace(/\.(?:exe|cmd|bat|ps1|[cm]?js)$/i, '');
}

import type { Feed, Switches } from '../discover/launch-profile.ts';
import type { PrivateFolder } from './private-folder.ts';

/** Most bytes of one argument or variable that Linux takes, its end included (MAX_ARG_STRLEN). */
const MAX_WORD = 131_072;

/** @returns whether a boot context is short enough for the way a host is handed it. Files have no limit that was found (docs/hosts.md). */
export function fitsFeed(feed: Feed, text: string): boolean {
  return feed.by !== 'toml-option' || Buffer.byteLength(tomlWord(feed.key, text)) < MAX_WORD;
}

/**
 * Hands a boot context over by the host's own way: files go into the private folder, switches and variables come back.
 * @param environment what the child gets otherwise; configuration in it is kept.
 * @returns why it cannot be handed over, in plain words.
 */
export function feedBoot(
  feed: Feed,
  text: string,
  folder: PrivateFolder,
  environment: Readonly<Record<string, string | undefined>>,
): Switches | { readonly fault: string } {
  switch (feed.by) {
    case 'file-option':
      return { args: [`${feed.option}=${folder.write('boot.md', text)}`], env: {} };
    case 'toml-option':
      return { args: [feed.option, tomlWord(feed.key, text)], env: {} };
    case 'file-variable':
      return { args: [], env: { [feed.variable]: folder.write('boot.md', text) } };
    case 'json-variable': {
      const given = environment[feed.variable] ?? '';
      const config = given === '' ? {} : recordOf(given);
      if (config === null) return { fault: `${feed.variable} in the environment is no JSON object` };
      if (/[*?[\]{}()!]/.test(folder.path))
        return {
          fault: `${feed.variable} takes patterns, and ${folder.path} would be read as one: set TMPDIR to another folder`,
        };
      const kept = Array.isArray(config.instructions) ? config.instructions : [];
      const instructions = [...kept, folder.write('boot.md', text)];
      return { args: [], env: { [feed.variable]: JSON.stringify({ ...config, instructions }) } };
    }
    case 'plugin-hook': {
      const context = folder.write('context.json', JSON.stringify({ additionalContext: text }));
      const hook = { type: 'command', bash: `cat ${quoted(context)}` };
      folder.write('hooks.json', JSON.stringify({ version: 1, hooks: { sessionStart: [hook] } }));
      folder.write('plugin.json', JSON.stringify({ name: 'writ-boot', version: '1.0.0', hooks: 'hooks.json' }));
      return { args: [feed.option, folder.path], env: {} };
    }
  }
}

/** A basic string of TOML: JSON's escapes are TOML's, but for the delete character, which TOML wants escaped. */
export function tomlString(text: string): string {
  return JSON.stringify(text).replaceAll('\u007f', '\\u007f');
}

function tomlWord(key: string, text: string): string {
  return `${key}=${tomlString(text)}`;
}

function quoted(path: string): string {
  return `'${path.replaceAll("'", "'\\''")}'`;
}

function recordOf(text: string): Record<string, unknown> | null {
  try {
    const read: unknown = JSON.parse(text);
    return typeof read === 'object' && read !== null && !Array.isArray(read) ? (read as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

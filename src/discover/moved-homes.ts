import { resolve } from 'node:path';

/** A folder of the home that a variable of the environment puts elsewhere, for one host. */
export interface MovedHome {
  readonly host: string;
  readonly variable: string;
  /** The folder it stands for, relative to the home; empty for the home itself. */
  readonly standsFor: string;
  /** Absolute path of where it is. */
  readonly path: string;
}

/**
 * Where each fact was seen on 2026-11-30: Codex, https://developers.openai.com/codex/config-advanced; Claude Code, https://code.claude.com/docs/en/settings;
 * Copilot, docs.github.com, cli-config-dir-reference; Gemini CLI, docs/reference/configuration.md; OpenCode, its `Global.Path` (xdg-basedir).
 */
const VARIABLES: readonly Omit<MovedHome, 'path'>[] = [
  { host: 'codex', variable: 'CODEX_HOME', standsFor: '.codex' },
  { host: 'claude-code', variable: 'CLAUDE_CONFIG_DIR', standsFor: '.claude' },
  { host: 'copilot', variable: 'COPILOT_HOME', standsFor: '.copilot' },
  { host: 'gemini', variable: 'GEMINI_CLI_HOME', standsFor: '' },
  { host: 'opencode', variable: 'XDG_CONFIG_HOME', standsFor: '.config' },
];

/** @returns the folders that an environment moves; a relative one is meant from `cwd`. */
export function movedHomes(
  environment: Readonly<Record<string, string | undefined>>,
  cwd: string,
): readonly MovedHome[] {
  return VARIABLES.flatMap((one) => {
    const value = environment[one.variable]?.trim() ?? '';
    return value === '' ? [] : [{ ...one, path: resolve(cwd, value) }];
  });
}

/** @returns a home-relative pattern of a host as it is meant below a moved folder, or null where that does not hold it. */
export function belowMoved(moved: MovedHome, host: string, pattern: string): string | null {
  if (moved.host !== host) return null;
  if (moved.standsFor === '') return pattern;
  return pattern.startsWith(`${moved.standsFor}/`) ? pattern.slice(moved.standsFor.length + 1) : null;
}

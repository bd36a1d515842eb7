import agy from '../../policies/defaults/agents/agy.json' with { type: 'json' };
import claude from '../../policies/defaults/agents/claude.json' with { type: 'json' };
import codex from '../../policies/defaults/agents/codex.json' with { type: 'json' };
import grok from '../../policies/defaults/agents/grok.json' with { type: 'json' };
import ollama from '../../policies/defaults/agents/ollama.json' with { type: 'json' };

/** How an agent is started and heard. */
export interface AgentProfile {
  readonly name: string;
  /** Whose account throttles it: the ladder goes to another vendor then. */
  readonly vendor: string;
  /** The host profile (policies/defaults/hosts) whose switches narrow it and hand it the boot context; null: the boot context goes into the prompt. */
  readonly host: string | null;
  /** The program and its words; `{model}`, `{more}`, `{prompt}` and `{prompt-file}` stand for what is not known before. */
  readonly words: readonly string[];
  /** What stands before the name of a model. */
  readonly modelOption: readonly string[];
  /** The model where none is asked for; null: the agent's own choice. */
  readonly model: string | null;
  readonly output: 'text' | 'codex-events';
  /** Most bytes of its prompt; null: only what the system takes as one word. */
  readonly promptBytes: number | null;
}

/** The agents writ knows, as data: one file each in policies/defaults/agents. */
export const AGENTS: readonly AgentProfile[] = [claude, codex, agy, grok, ollama] as readonly (AgentProfile & {
  readonly source: string;
  readonly at: string;
})[];

/** Most bytes of one word of a command line that Linux takes, without its end (MAX_ARG_STRLEN). */
const MAX_WORD = 131_071;

/** An agent that is only a command line: no switches are known, and its prompt is its last word unless it says where. */
export function commandProfile(words: readonly string[]): AgentProfile {
  const placed = words.some((word) => /\{prompt(?:-file)?\}/.test(word));
  return {
    ...{
      name: 'command',
      vendor: 'command',
      host: null,
      modelOption: [],
      model: null,
      output: 'text',
      promptBytes: null,
    },
    words: placed ? words : [...words, '{prompt}'],
  };
}

/** Its words but for the prompt. @param model asked for, or null. @param more words of the person who starts it. */
export function wordsOf(profile: AgentProfile, model: string | null, more: readonly string[]): readonly string[] {
  const name = model ?? profile.model;
  return profile.words.flatMap((word) =>
    word === '{model}' ? (name === null ? [] : [...profile.modelOption, name]) : word === '{more}' ? more : [word],
  );
}

/** @returns the most bytes its prompt may have; null where it is handed over as a file, which has no limit. */
export function promptLimit({ words, promptBytes }: AgentProfile): number | null {
  const inWords = words.some((word) => word.includes('{prompt}'));
  return inWords ? Math.min(promptBytes ?? MAX_WORD, MAX_WORD) : promptBytes;
}

import { Workspace } from '../support/workspace.ts';

export type Answer = Readonly<Record<string, unknown>> & { readonly exit: number };

/** A workspace in which contracts are driven through the built command. */
export class Desk {
  readonly space: Workspace;

  constructor(space: Workspace = new Workspace()) {
    this.space = space;
  }

  /** Runs `writ contract WORDS`. @returns what it printed, and its exit code. */
  run(...words: readonly string[]): Answer {
    return this.with({}, ...words);
  }

  with(env: Readonly<Record<string, string>>, ...words: readonly string[]): Answer {
    const { exit, stdout, stderr } = this.space.run(['contract', ...words], { env });
    const value: unknown = stdout.startsWith('{') ? JSON.parse(stdout) : { stdout };
    return { ...(value as Readonly<Record<string, unknown>>), stderr, exit };
  }

  /** A new draft's id. */
  init(...words: readonly string[]): string {
    const made = this.run('init', ...words);
    if (made.exit !== 0) throw new Error(JSON.stringify(made));
    return String(made.draft_id);
  }

  fill(draft: string, patch: unknown): Answer {
    return this.run('fill', '--json', JSON.stringify(patch), '--draft-id', draft);
  }

  finalize(draft: string, ...words: readonly string[]): Answer {
    return this.run('finalize', '--draft-id', draft, ...words);
  }

  rows(...words: readonly string[]): readonly Readonly<Record<string, unknown>>[] {
    return this.run('list', ...words).handoffs as readonly Readonly<Record<string, unknown>>[];
  }
}

/** The codes an answer refuses with. */
export function codesOf(answer: Answer): readonly string[] {
  return ((answer.errors ?? []) as readonly { readonly code: string }[]).map((one) => one.code);
}

export const COMPLETE = {
  agent_status: { next_action: 'done', plan_status: 'COMPLETE' },
  evidence_report: { key_outputs: ['it builds'], verification: { result: 'pass' } },
  user_facing_summary: 'It is done.',
};

export const to = (
  state: string,
  profile: 'plan_status' | 'agent_state' = 'plan_status',
  more: object = {},
): object => ({
  agent_status: { [profile]: state },
  ...more,
});

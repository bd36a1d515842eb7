import type { Profile } from './envelope.ts';

// One line feed at the end passes: the recorded verdicts of both profiles have it so.
const PATTERNS: Readonly<Record<Profile, RegExp>> = {
  plan_status: /^a[0-9a-f]{5,}\n?$/,
  agent_state: /^a[0-9a-f]{16,}\n?$/,
};

/** @returns whether a text is spelt as an agent id of the profile. */
export function isAgentId(text: string, profile: Profile): boolean {
  return PATTERNS[profile].test(text);
}

/** How the ids of a profile are spelt, for messages. */
export function agentIdPattern(profile: Profile): string {
  return profile === 'agent_state' ? '^a[0-9a-f]{16,}$' : '^a[0-9a-f]{5,}$';
}

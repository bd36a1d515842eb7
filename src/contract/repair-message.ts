import { agentIdPattern } from './check-agent-id.ts';
import { EVIDENCE_KEYS, type Profile, statesOf, TAG } from './envelope.ts';

/**
 * What an agent is told with every rejection: the whole form, not the faults of this one. The same bytes every time, so that a prompt which
 * carries it stays in the cache; the faults are in `errors`. The only place where this text is made.
 */
export function repairMessage(profile: Profile): string {
  return MESSAGES[profile];
}

const MESSAGES: Readonly<Record<Profile, string>> = {
  plan_status: made('plan_status'),
  agent_state: made('agent_state'),
};

function made(profile: Profile): string {
  const skeleton = {
    agent_status: {
      [profile]: `<${statesOf(profile).join('|')}>`,
      agent_id: '<the id that `writ contract init` printed>',
      pending_steps: [],
      next_action: '<done, or the next concrete step>',
    },
    evidence_report: {
      ...Object.fromEntries(EVIDENCE_KEYS.map((key) => [key, []])),
      verification: { method: '<how it was checked>', result: 'pass', details: '<what was seen>' },
    },
    consolidation_report: null,
    approval_request: null,
  };
  const strict =
    profile === 'plan_status'
      ? ''
      : ' With COMPLETE, next_action is "done" and pending_steps is []. With APPROVAL_REQUEST, approval_request.exact_content holds the command. No other keys.';
  return [
    `The turn has to end with an ${TAG} envelope of this form. It is JSON: no YAML, no comments, no trailing commas, every key in double quotes.`,
    '',
    `\`\`\`${TAG}`,
    JSON.stringify(skeleton, null, 2),
    '```',
    '',
    `agent_status needs ${profile}, agent_id (${agentIdPattern(profile)}), pending_steps (may be []) and next_action. evidence_report needs all of ${EVIDENCE_KEYS.join(', ')}; each may be []. With COMPLETE, evidence_report.verification.result is "pass".${strict} Set ${profile} last, when what it needs is there.`,
  ].join('\n');
}

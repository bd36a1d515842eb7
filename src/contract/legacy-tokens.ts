import { type ContractError, TAG } from './envelope.ts';

const MISSING: Readonly<Record<string, readonly string[]>> = {
  [TAG]: ['AGENT_STATUS', 'PLAN_STATUS', 'AGENT_ID'],
  agent_status: ['AGENT_STATUS', 'PLAN_STATUS', 'AGENT_ID'],
  'agent_status.plan_status': ['PLAN_STATUS'],
  'agent_status.agent_state': ['PLAN_STATUS'],
  'agent_status.agent_id': ['AGENT_ID'],
  'agent_status.pending_steps': ['PENDING_STEPS'],
  'agent_status.next_action': ['NEXT_ACTION'],
  evidence_report: ['EVIDENCE_REPORT'],
};

/** The older words for the same errors, for callers that still read them: a relabelling, it decides nothing. Each once, sorted, as recorded. */
export function legacyTokens(errors: readonly ContractError[]): readonly string[] {
  return [...new Set(errors.flatMap(tokensOf))].sort();
}

function tokensOf({ code, field, detail }: ContractError): readonly string[] {
  switch (code) {
    case 'AGENT_ID_FORMAT':
      return ['AGENT_ID'];
    case 'VERIFICATION_RESULT':
      return [
        field.endsWith('.result') ? 'VERIFICATION_RESULT_MUST_BE_PASS' : 'VERIFICATION_RESULT_REQUIRED_FOR_COMPLETE',
      ];
    case 'MISSING_FIELD':
      return MISSING[field] ?? [field.replace(/^evidence_report\./, '').toUpperCase()];
    case 'CONSOLIDATION_FIELD':
      return [field.replace(/^consolidation_report\./, '').toUpperCase()];
    case 'APPROVAL_REQUEST_VERIFICATION':
      return ['APPROVAL_REQUEST_VERIFICATION_REQUIRED'];
    case 'LOOP_STATE_INCOMPLETE':
      return [`${code}:${detail}`];
    default:
      return [code];
  }
}

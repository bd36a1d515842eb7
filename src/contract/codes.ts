/** Where a contract code comes from: the form alone, what the form is compared with, or the life of a draft and its row. */
export type ContractLayer = 'form' | 'cross-check' | 'life';

/** One code of a contract. The table is closed: `plan_status` envelopes are refused for their form by the first four alone. */
export interface ContractCode {
  readonly layer: ContractLayer;
  /** `warning` never refuses. */
  readonly effect: 'error' | 'warning';
  readonly meaning: string;
}

const row = (layer: ContractLayer, effect: ContractCode['effect'], meaning: string): ContractCode => ({
  layer,
  effect,
  meaning,
});
const form = (meaning: string): ContractCode => row('form', 'error', meaning);
const cross = (meaning: string): ContractCode => row('cross-check', 'error', meaning);
const warning = (meaning: string): ContractCode => row('cross-check', 'warning', meaning);
const life = (meaning: string): ContractCode => row('life', 'error', meaning);

/** Every code a contract command prints. */
export const CONTRACT_CODES = {
  AGENT_ID_FORMAT: form('agent_id is there and is not spelt as an agent id'),
  PLAN_STATUS: form('the status is there and is none of the profile'),
  VERIFICATION_RESULT: form('COMPLETE, and verification.result is not pass'),
  MISSING_FIELD: form('a required field is not there'),
  VERIFICATION_SHAPE: form('verification.type is declared without the evidence that type owes'),
  APPROVAL_REQUEST_SHAPE: form('APPROVAL_REQUEST without an approval_request that holds exact_content'),
  COMPLETE_SHAPE: form('COMPLETE with steps left, or with a next_action other than done'),
  FAILURE_REPORT_SHAPE: form('failure_report is there and lacks a part'),
  WORK_PHASE_SHAPE: form('work_phase is none of the five phases'),
  FIELD_TYPE: form('a declared field holds another type'),
  MISPLACED_KEY: form('a declared field stands at another level'),
  FILE_REFERENCE_SHAPE: form('an object in files_checked is no {path, commit}'),
  UNKNOWN_FIELD: form('a key the envelope does not have'),

  APPROVAL_REQUEST_MISSING: cross('APPROVAL_REQUEST, and there is no approval_request'),
  APPROVAL_REQUEST_ROLLBACK: cross('approval_request does not say how to undo'),
  APPROVAL_REQUEST_VERIFICATION: cross('approval_request does not say how success is confirmed'),
  APPROVAL_REQUEST_FIELD: warning('approval_request lacks a field the person who decides would want'),
  APPROVAL_ID_NOT_PENDING: cross('approval_id names no request that waits for a decision'),
  COMMAND_SET_SHAPE: cross('approval_request.command_set is no list of single commands'),
  CONSOLIDATION_REPORT: cross('the input asks for a consolidation_report and there is none'),
  CONSOLIDATION_FIELD: cross('consolidation_report lacks one of its six keys'),
  OWNERSHIP_ASSESSMENT: cross('ownership_assessment is none of the three; printed as OWNERSHIP_ASSESSMENT:<value>'),
  LOOP_STATE_INCOMPLETE: cross('COMPLETE although the loop has rounds left and its metric is below the threshold'),
  UPDATE_CONTRACTS_SHAPE: cross('update_contracts is no list of {contract, payload}'),
  UPDATE_CONTRACTS_NOT_WRITABLE: cross('a write to a contract outside writable_sections'),
  UPDATE_CONTRACTS_DUPLICATE: cross('several entries for one contract; they belong into one payload'),
  UPDATE_CONTRACTS_LIVE_STATE: cross(
    'a payload holds what a cloud says at run time, which is stale for the next agent',
  ),
  UPDATE_CONTRACTS_UNCHECKED: warning(
    'update_contracts was not compared with writable_sections, because no input was given',
  ),
  RESOURCE_REFERENCE: warning('a reference to another repository is not spelt host/owner/repo:table/name'),
  BLOCKED_WITHOUT_GAP: warning('BLOCKED names no gap in open_gaps'),
  NEEDS_INPUT_WITHOUT_OPTIONS: warning('NEEDS_INPUT names no options in next_action'),
  ADVISORY_FIELD: warning('an advisory field was skipped or kept although it is malformed'),
  DUPLICATE_KEY: warning('a key comes twice; the last one counts'),

  NOT_JSON: life('the text is no JSON object'),
  TOO_LARGE: life('an envelope over 1 MiB, or nested deeper than 64 levels'),
  FIELD_PATH: life('a field path that leads through something that is no object, or to no list'),
  DRAFT_UNKNOWN: life('no draft of that id, or several and none was named'),
  DRAFT_DAMAGED: life('a draft file that does not hold what writ writes'),
  AGENT_ID_CHANGED: life('the envelope names another agent than its draft'),
  CONTRACT_CLOSED: life('the contract is COMPLETE; a closed contract is never rewritten'),
  ILLEGAL_TRANSITION: life('the state machine has no such step'),
  RETRY_CAP: life('a third IN_PROGRESS in a row without a resume'),
  BLIND_VERIFICATION: life('a producer bound to a plan task cannot promote itself to COMPLETE'),
  PARENT_UNKNOWN: life('parent_handoff_id names no row'),
  VERIFIER_BOUND: life('a verifier carries no plan_task_id of its own'),
  VERIFIER_NOT_INDEPENDENT: life('a verifier is not the producer it verifies'),
  ROW_UNKNOWN: life('no row of that id'),
  GRANT_UNKNOWN: life('no grant of that id'),
  GRANT_NOT_LIVE: life('the grant is not approved, or is frozen, used up or past its hour'),
  GRANT_BYTES: life('the command is not byte for byte the next one of the set'),
  GRANT_RESERVED: life('another command of the set is reserved and not settled'),
  GRANT_NOT_RESERVED: life('nothing is reserved, or by somebody else'),
} as const satisfies Readonly<Record<string, ContractCode>>;

export type ContractCodeName = keyof typeof CONTRACT_CODES;

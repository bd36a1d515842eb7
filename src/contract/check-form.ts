import { agentIdPattern, isAgentId } from './check-agent-id.ts';
import { checkFailureReport, checkFileReferences, checkVerificationType, checkWorkPhase } from './check-optional.ts';
import { checkTypes, checkVocabulary } from './check-vocabulary.ts';
import {
  type ContractError,
  EVIDENCE_KEYS,
  isBlank,
  isFilled,
  isObject,
  isText,
  type JsonObject,
  own,
  type Profile,
  type State,
  statesOf,
  strip,
  TAG,
  toState,
} from './envelope.ts';
import { error, shown, typeName } from './error.ts';

/**
 * The form layer: what an envelope is, seen by itself (contracts.md). Pure. Errors come in check order: keys and types (agent_state only), status,
 * id, pending steps, next action, the evidence keys, verification, then the optional blocks (agent_state only). Empty where the form holds.
 */
export function checkForm(envelope: unknown, profile: Profile): readonly ContractError[] {
  if (!isObject(envelope))
    return [error('MISSING_FIELD', TAG, `there is no envelope: a JSON object is needed, not ${typeName(envelope)}`)];
  const strict = profile === 'agent_state';
  const state = toStatedState(envelope, profile);
  return [
    ...(strict ? [...checkVocabulary(envelope), ...checkTypes(envelope)] : []),
    ...checkStatus(envelope, profile, state),
    ...(state === null ? [] : checkEvidence(envelope, profile, state)),
    ...(strict
      ? [...checkApproval(envelope, state), ...checkFailureReport(envelope), ...checkWorkPhase(envelope)]
      : []),
    ...(strict ? checkFileReferences(envelope) : []),
  ];
}

/** The state, or null where there is none that the evidence could be measured by. Of a number or a list no state is read. */
function toStatedState(envelope: JsonObject, profile: Profile): State | null {
  return toState(own(own(envelope, 'agent_status'), profile), profile);
}

function checkStatus(envelope: JsonObject, profile: Profile, state: State | null): readonly ContractError[] {
  const status = own(envelope, 'agent_status');
  const strict = profile === 'agent_state';
  if (!isFilled(status)) {
    // Of a wrong type FIELD_TYPE has told already.
    const told = strict && status !== undefined && status !== null && !isObject(status);
    return told ? [] : [error('MISSING_FIELD', 'agent_status', 'agent_status is not there')];
  }
  const errors: ContractError[] = [];
  const said = own(status, profile);
  const at = `agent_status.${profile}`;
  if (isBlank(said)) errors.push(error('MISSING_FIELD', at, `${profile} is not there`));
  else if (state === null && !(strict && typeof said !== 'string'))
    errors.push(error('PLAN_STATUS', at, `${shown(said)} is none of ${statesOf(profile).join(', ')}`));
  const id = own(status, 'agent_id');
  if (isBlank(id)) errors.push(error('MISSING_FIELD', 'agent_status.agent_id', 'agent_id is not there'));
  else if (typeof id !== 'string' || !isAgentId(id, profile))
    errors.push(
      error('AGENT_ID_FORMAT', 'agent_status.agent_id', `${shown(id)} does not match ${agentIdPattern(profile)}`),
    );
  if (!Object.hasOwn(status, 'pending_steps'))
    errors.push(error('MISSING_FIELD', 'agent_status.pending_steps', 'pending_steps is not there; [] would do'));
  const next = own(status, 'next_action');
  if (isBlank(next)) errors.push(error('MISSING_FIELD', 'agent_status.next_action', 'next_action is not there'));
  return strict && state === 'COMPLETE' ? [...errors, ...checkDone(status)] : errors;
}

function checkDone(status: JsonObject): readonly ContractError[] {
  const errors: ContractError[] = [];
  const next = own(status, 'next_action');
  if (!isBlank(next) && !(typeof next === 'string' && strip(next).toLowerCase() === 'done'))
    errors.push(
      error('COMPLETE_SHAPE', 'agent_status.next_action', `COMPLETE goes with next_action "done", not ${shown(next)}`),
    );
  const pending = own(status, 'pending_steps');
  if (Array.isArray(pending) && pending.length > 0)
    errors.push(
      error('COMPLETE_SHAPE', 'agent_status.pending_steps', `COMPLETE goes with no steps left, not ${pending.length}`),
    );
  return errors;
}

function checkEvidence(envelope: JsonObject, profile: Profile, state: State): readonly ContractError[] {
  const strict = profile === 'agent_state';
  const evidence = own(envelope, 'evidence_report');
  const errors: ContractError[] = [];
  if (isFilled(evidence)) {
    for (const key of EVIDENCE_KEYS)
      if (!Object.hasOwn(evidence, key) && !Object.hasOwn(evidence, key.toUpperCase()))
        errors.push(error('MISSING_FIELD', `evidence_report.${key}`, `${key} is not there; [] would do`));
  } else if (!strict || evidence === undefined || evidence === null || isObject(evidence))
    errors.push(error('MISSING_FIELD', 'evidence_report', 'evidence_report is not there'));
  const verification = own(evidence, 'verification');
  if (strict) errors.push(...checkVerificationType(verification));
  return state === 'COMPLETE' ? [...errors, ...checkResult(verification)] : errors;
}

function checkResult(verification: unknown): readonly ContractError[] {
  const at = 'evidence_report.verification';
  if (!isObject(verification))
    return [error('VERIFICATION_RESULT', at, 'COMPLETE needs a verification object whose result is "pass"')];
  const result = own(verification, 'result');
  if (typeof result === 'string' && strip(result).toLowerCase() === 'pass') return [];
  return [error('VERIFICATION_RESULT', `${at}.result`, `COMPLETE needs the result "pass", not ${shown(result)}`)];
}

function checkApproval(envelope: JsonObject, state: State | null): readonly ContractError[] {
  if (state !== 'APPROVAL_REQUEST') return [];
  const request = own(envelope, 'approval_request');
  if (!isFilled(request))
    return [error('APPROVAL_REQUEST_SHAPE', 'approval_request', 'APPROVAL_REQUEST needs an approval_request object')];
  return isText(own(request, 'exact_content'))
    ? []
    : [error('APPROVAL_REQUEST_SHAPE', 'approval_request.exact_content', 'the exact command to approve is not there')];
}

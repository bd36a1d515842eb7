import { toGrantCommands } from './command-set.ts';
import { at, type ContractError, isFilled, isObject, isText, own, type Profile, type State } from './envelope.ts';
import { error, shown } from './error.ts';
import type { Input } from './input.ts';
import { parseUpdates } from './update-contracts.ts';

/** What an envelope is compared with. */
export interface CrossFacts {
  readonly profile: Profile;
  readonly state: State;
  /** What the agent was given; null where nobody says. */
  readonly input: Input | null;
  /** Whether the approval_id of the envelope waits for a decision; null where the envelope names none. */
  readonly approvalPending: boolean | null;
}

export interface CrossChecked {
  readonly errors: readonly ContractError[];
  readonly warnings: readonly ContractError[];
}

const OWNERSHIP = ['owned_here', 'cross_surface_dependency', 'not_my_surface'];
const CONSOLIDATION = [
  'ownership_assessment',
  'confirmed_findings',
  'suspected_findings',
  'conflicts',
  'open_gaps',
  'next_best_agent',
];
const RISKS = ['LOW', 'MEDIUM', 'HIGH', 'CRITICAL'];

/** The second layer: an envelope whose form holds against the input it answers and what the store knows. Pure. */
export function crossCheck(envelope: unknown, facts: CrossFacts): CrossChecked {
  const updates = parseUpdates(envelope, facts.input?.writable ?? null);
  const approval = checkApproval(envelope, facts);
  return {
    errors: [
      ...approval.errors,
      ...checkConsolidation(own(envelope, 'consolidation_report'), facts.input?.consolidation ?? false),
      ...(facts.state === 'COMPLETE' ? checkLoop(own(envelope, 'loop_state')) : []),
      ...updates.errors,
    ],
    warnings: [...approval.warnings, ...checkGaps(envelope, facts.state), ...updates.warnings],
  };
}

function checkApproval(envelope: unknown, { state, approvalPending }: CrossFacts): CrossChecked {
  const request = own(envelope, 'approval_request');
  const asked = state === 'APPROVAL_REQUEST';
  const errors: ContractError[] = [];
  const warnings: ContractError[] = [];
  if (!isFilled(request)) {
    if (asked)
      errors.push(error('APPROVAL_REQUEST_MISSING', 'approval_request', 'there is nothing to approve or to refuse'));
    return { errors, warnings };
  }
  // Before the request is made it is still being put together, and then nothing of it blocks.
  const told = asked ? errors : warnings;
  for (const [key, code, what] of [
    ['rollback', 'APPROVAL_REQUEST_ROLLBACK', 'how to undo'],
    ['verification', 'APPROVAL_REQUEST_VERIFICATION', 'how success is confirmed'],
  ] as const)
    if (!isSaid(own(request, key))) told.push(error(code, `approval_request.${key}`, `it does not say ${what}`));
  const commands = toGrantCommands(request);
  if ('fault' in commands) told.push(error('COMMAND_SET_SHAPE', 'approval_request.command_set', commands.fault));
  for (const key of ['operation', 'exact_content', 'scope'])
    if (!isSaid(own(request, key)))
      warnings.push(error('APPROVAL_REQUEST_FIELD', `approval_request.${key}`, `${key} is not there`));
  const risk = own(request, 'risk_level');
  if (!(typeof risk === 'string' && RISKS.includes(risk)))
    warnings.push(
      error('APPROVAL_REQUEST_FIELD', 'approval_request.risk_level', `${shown(risk)} is none of ${RISKS.join(', ')}`),
    );
  if (asked && approvalPending === false)
    errors.push(
      error('APPROVAL_ID_NOT_PENDING', 'approval_request.approval_id', 'no request of that id waits for a decision'),
    );
  return { errors, warnings };
}

function checkConsolidation(report: unknown, required: boolean): readonly ContractError[] {
  if (!isObject(report)) {
    if (!required && (report === undefined || report === null)) return [];
    return [
      error('CONSOLIDATION_REPORT', 'consolidation_report', 'the input asks for it, and there is no such object'),
    ];
  }
  const errors = CONSOLIDATION.filter((key) => eitherCase(report, key) === undefined).map((key) =>
    error('CONSOLIDATION_FIELD', `consolidation_report.${key}`, `${key} is not there; [] would do for a list`),
  );
  const owner = eitherCase(report, 'ownership_assessment');
  if (owner !== undefined && !(typeof owner === 'string' && OWNERSHIP.includes(owner))) {
    const said = typeof owner === 'string' ? shown(owner).slice(1, -1) : shown(owner);
    errors.push({
      code: `OWNERSHIP_ASSESSMENT:${said}`,
      field: 'consolidation_report.ownership_assessment',
      detail: `it is one of ${OWNERSHIP.join(', ')}`,
    });
  }
  return errors;
}

/** A key in lower or upper case, as the evidence keys are read. */
function eitherCase(report: unknown, key: string): unknown {
  return own(report, key) ?? own(report, key.toUpperCase()) ?? (has(report, key) ? null : undefined);
}

function has(report: unknown, key: string): boolean {
  return isObject(report) && (Object.hasOwn(report, key) || Object.hasOwn(report, key.toUpperCase()));
}

/** COMPLETE is blocked while the loop has rounds left and its metric is below the threshold. Numbers may come as text; without all four nothing is blocked. */
function checkLoop(loop: unknown): readonly ContractError[] {
  const [iteration, max, metric, threshold] = ['iteration', 'max_iterations', 'metric', 'threshold'].map((key) =>
    toNumber(own(loop, key)),
  );
  if (iteration == null || max == null || metric == null || threshold == null) return [];
  if (!(iteration < max && metric < threshold)) return [];
  return [
    error(
      'LOOP_STATE_INCOMPLETE',
      'loop_state',
      `iteration=${iteration}<max=${max},metric=${metric}<threshold=${threshold}`,
    ),
  ];
}

function toNumber(value: unknown): number | null {
  if (typeof value === 'number') return Number.isFinite(value) ? value : null;
  if (
    typeof value !== 'string' ||
    !/^\s{0,9}[+-]?(?:\d{1,30}\.?\d{0,30}|\.\d{1,30})(?:e[+-]?\d{1,3})?\s{0,9}$/i.test(value)
  )
    return null;
  return Number(value);
}

function checkGaps(envelope: unknown, state: State): readonly ContractError[] {
  if (state === 'BLOCKED') {
    const gaps = at(envelope, 'evidence_report.open_gaps') ?? at(envelope, 'evidence_report.OPEN_GAPS');
    if (!(Array.isArray(gaps) && gaps.length > 0))
      return [error('BLOCKED_WITHOUT_GAP', 'evidence_report.open_gaps', 'BLOCKED names what it lacks here')];
  }
  if (state === 'NEEDS_INPUT') {
    const next = at(envelope, 'agent_status.next_action');
    if (!(typeof next === 'string' && /\bor\b|[|;,/?\n]|\d[.)]|\([a-z]\)/i.test(next)))
      return [error('NEEDS_INPUT_WITHOUT_OPTIONS', 'agent_status.next_action', 'NEEDS_INPUT lists its options here')];
  }
  return [];
}

function isSaid(value: unknown): boolean {
  return isText(value) || (typeof value === 'object' && value !== null && Object.keys(value).length > 0);
}

import { EVIDENCE_KEYS } from './envelope.ts';

/** The types a declared field may hold. */
export type JsonType = 'object' | 'array' | 'string';
type Fields = Readonly<Record<string, JsonType>>;

/** What an `agent_state` envelope may hold at its three closed levels, and the types that are looked at. Null is allowed for each. */
export const ROOT_TYPES: Fields = {
  agent_status: 'object',
  evidence_report: 'object',
  consolidation_report: 'object',
  approval_request: 'object',
  report_prose: 'string',
};
export const STATUS_TYPES: Fields = {
  agent_state: 'string',
  agent_id: 'string',
  pending_steps: 'array',
  next_action: 'string',
};
export const EVIDENCE_TYPES: Fields = {
  ...Object.fromEntries(EVIDENCE_KEYS.map((key) => [key, 'array' as const])),
  verification: 'object',
};

/** Root keys with a code of their own for their form, and advisory ones that never refuse (their parsers warn). */
const OTHER_ROOT_KEYS = [
  'failure_report',
  'work_phase',
  'context_consumption',
  'memorialize_suggestions',
  'memory_delta',
  'memory_suggestions',
  'rollback_executed',
  'update_contracts',
  'user_facing_summary',
];

/** Root keys that hosts and rescue lanes write, never an agent: they pass, and no message offers them. */
const SYSTEM_KEYS = [
  '_contract_tag',
  'agent_name',
  'agent_output_preview',
  'agent_state',
  'auto_captured',
  'backstop',
  'binding_rejection',
  'born_at_dispatch',
  'continues_contract_id',
  'degraded',
  'dispatch_closed_at_subagent_stop',
  'fallback',
  'reaped',
  'reconciled',
  'reconstructed_from_finalized_draft',
  'salvaged',
  'superseded_by_contract_id',
];

/** Keys an agent may write at the root. */
export const AGENT_ROOT_KEYS: readonly string[] = [...Object.keys(ROOT_TYPES), ...OTHER_ROOT_KEYS];
export const ROOT_KEYS: ReadonlySet<string> = new Set([...AGENT_ROOT_KEYS, ...SYSTEM_KEYS]);
export const STATUS_KEYS: ReadonlySet<string> = new Set(Object.keys(STATUS_TYPES));
export const EVIDENCE_REPORT_KEYS: ReadonlySet<string> = new Set([
  ...Object.keys(EVIDENCE_TYPES),
  ...EVIDENCE_KEYS.map((key) => key.toUpperCase()),
]);

/** Where a key belongs, by its last segment; the root comes first, so a key the system writes there is never misplaced. */
export const HOME_OF: ReadonlyMap<string, string> = new Map([
  ...Object.keys(EVIDENCE_TYPES).map((key) => [key, `evidence_report.${key}`] as const),
  ...Object.keys(STATUS_TYPES).map((key) => [key, `agent_status.${key}`] as const),
  ...[...ROOT_KEYS].map((key) => [key, key] as const),
]);

export const WORK_PHASES = ['framing', 'investigating', 'planning', 'executing', 'verifying'];
export const SEVERITIES = ['info', 'warning', 'error'];

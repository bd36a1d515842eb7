import { isObject, type JsonObject, own } from './envelope.ts';

/** What an agent is given before its turn: five sections (contracts.md). Every field may be left out; what the host says besides is kept. */
export interface InputDraft {
  readonly projectKnowledge?: JsonObject;
  readonly goal: string;
  readonly acceptanceCriteria: readonly string[];
  readonly scope: readonly string[];
  readonly consolidationRequired: boolean;
  readonly crossCheckRequired: boolean;
  readonly primarySurface: string | null;
  readonly activeSurfaces: readonly string[];
  readonly adjacentAgents: readonly string[];
  readonly readableSections: readonly string[];
  readonly writableSections: readonly string[];
  readonly sessionId: string | null;
  readonly provider: string | null;
  readonly contractVersion: string;
}

/** What the cross-check needs of an input. */
export interface Input {
  /** The output owes a consolidation_report. */
  readonly consolidation: boolean;
  /** Contracts the agent may write; null where the input does not say. */
  readonly writable: readonly string[] | null;
}

/** Builds the input envelope, its keys always in the same order. */
export function buildInput(draft: InputDraft): JsonObject {
  const multi = draft.activeSurfaces.length > 1;
  return {
    project_knowledge: draft.projectKnowledge ?? {},
    surface_routing: {
      primary_surface: draft.primarySurface,
      active_surfaces: draft.activeSurfaces,
      multi_surface: multi,
      adjacent_agents: draft.adjacentAgents,
    },
    agent_contract_handoff: {
      goal: draft.goal,
      acceptance_criteria: draft.acceptanceCriteria,
      scope: draft.scope,
      consolidation_required: draft.consolidationRequired,
      cross_check_required: draft.crossCheckRequired || multi,
    },
    write_permissions: { readable_sections: draft.readableSections, writable_sections: draft.writableSections },
    metadata: {
      session_id: draft.sessionId,
      provider: draft.provider,
      contract_version: draft.contractVersion,
    },
  };
}

/** Reads an input envelope; the block of goal and flags under its older name too. @returns why it is none. */
export function readInput(value: unknown): Input | { readonly fault: string } {
  if (!isObject(value)) return { fault: 'the input is a JSON object' };
  const permissions = own(value, 'write_permissions');
  const writable = own(permissions, 'writable_sections');
  if (writable !== undefined && writable !== null && !isNames(writable))
    return { fault: 'write_permissions.writable_sections is a list of names' };
  const brief = own(value, 'agent_contract_handoff') ?? own(value, 'investigation_brief');
  const flags = [
    own(brief, 'consolidation_required'),
    own(brief, 'cross_check_required'),
    own(value, 'consolidation_required'),
    own(value, 'cross_check_required'),
    own(own(value, 'surface_routing'), 'multi_surface'),
  ];
  return { consolidation: flags.some(saysYes), writable: isNames(writable) ? writable : null };
}

/** A flag that is there and does not say no: what cannot be read as no is a yes, because yes asks for more. */
function saysYes(flag: unknown): boolean {
  if (flag === undefined || flag === null || flag === false || flag === 0) return false;
  return !(typeof flag === 'string' && ['', 'false', 'no', '0'].includes(flag.trim().toLowerCase()));
}

function isNames(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'string');
}

const BRIEF_KEYS = [
  'project_knowledge',
  'goal',
  'acceptance_criteria',
  'scope',
  'consolidation_required',
  'cross_check_required',
  'primary_surface',
  'active_surfaces',
  'adjacent_agents',
  'readable_sections',
  'writable_sections',
  'session_id',
  'provider',
  'contract_version',
];

/** Reads what an orchestrator says of a dispatch, flat, into a draft of the input envelope. Only `goal` is needed. @returns what is wrong with it. */
export function readBrief(value: unknown): InputDraft | { readonly fault: string } {
  if (!isObject(value)) return { fault: 'a brief is a JSON object' };
  const unknown = Object.keys(value).find((key) => !BRIEF_KEYS.includes(key));
  if (unknown !== undefined)
    return { fault: `a brief has no ${unknown.slice(0, 60)}; it has ${BRIEF_KEYS.join(', ')}` };
  const faults: string[] = [];
  const names = (key: string): readonly string[] => {
    const found = own(value, key) ?? [];
    if (isNames(found)) return found;
    faults.push(`${key} is a list of texts`);
    return [];
  };
  const textOrNull = (key: string): string | null => {
    const found = own(value, key) ?? null;
    if (found === null || typeof found === 'string') return found;
    faults.push(`${key} is a text`);
    return null;
  };
  const flag = (key: string): boolean => {
    const found = own(value, key) ?? false;
    if (typeof found === 'boolean') return found;
    faults.push(`${key} is true or false`);
    return true;
  };
  const knowledge = own(value, 'project_knowledge') ?? {};
  if (!isObject(knowledge)) faults.push('project_knowledge is an object');
  const goal = textOrNull('goal');
  if (goal === null || goal.trim() === '') faults.push('goal says what is to be reached');
  const draft: InputDraft = {
    projectKnowledge: isObject(knowledge) ? knowledge : {},
    goal: goal ?? '',
    acceptanceCriteria: names('acceptance_criteria'),
    scope: names('scope'),
    consolidationRequired: flag('consolidation_required'),
    crossCheckRequired: flag('cross_check_required'),
    primarySurface: textOrNull('primary_surface'),
    activeSurfaces: names('active_surfaces'),
    adjacentAgents: names('adjacent_agents'),
    readableSections: names('readable_sections'),
    writableSections: names('writable_sections'),
    sessionId: textOrNull('session_id'),
    provider: textOrNull('provider'),
    contractVersion: textOrNull('contract_version') ?? '1',
  };
  const [fault] = faults;
  return fault === undefined ? draft : { fault };
}

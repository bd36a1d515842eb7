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

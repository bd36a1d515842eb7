import type { ContractRow, GrantRow } from '../store/contracts.ts';
import { parseAdvisory } from './advisory.ts';
import { at, isObject, type JsonObject, own, type Profile, stateOf } from './envelope.ts';
import { envelopeOf, isVerified, resultOf } from './finalize.ts';
import { viewGrant } from './grant.ts';
import type { Validated } from './validate.ts';
import { viewRow } from './view.ts';

/** What an orchestrator does with a row (the response side's table). */
export type Route =
  | 'wait'
  | 'resume_from_checkpoints'
  | 'continue'
  | 'present_approval'
  | 'ask_user'
  | 'surface_obstacle'
  | 'dispatch_verifier'
  | 'relay'
  | 'synthesize';

export interface NextFacts {
  readonly row: ContractRow;
  /** What its envelope is when it is judged again, now. */
  readonly verdict: Validated;
  /** Newest first. */
  readonly grants: readonly GrantRow[];
  /** The envelope of its draft where that was touched after the row was written; null otherwise. */
  readonly draft: unknown;
  /** How many agents this answer is put together from. */
  readonly agents: number;
  readonly now: number;
}

/** The route of a row, with what the row holds for it and nothing else: what a row does not hold was never delivered. */
export function nextOf(facts: NextFacts): JsonObject {
  const { row, verdict, agents } = facts;
  const envelope = envelopeOf(row);
  const disagreements = disagreementsOf(row, verdict);
  const route = routeOf(row, agents, parseAdvisory(envelope).summary !== null, disagreements.length > 0);
  const summary = route === 'relay' ? parseAdvisory(envelope).summary : null;
  return {
    ...viewRow(row),
    route,
    do: DEEDS[route],
    terminal: isVerified(row),
    summary,
    systemMessage: summary,
    ...partsOf(route, facts, envelope),
    disagreements,
    row: { state: row.state, cut_reason: row.cutReason, says: at(envelope, `agent_status.${row.profile}`) ?? null },
    verdict: {
      ok: verdict.ok,
      errors: verdict.errors,
      verifier: row.verdict === null ? null : readVerdict(row.verdict),
    },
  };
}

const DEEDS: Readonly<Record<Route, string>> = {
  wait: 'The agent has not written yet. When its turn has ended all the same: writ contract reconcile.',
  resume_from_checkpoints: 'The turn was cut. Resume it from what it had checkpointed, never from zero.',
  continue: 'Continue the same increment with its checkpoints.',
  present_approval:
    'Present the request to a person. Execute nothing, and infer nothing from an approval: the grant says what ran.',
  ask_user: 'Ask the decision, with its options.',
  surface_obstacle: 'Surface the obstacle; route it on only where another owner can resolve it.',
  dispatch_verifier: 'Dispatch a verifier bound to this row by parent_handoff_id, without a plan task of its own.',
  relay: 'Relay the summary near-verbatim, in the language of the user.',
  synthesize: 'Put the answer together from these parts; hide nothing that row and verdict disagree on.',
};

function routeOf(row: ContractRow, agents: number, hasSummary: boolean, disagrees: boolean): Route {
  if (row.state === 'DISPATCHED') return 'wait';
  if (row.cutReason !== null) return 'resume_from_checkpoints';
  switch (row.state) {
    case 'APPROVAL_REQUEST':
      return 'present_approval';
    case 'NEEDS_INPUT':
      return 'ask_user';
    case 'BLOCKED':
      return 'surface_obstacle';
    case 'NEEDS_VERIFICATION':
      return 'dispatch_verifier';
    case 'COMPLETE':
      return agents === 1 && hasSummary && !disagrees ? 'relay' : 'synthesize';
    default:
      return 'continue';
  }
}

function partsOf(route: Route, { row, grants, draft, now }: NextFacts, envelope: unknown): JsonObject {
  const status = own(envelope, 'agent_status');
  const gaps = evidenceOf(envelope, 'open_gaps');
  switch (route) {
    case 'wait':
      return {};
    case 'resume_from_checkpoints':
    case 'continue':
      return {
        draft_id: row.contractId,
        checkpoints: {
          pending_steps: own(status, 'pending_steps') ?? null,
          next_action: own(status, 'next_action') ?? null,
          evidence_report: own(envelope, 'evidence_report') ?? null,
        },
        newer_in_draft: draft === null ? null : (own(draft, 'agent_status') ?? null),
      };
    case 'present_approval':
      return {
        approval_request: own(envelope, 'approval_request') ?? null,
        grants: grants.map((grant) => viewGrant(grant, now)),
      };
    case 'ask_user':
      return { question: own(status, 'next_action') ?? null, open_gaps: gaps };
    case 'surface_obstacle':
      return { open_gaps: gaps, next_action: own(status, 'next_action') ?? null };
    case 'dispatch_verifier':
      return {
        parent_handoff_id: row.id,
        plan_task_id: row.planTaskId,
        command: `writ contract init --parent-handoff-id ${row.id} --profile ${row.profile}`,
        verification: evidenceOf(envelope, 'verification'),
      };
    case 'relay':
      return {};
    case 'synthesize':
      return {
        inputs: {
          user_facing_summary: parseAdvisory(envelope).summary,
          key_outputs: evidenceOf(envelope, 'key_outputs'),
          verification: evidenceOf(envelope, 'verification'),
          failure_report: own(envelope, 'failure_report') ?? null,
          cross_layer_impacts: evidenceOf(envelope, 'cross_layer_impacts'),
          open_gaps: gaps,
          consolidation_report: own(envelope, 'consolidation_report') ?? null,
        },
      };
  }
}

function evidenceOf(envelope: unknown, key: string): unknown {
  const evidence = own(envelope, 'evidence_report');
  return own(evidence, key) ?? own(evidence, key.toUpperCase()) ?? null;
}

/** Where the row and what can be said of its envelope part. Both are shown. */
function disagreementsOf(row: ContractRow, verdict: Validated): readonly string[] {
  const envelope = envelopeOf(row);
  const found: string[] = [];
  if (row.state === 'DISPATCHED') return found;
  const said = stateOf(envelope, row.profile as Profile);
  if (said !== row.state) found.push(`the row is ${row.state} and its envelope says ${said ?? 'no state'}`);
  if (!verdict.ok && row.cutReason === null)
    found.push(`judged now the envelope is refused: ${verdict.errors.map((one) => one.code).join(', ')}`);
  if (row.state === 'COMPLETE' && row.cutReason !== null)
    found.push(`the row says COMPLETE, and the turn was cut (${row.cutReason}): it is not verified`);
  const verifier = readVerdict(row.verdict ?? 'null');
  if (row.state === 'COMPLETE' && own(verifier, 'result') === 'fail' && resultOf(envelope) === 'pass')
    found.push('the row says COMPLETE and its verifier says fail');
  // Promoted by a verifier, the row is right and the envelope is what the producer had said before.
  return own(verifier, 'result') === 'pass' && row.state === 'COMPLETE'
    ? found.filter((one) => !one.startsWith('the row is COMPLETE and its envelope'))
    : found;
}

function readVerdict(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

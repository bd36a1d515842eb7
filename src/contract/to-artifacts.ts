import type { ArtifactClass } from '../model/artifact-class.ts';
import { parseAdvisory } from './advisory.ts';
import { type JsonObject, own, type State } from './envelope.ts';

/** A text that a finalized contract leaves for the gate, before it is signed. It loads at reference, whatever it says. */
export interface ContractArtifact {
  readonly path: string;
  readonly class: Extract<ArtifactClass, 'operational_handoff' | 'memory'>;
  readonly content: string;
}

/** How long the handoff of a contract is good, ms. */
export const HANDOFF_LIFE = 7 * 86_400_000;

const MAX_MEMORIES = 32;

/** The findings of a contract as one handoff, and each memory it suggests. Empty where it found and suggests nothing. */
export function toArtifacts(
  contractId: string,
  agentId: string,
  state: State,
  envelope: JsonObject,
): readonly ContractArtifact[] {
  const findings = handoffText(agentId, state, envelope);
  const memories = parseAdvisory(envelope).memorialize.slice(0, MAX_MEMORIES);
  return [
    ...(findings === null
      ? []
      : [{ path: `HANDOFF-${contractId}.md`, class: 'operational_handoff' as const, content: findings }]),
    ...memories.map((memory, index) => ({
      path: `memory/contract-${contractId}-${index + 1}.md`,
      class: 'memory' as const,
      content: `# ${line(memory.description)}\n\n${memory.body}\n${memory.rationale === null ? '' : `\nWhy: ${memory.rationale}\n`}`,
    })),
  ];
}

function handoffText(agentId: string, state: State, envelope: JsonObject): string | null {
  const evidence = own(envelope, 'evidence_report');
  const sections = [
    ['Findings', 'key_outputs'],
    ['Open gaps', 'open_gaps'],
    ['Impacts on other layers', 'cross_layer_impacts'],
  ].flatMap(([title = '', key = '']) => {
    const items = own(evidence, key) ?? own(evidence, key.toUpperCase());
    if (!Array.isArray(items) || items.length === 0) return [];
    return [`## ${title}\n\n${items.map((item: unknown) => `- ${words(item)}`).join('\n')}\n`];
  });
  if (sections.length === 0) return null;
  return [`# What agent ${agentId} found; its contract ended in ${state}\n`, ...sections].join('\n');
}

/** A text as one item of a list: its further lines are indented, so that they begin nothing of their own. */
function words(item: unknown): string {
  return (typeof item === 'string' ? item : JSON.stringify(item)).replaceAll(/\r?\n/g, '\n  ');
}

function line(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim();
}

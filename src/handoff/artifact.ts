import { finding } from '../model/codes.ts';
import type { Finding } from '../model/finding.ts';
import {
  type EvidenceItem,
  FLOOR_STATES,
  type HandoffArtifact,
  type ProvenanceEntry,
  type ReasoningStep,
  STEP_STATES,
} from '../model/handoff.ts';
import { instantFromIso } from '../model/instant.ts';
import { RUNGS } from '../model/policy.ts';
import { isName, isUuid } from '../sign/field-form.ts';
import { FieldReader, isJsonObject } from '../sign/field-reader.ts';
import { floorOf } from './floors.ts';

/** Longest text of one field, in UTF-16 units, and most entries of one list. */
const TEXT = 16_384;
const SHORT = 1_024;
const MOST = 512;
const MOST_FLOORS = 99;

/** @returns the artifact, or the first field that does not fit (FORGE, handoff artifact schema). Unknown fields are refused: nothing may ride along unread. */
export function parseArtifactForm(value: unknown): HandoffArtifact | Finding {
  if (!isJsonObject(value)) return invalid('artifact', 'is no object');
  const fields = new FieldReader(value, '');
  let inner: string | null = null;
  const rows = <T>(name: string, read: (row: FieldReader) => T): readonly T[] =>
    fields.list(name, MOST, (one, index) => {
      const place = `${name}[${index}]`;
      if (!isJsonObject(one)) {
        inner ??= place;
        return null;
      }
      const row = new FieldReader(one, `${place}.`);
      const made = read(row);
      const refused = row.refusal();
      if (refused === null) return made;
      inner ??= refused.at ?? place;
      return null;
    });
  const artifact: HandoffArtifact = {
    handoff_id: fields.text('handoff_id', isUuid),
    from_agent: fields.text('from_agent', isName),
    to_agent: fields.text('to_agent', isName),
    task_intent: fields.text('task_intent', (text) => text.trim() !== '' && text.length <= TEXT),
    constraints: fields.texts('constraints', MOST_FLOORS, (text) => floorOf(text) !== null),
    evidence: rows<EvidenceItem>('evidence', (row) => ({
      source: row.text('source', (text) => text.trim() !== '' && text.length <= TEXT),
      rung: row.word('rung', RUNGS),
      confidence: row.number('confidence', 0, 1),
    })),
    reasoning_chain: rows<ReasoningStep>('reasoning_chain', (row) => ({
      step: row.count('step'),
      action: row.text('action', (text) => text.length <= TEXT),
      result: row.text('result', (text) => text.length <= TEXT),
      status: row.word('status', STEP_STATES),
    })),
    floor_state: fields.object('floor_state') as HandoffArtifact['floor_state'],
    provenance: rows<ProvenanceEntry>('provenance', (row) => ({
      agent: row.text('agent', isName),
      action: row.text('action', (text) => text.length <= SHORT),
      timestamp: row.text('timestamp', (text) => instantFromIso(text) !== null),
    })),
    next_actions: fields.texts('next_actions', MOST, (text) => text.length <= TEXT),
    escalation_note: fields.text('escalation_note', (text) => text.length <= TEXT),
  };
  const refused = fields.refusal();
  if (inner !== null) return invalid(inner, 'is missing, unknown or does not fit');
  if (refused !== null) return invalid(refused.at || 'artifact', WHY[refused.refused] ?? 'does not fit');
  return floorFault(artifact) ?? artifact;
}

const WHY: Readonly<Record<string, string>> = {
  'field-missing': 'is missing',
  'field-invalid': 'does not fit',
  'field-unknown': 'holds a field that no handoff has',
};

function floorFault({ floor_state }: HandoffArtifact): Finding | null {
  const names = Object.keys(floor_state);
  if (names.length > MOST_FLOORS) return invalid('floor_state', 'names too many floors');
  const states = new Map<string, string>();
  for (const name of names) {
    const floor = floorOf(name);
    const state: unknown = floor_state[name];
    if (floor === null) return invalid('floor_state', 'names something that is no floor');
    if (!FLOOR_STATES.some((one) => one === state))
      return invalid(`floor_state.${floor}`, `is not one of ${FLOOR_STATES.join(', ')}`);
    // F2 and F02 are one id: said twice they could say two things.
    if (states.has(floor)) return invalid(`floor_state.${floor}`, 'is said twice');
    states.set(floor, String(state));
  }
  return null;
}

function invalid(place: string, why: string): Finding {
  return finding('handoff-invalid', { message: `${place} ${why}.` });
}

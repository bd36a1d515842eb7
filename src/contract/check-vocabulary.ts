import { escapeText } from '../model/escaped.ts';
import { type ContractError, isObject, own } from './envelope.ts';
import { error, shown, typeName } from './error.ts';
import {
  AGENT_ROOT_KEYS,
  EVIDENCE_REPORT_KEYS,
  EVIDENCE_TYPES,
  HOME_OF,
  type JsonType,
  ROOT_KEYS,
  ROOT_TYPES,
  STATUS_KEYS,
  STATUS_TYPES,
} from './vocabulary.ts';

/** Keys that do not belong where they stand, at the three closed levels of `agent_state`. What lies inside verification and the reports is open. */
export function checkVocabulary(envelope: unknown): readonly ContractError[] {
  return [
    ...unknownKeys(envelope, ROOT_KEYS, '', AGENT_ROOT_KEYS),
    ...unknownKeys(own(envelope, 'agent_status'), STATUS_KEYS, 'agent_status.', [...STATUS_KEYS]),
    ...unknownKeys(own(envelope, 'evidence_report'), EVIDENCE_REPORT_KEYS, 'evidence_report.', [
      ...Object.keys(EVIDENCE_TYPES),
    ]),
  ];
}

/** Declared fields that hold another type than they should. What is null or not there is left to the checks of each field. */
export function checkTypes(envelope: unknown): readonly ContractError[] {
  return [
    ...wrongTypes(envelope, ROOT_TYPES, ''),
    ...wrongTypes(own(envelope, 'agent_status'), STATUS_TYPES, 'agent_status.'),
    ...wrongTypes(own(envelope, 'evidence_report'), EVIDENCE_TYPES, 'evidence_report.'),
  ];
}

function unknownKeys(
  container: unknown,
  known: ReadonlySet<string>,
  prefix: string,
  offered: readonly string[],
): readonly ContractError[] {
  if (!isObject(container)) return [];
  return Object.keys(container)
    .filter((key) => !known.has(key))
    .map((key) => {
      const path = prefix + escapeText(key, 120);
      const home = HOME_OF.get(key);
      return home === undefined
        ? error('UNKNOWN_FIELD', path, `the envelope has no ${path}; there are ${offered.join(', ')}`)
        : error('MISPLACED_KEY', path, `${path} belongs at ${home}; it was not moved there`);
    });
}

function wrongTypes(
  container: unknown,
  types: Readonly<Record<string, JsonType>>,
  prefix: string,
): readonly ContractError[] {
  if (!isObject(container)) return [];
  return Object.entries(types).flatMap(([key, type]) => {
    const value = own(container, key);
    if (value === undefined || value === null || typeName(value) === type) return [];
    return [error('FIELD_TYPE', prefix + key, `${prefix}${key} is of type ${type}, not ${shown(value)}`)];
  });
}

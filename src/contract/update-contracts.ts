import { type ContractError, isObject, isText, type JsonObject, own } from './envelope.ts';
import { error, shown, typeName } from './error.ts';
import { findLiveState } from './live-state.ts';
import { isMisspeltReference, parseResourceReference, renderResourceReference } from './resource-reference.ts';

export interface ContractUpdate {
  readonly contract: string;
  readonly payload: JsonObject;
}

/** The writes an envelope asks for, and what is wrong with each. What is refused is in `errors`; findings that do not stop it are `warnings`. */
export interface ParsedUpdates {
  readonly updates: readonly ContractUpdate[];
  readonly errors: readonly ContractError[];
  readonly warnings: readonly ContractError[];
}

/** @param writable the contracts the agent may write; null where no input says. */
export function parseUpdates(envelope: unknown, writable: readonly string[] | null): ParsedUpdates {
  const value = own(envelope, 'update_contracts');
  if (value === undefined || value === null) return { updates: [], errors: [], warnings: [] };
  const field = 'update_contracts';
  if (!Array.isArray(value))
    return {
      updates: [],
      errors: [error('UPDATE_CONTRACTS_SHAPE', field, `a list of {contract, payload}, not ${typeName(value)}`)],
      warnings: [],
    };
  const updates: ContractUpdate[] = [];
  const errors: ContractError[] = [];
  const warnings: ContractError[] = [];
  value.forEach((entry: unknown, index) => {
    const at = `${field}[${index}]`;
    const contract = own(entry, 'contract');
    const payload = own(entry, 'payload');
    if (!isText(contract))
      errors.push(error('UPDATE_CONTRACTS_SHAPE', `${at}.contract`, 'an entry names its contract'));
    else if (!isObject(payload))
      errors.push(error('UPDATE_CONTRACTS_SHAPE', `${at}.payload`, `a payload is an object, not ${typeName(payload)}`));
    else {
      if (writable !== null && !writable.includes(contract))
        errors.push(
          error('UPDATE_CONTRACTS_NOT_WRITABLE', `${at}.contract`, `${shown(contract)} is not among writable_sections`),
        );
      if (updates.some((one) => one.contract === contract))
        warnings.push(
          error('UPDATE_CONTRACTS_DUPLICATE', `${at}.contract`, `${shown(contract)} comes twice: combine the payloads`),
        );
      updates.push({ contract, payload });
      warnings.push(...checkPayload(payload, `${at}.payload`));
    }
  });
  if (writable === null && updates.length > 0)
    warnings.push(
      error('UPDATE_CONTRACTS_UNCHECKED', field, 'no input says what may be written, so that was not compared'),
    );
  return { updates, errors, warnings };
}

/** Findings on one payload: live state, and references to other repositories that are not spelt as such. */
export function checkPayload(payload: unknown, at: string): readonly ContractError[] {
  const live = findLiveState(payload).map(({ path, what }) =>
    error(
      'UPDATE_CONTRACTS_LIVE_STATE',
      `${at}.${path}`,
      `${what} changes without a write; ask for it when it is needed`,
    ),
  );
  return [...live, ...references(payload, at)];
}

function references(value: unknown, at: string): readonly ContractError[] {
  if (typeof value === 'string')
    return isMisspeltReference(value)
      ? [error('RESOURCE_REFERENCE', at, `${shown(value)} is not spelt host/owner/repo:table/name`)]
      : [];
  if (Array.isArray(value)) return value.flatMap((item: unknown, index) => references(item, `${at}[${index}]`));
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([key, item]) => references(item, `${at}.${key}`));
}

/** Where a payload and what is there are of kinds that cannot be merged without losing something. */
export interface MergeConflict {
  readonly path: string;
  readonly detail: string;
}

/**
 * Merges a payload into a section (contracts.md): new keys are added, objects merged, lists united without duplicates, scalars replaced, and what the
 * payload does not mention stays. Nothing is ever deleted, so a payload that would put a scalar over an object or a list is a conflict and nothing is merged.
 * References to other repositories are written in their one spelling. Neither argument is changed.
 */
export function mergeUpdate(
  current: JsonObject,
  payload: JsonObject,
): { readonly merged: JsonObject } | { readonly conflict: MergeConflict } {
  const conflicts: MergeConflict[] = [];
  const merged = mergeObjects(current, payload, '', conflicts);
  const [conflict] = conflicts;
  return conflict === undefined ? { merged } : { conflict };
}

function mergeObjects(current: JsonObject, payload: JsonObject, at: string, conflicts: MergeConflict[]): JsonObject {
  // Entries and not assignments: a key named __proto__ stays a key.
  const result = new Map<string, unknown>(Object.entries(current));
  for (const [key, value] of Object.entries(payload)) {
    const path = at === '' ? key : `${at}.${key}`;
    result.set(key, result.has(key) ? mergeValues(result.get(key), value, path, conflicts) : spelt(value));
  }
  return Object.fromEntries(result);
}

function mergeValues(there: unknown, value: unknown, path: string, conflicts: MergeConflict[]): unknown {
  if (isObject(there) && isObject(value)) return mergeObjects(there, value, path, conflicts);
  if (Array.isArray(there) && Array.isArray(value)) return union([...there, ...value.map(spelt)]);
  if (typeof there === 'object' && there !== null) {
    conflicts.push({ path, detail: `there is an ${typeName(there)}, which a ${typeName(value)} would delete` });
    return there;
  }
  return spelt(value);
}

function union(items: readonly unknown[]): readonly unknown[] {
  const seen = new Set<string>();
  return items.filter((item) => {
    const key = JSON.stringify(sorted(item));
    return seen.has(key) ? false : seen.add(key) !== undefined;
  });
}

/** The value with the keys of every object in one order, so that equal values have equal text. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isObject(value)) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return { entries: entries.map(([key, item]) => [key, sorted(item)]) };
}

/** A new value with every reference in its one spelling; lists lose their duplicates. */
function spelt(value: unknown): unknown {
  if (typeof value === 'string') {
    const reference = isMisspeltReference(value) ? parseResourceReference(value) : null;
    return reference === null ? value : renderResourceReference(reference);
  }
  if (Array.isArray(value)) return union(value.map(spelt));
  return isObject(value) ? Object.fromEntries(Object.entries(value).map(([key, item]) => [key, spelt(item)])) : value;
}

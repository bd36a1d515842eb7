import { type ContractError, isObject, type JsonObject, own } from './envelope.ts';
import { error, typeName } from './error.ts';

/** An envelope after an edit, or why the edit cannot be made. */
export type Edited = { readonly envelope: JsonObject } | { readonly errors: readonly ContractError[] };

const MAX_SEGMENTS = 32;

/** Puts a value at a dotted path. Objects on the way are made where there is nothing or null; anything else on the way is not overwritten. */
export function setField(envelope: JsonObject, field: string, value: unknown): Edited {
  return change(envelope, field, () => ({ value }));
}

/** Appends a value to the list at a dotted path; where there is nothing or null a list begins. */
export function addToField(envelope: JsonObject, field: string, value: unknown): Edited {
  return change(envelope, field, (there) => {
    if (there === undefined || there === null) return { value: [value] };
    if (Array.isArray(there)) return { value: [...there, value] };
    return { fault: `there is no list at ${field} to add to, but a value of type ${typeName(there)}` };
  });
}

/** Merges a patch: objects are merged, everything else is replaced. */
export function fill(envelope: JsonObject, patch: JsonObject): JsonObject {
  const result = new Map<string, unknown>(Object.entries(envelope));
  for (const [key, value] of Object.entries(patch)) {
    const there = result.get(key);
    result.set(key, isObject(there) && isObject(value) ? fill(there, value) : value);
  }
  return Object.fromEntries(result);
}

type Step = (there: unknown) => { readonly value: unknown } | { readonly fault: string };

function change(envelope: JsonObject, field: string, last: Step): Edited {
  const path = field.split('.');
  const fault = (detail: string): Edited => ({ errors: [error('FIELD_PATH', field.slice(0, 200), detail)] });
  if (path.length > MAX_SEGMENTS || path.some((key) => !/^[A-Za-z_][\w-]{0,127}$/.test(key) || key === '__proto__'))
    return fault('a field is named by a dotted path of plain names, like agent_status.next_action');
  const changed = descend(envelope, path, last);
  return 'fault' in changed ? fault(changed.fault) : { envelope: changed.value as JsonObject };
}

function descend(here: unknown, path: readonly string[], last: Step): ReturnType<Step> {
  const [key, ...rest] = path;
  if (key === undefined) return last(here);
  if (here !== undefined && here !== null && !isObject(here))
    return { fault: `the path leads through a value of type ${typeName(here)}, which would be lost` };
  const below = descend(own(here, key), rest, last);
  if ('fault' in below) return below;
  return { value: Object.fromEntries(new Map([...Object.entries(here ?? {}), [key, below.value]])) };
}

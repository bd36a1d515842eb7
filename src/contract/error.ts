import { excerpt } from '../model/escaped.ts';
import type { ContractCodeName } from './codes.ts';
import type { ContractError } from './envelope.ts';

/** Makes an error of a known code. */
export function error(code: ContractCodeName, field: string, detail: string): ContractError {
  return { code, field, detail };
}

/** A value of an envelope for a message: escaped, cut, secrets masked. */
export function shown(value: unknown): string {
  return value === undefined ? 'nothing' : excerpt(JSON.stringify(value) ?? 'nothing');
}

/** The JSON name of a value's type. */
export function typeName(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : value === undefined ? 'nothing' : typeof value;
}

import { isUtf8 } from 'node:buffer';
import type { ReadResult } from '../model/source.ts';
import type { Draft } from './draft.ts';
import { isObject, own, PROFILES } from './envelope.ts';

/** The text of a file that was read whole, else null. */
export function wasReadText(read: ReadResult): string | null {
  return 'bytes' in read && isUtf8(read.bytes) ? Buffer.from(read.bytes).toString('utf8') : null;
}

/** @returns whether a value holds what a draft file holds. */
export function isRecord(value: unknown): value is Draft {
  const text = (key: string): boolean => typeof own(value, key) === 'string';
  const textOrNull = (key: string): boolean => own(value, key) === null || text(key);
  const countOrNull = (key: string): boolean => own(value, key) === null || Number.isSafeInteger(own(value, key));
  const parent = own(value, 'parent');
  const input = own(value, 'input');
  return (
    ['draftId', 'agentId'].every(text) &&
    ['agentName', 'harnessId', 'planTaskId'].every(textOrNull) &&
    ['reopened', 'resumed'].every(countOrNull) &&
    Number.isSafeInteger(own(value, 'createdAt')) &&
    PROFILES.some((one) => one === own(value, 'profile')) &&
    (parent === null || (Number.isSafeInteger(own(parent, 'id')) && typeof own(parent, 'digest') === 'string')) &&
    (input === null || (typeof own(input, 'consolidation') === 'boolean' && isNamesOrNull(own(input, 'writable')))) &&
    isObject(own(value, 'envelope'))
  );
}

function isNamesOrNull(value: unknown): boolean {
  return value === null || (Array.isArray(value) && value.every((one) => typeof one === 'string'));
}

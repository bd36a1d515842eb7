import { type ContractError, isObject, isText, own, strip } from './envelope.ts';
import { error, shown, typeName } from './error.ts';

/** One memory an agent proposes. Nothing of it is decided here. */
export interface MemorySuggestion {
  readonly description: string;
  readonly body: string;
  readonly slug: string | null;
  /** atom, decision or negative; another word is kept, with a warning. */
  readonly type: string | null;
  /** anchor, thread or log; another word is kept, with a warning. */
  readonly class: string | null;
  readonly rationale: string | null;
}

/** What the advisory fields of an envelope say. They never refuse it: what is malformed is skipped and told. */
export interface Advisory {
  readonly memorialize: readonly MemorySuggestion[];
  readonly memories: readonly string[];
  readonly consumption: { readonly tokensUsed: number | null; readonly pctWindow: number | null } | null;
  readonly rollbackExecuted: string | null;
  /** The one field written for a person. */
  readonly summary: string | null;
  readonly warnings: readonly ContractError[];
}

const TYPES = ['atom', 'decision', 'negative'];
const CLASSES = ['anchor', 'thread', 'log'];

/** Reads the advisory fields. Empty and null where they say nothing. */
export function parseAdvisory(envelope: unknown): Advisory {
  const warnings: ContractError[] = [];
  const warn = (field: string, detail: string): void => void warnings.push(error('ADVISORY_FIELD', field, detail));
  const memorialize = listOf(envelope, 'memorialize_suggestions', warn).flatMap(({ entry, at }) => {
    const found = toSuggestion(entry, at, warn);
    return found === null ? [] : [found];
  });
  const memories = listOf(envelope, 'memory_suggestions', warn).flatMap(({ entry, at }) => {
    if (typeof entry === 'string' && strip(entry) !== '') return [entry];
    warn(at, `skipped: it is a text, not ${shown(entry)}`);
    return [];
  });
  return {
    memorialize,
    memories,
    consumption: toConsumption(own(envelope, 'context_consumption'), warn),
    rollbackExecuted: toRollback(own(envelope, 'rollback_executed')),
    summary: toSummary(own(envelope, 'user_facing_summary'), warn),
    warnings,
  };
}

type Warn = (field: string, detail: string) => void;

function listOf(
  envelope: unknown,
  key: string,
  warn: Warn,
): readonly { readonly entry: unknown; readonly at: string }[] {
  const value = own(envelope, key);
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) {
    warn(key, `skipped: it is a list, not ${typeName(value)}`);
    return [];
  }
  return value.map((entry: unknown, index) => ({ entry, at: `${key}[${index}]` }));
}

function toSuggestion(entry: unknown, at: string, warn: Warn): MemorySuggestion | null {
  const description = own(entry, 'description');
  const body = own(entry, 'body');
  if (!isText(description) || !isText(body)) {
    warn(at, 'skipped: a suggestion has a description and a body');
    return null;
  }
  const type = textOf(entry, 'type');
  const cls = textOf(entry, 'class');
  if (type !== null && !TYPES.includes(type)) warn(`${at}.type`, `kept: ${shown(type)} is none of ${TYPES.join(', ')}`);
  if (cls !== null && !CLASSES.includes(cls))
    warn(`${at}.class`, `kept: ${shown(cls)} is none of ${CLASSES.join(', ')}`);
  return { description, body, slug: textOf(entry, 'slug'), type, class: cls, rationale: textOf(entry, 'rationale') };
}

function textOf(entry: unknown, key: string): string | null {
  const value = own(entry, key);
  return isText(value) ? value : null;
}

function toConsumption(value: unknown, warn: Warn): Advisory['consumption'] {
  if (value === undefined || value === null) return null;
  if (!isObject(value)) {
    warn('context_consumption', `skipped: it is an object, not ${typeName(value)}`);
    return null;
  }
  const number = (key: string): number | null => {
    const found = own(value, key);
    if (typeof found === 'number' && Number.isFinite(found)) return found;
    if (found !== undefined && found !== null) warn(`context_consumption.${key}`, `skipped: ${shown(found)}`);
    return null;
  };
  return { tokensUsed: number('tokens_used'), pctWindow: number('pct_window') };
}

function toRollback(value: unknown): string | null {
  if (value === undefined || value === null) return null;
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function toSummary(value: unknown, warn: Warn): string | null {
  if (value === undefined || value === null) return null;
  if (isText(value)) return strip(value);
  warn('user_facing_summary', `skipped: it is a text, not ${shown(value)}`);
  return null;
}

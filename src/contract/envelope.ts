/** A JSON object of which nothing else is known. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** The two shapes of the envelope, named by the key that holds its status (contracts.md). */
export const PROFILES = ['plan_status', 'agent_state'] as const;
export type Profile = (typeof PROFILES)[number];

/** What an agent may say of its turn; `plan_status` has the first five. */
export const STATES = [
  'IN_PROGRESS',
  'APPROVAL_REQUEST',
  'COMPLETE',
  'BLOCKED',
  'NEEDS_INPUT',
  'NEEDS_VERIFICATION',
] as const;
export type State = (typeof STATES)[number];

/** The states of one profile, in the order messages name them. */
export function statesOf(profile: Profile): readonly State[] {
  return profile === 'agent_state' ? STATES : STATES.filter((one) => one !== 'NEEDS_VERIFICATION');
}

/** The seven keys of evidence_report, in check order. `verification` is not one of them. */
export const EVIDENCE_KEYS = [
  'patterns_checked',
  'files_checked',
  'commands_run',
  'key_outputs',
  'verbatim_outputs',
  'cross_layer_impacts',
  'open_gaps',
] as const;

/** The name of the envelope: its fence tag, and the field that is blamed where there is none. */
export const TAG = 'agent_contract_handoff';

/** One reason why an envelope is refused, or one remark on it. */
export interface ContractError {
  /** A code of `codes.ts`. */
  readonly code: string;
  /** Dotted path. */
  readonly field: string;
  /** For people; text of the envelope in it is escaped. */
  readonly detail: string;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A key of the object itself. Undefined where it has none, or is no object. */
export function own(value: unknown, key: string): unknown {
  return isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

/** The value at a dotted path of objects. Undefined where there is none; lists are not entered. */
export function at(value: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((here, key) => own(here, key), value);
}

/** @returns whether an object is there and holds anything. */
export function isFilled(value: unknown): value is JsonObject {
  return isObject(value) && Object.keys(value).length > 0;
}

/**
 * The profile an envelope speaks, by the key of its status. With both keys the stricter one counts; with neither the older one.
 * @param wanted what the caller asked for; null where it leaves the choice to the envelope.
 */
export function profileOf(envelope: unknown, wanted: Profile | null): Profile {
  if (wanted !== null) return wanted;
  return own(own(envelope, 'agent_status'), 'agent_state') === undefined ? 'plan_status' : 'agent_state';
}

/** The state an envelope says, spelt as in the table; null where it says none of its profile. */
export function stateOf(envelope: unknown, profile: Profile): State | null {
  return toState(own(own(envelope, 'agent_status'), profile), profile);
}

/** Longest status looked at, in characters. */
const MAX_STATUS = 256;

/** A status as agents spell it (`Complete.`, ` in_progress `) as the table spells it; null where the table has none. */
export function toState(raw: unknown, profile: Profile): State | null {
  if (typeof raw !== 'string' || raw.length > MAX_STATUS) return null;
  let word = strip(raw).toUpperCase();
  while (/[.,;]$/.test(word.slice(-1))) word = word.slice(0, -1);
  return statesOf(profile).find((one) => one === word) ?? null;
}

// White space as the recorded verdicts count it: String.trim differs at U+001C to U+001F, U+0085 and U+FEFF.
const SPACE = '\\t\\n\\v\\f\\r\\u001c-\\u001f \\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000';
const START = new RegExp(`^[${SPACE}]+`);
const BLANK = new RegExp(`[${SPACE}]`);

/** @returns whether a character is white space. */
export function isSpace(char: string): boolean {
  return BLANK.test(char);
}

/** The text without white space around it. */
export function strip(text: string): string {
  let end = text.length;
  while (end > 0 && isSpace(text.charAt(end - 1))) end -= 1;
  return text.slice(0, end).replace(START, '');
}

/** @returns whether nothing, or only white space, is said. */
export function isBlank(value: unknown): boolean {
  return value === undefined || value === null || (typeof value === 'string' && strip(value) === '');
}

/** @returns whether a text with more than white space in it is there. */
export function isText(value: unknown): value is string {
  return typeof value === 'string' && strip(value) !== '';
}

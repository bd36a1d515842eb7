import { type Instant, instantFromIso, isoOf } from '../model/instant.ts';
import type { AllowedKey } from '../model/principal.ts';
import { PRINCIPAL_NAME } from '../model/role.ts';
import { parsePublicKey } from './public-key.ts';

/** A line that is refused, 1-based; the message quotes nothing from the file. */
export interface AllowedSignersFault {
  readonly line: number;
  readonly message: string;
}

export interface AllowedSigners {
  readonly keys: readonly AllowedKey[];
  readonly faults: readonly AllowedSignersFault[];
}

type Options = Pick<AllowedKey, 'namespaces' | 'validAfter' | 'validBefore'>;

const MAX_LINES = 10_000;
const MAX_LINE = 16_384;
const NO_OPTIONS: Options = { namespaces: null, validAfter: null, validBefore: null };
const OPTION = /([A-Za-z-]+)(?:="([^"]*)")?(,|$)/y;
const NAMESPACE = /^[A-Za-z0-9][A-Za-z0-9@._-]{0,127}$/;
const DATE = /^(\d{4})(\d{2})(\d{2})(?:(\d{2})(\d{2})(\d{2})?)?Z$/;

function toInstant(text: string): Instant | null {
  const found = DATE.exec(text);
  if (found === null) return null;
  const [, year, month, day, hour = '00', minute = '00', second = '00'] = found;
  return instantFromIso(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
}

function dateOr(text: string | undefined, name: string): Instant | string {
  if (text === undefined) return `${name} needs a quoted date.`;
  if (/^\d{8}(?:\d{4}(?:\d{2})?)?$/.test(text)) return `${name} without Z means local time: add Z to the date.`;
  return toInstant(text) ?? `${name} is not a date of the form YYYYMMDD[HHMM[SS]]Z.`;
}

function namespacesOr(text: string | undefined): readonly string[] | string {
  const names = text?.split(',') ?? [];
  const exact = names.length > 0 && names.every((name) => NAMESPACE.test(name));
  return exact ? names : 'namespaces= needs a quoted list of exact names, without wildcards.';
}

/** @returns the options, or the message of the first one that is refused. */
function parseOptions(text: string): Options | string {
  let options = NO_OPTIONS;
  const seen = new Set<string>();
  OPTION.lastIndex = 0;
  let more = true;
  while (more) {
    const found = OPTION.exec(text);
    if (found === null) return 'The options cannot be read.';
    const [, name = '', value, end] = found;
    if (seen.has(name)) return 'An option is given twice.';
    seen.add(name);
    if (name === 'cert-authority') return 'cert-authority lines are not accepted: a key stands for one principal.';
    if (name === 'namespaces') {
      const namespaces = namespacesOr(value);
      if (typeof namespaces === 'string') return namespaces;
      options = { ...options, namespaces };
    } else if (name === 'valid-after' || name === 'valid-before') {
      const date = dateOr(value, name);
      if (typeof date === 'string') return date;
      options = { ...options, [name === 'valid-after' ? 'validAfter' : 'validBefore']: date };
    } else return 'An option is not known.';
    more = end === ',';
  }
  const { validAfter, validBefore } = options;
  const empty = validAfter !== null && validBefore !== null && validAfter >= validBefore;
  return empty ? 'valid-after is not before valid-before.' : options;
}

function principalFault(principals: string): string | null {
  if (PRINCIPAL_NAME.test(principals)) return null;
  if (principals.startsWith('"')) return 'A quoted principal is not accepted: write the bare name.';
  if (principals.includes(',')) return 'Several principals on one line: give each its own key.';
  if (principals.includes('!')) return 'A negated principal is not accepted.';
  if (/[*?]/.test(principals)) return 'A wildcard principal is not accepted: it lets one key be anyone.';
  return 'The principal is not a name: letters, digits, dot, dash and underscore, at most 64.';
}

/** Cuts `options rest` at the first blank outside quotes. */
function splitOptions(text: string): { readonly options: string; readonly rest: string } {
  const end = /^(?:[^" \t]|"[^"]*")*/.exec(text)?.[0].length ?? 0;
  return { options: text.slice(0, end), rest: text.slice(end).trimStart() };
}

function parseLine(line: string): AllowedKey | string {
  if (line.length > MAX_LINE) return 'The line is too long.';
  const [, principal = '', rest = ''] = /^([^ \t]+)[ \t]+(.*)$/.exec(line) ?? [];
  if (principal === '') return 'The line has no key.';
  const named = principalFault(principal);
  if (named !== null) return named;
  const bare = parsePublicKey(rest);
  const split = splitOptions(rest);
  const key = bare ?? parsePublicKey(split.rest);
  if (bare === null && /^[a-z]+(?:-[a-z0-9]+)*(?:@openssh\.com)?$/.test(split.options) && /^AAAA/.test(split.rest)) {
    return 'The key is of a kind or size that is not accepted, or is malformed.';
  }
  const options = bare === null ? parseOptions(split.options) : NO_OPTIONS;
  if (typeof options === 'string') return options;
  if (key === null) return 'The key is of a kind or size that is not accepted, or is malformed.';
  return { principal, fingerprint: key.fingerprint, keyType: key.keyType, publicKey: key.line, ...options };
}

/**
 * Reads OpenSSH's allowed_signers, narrowed to one exact principal a line (formats.md, Statements). A line that is refused
 * gives a fault and no key. A key under two principals is refused under both: it would not say who signed. The same principal
 * may list a key more than once, with other namespaces or dates.
 */
export function parseAllowedSigners(text: string): AllowedSigners {
  const lines = text.split(/\r?\n/);
  if (lines.length > MAX_LINES)
    return { keys: [], faults: [{ line: MAX_LINES, message: 'The file has too many lines.' }] };
  const faults: AllowedSignersFault[] = [];
  const read: { readonly key: AllowedKey; readonly line: number }[] = [];
  const holders = new Map<string, Set<string>>();
  lines.forEach((raw, index) => {
    if (/^[ \t]*(?:#|$)/.test(raw)) return;
    const key = parseLine(raw.replace(/^[ \t]+/, ''));
    if (typeof key === 'string') {
      faults.push({ line: index + 1, message: key });
      return;
    }
    read.push({ key, line: index + 1 });
    holders.set(key.fingerprint, (holders.get(key.fingerprint) ?? new Set()).add(key.principal));
  });
  const isShared = (key: AllowedKey) => (holders.get(key.fingerprint)?.size ?? 0) > 1;
  for (const { key, line } of read) {
    if (isShared(key)) faults.push({ line, message: 'The key is listed for two principals.' });
  }
  faults.sort((a, b) => a.line - b.line);
  return { keys: read.filter(({ key }) => !isShared(key)).map(({ key }) => key), faults };
}

function renderDate(at: Instant): string {
  return `${isoOf(at).slice(0, 19).replace(/[-:T]/g, '')}Z`;
}

/** @returns the line of allowed_signers for a key, without a newline; fractions of a second are dropped, as the format has none. */
export function renderAllowedSigner(key: AllowedKey): string {
  const options = [
    key.namespaces && `namespaces="${key.namespaces.join(',')}"`,
    key.validAfter !== null && `valid-after="${renderDate(key.validAfter)}"`,
    key.validBefore !== null && `valid-before="${renderDate(key.validBefore)}"`,
  ].filter((option) => typeof option === 'string');
  return [key.principal, options.join(','), key.publicKey].filter((part) => part !== '').join(' ');
}

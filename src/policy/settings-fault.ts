import { excerpt } from '../model/escaped.ts';
import type { YamlFault, YamlRead } from '../parse/strict-yaml.ts';

/** What is wrong with a settings file, with its nearest place, 1-based. */
export interface PolicyFault {
  readonly line: number;
  readonly column: number;
  readonly why: string;
}

/** Turns a YAML fault into the shape every settings file reports. */
export function yamlFault(fault: YamlFault): PolicyFault {
  return { line: fault.line, column: fault.column, why: fault.fault };
}

/** As much of a zod issue as a fault needs; the issues of a union are kept per alternative. */
interface Issue {
  readonly code?: string | undefined;
  readonly message: string;
  readonly path: readonly PropertyKey[];
  readonly keys?: readonly string[];
  readonly errors?: readonly (readonly Issue[])[];
}

type Read = Pick<YamlRead, 'document' | 'lines'>;

/** The first thing that does not fit, with its nearest place: an unknown key where it stands, a wrong value at the value. */
export function shapeFault(read: Read, issues: readonly Issue[]): PolicyFault {
  // A key nobody knows explains more than the field that is missing beside it.
  const outer = issues.find((issue) => issue.code === 'unrecognized_keys') ?? issues[0];
  const inner = innermost(outer);
  const path = [...(outer?.path ?? []), ...(inner === outer ? [] : (inner?.path ?? []))].map((step) =>
    typeof step === 'symbol' ? String(step) : step,
  );
  const [unknown] = inner?.code === 'unrecognized_keys' ? (inner.keys ?? []) : [];
  const place = unknown === undefined ? placeOf(read, path) : keyPlace(read, path, unknown);
  return { ...place, why: `${excerpt(path.join('.')) || 'the file'}: ${wording(inner)}` };
}

/** Of a union, the alternative that came furthest: the others only say that the value is of another kind. */
function innermost(issue: Issue | undefined): Issue | undefined {
  const deeper = issue?.errors
    ?.map(([first]) => first)
    .find((one) => one !== undefined && (one.path.length > 0 || one.code === 'unrecognized_keys'));
  return deeper ?? issue;
}

function wording(issue: Issue | undefined): string {
  if (issue?.code === 'unrecognized_keys') return `unknown key \`${excerpt(issue.keys?.join(', ') ?? '')}\``;
  const message = issue?.message ?? '';
  return message === '' || message === 'Invalid input' ? 'the value has the wrong shape' : excerpt(message);
}

/** The place of a value, or of the nearest one above it. */
export function placeOf(read: Read, at: readonly (string | number)[]): Pick<PolicyFault, 'line' | 'column'> {
  for (let depth = at.length; depth >= 0; depth -= 1) {
    const node = (depth === 0 ? read.document.contents : read.document.getIn(at.slice(0, depth), true)) as
      | { range?: readonly number[] }
      | null
      | undefined;
    const offset = node?.range?.[0];
    if (offset !== undefined) return placeAt(read, offset);
  }
  return { line: 1, column: 1 };
}

function keyPlace(read: Read, at: readonly (string | number)[], key: string): Pick<PolicyFault, 'line' | 'column'> {
  const map = (at.length === 0 ? read.document.contents : read.document.getIn(at, true)) as
    | { items?: readonly { key?: { value?: unknown; range?: readonly number[] } }[] }
    | null
    | undefined;
  const offset = map?.items?.find((pair) => pair.key?.value === key)?.key?.range?.[0];
  return offset === undefined ? placeOf(read, at) : placeAt(read, offset);
}

function placeAt(read: Read, offset: number): Pick<PolicyFault, 'line' | 'column'> {
  const { line, col } = read.lines.linePos(offset);
  return { line, column: col };
}

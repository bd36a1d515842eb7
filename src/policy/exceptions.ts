import * as z from 'zod/mini';
import { CODES, isCodeName } from '../model/codes.ts';
import { excerpt } from '../model/escaped.ts';
import type { Instant } from '../model/instant.ts';
import { instantFromIso, shift } from '../model/instant.ts';
import type { Exception } from '../model/policy.ts';
import { PRINCIPAL_NAME } from '../model/role.ts';
import { parseStrictYaml } from '../parse/strict-yaml.ts';
import { type PolicyFault, SETTINGS_LIMITS, yamlFault } from './policy-file.ts';

const DAY = 86_400_000;
/** Longest life of an exception (formats.md). */
export const MAX_EXCEPTION_DAYS = 90;

const Shape = z.array(
  z.strictObject({
    code: z.string(),
    path: z.string().check(z.minLength(1), z.maxLength(512)),
    artifactId: z.optional(z.string()),
    owner: z.string().check(z.regex(PRINCIPAL_NAME)),
    reason: z.string().check(z.minLength(1), z.maxLength(500)),
    until: z.string(),
  }),
);

/** Reads exceptions.yaml: only codes the table marks as exceptable, exact paths, at most 90 days ahead. */
export async function parseExceptions(
  text: string,
  now: Instant,
): Promise<{ readonly exceptions: readonly Exception[] } | { readonly fault: PolicyFault }> {
  const read = await parseStrictYaml(text, 1, SETTINGS_LIMITS);
  if ('fault' in read) return { fault: yamlFault(read) };
  if (read.value === null) return { exceptions: [] };
  const shaped = Shape.safeParse(read.value);
  const lineOf = (index: number): number => {
    const node = read.document.getIn([index], true) as { range?: readonly number[] } | undefined;
    return node?.range ? read.lines.linePos(node.range[0] ?? 0).line : 1;
  };
  if (!shaped.success) {
    const at = shaped.error.issues[0]?.path ?? [];
    return {
      fault: {
        line: typeof at[0] === 'number' ? lineOf(at[0]) : 1,
        column: 1,
        why: `${excerpt(at.join('.')) || 'the file'}: the value has the wrong shape`,
      },
    };
  }
  const exceptions: Exception[] = [];
  for (const [index, entry] of shaped.data.entries()) {
    const fail = (why: string): { readonly fault: PolicyFault } => ({ fault: { line: lineOf(index), column: 1, why } });
    if (!isCodeName(entry.code)) return fail(`${excerpt(entry.code)} is no code`);
    if (!CODES[entry.code].exceptable) return fail(`${entry.code} cannot be excepted`);
    const until = instantFromIso(entry.until);
    if (until === null) return fail('until is not an ISO 8601 time ending in Z');
    if (until > shift(now, MAX_EXCEPTION_DAYS * DAY))
      return fail(`until is more than ${MAX_EXCEPTION_DAYS} days ahead`);
    exceptions.push({ ...entry, artifactId: entry.artifactId ?? null, until, line: lineOf(index) });
  }
  return { exceptions };
}

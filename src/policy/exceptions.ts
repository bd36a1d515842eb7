import * as z from 'zod/mini';
import { CODES, isCodeName } from '../model/codes.ts';
import { excerpt } from '../model/escaped.ts';
import type { Instant } from '../model/instant.ts';
import { instantFromIso, shift } from '../model/instant.ts';
import type { Exception } from '../model/policy.ts';
import { PRINCIPAL_NAME } from '../model/role.ts';
import { parseStrictYaml } from '../parse/strict-yaml.ts';
import { SKEW_MS } from './key-lines.ts';
import { SETTINGS_LIMITS } from './policy-file.ts';
import { type PolicyFault, placeOf, shapeFault, yamlFault } from './settings-fault.ts';

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
  if (!shaped.success) return { fault: shapeFault(read, shaped.error.issues) };
  const exceptions: Exception[] = [];
  for (const [index, entry] of shaped.data.entries()) {
    const fail = (field: 'code' | 'until', why: string): { readonly fault: PolicyFault } => ({
      fault: { ...placeOf(read, [index, field]), why },
    });
    if (!isCodeName(entry.code)) return fail('code', `${excerpt(entry.code)} is no code`);
    if (!CODES[entry.code].exceptable) return fail('code', `${entry.code} cannot be excepted`);
    const until = instantFromIso(entry.until);
    if (until === null) return fail('until', 'until is not an ISO 8601 time ending in Z');
    // Clocks differ: an exception written for exactly the longest life must not break the set on the next machine.
    if (until > shift(now, MAX_EXCEPTION_DAYS * DAY + SKEW_MS))
      return fail('until', `until is more than ${MAX_EXCEPTION_DAYS} days ahead`);
    exceptions.push({ ...entry, artifactId: entry.artifactId ?? null, until, line: placeOf(read, [index]).line });
  }
  return { exceptions };
}

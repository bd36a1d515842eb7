import * as z from 'zod/mini';
import { isValidGlob } from '../discover/globs.ts';
import { HOSTS } from '../generated/hosts.ts';
import { type ArtifactClass, CEILING, CLASSES } from '../model/artifact-class.ts';
import { CODES, isCodeName } from '../model/codes.ts';
import { excerpt } from '../model/escaped.ts';
import type { InitPattern } from '../model/policy.ts';
import { isBelow, RANKS } from '../model/rank.ts';
import { toRole } from '../model/role.ts';
import { parseStrictYaml } from '../parse/strict-yaml.ts';
import { ALL_MODES, type Given, type SettingValue } from './layers.ts';
import { isIdPattern } from './pin-pattern.ts';
import { SETTINGS_LIMITS } from './policy-file.ts';
import { type PolicyFault, placeOf, shapeFault, yamlFault } from './settings-fault.ts';

/** What a base set says: bounds that policy.yaml may tighten and never widen. */
export interface BaseFile {
  /** The workspace ids it is about. */
  readonly workspaces: readonly string[];
  readonly given: Given;
  readonly initPaths: readonly InitPattern[];
}

const whole = (min: number, max: number) => z.optional(z.int().check(z.minimum(min), z.maximum(max)));
const grant = z.string().check(z.refine((word) => word === 'none' || toRole(word) !== null, 'a role, or none'));

const Shape = z.strictObject({
  version: z.literal(1),
  workspaces: z.optional(
    z
      .array(z.string().check(z.refine((text) => text === '**' || isIdPattern(text), 'a workspace id, or a pattern')))
      .check(z.minLength(1), z.maxLength(256)),
  ),
  approvals: z.optional(
    z.strictObject({
      threshold: z.optional(z.strictObject({ policy: whole(1, 16), constitution: whole(1, 16) })),
      maxDays: whole(1, 3_650),
      presence: z.optional(z.enum(['none', 'touch'])),
    }),
  ),
  commits: z.optional(z.strictObject({ authorship: z.optional(grant), approval: z.optional(z.literal('none')) })),
  spawns: z.optional(z.strictObject({ maxHours: whole(1, 8_760) })),
  unmanifested: z.optional(z.enum(['reference', 'quarantined'])),
  hosts: z.optional(z.array(z.string().check(z.refine((name) => HOSTS.some((host) => host.name === name), 'a host')))),
  initPaths: z.optional(
    z
      .array(
        z.strictObject({
          path: z.string().check(z.refine((text) => isValidGlob(text), 'a glob')),
          loads: z.enum(['launch', 'lazy', 'spawn']),
        }),
      )
      .check(z.maxLength(256)),
  ),
  classes: z.optional(z.partialRecord(z.enum(CLASSES), z.enum(RANKS))),
  modes: z.optional(z.record(z.string(), z.literal('enforce'))),
});

/** Reads base.yaml. Unknown keys, widened ceilings and codes nobody knows are faults, never guesses. */
export async function parseBaseFile(text: string): Promise<BaseFile | { readonly fault: PolicyFault }> {
  const read = await parseStrictYaml(text, 1, SETTINGS_LIMITS);
  if ('fault' in read) return { fault: yamlFault(read) };
  const shaped = Shape.safeParse(read.value);
  if (!shaped.success) return { fault: shapeFault(read, shaped.error.issues) };
  const file = shaped.data;
  for (const [cls, rank] of Object.entries(file.classes ?? {}))
    if (isBelow(CEILING[cls as ArtifactClass], rank))
      return { fault: { ...placeOf(read, ['classes', cls]), why: `a ceiling is never widened: ${cls}` } };
  for (const code of Object.keys(file.modes ?? {}))
    if (code !== '*' && !(isCodeName(code) && CODES[code].auditable))
      return { fault: { ...placeOf(read, ['modes', code]), why: `${excerpt(code)} is no code that can be audited` } };
  const given: [string, SettingValue | undefined][] = [
    ['approvals.threshold.policy', file.approvals?.threshold?.policy],
    ['approvals.threshold.constitution', file.approvals?.threshold?.constitution],
    ['approvals.maxDays', file.approvals?.maxDays],
    ['approvals.presence', file.approvals?.presence],
    ['commits.authorship', file.commits?.authorship === undefined ? undefined : grantWord(file.commits.authorship)],
    ['commits.approval', file.commits?.approval],
    ['spawns.maxHours', file.spawns?.maxHours],
    ['unmanifested', file.unmanifested],
    ['hosts', file.hosts],
    ...Object.entries(file.classes ?? {}).map(([cls, rank]): [string, SettingValue] => [`classes.${cls}`, rank]),
    ...Object.entries(file.modes ?? {}).map(([code, mode]): [string, SettingValue] => [
      code === '*' ? ALL_MODES : `modes.${code}`,
      mode,
    ]),
  ];
  return {
    workspaces: file.workspaces ?? ['**'],
    given: new Map(given.filter((entry): entry is [string, SettingValue] => entry[1] !== undefined)),
    initPaths: file.initPaths ?? [],
  };
}

/** A grant as one word, aliases undone. */
export function grantWord(word: string): string {
  return word === 'none' ? 'none' : (toRole(word) ?? 'none');
}

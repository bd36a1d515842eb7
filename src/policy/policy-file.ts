import * as z from 'zod/mini';
import { isValidGlob } from '../discover/globs.ts';
import { HOSTS } from '../generated/hosts.ts';
import { type ArtifactClass, CEILING, CLASSES } from '../model/artifact-class.ts';
import { CODES, type CodeName, isCodeName } from '../model/codes.ts';
import { excerpt } from '../model/escaped.ts';
import { type Instant, instantFromIso } from '../model/instant.ts';
import { type Policy, RUNGS } from '../model/policy.ts';
import type { PrincipalEntry } from '../model/principal.ts';
import { isBelow, RANKS, type Rank } from '../model/rank.ts';
import { PRINCIPAL_NAME, type Role, toRole } from '../model/role.ts';
import { readPlainSettings } from '../parse/plain-settings.ts';
import { parseStrictYaml, type YamlLimits } from '../parse/strict-yaml.ts';
import { DEFAULT_POLICY } from './defaults.ts';
import { BUILT_IN, type Given, type SettingValue } from './layers.ts';
import { type PolicyFault, placeOf, shapeFault, yamlFault } from './settings-fault.ts';

export const SETTINGS_LIMITS: YamlLimits = { bytes: 262_144, depth: 12 };

const name = z.string().check(z.regex(PRINCIPAL_NAME));
const path = z.string().check(
  z.minLength(1),
  z.maxLength(512),
  z.refine((text) => isPlainPath(text), 'a workspace-relative path'),
);
const glob = z
  .string()
  .check(z.refine((text) => isValidGlob(text), 'a glob of at most 256 characters and 8 wildcards'));
const role = z
  .string()
  .check(z.refine((word) => toRole(word) !== null, 'one of sovereign, approver, orchestrator, specialist'));
const iso = z.string().check(z.refine((text) => instantFromIso(text) !== null, 'an ISO 8601 time ending in Z'));
const hex64 = z.string().check(z.regex(/^[0-9a-f]{64}$/));
const whole = (min: number, max: number) => z.int().check(z.minimum(min), z.maximum(max));

const Principal = z.union([
  role,
  z.strictObject({
    role,
    paths: z.optional(z.array(glob).check(z.maxLength(64))),
    commits: z.optional(z.string()),
    departed: z.optional(iso),
    keeps: z.optional(z.array(hex64)),
  }),
]);

const Shape = z.strictObject({
  version: z.literal(1),
  workspace: z.string().check(z.regex(/^(?!base\/)[A-Za-z0-9][A-Za-z0-9._:/@-]{0,255}$/)),
  constitution: z.strictObject({
    documents: z.array(path).check(z.maxLength(64)),
    accepts: z.optional(z.array(z.string().check(z.maxLength(128)))),
  }),
  principals: z.record(name, Principal),
  approvals: z.optional(
    z.strictObject({
      threshold: z.optional(
        z.strictObject({ policy: z.optional(whole(1, 16)), constitution: z.optional(whole(1, 16)) }),
      ),
      maxDays: z.optional(whole(1, 3_650)),
      presence: z.optional(z.enum(['none', 'touch'])),
    }),
  ),
  commits: z.optional(
    z.strictObject({
      authorship: z.optional(z.string()),
      approval: z.optional(z.union([z.literal('none'), z.array(name)])),
      principals: z.optional(z.record(name, z.string())),
    }),
  ),
  spawns: z.optional(z.strictObject({ maxHours: z.optional(whole(1, 8_760)) })),
  unmanifested: z.optional(z.enum(['reference', 'quarantined'])),
  hosts: z.optional(z.array(z.string().check(z.regex(/^[a-z][a-z0-9-]{0,31}$/)))),
  initPaths: z.optional(
    z.array(z.strictObject({ path: glob, loads: z.enum(['launch', 'lazy', 'spawn']) })).check(z.maxLength(256)),
  ),
  classes: z.optional(z.partialRecord(z.enum(CLASSES), z.enum(RANKS))),
  modes: z.optional(z.record(z.string(), z.literal('audit'))),
  limits: z.optional(
    z.strictObject({
      fileBytes: z.optional(whole(1_024, 67_108_864)),
      files: z.optional(whole(1, 1_000_000)),
      scanWork: z.optional(whole(8, 4_096)),
    }),
  ),
  // Commands to run are user config only: a repo that could name one could run code (formats.md).
  handoffs: z.optional(
    z.strictObject({
      ackSeconds: z.optional(whole(1, 86_400)),
      escalate: z.optional(
        z.strictObject({
          url: z.string().check(z.maxLength(2_048), z.refine(isTarget, 'an https URL, or http on this machine')),
        }),
      ),
      rungs: z.optional(z.partialRecord(z.enum(RUNGS), z.number().check(z.minimum(0), z.maximum(1)))),
    }),
  ),
});

type Shape = z.infer<typeof Shape>;

/** Reads policy.yaml (formats.md). Unknown keys, widened ceilings and codes that may not be audited are faults, never guesses. */
export async function parsePolicyFile(
  text: string,
): Promise<{ readonly policy: Policy } | { readonly fault: PolicyFault }> {
  const plain = readPlainSettings(text);
  const short = plain === undefined ? null : Shape.safeParse(plain.value);
  if (short?.success === true && rules(short.data) === null) return { policy: toPolicy(short.data) };
  // Only the parser knows where a fault lies.
  const read = await parseStrictYaml(text, 1, SETTINGS_LIMITS);
  if ('fault' in read) return { fault: yamlFault(read) };
  const shaped = Shape.safeParse(read.value);
  if (!shaped.success) {
    return { fault: shapeFault(read, shaped.error.issues) };
  }
  const fault = rules(shaped.data);
  if (fault) return { fault: { ...placeOf(read, fault.at), why: fault.why } };
  return { policy: toPolicy(shaped.data) };
}

function rules(file: Shape): { readonly at: readonly (string | number)[]; readonly why: string } | null {
  for (const [cls, rank] of Object.entries(file.classes ?? {})) {
    if (isBelow(CEILING[cls as ArtifactClass], rank))
      return {
        at: ['classes', cls],
        why: `a ceiling can be narrowed, never widened: ${cls} stays ${CEILING[cls as ArtifactClass]}`,
      };
  }
  for (const code of Object.keys(file.modes ?? {})) {
    if (!isCodeName(code)) return { at: ['modes', code], why: `${excerpt(code)} is no code` };
    if (!CODES[code].auditable) return { at: ['modes', code], why: `${code} cannot be put in audit` };
  }
  // A host nobody knows has no init paths: a slip of the pen would leave the real host's files unjudged.
  for (const [index, host] of (file.hosts ?? []).entries()) {
    if (!HOSTS.some((profile) => profile.name === host))
      return { at: ['hosts', index], why: `${excerpt(host)} is no host` };
  }
  for (const { at, word } of grantsOf(file)) {
    if (word !== 'none' && toRole(word) === null) return { at, why: `${excerpt(word)} is no role` };
  }
  const isStanding = (entry: z.infer<typeof Principal>): boolean =>
    typeof entry === 'string' || entry.departed === undefined;
  if (!Object.values(file.principals).some((entry) => roleOf(entry) === 'sovereign' && isStanding(entry)))
    return { at: ['principals'], why: 'somebody must be sovereign' };
  return null;
}

/** Every place that says what a signed commit proves. */
function grantsOf(file: Shape): readonly { readonly at: readonly string[]; readonly word: string }[] {
  const { authorship, principals = {} } = file.commits ?? {};
  return [
    ...(authorship === undefined ? [] : [{ at: ['commits', 'authorship'], word: authorship }]),
    ...Object.entries(principals).map(([who, word]) => ({ at: ['commits', 'principals', who], word })),
    ...Object.entries(file.principals).flatMap(([who, entry]) =>
      typeof entry === 'string' || entry.commits === undefined
        ? []
        : [{ at: ['principals', who, 'commits'], word: entry.commits }],
    ),
  ];
}

function toPolicy(file: Shape): Policy {
  const { approvals, commits } = file;
  const perPrincipal = new Map<string, Role | null>(
    Object.entries(commits?.principals ?? {}).map(([who, grant]) => [who, toGrant(grant)]),
  );
  for (const [who, entry] of Object.entries(file.principals)) {
    if (typeof entry !== 'string' && entry.commits !== undefined) perPrincipal.set(who, toGrant(entry.commits));
  }
  return {
    workspace: file.workspace,
    constitution: { documents: file.constitution.documents, accepts: file.constitution.accepts ?? [] },
    principals: new Map(Object.entries(file.principals).map(([who, entry]) => [who, toEntry(entry)])),
    approvals: {
      threshold: { ...DEFAULT_POLICY.approvals.threshold, ...defined(approvals?.threshold) },
      maxDays: approvals?.maxDays ?? DEFAULT_POLICY.approvals.maxDays,
      presence: approvals?.presence ?? DEFAULT_POLICY.approvals.presence,
    },
    commits: {
      authorship: commits?.authorship === undefined ? DEFAULT_POLICY.commits.authorship : toGrant(commits.authorship),
      perPrincipal,
      approval: commits?.approval === undefined || commits.approval === 'none' ? [] : commits.approval,
    },
    spawns: { maxHours: file.spawns?.maxHours ?? DEFAULT_POLICY.spawns.maxHours },
    unmanifested: file.unmanifested ?? DEFAULT_POLICY.unmanifested,
    hosts: file.hosts ?? null,
    initPaths: file.initPaths ?? [],
    classes: new Map(Object.entries(file.classes ?? {}) as [ArtifactClass, Rank][]),
    audit: new Set(Object.keys(file.modes ?? {}) as CodeName[]),
    limits: { ...DEFAULT_POLICY.limits, ...defined(file.limits) },
    handoffs: {
      ackSeconds: file.handoffs?.ackSeconds ?? DEFAULT_POLICY.handoffs.ackSeconds,
      escalateUrl: file.handoffs?.escalate?.url ?? null,
      rungs: { ...DEFAULT_POLICY.handoffs.rungs, ...defined(file.handoffs?.rungs) },
    },
    given: givenIn(file),
  };
}

/**
 * The settings a base set may bound, as far as the file asks for something: a value that is the built-in one asks for nothing, so that a file as `init` writes
 * it lives under any base set.
 */
function givenIn(file: Shape): Given {
  const word = (grant: string | undefined): string | undefined =>
    grant === undefined ? undefined : (toGrant(grant) ?? 'none');
  const given: [string, SettingValue | undefined][] = [
    ['approvals.threshold.policy', file.approvals?.threshold?.policy],
    ['approvals.threshold.constitution', file.approvals?.threshold?.constitution],
    ['approvals.maxDays', file.approvals?.maxDays],
    ['approvals.presence', file.approvals?.presence],
    ['commits.authorship', word(file.commits?.authorship)],
    ['commits.approval', file.commits?.approval?.length === 0 ? 'none' : file.commits?.approval],
    ['spawns.maxHours', file.spawns?.maxHours],
    ['unmanifested', file.unmanifested],
    ['hosts', file.hosts],
    ...Object.entries(file.classes ?? {}).map(([cls, rank]): [string, SettingValue] => [`classes.${cls}`, rank]),
    ...Object.entries(file.modes ?? {}).map(([code, mode]): [string, SettingValue] => [`modes.${code}`, mode]),
    ...Object.entries(file.commits?.principals ?? {}).map(([who, grant]): [string, SettingValue | undefined] => [
      `commits.principals.${who}`,
      word(grant),
    ]),
    ...Object.entries(file.principals).map(([who, entry]): [string, SettingValue | undefined] => [
      `commits.principals.${who}`,
      typeof entry === 'string' ? undefined : word(entry.commits),
    ]),
  ];
  return new Map(
    given.filter(
      (entry): entry is [string, SettingValue] => entry[1] !== undefined && BUILT_IN.get(entry[0]) !== entry[1],
    ),
  );
}

type Defined<T> = { [K in keyof T]: Exclude<T[K], undefined> };

function defined<T extends object>(value: T | undefined): Partial<Defined<T>> {
  return Object.fromEntries(Object.entries(value ?? {}).filter(([, found]) => found !== undefined)) as Partial<
    Defined<T>
  >;
}

function toGrant(word: string): Role | null {
  return word === 'none' ? null : toRole(word);
}

function roleOf(entry: z.infer<typeof Principal>): Role {
  return toRole(typeof entry === 'string' ? entry : entry.role) ?? 'unknown';
}

function toEntry(entry: z.infer<typeof Principal>): PrincipalEntry {
  const departed: Instant | null =
    typeof entry === 'string' || entry.departed === undefined ? null : instantFromIso(entry.departed);
  return {
    role: roleOf(entry),
    paths: typeof entry === 'string' ? null : (entry.paths ?? null),
    departed,
    keeps: typeof entry === 'string' ? [] : (entry.keeps ?? []),
  };
}

function isPlainPath(text: string): boolean {
  return (
    !text.startsWith('/') &&
    !text.includes('\\') &&
    !text.includes('\0') &&
    !text.split('/').some((part) => part === '' || part === '.' || part === '..')
  );
}

/** What is told of a handoff crosses no network in the clear. */
function isTarget(text: string): boolean {
  if (!/^https?:\/\//.test(text) || !URL.canParse(text)) return false;
  const { protocol, hostname } = new URL(text);
  return protocol === 'https:' || ['127.0.0.1', 'localhost', '[::1]'].includes(hostname);
}

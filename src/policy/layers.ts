import { type ArtifactClass, CEILING, CLASSES } from '../model/artifact-class.ts';
import type { CodeName } from '../model/codes.ts';
import type { InitPattern, Policy } from '../model/policy.ts';
import { RANKS, type Rank } from '../model/rank.ts';
import { ROLES, type Role } from '../model/role.ts';
import { DEFAULT_POLICY } from './defaults.ts';

/** A value of a setting; a list is a list of words. */
export type SettingValue = number | string | readonly string[];
/** What a file says in so many words, by the setting's dotted name: a default is not in it. */
export type Given = ReadonlyMap<string, SettingValue>;

/** Where a value comes from, from the outside in. */
export type LayerName = 'built in' | 'system' | 'user' | 'workspace';

/** One base set of this machine that stands. */
export interface Layer {
  readonly name: 'system' | 'user';
  /** The file, for messages. */
  readonly file: string;
  readonly given: Given;
  /** Init paths it adds in every workspace it is about. */
  readonly initPaths: readonly InitPattern[];
}

/** One setting as it counts, with the layer it comes from. */
export interface Setting {
  readonly name: string;
  readonly value: SettingValue;
  readonly layer: LayerName;
}

/** A layer asks for more than one above it allows: an error, never a silent choice. */
export interface Conflict {
  readonly setting: string;
  readonly lower: { readonly file: string; readonly value: SettingValue };
  readonly upper: { readonly file: string; readonly value: SettingValue };
}

/** Every code in the mode: one that may be audited must not be, in any layer below. */
export const ALL_MODES = 'modes.*';

const rank = (order: readonly string[], value: SettingValue): number => order.indexOf(String(value));
const lowerWins = (order: readonly string[]) => (a: SettingValue, b: SettingValue) => rank(order, a) > rank(order, b);
const GRANTS = ['none', ...ROLES.slice(1)];

/** What counts where no layer says anything. */
export const BUILT_IN: Given = new Map<string, SettingValue>([
  ['approvals.threshold.policy', DEFAULT_POLICY.approvals.threshold.policy],
  ['approvals.threshold.constitution', DEFAULT_POLICY.approvals.threshold.constitution],
  ['approvals.maxDays', DEFAULT_POLICY.approvals.maxDays],
  ['approvals.presence', DEFAULT_POLICY.approvals.presence],
  ['commits.authorship', DEFAULT_POLICY.commits.authorship ?? 'none'],
  ['commits.approval', 'none'],
  ['spawns.maxHours', DEFAULT_POLICY.spawns.maxHours],
  ['unmanifested', DEFAULT_POLICY.unmanifested],
  ['hosts', 'all that are in use'],
  ...CLASSES.map((cls): [string, SettingValue] => [`classes.${cls}`, CEILING[cls]]),
]);

/** @returns whether one value of a setting allows more than another. */
function isLooser(name: string, a: SettingValue, b: SettingValue): boolean {
  switch (name) {
    case 'approvals.threshold.policy':
    case 'approvals.threshold.constitution':
      return Number(a) < Number(b);
    case 'approvals.maxDays':
    case 'spawns.maxHours':
      return Number(a) > Number(b);
    case 'approvals.presence':
      return lowerWins(['touch', 'none'])(a, b);
    case 'unmanifested':
      return lowerWins(['quarantined', 'reference'])(a, b);
    case 'commits.approval':
      return b === 'none' && a !== 'none';
    case 'hosts':
      // A host that is not named is a host whose files are not judged.
      return Array.isArray(a) && Array.isArray(b) && b.some((host) => !a.includes(host));
    default:
      if (name.startsWith('modes.')) return a === 'audit' && b === 'enforce';
      return lowerWins(name.startsWith('classes.') ? RANKS : GRANTS)(a, b);
  }
}

/** What else a setting above speaks of: one mode for all codes, one grant for every principal. */
function boundOf<T>(bounds: ReadonlyMap<string, T>, name: string): T | undefined {
  if (name.startsWith('modes.')) return bounds.get(name) ?? bounds.get(ALL_MODES);
  if (name.startsWith('commits.principals.')) return bounds.get(name) ?? bounds.get('commits.authorship');
  return bounds.get(name);
}

/** Lays files over each other from the outside in. Each may only tighten what those above it say. */
function stack(
  layers: readonly { readonly name: LayerName; readonly file: string; readonly given: Given }[],
): { readonly settings: ReadonlyMap<string, Setting & { readonly file: string }> } | { readonly conflict: Conflict } {
  const settings = new Map<string, Setting & { readonly file: string }>();
  for (const { name: layer, file, given } of layers) {
    const own = new Map<string, Setting & { readonly file: string }>();
    for (const [name, value] of given) {
      const bound = boundOf(settings, name);
      if (bound !== undefined && isLooser(name, value, bound.value))
        return {
          conflict: { setting: name, lower: { file, value }, upper: { file: bound.file, value: bound.value } },
        };
      // Said again, it is still the outer layer that makes it so.
      if (bound === undefined || bound.name !== name || !same(bound.value, value))
        own.set(name, { name, value, layer, file });
    }
    for (const [name, setting] of own) settings.set(name, setting);
  }
  return { settings };
}

/** @returns the first setting in which one base set asks for more than the other allows, or null. */
export function conflictOf(layers: readonly Layer[]): Conflict | null {
  const stacked = stack(layers);
  return 'conflict' in stacked ? stacked.conflict : null;
}

/** The policy of a workspace under the base sets of this machine, and every setting with its layer; or the conflict. Nothing is ever widened. */
export function underLayers(
  policy: Policy,
  file: string,
  layers: readonly Layer[],
): { readonly policy: Policy; readonly settings: readonly Setting[] } | { readonly conflict: Conflict } {
  const stacked = stack([...layers, { name: 'workspace', file, given: policy.given ?? new Map() }]);
  if ('conflict' in stacked) return stacked;
  const { settings } = stacked;
  const of = <T extends SettingValue>(name: string, otherwise: T): T => (settings.get(name)?.value ?? otherwise) as T;
  const { approvals, commits } = policy;
  const grant = of<string>('commits.authorship', commits.authorship ?? 'none');
  const extra = layers.flatMap((layer) => layer.initPaths);
  const bound: Policy = {
    ...policy,
    approvals: {
      threshold: {
        policy: of('approvals.threshold.policy', approvals.threshold.policy),
        constitution: of('approvals.threshold.constitution', approvals.threshold.constitution),
      },
      maxDays: of('approvals.maxDays', approvals.maxDays),
      presence: of('approvals.presence', approvals.presence),
    },
    commits: { ...commits, authorship: grant === 'none' ? null : (grant as Role) },
    spawns: { maxHours: of('spawns.maxHours', policy.spawns.maxHours) },
    unmanifested: of('unmanifested', policy.unmanifested),
    classes: new Map(
      CLASSES.flatMap((cls): [ArtifactClass, Rank][] => {
        const value = settings.get(`classes.${cls}`)?.value;
        const own = policy.classes.get(cls);
        return value !== undefined ? [[cls, value as Rank]] : own === undefined ? [] : [[cls, own]];
      }),
    ),
    initPaths: [...policy.initPaths, ...extra.filter((one) => !policy.initPaths.some((own) => own.path === one.path))],
    audit: new Set(
      [...policy.audit].filter((code) => settings.get(`modes.${code}`)?.value === 'audit'),
    ) as ReadonlySet<CodeName>,
  };
  const told: Setting[] = [
    ...[...BUILT_IN]
      .filter(([name]) => !settings.has(name) && !name.startsWith('classes.'))
      .map(([name, value]) => ({ name, value, layer: 'built in' as const })),
    ...[...settings.values()].map(({ name, value, layer }) => ({ name, value, layer })),
    ...layers.flatMap((layer) =>
      layer.initPaths.map(({ path }) => ({ name: 'initPaths', value: path, layer: layer.name })),
    ),
    ...policy.initPaths.map(({ path }) => ({ name: 'initPaths', value: path, layer: 'workspace' as const })),
  ];
  return { policy: bound, settings: told.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0)) };
}

function same(a: SettingValue, b: SettingValue): boolean {
  return String(a) === String(b);
}

/** Both sides of a conflict, in one sentence without its full stop. */
export function tellConflict({ setting, lower, upper }: Conflict): string {
  const told = (value: SettingValue): string => (Array.isArray(value) ? `[${value.join(', ')}]` : String(value));
  return `${setting} is ${told(lower.value)} in ${lower.file}, and ${upper.file} above it says ${told(upper.value)}: a lower layer only tightens`;
}

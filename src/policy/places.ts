import { isAbsolute, join, resolve } from 'node:path';
import { movedHomes } from '../discover/moved-homes.ts';
import { isInside, type WorkspaceRoot } from '../files/workspace-root.ts';
import type { Places } from '../model/settings.ts';
import { type StateLocation, toStateLocation } from '../store/location.ts';
import { pinFromEnvironment } from './pins.ts';

/** Variables of a process. Of them only `WRIT_CONFIG`, `WRIT_STATE`, `WRIT_ROOT`, `WRIT_MIN_VERSION`, `XDG_CONFIG_HOME` and `XDG_STATE_HOME` are looked at (overview.md, state), and those by which hosts move their own homes. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Where this machine keeps pins and state. @returns the fault of an environment that can't be meant: overrides that resolve inside the workspace
 * would let a repo choose who judges it (overview.md, trust). A root of null refuses none: nobody but the user writes there.
 * @param start the folder a host would start in.
 */
export function placesOf(
  environment: Environment,
  home: string,
  root: WorkspaceRoot | null,
  start: string,
): { readonly places: Places; readonly state: StateLocation } | { readonly fault: string } {
  const { WRIT_CONFIG, WRIT_STATE, WRIT_ROOT, WRIT_MIN_VERSION, XDG_CONFIG_HOME, XDG_STATE_HOME } = environment;
  const config = WRIT_CONFIG
    ? resolve(WRIT_CONFIG)
    : join(XDG_CONFIG_HOME && isAbsolute(XDG_CONFIG_HOME) ? XDG_CONFIG_HOME : join(home, '.config'), 'writ');
  const state = toStateLocation(WRIT_STATE, XDG_STATE_HOME, home);
  const inside = (path: string, name: string): string | null =>
    root !== null && isInside(root.path, path)
      ? `${name} resolves inside the workspace (${path}); it must lie outside what it judges`
      : null;
  const pinned = WRIT_ROOT ? pinFromEnvironment(WRIT_ROOT) : null;
  const least = WRIT_MIN_VERSION ? Number(/^[1-9]\d{0,8}$/.exec(WRIT_MIN_VERSION)?.[0]) : null;
  const fault =
    inside(config, 'WRIT_CONFIG') ??
    (state.kind === 'sqlite' ? inside(state.file, 'WRIT_STATE') : null) ??
    (pinned !== null && 'fault' in pinned ? pinned.fault : null) ??
    (Number.isNaN(least) ? 'WRIT_MIN_VERSION is the whole number of a policy version, from 1' : null);
  if (fault !== null) return { fault };
  return {
    places: {
      systemDir: '/etc/writ',
      configDir: config,
      home,
      moved: movedHomes(environment, start),
      root: WRIT_ROOT || null,
      ...(least === null ? {} : { minVersion: least }),
    },
    state,
  };
}

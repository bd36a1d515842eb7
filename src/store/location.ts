import path from 'node:path';

/** Where state lives. `none`: no state at all (throw-away containers). `unsupported`: a database this build cannot speak to; the address may hold a password, so it is never printed. */
export type StateLocation =
  | { readonly kind: 'none' }
  | { readonly kind: 'sqlite'; readonly file: string }
  | { readonly kind: 'unsupported'; readonly url: string };

const FILE_NAME = 'writ.db';
const URL_SCHEME = /^[A-Za-z][A-Za-z0-9+.-]*:\/\//;

/**
 * Where state lives (overview.md, state outside the workspace).
 * @param value `WRIT_STATE`: `none`, a folder, or a database address; undefined and empty mean the default.
 * @param xdgStateHome `XDG_STATE_HOME`; a relative value is ignored, as the XDG base directory rules ask.
 * @param home the user's home folder, absolute.
 */
export function toStateLocation(
  value: string | undefined,
  xdgStateHome: string | undefined,
  home: string,
): StateLocation {
  if (value === 'none') return { kind: 'none' };
  if (value && URL_SCHEME.test(value)) return { kind: 'unsupported', url: value };
  if (value) return { kind: 'sqlite', file: path.join(path.resolve(value), FILE_NAME) };
  const base = xdgStateHome && path.isAbsolute(xdgStateHome) ? xdgStateHome : path.join(home, '.local', 'state');
  return { kind: 'sqlite', file: path.join(base, 'writ', FILE_NAME) };
}

/** Where old rows of the ledger are archived unless a folder is given: beside the state file; null where state has no folder of its own. */
export function archiveOf(state: StateLocation): string | null {
  return state.kind === 'sqlite' ? path.join(path.dirname(state.file), 'archive') : null;
}

/** Whether refusals act, or are only told (overview.md, faces). */
export type Enforcement = 'enforce' | 'observe';

/** Where this machine keeps what must not lie in a workspace. All absolute. */
export interface Places {
  /** Root-owned pins: `/etc/writ`. */
  readonly systemDir: string;
  /** The user's pins: `$XDG_CONFIG_HOME/writ` or `WRIT_CONFIG`. */
  readonly configDir: string;
  readonly home: string;
  /** Folders of the home that the environment puts elsewhere, by host (src/discover/moved-homes.ts). */
  readonly moved: readonly {
    readonly host: string;
    readonly variable: string;
    readonly standsFor: string;
    readonly path: string;
  }[];
  /** `WRIT_ROOT`, or null. */
  readonly root: string | null;
  /** `WRIT_MIN_VERSION`: the lowest policy set still accepted, for a CI that remembers nothing; absent where it is not set. */
  readonly minVersion?: number;
}

/** The home is what is judged: under the user’s own set, as a session would see it that starts in a folder. */
export interface UserSession {
  /** Absolute. */
  readonly start: string;
}

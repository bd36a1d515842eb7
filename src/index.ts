import { homedir } from 'node:os';
import { resolve } from 'node:path';
import { openRoot, toRelative, type WorkspaceRoot } from './files/workspace-root.ts';
import { judge } from './gate.ts';
import { findRepository } from './git/repository.ts';
import { authorityOf } from './handoff/authority.ts';
import { isVerified, openHandoff as openEnvelope, type SeenQuestion } from './handoff/open.ts';
import type { Finding } from './model/finding.ts';
import type { VerifiedHandoff } from './model/handoff.ts';
import { instantFromMs } from './model/instant.ts';
import type { Manifest } from './model/manifest.ts';
import { parseArtifact } from './parse/parse.ts';
import { DEFAULT_LIMITS } from './policy/defaults.ts';
import { type Environment, placesOf } from './policy/places.ts';
import { exitOf, toVerdictsJson, type VerdictsJson } from './report/verdicts.ts';
import { DEFAULT_RULES } from './scan/default-rules.ts';
import { scanText } from './scan/scan.ts';
import { toFindings } from './scan/to-findings.ts';
import type { WatchEvent } from './watch/event.ts';
import { type Watching, type WatchOptions, watchWorkspace as watchPlace } from './watch/watch-workspace.ts';

export type { Effect, Severity } from './model/finding.ts';
export type { HandoffArtifact } from './model/handoff.ts';
export type { ArtifactJson, FindingJson, Summary, VerdictsJson } from './report/verdicts.ts';
export type { Environment, Finding, Manifest, SeenQuestion, VerifiedHandoff, WatchEvent, Watching };

/** Where judging looks besides the workspace. */
export interface Surroundings {
  /** Where pins and state are. `process.env`, read at this call, where absent; `{}` for the defaults of the home alone. */
  readonly environment?: Environment;
  /** The home of the person whose pins count; the one of this process where absent. */
  readonly home?: string;
}

/** How a workspace is to be judged. */
export interface JudgeOptions extends Surroundings {
  /** The folder. It is not searched for: the command's git top level is the command's. */
  readonly root: string;
  /** Paths to judge, relative to `root` or absolute; every init path where absent. */
  readonly paths?: readonly string[];
  /** Exit 1 also where anything ranks below its class ceiling. */
  readonly strict?: boolean;
  /** Tell, don't refuse. */
  readonly observe?: boolean;
  /** Unix milliseconds; now where absent. */
  readonly now?: number;
}

/** The verdicts, and the exit code `writ check` would have ended in. */
export interface WorkspaceVerdicts extends VerdictsJson {
  readonly exit: 0 | 1 | 4;
}

/**
 * Judges a workspace as `writ check` does; changes nothing. Only exit 0 means that nothing was refused and everything was checked. Throws a TypeError for
 * options that can't be meant, the system error for a root that is no folder.
 */
export async function judgeWorkspace(options: JudgeOptions): Promise<WorkspaceVerdicts> {
  const root = openRoot(options.root);
  const found = surroundings(options, root);
  const now = instantFromMs(options.now ?? Date.now());
  if (now === null) throw new TypeError('now has to be a count of unix milliseconds');
  const paths = options.paths?.map((path) => {
    const relative = path.startsWith('/') ? toRelative(root, path) : path;
    if (relative === null || path === '' || path.includes('\0') || relative.split('/').includes('..'))
      throw new TypeError('a path lies outside the workspace');
    return relative === '' ? '.' : relative;
  });
  const judgement = await judge({
    root,
    repository: findRepository(root.path),
    paths: paths ?? null,
    ...found,
    now,
    observe: options.observe === true,
    overlay: new Map(),
    stateFault: null,
    onProgress: null,
  });
  return { ...toVerdictsJson(judgement), exit: exitOf(judgement, options.strict === true) };
}

/** What one text says, with nobody's authority. */
export interface TextVerdict {
  /** The loudest rule of the scan that matched. */
  readonly worst: 'none' | 'notice' | 'suspect' | 'block';
  /** False where the scan could not look at all of it: then nothing here means clean. */
  readonly complete: boolean;
  /** The manifest it carries, every field a claim; null where there is none, or several, or it can't be read. */
  readonly manifest: Manifest | null;
  readonly findings: readonly Finding[];
}

const ORDER = ['none', 'notice', 'suspect', 'block'] as const;

/**
 * Scans one text and reads its manifest. It proves nothing about who wrote or approved it, so it gives no rank. Never throws for what the text is.
 * @param path the name it has or will have: it says in which form a manifest may stand in it.
 */
export async function judgeText(content: Uint8Array | string, path: string): Promise<TextVerdict> {
  const bytes = typeof content === 'string' ? Buffer.from(content, 'utf8') : content;
  const candidate = {
    path,
    kind: 'prose',
    uses: [],
    nested: null,
    confusableWith: null,
    outside: false,
    importHops: 0,
  } as const;
  const parsed = await parseArtifact(candidate, { bytes, mode: 0o644, links: 1, aliasOf: null }, []);
  const read = parsed.readings.flatMap((one) => [...(one.fault ? [one.fault] : []), ...one.notes]);
  const claimed = parsed.readings.flatMap((one) => (one.claimed ? [one.claimed] : []));
  const scan =
    parsed.text === null
      ? null
      : scanText(parsed.text.read(), { rules: DEFAULT_RULES, workLimit: DEFAULT_LIMITS.scanWork });
  const loudest = Math.max(0, ...(scan?.hits.map((hit) => ORDER.indexOf(hit.severity)) ?? []));
  return {
    worst: ORDER[loudest] ?? 'none',
    complete: scan?.complete === true,
    manifest: claimed.length === 1 ? (claimed[0]?.manifest ?? null) : null,
    findings: [...parsed.findings, ...read, ...(scan === null ? [] : toFindings(scan))],
  };
}

/** Who opens a handoff, and where what people decided lies. */
export interface OpenHandoffOptions extends Surroundings {
  /** The folder of the governed workspace. */
  readonly root: string;
  /** The name of the one who opens it: a handoff to anybody else is refused. */
  readonly audience: string;
  /** Whether its id or nonce was taken before. There is no default: who keeps no record of what was taken cannot tell a replay. */
  readonly seen: (question: SeenQuestion) => boolean | Promise<boolean>;
  /** Unix milliseconds; now where absent. */
  readonly now?: number;
}

/** A handoff that passed every check, or the finding that refused it. */
export type OpenedHandoff = VerifiedHandoff | { readonly refused: Finding };

/**
 * Opens a handoff as `writ handoff verify` does, and takes nothing over: the only way to its artifact. Never throws for what the envelope is. Throws a
 * TypeError for options that can't be meant, the system error for a root that is no folder.
 */
export async function openHandoff(envelope: Uint8Array | string, options: OpenHandoffOptions): Promise<OpenedHandoff> {
  const root = openRoot(options.root);
  const now = instantFromMs(options.now ?? Date.now());
  if (now === null) throw new TypeError('now has to be a count of unix milliseconds');
  const judgement = await judge({
    root,
    repository: findRepository(root.path),
    paths: [],
    ...surroundings(options, root),
    now,
    observe: false,
    overlay: new Map(),
    stateFault: null,
    onProgress: null,
  });
  const bytes = typeof envelope === 'string' ? Buffer.from(envelope, 'utf8') : envelope;
  const { audience, seen } = options;
  const opened = await openEnvelope(bytes, { ...(await authorityOf(judgement)), now, audience, seen });
  return isVerified(opened) ? opened : { refused: opened.refused };
}

/** How a workspace is to be watched. */
export interface WatchWorkspaceOptions extends Surroundings {
  readonly root: string;
  /** Tell, don't refuse. */
  readonly observe?: boolean;
  /** Moves what is refused and records it as `writ load` does, in this name; changes nothing where absent. */
  readonly quarantineAs?: string;
  /** Everything is read and judged anew so often, ms; ten minutes where absent. */
  readonly everyMs?: number;
  /** Looks so often instead of being told of changes, ms: for network file systems. */
  readonly pollMs?: number;
  /** Ends with the first complete judgement. */
  readonly once?: boolean;
}

/**
 * Judges a workspace and goes on judging as it changes, as `writ watch` does; the events are its ndjson lines. `onEvent` is awaited. Throws a TypeError
 * for options that can't be meant, the system error for a root that is no folder. End it with `stop()`.
 */
export function watchWorkspace(
  options: WatchWorkspaceOptions,
  onEvent: (event: WatchEvent) => void | Promise<void>,
): Watching {
  const { places, state } = surroundings(options, openRoot(options.root));
  const { everyMs = 600_000, pollMs = null, quarantineAs } = options;
  for (const ms of [everyMs, pollMs ?? 1_000])
    if (!Number.isInteger(ms) || ms < 100) throw new TypeError('a time is a whole number of milliseconds, 100 or more');
  return watchPlace(
    {
      place: resolve(options.root),
      places,
      state,
      observe: options.observe ?? false,
      quarantine: quarantineAs === undefined ? null : { actor: quarantineAs },
      everyMs,
      pollMs,
      once: options.once ?? false,
    },
    onEvent,
  );
}

function surroundings(
  { environment, home }: Surroundings,
  root: WorkspaceRoot,
): Pick<WatchOptions, 'places' | 'state'> {
  const found = placesOf(environment ?? process.env, home ?? homedir(), root, root.path);
  if ('fault' in found) throw new TypeError(found.fault);
  return found;
}

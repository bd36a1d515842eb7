import { existsSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { isValidGlob, matchesAny } from '../discover/globs.ts';
import { type Judgement, judge, prefixIn } from '../gate.ts';
import { ignoredPaths } from '../git/ignored.ts';
import { CEILING, CLASSES, LEVELS } from '../model/artifact-class.ts';
import { escapePath } from '../model/escaped.ts';
import { type Instant, instantFromDuration, shift } from '../model/instant.ts';
import type { Judged } from '../model/stages.ts';
import type { AcceptedRule } from '../model/statement.ts';
import { matchesArtifact } from '../policy/approvals.ts';
import { approveEach } from './approve-each.ts';
import { type Call, EXIT, type Exit, flag, list, oneOf, RefusedError, text, UsageError } from './command.ts';
import { tell } from './output.ts';
import { openSigner } from './signing.ts';
import { openWorkspace, toPath, toPaths, toRequest, type Workspace } from './workspace.ts';
import { until } from './write.ts';

const DAY = 86_400_000;
const DEFAULT_DAYS = 90;

/** `writ approve`: shows the diff to the last approved content and what it replaces, then signs exactly what was shown. */
export async function approve(call: Call): Promise<Exit> {
  const workspace = openWorkspace(call);
  const whole = await judge(toRequest(workspace, call, null));
  const signer = await openSigner(call, whole);
  const chosen = flag(call, 'renew') ? await renewable(call, workspace, whole) : await named(call, workspace, whole);
  if (chosen.length === 0) {
    await tell('nothing to approve');
    return EXIT.ok;
  }
  const asked = until(call, 'expires', workspace.now);
  const { refused } = await approveEach(workspace, whole, signer, chosen, {
    expiresAt: asked ?? approvalEnd(whole, workspace),
    accepts: list(call, 'accept').map(toAccept),
    class: oneOf(call, 'class', CLASSES),
    level: oneOf(call, 'level', LEVELS) ?? 'T1',
    yes: flag(call, 'yes'),
    shows: true,
    goesOn: false,
  });
  return refused > 0 ? EXIT.refused : EXIT.ok;
}

/** When an approval ends that says nothing of it: after 90 days, or what policy.yaml allows at most. */
export function approvalEnd({ set }: Judgement, { now }: Workspace): Instant {
  return shift(now, Math.min(DEFAULT_DAYS, set.policy.approvals.maxDays) * DAY);
}

/**
 * The artifacts behind PATHs: files by name; folders, `.` and quoted globs stand for the init files below or matching, of which what needs no
 * approval, or may not get any, is left out in silence.
 */
async function named(call: Call, workspace: Workspace, whole: Judgement): Promise<readonly Judged[]> {
  if (call.positionals.length === 0)
    throw new UsageError('usage: writ approve PATH..., or writ approve --renew --expiring 30d');
  const files: string[] = [];
  const many: string[] = [];
  for (const arg of call.positionals) {
    const path = toPath(workspace, arg);
    const absolute = join(workspace.root.path, path);
    if (existsSync(absolute) && !statSync(absolute).isDirectory()) files.push(path);
    else if (existsSync(absolute) || /[*?[]/.test(path))
      many.push(...(await sharedOf(workspace, belowOrMatching(whole, path, existsSync(absolute)))));
    else files.push(path);
  }
  return artifactsAt(call, workspace, [...new Set([...files, ...many])]);
}

function belowOrMatching({ artifacts }: Judgement, path: string, isFolder: boolean): readonly string[] {
  if (!isFolder && !isValidGlob(path))
    throw new UsageError(`${path} is no glob of at most 256 characters and 8 wildcards`);
  const found = artifacts.filter(({ evidence, rank, declaredClass }) => {
    const { candidate, line } = evidence.parsed;
    const isThere = isFolder
      ? path === '.' || candidate.path.startsWith(`${path}/`)
      : matchesAny(candidate.path, [path]);
    // What runs when a host starts is approved by its name alone.
    const isOwn =
      candidate.nested === null &&
      !candidate.outside &&
      candidate.kind !== 'document' &&
      !(isFolder && candidate.kind === 'executable') &&
      line === null;
    return isThere && isOwn && rank !== (declaredClass === null ? null : CEILING[declaredClass]);
  });
  if (found.length === 0)
    throw new UsageError(`no init file ${isFolder ? 'below' : 'matches'} ${escapePath(path)} waits for an approval`);
  return found.map((one) => one.evidence.parsed.candidate.path);
}

/**
 * Leaves out what git ignores, and says so: the approval would go to the other clones and the text would not, so that each of them would
 * miss a rule (`binding-missing`). By its own name it can be approved all the same.
 */
export async function sharedOf(
  workspace: Workspace,
  paths: readonly string[],
  told = true,
): Promise<readonly string[]> {
  const { repository, root } = workspace;
  if (repository === null) return paths;
  const prefix = prefixIn(repository, root);
  const config = process.env.XDG_CONFIG_HOME || join(homedir(), '.config');
  const ignored = await ignoredPaths(
    repository,
    paths.map((path) => prefix + path),
    isAbsolute(config) ? join(config, 'git', 'ignore') : null,
  );
  for (const path of told ? paths.filter((one) => ignored.has(prefix + one)) : [])
    await tell(`writ: left out ${escapePath(path)}: git ignores it, so no other clone would hold what was approved`);
  return paths.filter((path) => !ignored.has(prefix + path));
}

/** Judges paths as named; a link is approved through the file it leads to, which then names the link. */
export async function artifactsAt(
  call: Call,
  workspace: Workspace,
  paths: readonly string[],
): Promise<readonly Judged[]> {
  const judgement = await judge(toRequest(workspace, call, paths));
  const targets = judgement.artifacts
    .flatMap(({ evidence }) => evidence.parsed.aliasOf ?? [])
    .filter((one) => !paths.includes(one));
  const direct = judgement.artifacts.filter(({ evidence }) => evidence.parsed.aliasOf === null);
  return targets.length === 0
    ? direct
    : [...direct, ...(await judge(toRequest(workspace, call, [...new Set(targets)]))).artifacts];
}

/** What was approved before with exactly these bytes, and runs out soon or has run out. */
async function renewable(call: Call, workspace: Workspace, whole: Judgement): Promise<readonly Judged[]> {
  const within =
    text(call, 'expiring') === null ? null : instantFromDuration(text(call, 'expiring') ?? '', workspace.now);
  if (text(call, 'expiring') !== null && within === null) throw new UsageError('--expiring takes a duration like 30d');
  if (call.positionals.length === 0 && within === null)
    throw new UsageError('name what to renew: PATH..., or --expiring 30d');
  const paths = call.positionals.length > 0 ? new Set(toPaths(workspace, call.positionals)) : null;
  const candidates = paths === null ? whole.artifacts : (await judge(toRequest(workspace, call, [...paths]))).artifacts;
  return candidates.filter(({ evidence, approvalExpiresAt }) => {
    const { claimed, parsed } = evidence;
    if (claimed === null) return false;
    const given = whole.proofs.approvals.all.filter((one) =>
      matchesArtifact(one.approval, parsed.candidate.path, claimed),
    );
    if (given.length === 0) {
      if (paths === null) return false;
      throw new RefusedError(
        'approval-stale',
        `${escapePath(parsed.candidate.path)} was never approved with these bytes: review it with writ approve`,
      );
    }
    return within === null || approvalExpiresAt === null || approvalExpiresAt <= within;
  });
}

function toAccept(given: string): AcceptedRule {
  const cut = given.indexOf('=');
  const rule = given.slice(0, Math.max(0, cut)).replace(/^scan\//, '');
  const reason = cut === -1 ? '' : given.slice(cut + 1).trim();
  if (!/^[a-z0-9][a-z0-9-]{0,63}$/.test(rule) || reason === '')
    throw new UsageError('--accept takes RULE=REASON, for example --accept override-prior=quoted-example');
  return { rule, reason: reason.slice(0, 500) };
}

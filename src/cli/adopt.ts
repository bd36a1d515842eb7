import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { writeInside } from '../files/write-inside.ts';
import type { Judgement } from '../gate.ts';
import { type ArtifactClass, CLASSES } from '../model/artifact-class.ts';
import { escapePath } from '../model/escaped.ts';
import { isUnclaimed, rankWord } from '../report/verdicts-text.ts';
import type { KnownSigner } from '../write/signer.ts';
import { approvalEnd, artifactsAt, sharedOf } from './approve.ts';
import { approveEach } from './approve-each.ts';
import { agrees, canAsk } from './ask.ts';
import { type Call, flag, oneOf, UsageError } from './command.ts';
import { print, tell } from './output.ts';
import type { Workspace } from './workspace.ts';

/** Commands told one by one. */
const MAX_TOLD = 10;
const WORKFLOW = '.github/workflows/writ.yml';

/** What `writ init` is to do besides the set. */
export interface Adoption {
  /** The class every text without a manifest is approved as; null where nothing was said. */
  readonly class: ArtifactClass | null;
  readonly yes: boolean;
  readonly gitHook: boolean;
  readonly ci: 'github' | null;
}

/** Reads the flags before anything is written. Throws UsageError where they cannot be carried out. */
export function adoptionOf(call: Call, { repository, user }: Workspace): Adoption {
  const wish: Adoption = {
    class: oneOf(call, 'adopt', CLASSES),
    yes: flag(call, 'yes'),
    gitHook: flag(call, 'git-hook'),
    ci: oneOf(call, 'ci', ['github']),
  };
  if (wish.class !== null && !wish.yes && !canAsk())
    throw new UsageError('there is no terminal to ask on: to approve every text as it lies say --adopt CLASS --yes');
  if ((wish.gitHook || wish.ci !== null) && user)
    throw new UsageError('--git-hook and --ci are for a repository, not for your home');
  if (wish.gitHook && repository === null)
    throw new UsageError('--git-hook: this is no git work tree, so there are no git hooks');
  return wish;
}

/** The texts that carry no manifest yet, each by the file it really is: what a sidecar can adopt without a change of the text. */
export function unclaimedPaths({ artifacts }: Judgement): readonly string[] {
  const paths = artifacts
    .filter(isUnclaimed)
    .map(({ evidence: { parsed } }) => parsed.aliasOf ?? parsed.candidate.path);
  return [...new Set(paths)].sort();
}

/** @returns rank words by path, for a table that shows what became of each file. */
export function ranksOf({ artifacts }: Judgement): ReadonlyMap<string, string> {
  return new Map(artifacts.map((one) => [one.evidence.parsed.candidate.path, rankWord(one)]));
}

/**
 * Approves what carries no manifest, each with a sidecar beside it: all of it with a class and `--yes`, one by one on a terminal.
 * @returns how many were approved and refused; nothing where nobody asked for it.
 */
export async function adopt(
  call: Call,
  workspace: Workspace,
  judgement: Judgement,
  signer: KnownSigner,
  wish: Adoption,
): Promise<{ readonly approved: number; readonly refused: number }> {
  const paths = await sharedOf(workspace, unclaimedPaths(judgement));
  if (paths.length === 0) return { approved: 0, refused: 0 };
  if (wish.class === null) {
    const question = `Approve ${paths.length === 1 ? 'the text' : `the ${paths.length} texts`} without a manifest as policy, so that they bind? Each is shown first.`;
    if (wish.yes || !(await agrees(question))) return { approved: 0, refused: 0 };
  }
  return approveEach(workspace, judgement, signer, await artifactsAt(call, workspace, paths), {
    expiresAt: approvalEnd(judgement, workspace),
    accepts: [],
    class: wish.class ?? 'policy',
    level: 'T1',
    yes: wish.yes,
    shows: !wish.yes,
    goesOn: true,
  });
}

/** Prints the exact commands that let what is left bind, one a file and one for all. */
export async function printNext(workspace: Workspace, judgement: Judgement, signing: string): Promise<void> {
  const user = workspace.user !== undefined;
  const paths = await sharedOf(workspace, unclaimedPaths(judgement), false);
  const home = user ? ' --user' : '';
  const words = (what: string): string => `writ approve${home} ${what} --class policy ${signing}`;
  // A home is no folder to approve as a whole: the files are named from there.
  const named = (path: string): string => {
    const word = shellWord(path);
    return user ? `~/${word}` : word;
  };
  if (paths.length > 0) {
    const told = paths.slice(0, MAX_TOLD).map((path) => `  ${words(named(path))}`);
    if (paths.length > MAX_TOLD) told.push(`  and ${paths.length - MAX_TOLD} more`);
    await print(
      `\nTo let a text bind, approve it: it gets a sidecar, its own bytes stay as they are.\n${told.join('\n')}\n`,
    );
    if (paths.length > 1)
      await print(
        `or all of them at once, as they lie:\n  ${words(user ? paths.slice(0, MAX_TOLD).map(named).join(' ') : '.')} --yes\n`,
      );
  }
  const settings = judgement.artifacts.filter(
    ({ evidence: { parsed }, rank }) =>
      parsed.candidate.kind === 'executable' &&
      !parsed.candidate.outside &&
      parsed.candidate.nested === null &&
      rank === 'quarantined',
  );
  if (settings.length > 0)
    await print(
      `\nThese run when a host starts; read them first:\n${settings
        .slice(0, MAX_TOLD)
        .map(({ evidence }) => `  ${words(named(evidence.parsed.candidate.path))}`)
        .join('\n')}\n`,
    );
}

/** A word as a shell takes it: quoted where it holds more than plain characters. A name that would move the cursor is told escaped. */
function shellWord(path: string): string {
  const told = escapePath(path);
  return /^[\w./~@%+=:,-]+$/.test(told) && !told.startsWith('-') ? told : `'${told.replaceAll("'", "'\\''")}'`;
}

/** Writes the CI job of a forge, or shows it where one of that name is there. */
export async function writeCi({ root }: Workspace, id: string, fingerprint: string): Promise<void> {
  const setting = `  WRIT_ROOT = ${id}=${fingerprint}`;
  if (existsSync(join(root.path, WORKFLOW))) {
    await tell(`${WORKFLOW} is there already and was left as it is. The job would be:`);
    await print(GITHUB);
  } else {
    const fault = writeInside(root, WORKFLOW, GITHUB, 0o644);
    if (fault !== null) throw new UsageError(`${WORKFLOW} could not be written: ${fault.message}`);
    await tell(`wrote ${WORKFLOW}; it runs the writ of your package.json`);
  }
  await print(
    `\nCI takes its pin from the settings of the forge, never from the repository. Set this variable for Actions there:\n${setting}\n`,
  );
}

const GITHUB = `# Judges what agents would read. WRIT_ROOT is a variable in the settings of the repository: a file could be changed by whoever sends a change.
name: writ
on: [push, pull_request]
permissions:
  contents: read
jobs:
  writ:
    runs-on: ubuntu-latest
    env:
      WRIT_ROOT: \${{ vars.WRIT_ROOT }}
      WRIT_STATE: none
    steps:
      - uses: actions/checkout@v4
        with:
          fetch-depth: 0
          persist-credentials: false
      - uses: actions/setup-node@v4
        with:
          node-version: 22
      - run: npm ci --ignore-scripts
      - run: test -n "$WRIT_ROOT"
      - run: npx --no-install writ check --strict
      - if: github.event_name == 'pull_request'
        env:
          BASE: \${{ github.base_ref }}
        run: npx --no-install writ check --rev "origin/$BASE...HEAD"
`;

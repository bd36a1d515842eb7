import { spawnSync } from 'node:child_process';
import { afterAll, afterEach, beforeAll } from 'vitest';
import { type Ran, type Verdicts, Workspace } from '../support/workspace.ts';

/** Makes governed repositories for the tests of a file, and removes them. */
export interface Repositories {
  /** A repository of its own, with AGENTS.md approved and everything committed. */
  governed(): Workspace;
  /** An empty one. */
  empty(options?: { readonly git?: boolean }): Workspace;
}

/** To be called once, at the top of a test file. */
export function repositories(): Repositories {
  let base: Workspace;
  const opened: Workspace[] = [];
  const keep = (one: Workspace): Workspace => {
    opened.push(one);
    return one;
  };
  beforeAll(() => {
    base = new Workspace({ git: true }).govern();
    base.put('AGENTS.md', 'Run the tests.\n');
    base.put('src/app.ts', 'export {};\n');
    base.must('f13', ['approve', 'AGENTS.md', '--class', 'policy', '--yes']);
    base.git('add', '-A');
    base.git('commit', '-qm', 'governed');
  });
  afterEach(() => {
    for (const one of opened.splice(0)) one.remove();
  });
  afterAll(() => base.remove());
  return { governed: () => keep(base.copy()), empty: (options) => keep(new Workspace(options)) };
}

export interface Staged extends Verdicts {
  readonly exit: number;
  /** Every code of every finding. */
  readonly seen: readonly string[];
}

/** What `check --staged` says. */
export function staged(ws: Workspace, ...more: readonly string[]): Staged {
  const ran = ws.run(['check', '--staged', '--format', 'json', ...more]);
  if (!ran.stdout.startsWith('{')) throw new Error(`exit ${ran.exit}: ${ran.stderr}`);
  const verdicts = JSON.parse(ran.stdout) as Verdicts;
  const seen = [...verdicts.findings, ...verdicts.artifacts.flatMap((one) => one.findings)].map((one) => one.code);
  return { ...verdicts, exit: ran.exit, seen };
}

/** Commits like a person, hooks and all. */
export function commit(ws: Workspace, ...args: readonly string[]): Ran {
  const done = spawnSync(
    'git',
    ['-c', 'user.email=dev@example.test', '-c', 'user.name=dev', 'commit', '-qm', 'x', ...args],
    { cwd: ws.root, env: { ...ws.env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' }, encoding: 'utf8' },
  );
  return { exit: done.status ?? -1, stdout: done.stdout, stderr: done.stderr };
}

export const pathsOf = (verdicts: Verdicts): readonly string[] => verdicts.artifacts.map((one) => one.path);
